package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gridbid/gridbid/internal/daemon"
)

const healthHelp = `cluster-agent health is the probe of a kubelet: it exits with 0 if the process
in the same pod is well, and else with 1 and the reason. The agent's metrics, health and
readiness are served on loopback only, where a kubelet cannot ask.

  cluster-agent health                          the agent answers
  cluster-agent health --ready                  it is connected to its federation, too
  cluster-agent health --heartbeat FILE         the node daemon, or its guard, touched FILE of late

Flags:`

// probeTimeout bounds a probe; a kubelet that gives up sooner counts it as failed, too.
const probeTimeout = 5 * time.Second

// runHealth is `cluster-agent health`.
func runHealth(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent health", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprintln(out, healthHelp); fs.PrintDefaults() }
	listen := fs.String("listen", "127.0.0.1:9464", "`ADDRESS` that the agent's configuration names as listen")
	ready := fs.Bool("ready", false, "ask whether the agent is ready, not only whether it answers")
	heartbeat := fs.String("heartbeat", "", "`FILE` that a node daemon or its guard touches")
	period := fs.Duration("period", 30*time.Second, "with --heartbeat: how old the last touch may be")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if *heartbeat != "" {
		return checkHeartbeat(*heartbeat, *period, time.Now())
	}
	if err := daemon.RequireLoopback(*listen); err != nil {
		return err
	}
	page := "/healthz"
	if *ready {
		page = "/readyz"
	}
	return checkPage("http://" + *listen + page)
}

// checkPage returns why a page does not answer with 200, or nil.
func checkPage(address string) error {
	client := http.Client{Timeout: probeTimeout}
	resp, err := client.Get(address)
	if err != nil {
		return fmt.Errorf("no answer: %w; does the configuration have listen?", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

// checkHeartbeat returns why a file was not touched within a period before now, or nil.
func checkHeartbeat(file string, period time.Duration, now time.Time) error {
	st, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s does not exist: no heartbeat yet", file)
	}
	if err != nil {
		return err
	}
	if age := now.Sub(st.ModTime()); age > period {
		return fmt.Errorf("the last heartbeat is %v old: want %v at most", age.Round(time.Second), period)
	}
	return nil
}
