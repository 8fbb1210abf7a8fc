//go:build !unix

package nvml

import "os/exec"

// detachSession does nothing: sessions exist on Unix alone.
func detachSession(*exec.Cmd) {}
