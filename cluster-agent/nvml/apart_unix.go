//go:build unix

package nvml

import (
	"os/exec"
	"syscall"
)

func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
