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
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// written writes a configuration with sources, and returns its file.
func written(t *testing.T, sources string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions, as: hydro-north}\ngrid:\n  price: 70\n  carbon: 400\n  sources:\n" + sources
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSourcesAreCheckedWithTheirLine(t *testing.T) {
	t.Setenv("SIGNALS_KEY", "hush")
	for _, tc := range []struct{ source, want string }{
		{"    - {tells: carbon, from: electricity-maps, zone: NO-NO1, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: price, from: uk-carbon}\n", "agent.yaml:9: grid/sources/0/tells: is \"price\"; uk-carbon tells carbon"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: eia, zone: PJM, key_file: none}\n", "agent.yaml:10: grid/sources/1/key_file"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", "agent.yaml:10: grid/sources/1/from: marginal and mean"},
		{"    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: carbon, from: tarot}\n", "agent.yaml:9: grid/sources/0/from"},
		{"    - {tells: carbon, from: uk-carbon, rite: 2}\n", "agent.yaml:9: grid/sources/0/rite: unknown key"},
	} {
		var out strings.Builder
		code := run([]string{"--config", written(t, tc.source), "--check"}, &out)
		if (code == 0) != (tc.want == "") || !strings.Contains(out.String(), tc.want) || strings.Contains(out.String(), "hush") {
			t.Errorf("--check of %q = %d, %s; want %q", tc.source, code, out.String(), tc.want)
		}
	}
}

// Sections that do not go together are refused with their line, not passed over: a hub
// has no energy, a cluster has, and a scenario has no queue.
func TestSectionsThatDoNotGoTogetherAreToldWithTheirLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for sections, want := range map[string]string{
		"queue: {kueue: {}}\n":                                            "",
		"queue: {kueue: {}}\ngrid: {price: 70, carbon: 400}\n":            "agent.yaml:5: grid: a hub that has queue alone",
		"kubernetes: {sharing: dra}\n":                                    "agent.yaml:4: kubernetes: needs grid",
		"simulate: {scenario: six-regions, as: hydro-north}\nqueue: {}\n": "agent.yaml:5: queue: needs a real cluster",
	} {
		text := "site: hub\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\n" + sections
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load(file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", sections, err, want)
		}
	}
}

// What a queue beside a cluster would not heed is refused, not passed over.
func TestAQueueBesideAClusterLooksInThatCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for queue, want := range map[string]string{
		"{}": "", "{namespaces: [inbox]}": "agent.yaml:6: queue: kubeconfig and namespaces are of a hub", "{kubeconfig: other}": "agent.yaml:6: queue: kubeconfig and namespaces are of a hub",
	} {
		text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid: {price: 70, carbon: 400}\nqueue: " + queue + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load(file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("queue: %s: %v; want %q", queue, err, want)
		}
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
			c, err := load(written(t, intensity(t, tc.status)))
			if err != nil {
				t.Fatal(err)
			}
			s, err := spec.Load(c.Simulate.Scenario, spec.Options{})
			if err != nil {
				t.Fatal(err)
			}
			log := slog.New(slog.DiscardHandler)
			cfg, err := simulate(c, s, c.feed(log))
			if err != nil {
				t.Fatal(err)
			}
			hub := new(membus.Hub)
			cfg.Far, cfg.Log = hub, log
			ctx, cancel := context.WithCancel(t.Context())
			market, err := hub.Join(ctx, protocol.Coordinator)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- runtime.Run(ctx, cfg) }()
			mouth := protocol.Mouth{Who: protocol.Coordinator}
			round := uint64(0)
			call := func() {
				now := protocol.At(time.Now())
				round++
				j := protocol.Job{ID: "x", GPUs: 1, Share: 1000, CPU: 1000, Run: time.Hour, Arrival: now, Deadline: now.Add(4 * time.Hour)}
				if err := market.Say(ctx, mouth.Say(now, protocol.Agent("oslo"), protocol.Call{Round: round, Closes: now.Add(time.Minute), Jobs: []protocol.Job{j}})); err != nil {
					t.Fatal(err)
				}
			}
			for m := range market.Heard() {
				o, ok := m.Body.(protocol.Offer)
				if !ok {
					if _, hello := m.Body.(protocol.Hello); hello && round == 0 {
						call()
					}
					continue
				}
				if len(o.Jobs) != 1 || len(o.Jobs[0].Options) == 0 {
					t.Fatalf("it does not bid: %+v", o.Jobs)
				}
				if told := o.Grid.PriceOff[0] == 0 && o.Grid.Price[0] == 70_000; told && o.Grid.Carbon[0] == tc.carbon && o.Grid.CarbonOff[0] == tc.off {
					best := o.Jobs[0].Options[0]
					kWh := best.Energy.KWh()
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
