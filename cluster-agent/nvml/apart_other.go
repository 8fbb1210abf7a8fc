//go:build !unix

package nvml

import "os/exec"

// apart does nothing: sessions exist on Unix alone.
func apart(*exec.Cmd) {}
