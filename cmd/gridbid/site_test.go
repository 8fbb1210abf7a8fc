package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Paths of a configuration are relative to it, wherever the site is started.
func TestAScenarioIsLookedForBesideItsConfiguration(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml":   "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: day.yaml, data: traces}\n",
		"shipped.yaml": "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions, as: hydro-north}\n",
		"day.yaml": `name: day
start: 2022-04-13T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 50, swing: 40}, carbon: {mean: 300, swing: 120}, match: 0.4}
    fleet: [{count: 1, model: T4, gpus: 2, cpu: 16, memory: 64}]
jobs: {trace: "${data}/jobs.csv", from: 0}
`,
		"traces/jobs.csv": "job_id,submit_s,duration_s,gpus,vc\na,0,600,1,v\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"agent.yaml", "shipped.yaml"} {
		var out strings.Builder
		if code := runSite([]string{"--config", filepath.Join(dir, name), "--check"}, &out); code != 0 {
			t.Errorf("--check of %s = %d, %s", name, code, out.String())
		}
	}
}

// built returns the parties of a simulated site.
func built(t *testing.T, c program.Config, feed *signals.Poller) runtime.Config {
	t.Helper()
	build, err := prepareSite(c, slog.New(slog.DiscardHandler), feed)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A site may be called as another one of the scenario that it plays.
func TestASitePlaysTheOneThatIsConfigured(t *testing.T) {
	c := program.Config{Site: "hydro-north", Folder: t.TempDir(), Simulate: &program.Simulate{Scenario: spec.DefaultScenario, As: "wind-coast"}}
	for _, m := range built(t, c, nil).SideParties[protocol.SignalParty("hydro-north")].Tick(protocol.FromStdTime(time.Now())) {
		if x, ok := m.Body.(protocol.Signal); ok && x.What == protocol.GridCarbon && x.Points[0].Value < 200_000 {
			t.Errorf("its grid emits %d mg/kWh, as hydro-north's; want that of wind-coast", x.Points[0].Value)
		}
	}
}

// A configuration that gridbid site cannot run is refused with its line, and with
// the program that runs it.
func TestGridbidSiteRefusesWhatIsNotSimulated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	for sections, want := range map[string]string{
		"kubernetes: {sharing: dra}\ngrid: {price: 70, carbon: 400}\n": "site.yaml:4: kubernetes: gridbid site runs simulated sites only: for a real cluster run `cluster-agent --config FILE`",
		"queue: {kueue: {}}\n":                              "site.yaml:4: queue: gridbid site runs simulated sites only",
		"simulate: {scenario: six-regions, as: atlantis}\n": `site.yaml:4: simulate: scenario six-regions has no site "atlantis"`,
	} {
		text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\n" + sections
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := runSite([]string{"--config", file, "--check"}, &out); code != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("--check of %q = %d, %s; want %d with %q", sections, code, out.String(), exitUsage, want)
		}
	}
}

// What is checked has written nothing: a first start is no check.
func TestACheckedSiteHasNotStarted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(file, []byte("site: hydro-north\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := runSite([]string{"--config", file, "--check"}, &out); code != 0 {
		t.Fatalf("--check = %d, %s", code, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("--check made the folder of the site")
	}
}

// intensity is a Prometheus server that has the same intensity at all times.
func intensity(t *testing.T, status int) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var from, to int64
		fmt.Sscan(r.URL.Query().Get("start"), &from)
		fmt.Sscan(r.URL.Query().Get("end"), &to)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[`)
		for t := from; t <= to; t += 300 {
			if t > from {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `[%d,"0.033"]`, t)
		}
		fmt.Fprint(w, `]}]}}`)
	}))
	t.Cleanup(server.Close)
	return fmt.Sprintf("    - {tells: carbon, from: prometheus, url: %q, query: intensity, unit: kg/kWh}\n", server.URL)
}

// TestBidsFollowTheFeed runs a whole site against a market of the test's: with a
// source that answers, and with a dead one.
func TestBidsFollowTheFeed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		carbon protocol.Milligrams
		off    protocol.Milligrams
	}{{"a source that answers", 200, 33_000, 0}, {"a dead source", 500, 400_000, 400_000}} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "site.yaml")
			text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions, as: hydro-north}\ngrid:\n  price: 70\n  carbon: 400\n  sources:\n" + intensity(t, tc.status)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := program.LoadConfig(siteProgram, file)
			if err != nil {
				t.Fatal(err)
			}
			log := slog.New(slog.DiscardHandler)
			cfg := built(t, c, c.NewPoller(log))
			hub := new(membus.Bus)
			cfg.FederationBus, cfg.Log = hub, log
			ctx, cancel := context.WithCancel(t.Context())
			market, err := hub.Connect(ctx, protocol.Coordinator)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- runtime.RunSite(ctx, cfg) }()
			mouth := protocol.Sender{Party: protocol.Coordinator}
			round := uint64(0)
			call := func() {
				now := protocol.FromStdTime(time.Now())
				round++
				j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "x", GPUs: 1, Share: 1000, CPU: 1000, Run: time.Hour, Arrival: now, Deadline: now.Add(4 * time.Hour)}
				if err := market.Send(ctx, mouth.NewMessage(now, protocol.AgentParty("oslo"), protocol.CallForBids{Round: round, Closes: now.Add(time.Minute), Jobs: []protocol.Job{j}})); err != nil {
					t.Fatal(err)
				}
			}
			for m := range market.Messages() {
				o, ok := m.Body.(protocol.Bids)
				if !ok {
					if _, hello := m.Body.(protocol.RegisterSite); hello && round == 0 {
						call()
					}
					continue
				}
				if len(o.Jobs) != 1 || len(o.Jobs[0].Options) == 0 {
					t.Fatalf("it does not bid: %+v", o.Jobs)
				}
				if told := o.Grid.PriceOff[0] == 0 && o.Grid.Price[0] == 70_000; told && o.Grid.Carbon[0] == tc.carbon && o.Grid.CarbonOff[0] == tc.off {
					best := o.Jobs[0].Options[0]
					kWh := best.Energy.InKWh()
					if grams := float64(best.Carbon) / kWh; grams < 0.99*float64(tc.carbon) || grams > 1.01*float64(tc.carbon) {
						t.Errorf("an option of %.3f kWh emits %d mg; want %d mg/kWh", kWh, best.Carbon, tc.carbon)
					}
					break
				}
				time.Sleep(5 * time.Millisecond) // the feed has not told yet
				call()
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
