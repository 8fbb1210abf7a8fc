package daemon

import (
	"bufio"
	"context"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ended names, in the environment of a service, what it writes when it has ended
// in order.
const ended = "SERVICE_ENDED"

// A service whose log has no reader any more ends in order: with its log piped to a
// program that the same ctrl-C ended, it would die at the first line that it says.
func TestServiceSurvivesBrokenPipe(t *testing.T) {
	if file := os.Getenv(ended); file != "" {
		os.Exit(runMain(flag.NewFlagSet("service", flag.ContinueOnError), "SERVICE_", "", nil, new(bool), func() (Service, *slog.Logger, error) {
			log, err := NewLogger(os.Stderr, "info", "text")
			return func(ctx context.Context) error {
				log.Info("begun")
				<-ctx.Done()
				log.Info("ending")
				return os.WriteFile(file, nil, 0o600)
			}, log, err
		}))
	}
	file := filepath.Join(t.TempDir(), "ended")
	service := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	service.Env = append(os.Environ(), ended+"="+file)
	log, err := service.StderrPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(log).ReadString('\n'); err != nil {
		t.Errorf("it says nothing: %v", err)
	}
	_ = log.Close()
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := service.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}
