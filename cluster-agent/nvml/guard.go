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

// Guard puts back the limits noted in a file when an agent no longer beats: when
// its pipe ends, as it does when the agent dies, or stays silent for a period. It
// returns then. An agent that lived on by itself would find its limits raised, and
// lower them again.
//
// It is run by a process of its own, with beats as its standard input: see
// [StartGuard].
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

// putBack restores what is noted in a file.
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

// Watchman is a guard for an agent in another container: what kills one container
// kills all its processes. The agent beats by touching a file. Each time that it
// has not been touched for a period, what is noted is put back. It ends with ctx,
// and then waits no longer than a period for the agent to put all back by itself.
func Watchman(ctx context.Context, beats string, period time.Duration, library, file string, say func(error)) error {
	var touched, seen time.Time
	back := true // what was noted was put back since the last beat
	for begun := time.Now(); ; {
		if st, err := os.Stat(beats); err == nil && !st.ModTime().Equal(touched) {
			touched, seen, back = st.ModTime(), time.Now(), false
		}
		if seen.IsZero() { // an agent before us may have died with its guard
			seen, back = begun, false
		}
		silent := time.Since(seen) >= period*9/10 // a look is a tenth
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

// Beat touches the file by which a [Watchman] knows that its agent lives.
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

// A Watch is a guard process that an agent has started.
type Watch struct {
	guard func() *exec.Cmd
	cmd   *exec.Cmd
	beats io.WriteCloser
}

// StartGuard starts a guard: a command that calls [Guard] with its standard input.
// It lives in a session of its own, so that what kills the agent does not kill it.
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

// Beat says that the agent lives; call it a few times in every period. An error
// means that the guard was gone, as one is that took the agent for dead; another was
// started, unless the error says why not.
func (w *Watch) Beat() error {
	if _, err := w.beats.Write([]byte{'.'}); err != nil {
		return fmt.Errorf("nvml: the guard is gone: %w", errors.Join(err, w.Stop(), w.start()))
	}
	return nil
}

// Stop ends the guard, which restores what is still lowered, and waits for it.
func (w *Watch) Stop() error {
	if err := errors.Join(w.beats.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	return nil
}
