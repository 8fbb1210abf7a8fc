package nvml

import (
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
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil // nothing is lowered
	}
	lib, err := Open(library)
	if err != nil {
		return err
	}
	devices, err := lib.Devices()
	_, again := restore(devices, file)
	return errors.Join(err, again, lib.Close())
}

// A Watch is a guard process that an agent has started.
type Watch struct {
	cmd   *exec.Cmd
	beats io.WriteCloser
}

// StartGuard starts a guard: a command that calls [Guard] with its standard input.
// It lives in a session of its own, so that what kills the agent does not kill it.
func StartGuard(cmd *exec.Cmd) (*Watch, error) {
	beats, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("nvml: guard: %w", err)
	}
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("nvml: guard: %w", err)
	}
	return &Watch{cmd, beats}, nil
}

// Beat says that the agent lives; call it a few times in every period. An error
// means that the guard is gone: restore, or start another.
func (w *Watch) Beat() error {
	if _, err := w.beats.Write([]byte{'.'}); err != nil {
		return fmt.Errorf("nvml: the guard is gone: %w", err)
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
