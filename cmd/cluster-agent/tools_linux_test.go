//go:build linux && cgo

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
)

// On a machine with cards and nothing else, no Kubernetes and no federation, cards
// are read, and a command is measured under a limit that is put back.
func TestToolsNeedOnlyTheMachine(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler for the stand-in of the driver's library")
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	library, w := nvmltest.BuildFakeLibrary(t, 1)
	w.Real = 1
	var out strings.Builder
	if code := runCommand([]string{"gpus", "--library", library}, &out); code != 0 {
		t.Errorf("gpus = %d: %s", code, out.String())
	}
	dir := t.TempDir()
	curve := filepath.Join(dir, "curve.json")
	args := []string{"powercal", "--library", library, "--watts", "300", "--runs", "1", "--out", curve, "--state", filepath.Join(dir, "limits.json"),
		"--", "sh", "-c", `test -n "$CUDA_VISIBLE_DEVICES" && sleep 0.2`}
	if code := runCommand(args, &out); code != 0 || w.GPU[0].Limit != 700_000 || w.GPU[0].Sets == 0 {
		t.Errorf("powercal = %d, with the limit left at %d mW after %d changes: %s", code, w.GPU[0].Limit, w.GPU[0].Sets, out.String())
	}
	if text, err := os.ReadFile(curve); err != nil || !strings.Contains(string(text), `"limit_mw": 300000`) {
		t.Errorf("the curve is %s, %v", text, err)
	}
}

// A GPU that has fallen off the bus does not make others answer to its index.
func TestPowercalMeasuresTheGPUOfThatIndexOrNone(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler for the stand-in of the driver's library")
	}
	library, w := nvmltest.BuildFakeLibrary(t, 2)
	w.Real, w.GPU[0].Lost = 1, 1
	for gpu, want := range []struct {
		code int
		says string
	}{{1, "GPU 0 does not exist: 1 GPUs are accessible"}, {0, "2 points"}} {
		dir := t.TempDir()
		var out strings.Builder
		code := runCommand([]string{"powercal", "--gpu", strconv.Itoa(gpu), "--library", library, "--watts", "300", "--runs", "1", "--out", filepath.Join(dir, "curve.json"),
			"--state", filepath.Join(dir, "limits.json"), "--", "sleep", "0.2"}, &out)
		if code != want.code || !strings.Contains(out.String(), want.says) || (w.GPU[1].Sets > 0) != (gpu == 1) {
			t.Errorf("powercal --gpu %d = %d, with %d changes of the limit of GPU 1: %s", gpu, code, w.GPU[1].Sets, out.String())
		}
	}
}

// measured names, in the environment, the library of a test that runs powercal in
// a process of its own.
const measured = "POWERCAL_LIBRARY"

// Whoever reads what powercal says may go while it measures, and so may its
// terminal: limits are put back.
func TestPowercalRestoresLimits(t *testing.T) {
	if library := os.Getenv(measured); library != "" {
		dir := os.Getenv("POWERCAL_FOLDER")
		os.Exit(runCommand([]string{"powercal", "--library", library, "--watts", "600,500", "--runs", "1", "--out", filepath.Join(dir, "curve.json"),
			"--state", filepath.Join(dir, "limits.json"), "--", "sleep", "0.3"}, os.Stderr))
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler for the stand-in of the driver's library")
	}
	library, w := nvmltest.BuildFakeLibrary(t, 1)
	w.Real = 1
	for name, goes := range map[string]func(*exec.Cmd, io.Closer) error{
		"its reader":   func(_ *exec.Cmd, says io.Closer) error { return says.Close() },
		"its terminal": func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGHUP) },
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), measured+"="+library, "POWERCAL_FOLDER="+t.TempDir())
		says, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(says).ReadString('\n'); err != nil { // of the run without a limit
			t.Errorf("powercal says nothing: %v", err)
		}
		for range 12_000 {
			if time.Sleep(5 * time.Millisecond); w.GPU[0].Limit != 700_000 {
				break
			}
		}
		if err := goes(cmd, says); err != nil {
			t.Error(err)
		}
		err = cmd.Wait()
		if w.GPU[0].Limit != 700_000 || w.GPU[0].Sets == 0 {
			t.Errorf("%s goes: the limit is left at %d mW after %d changes (%v)", name, w.GPU[0].Limit, w.GPU[0].Sets, err)
		}
		w.GPU[0].Limit, w.GPU[0].Sets = 700_000, 0
	}
}
