//go:build unix

package daemon

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain is a binary, too, whose service takes its time to end.
func TestMain(m *testing.M) {
	if os.Getenv("GRIDBID_TEST_SLOW") == "" {
		os.Exit(m.Run())
	}
	fs, check := flag.NewFlagSet("slow", flag.ContinueOnError), false
	os.Exit(runMain(fs, "GRIDBID_TEST_", "", nil, &check, func() (Service, *slog.Logger, error) {
		return func(ctx context.Context) error {
			fmt.Println("running")
			<-ctx.Done()
			time.Sleep(time.Hour)
			return nil
		}, slog.New(slog.DiscardHandler), nil
	}))
}

func TestSecondSignalKills(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GRIDBID_TEST_SLOW=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "running" {
		t.Fatalf("it says %q", lines.Text())
	}
	ended := make(chan error, 1)
	go func() {
		for lines.Scan() { // to its end
		}
		ended <- cmd.Wait()
	}()
	patience := time.After(30 * time.Second)
	for { // the second may come before the first was taken in
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Errorf("it ended with %v; want by the signal", err)
			}
			return
		case <-patience:
			t.Fatal("it still runs")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
