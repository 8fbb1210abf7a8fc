package nvml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Guard restores the limits recorded in a file once the agent's heartbeat stops: beats ends, because the agent
// exited, or nothing arrives for a period. Then it returns. An agent that still runs finds its limits changed and
// sets them again.
//
// It runs in a separate process, with beats as its standard input: see [StartGuard].
func Guard(beats io.Reader, period time.Duration, library, file string) error {
	heard, done := make(chan bool), make(chan bool)
	defer close(done)
	go func() {
		defer close(heard)
		for buf := make([]byte, 64); ; {
			if _, err := beats.Read(buf); err != nil {
				return
			}
			select {
			case heard <- true:
			case <-done:
				return
			}
		}
	}()
	for silent := time.NewTimer(period); ; silent.Reset(period) {
		select {
		case _, ok := <-heard:
			if ok {
				continue
			}
		case <-silent.C:
		}
		break
	}
	return putBack(library, file)
}

// putBack restores the limits recorded in a file.
func putBack(library, file string) error {
	n, err := readNotes(file)
	if err != nil || n.empty() {
		return err
	}
	lib, err := Open(library)
	if err != nil {
		return err
	}
	devices, err := lib.Devices()
	return errors.Join(err, n.restore(devices, file), lib.Close())
}

// Watchman is a guard for an agent in another container, because the end of a container kills all its processes.
// The agent's heartbeat is the modification time of a file. Whenever that is older than a period, Watchman restores
// the recorded limits. When ctx ends, it waits at most a period for the agent to restore them itself, and returns.
func Watchman(ctx context.Context, beats string, period time.Duration, library, file string, say func(error)) error {
	var touched, seen time.Time
	back := true // the record was restored since the last heartbeat
	for begun := time.Now(); ; {
		if st, err := os.Stat(beats); err == nil && !st.ModTime().Equal(touched) {
			touched, seen, back = st.ModTime(), time.Now(), false
		}
		if seen.IsZero() { // without a heartbeat yet: a previous agent and its guard may have died together
			seen, back = begun, false
		}
		silent := time.Since(seen) >= period*9/10 // polling takes a tenth of the period
		if silent && !back {
			err := putBack(library, file)
			if back = err == nil; !back {
				say(err)
			}
		}
		_, err := os.Stat(file)
		if ctx.Err() != nil && (silent || errors.Is(err, os.ErrNotExist)) {
			return putBack(library, file)
		}
		time.Sleep(period / 10)
	}
}

// Beat updates the heartbeat file that a [Watchman] reads.
func Beat(file string) error {
	now := time.Now()
	err := os.Chtimes(file, now, now)
	if errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	return nil
}

// A Watch is a guard process that the agent started.
type Watch struct {
	guard func() *exec.Cmd
	cmd   *exec.Cmd
	beats io.WriteCloser
}

// StartGuard starts a guard: a command that calls [Guard] with its standard input. The guard has its own session,
// so that signals to the agent's process group do not end it.
func StartGuard(guard func() *exec.Cmd) (*Watch, error) {
	w := &Watch{guard: guard}
	return w, w.start()
}

func (w *Watch) start() error {
	cmd := w.guard()
	beats, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	w.cmd, w.beats = cmd, beats
	return nil
}

// Beat sends a heartbeat; call it several times in every period. An error means that the guard had exited, for
// example because it took the agent for dead; Beat has started another one, unless the error says why not.
func (w *Watch) Beat() error {
	if _, err := w.beats.Write([]byte{'.'}); err != nil {
		return fmt.Errorf("nvml: the guard process had exited: %w", errors.Join(err, w.Stop(), w.start()))
	}
	return nil
}

// Stop ends the guard, which restores what is still changed, and waits for it.
func (w *Watch) Stop() error {
	if err := errors.Join(w.beats.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	return nil
}
