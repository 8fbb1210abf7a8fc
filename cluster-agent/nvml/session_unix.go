//go:build unix

package nvml

import (
	"os/exec"
	"syscall"
)

// detachSession starts a command in its own session, so that a signal to the agent's process
// group does not reach it.
func detachSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
