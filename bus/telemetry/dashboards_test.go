package telemetry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gridbid/gridbid/bus/natsbus"
)

// Every metric that a dashboard of deploy/ asks for is one of ours, under the
// labels that it has.
func TestDashboardsAskForWhatThereIs(t *testing.T) {
	x, err := New(t.Context(), Config{Who: "coordinator"})
	if err != nil {
		t.Fatal(err)
	}
	x.registry.MustRegister(droppedCollector{new(natsbus.Bus)})
	x.RegisterSignals(nil)
	x.RegisterAgent(nil)
	known := names(t, x.registry)
	files, err := filepath.Glob("../../deploy/chart/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no dashboards", err)
	}
	name, by, label := regexp.MustCompile(`[a-z_][a-z0-9_]*\{`), regexp.MustCompile(`by \(([^)]*)\)`), regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				asked := name.FindAllString(q.Expr, -1)
				if len(asked) == 0 {
					t.Errorf("%s: %s asks for no metric: %s", file, p.Title, q.Expr)
				}
				for _, m := range asked {
					labels, ok := known[strings.TrimSuffix(m, "{")]
					if !ok {
						t.Errorf("%s: %s asks for %s, which no metric has", file, p.Title, m)
						continue
					}
					for _, g := range by.FindAllStringSubmatch(q.Expr, -1) {
						for _, l := range strings.Split(g[1], ",") {
							if l = strings.TrimSpace(l); l != "le" && !labels[l] {
								t.Errorf("%s: %s groups %s by %s, which it lacks", file, p.Title, m, l)
							}
						}
					}
					for _, l := range label.FindAllStringSubmatch(q.LegendFormat, -1) {
						if !labels[l[1]] && l[1] != "instance" {
							t.Errorf("%s: %s calls its lines by %s, which %s lacks", file, p.Title, l[1], m)
						}
					}
				}
			}
		}
	}
}

// names returns the metrics of a registry, as they are asked for, and their labels.
func names(t *testing.T, r *prometheus.Registry) map[string]map[string]bool {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { r.Describe(descs); close(descs) }()
	row := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	out := make(map[string]map[string]bool)
	for d := range descs {
		m := row.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a description of another form: %s", d)
		}
		labels := make(map[string]bool)
		for _, l := range strings.Split(m[2], ",") {
			labels[strings.TrimSpace(l)] = true
		}
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			out[m[1]+suffix] = labels
		}
	}
	return out
}
