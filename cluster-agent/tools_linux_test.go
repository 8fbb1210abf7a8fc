//go:build linux && cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
)

// On a machine with cards and nothing else, no Kubernetes and no federation, cards
// are read, and a command is measured under a limit that is put back.
func TestToolsNeedAMachineAndNothingElse(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler for the stand-in of the driver's library")
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	library, w := nvmltest.New(t, 1)
	w.Real = 1
	var out strings.Builder
	if code := run([]string{"gpus", "--library", library}, &out); code != 0 {
		t.Errorf("gpus = %d: %s", code, out.String())
	}
	dir := t.TempDir()
	curve := filepath.Join(dir, "curve.json")
	args := []string{"powercal", "--library", library, "--watts", "300", "--runs", "1", "--out", curve, "--state", filepath.Join(dir, "limits.json"),
		"--", "sh", "-c", `test -n "$CUDA_VISIBLE_DEVICES" && sleep 0.2`}
	if code := run(args, &out); code != 0 || w.GPU[0].Limit != 700_000 || w.GPU[0].Sets == 0 {
		t.Errorf("powercal = %d, with the limit left at %d mW after %d changes: %s", code, w.GPU[0].Limit, w.GPU[0].Sets, out.String())
	}
	if text, err := os.ReadFile(curve); err != nil || !strings.Contains(string(text), `"limit_mw": 300000`) {
		t.Errorf("the curve is %s, %v", text, err)
	}
}
