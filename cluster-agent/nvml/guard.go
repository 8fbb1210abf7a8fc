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

// RunGuard restores the limits recorded in a file once the agent's heartbeat stops:
// beats ends, because the agent exited, or nothing arrives for a period. Then it
// returns. An agent that still runs finds its limits changed and sets them again.
//
// It runs in a separate process, with beats as its standard input: see [StartGuard].
func RunGuard(beats io.Reader, period time.Duration, library, file string) error {
	// One goroutine reads heartbeats, so that the wait below can end by time, too.
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
	// Each heartbeat restarts the period; a closed pipe ends the wait at once.
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
	return restoreNotedLimits(library, file)
}

// restoreNotedLimits restores the limits recorded in a file.
func restoreNotedLimits(library, file string) error {
	n, err := readRestoreNotes(file)
	if err != nil || n.isEmpty() {
		return err
	}
	lib, err := OpenLibrary(library)
	if err != nil {
		return err
	}
	devices, err := lib.ListDevices()
	return errors.Join(err, n.restoreDevices(devices, file), lib.Close())
}

// GuardSuffix ends the name of the file that a RunHeartbeatGuard touches.
const GuardSuffix = ".guard"

// RunHeartbeatGuard is a guard for an agent in another container, because the end of a
// container kills all its processes. The agent's heartbeat is the modification time
// of a file. Whenever that is older than a period, RunHeartbeatGuard restores the recorded
// limits. When ctx ends, it waits at most a period for the agent to restore them
// itself, and returns. It has a heartbeat of its own, beats+GuardSuffix, for a kubelet's probe.
func RunHeartbeatGuard(ctx context.Context, beats string, period time.Duration, library, file string, say func(error)) error {
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
			err := restoreNotedLimits(library, file)
			if back = err == nil; !back {
				say(err)
			}
		}
		if err := TouchHeartbeat(beats + GuardSuffix); err != nil {
			say(err)
		}
		_, err := os.Stat(file)
		if ctx.Err() != nil && (silent || errors.Is(err, os.ErrNotExist)) {
			return restoreNotedLimits(library, file)
		}
		time.Sleep(period / 10)
	}
}

// TouchHeartbeat updates the heartbeat file that a [RunHeartbeatGuard] reads.
func TouchHeartbeat(file string) error {
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

// A GuardProcess is a guard process that the agent started.
type GuardProcess struct {
	newCommand    func() *exec.Cmd
	cmd           *exec.Cmd
	heartbeatPipe io.WriteCloser
}

// StartGuard starts a guard: a command that calls [RunGuard] with its standard input.
// The guard has its own session, so that signals to the agent's process group do not
// end it.
func StartGuard(guard func() *exec.Cmd) (*GuardProcess, error) {
	w := &GuardProcess{newCommand: guard}
	return w, w.startProcess()
}

// startProcess starts the guard's process with a new pipe.
func (w *GuardProcess) startProcess() error {
	cmd := w.newCommand()
	beats, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	detachSession(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	w.cmd, w.heartbeatPipe = cmd, beats
	return nil
}

// SendHeartbeat sends a heartbeat; call it several times in every period. An error means that
// the guard had exited, for example because it took the agent for dead; SendHeartbeat has
// started another one, unless the error says why not.
func (w *GuardProcess) SendHeartbeat() error {
	if _, err := w.heartbeatPipe.Write([]byte{'.'}); err != nil {
		return fmt.Errorf("nvml: the guard process had exited: %w", errors.Join(err, w.StopGuard(), w.startProcess()))
	}
	return nil
}

// StopGuard ends the guard, which restores what is still changed, and waits for it.
func (w *GuardProcess) StopGuard() error {
	if err := errors.Join(w.heartbeatPipe.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("nvml: guard: %w", err)
	}
	return nil
}
