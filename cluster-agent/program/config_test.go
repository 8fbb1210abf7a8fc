package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
)

// written writes a configuration with sources, and returns its file.
func written(t *testing.T, sources string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid:\n  price: 70\n  carbon: 400\n  sources:\n" + sources
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSourcesAreCheckedWithTheirLine(t *testing.T) {
	t.Setenv("SIGNALS_KEY", "hush")
	for _, tc := range []struct{ source, want string }{
		{"    - {tells: carbon, from: electricity-maps, zone: NO-NO1, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: price, from: uk-carbon}\n", "agent.yaml:9: grid/sources/0/tells: is \"price\"; uk-carbon provides carbon"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: eia, zone: PJM, key_file: none}\n", "agent.yaml:10: grid/sources/1/key_file"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", "agent.yaml:10: grid/sources/1/from: watttime reports marginal carbon"},
		{"    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: price, from: csv, file: real.csv, unit: USD/MWh, market: real-time}\n    - {tells: price, from: csv, file: ahead.csv, unit: USD/MWh, forecast: true, published: 18, ends: 5}\n", ""},
		{"    - {tells: price, from: csv, file: ahead.csv, unit: USD/MWh, forecast: true}\n", "agent.yaml:9: grid/sources/0/forecast: no other source reports the price that this one forecasts"},
		{"    - {tells: price, from: csv, file: ahead.csv, unit: USD/MWh, published: 18}\n", "agent.yaml:9: grid/sources/0/published: is for forecasts: add forecast: true"},
		{"    - {tells: price, from: csv, file: ahead.csv, unit: USD/MWh, forecast: true, published: 24}\n", "agent.yaml:9: grid/sources/0/published: is too large: want at most 23"},
		{"    - {tells: carbon, from: tarot}\n", "agent.yaml:9: grid/sources/0/from"},
		{"    - {tells: carbon, from: uk-carbon, rite: 2}\n", "agent.yaml:9: grid/sources/0/rite: unknown key"},
	} {
		_, err := LoadConfig("cluster-agent", written(t, tc.source))
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("Load of %q = %v; want %q", tc.source, err, tc.want)
		}
	}
}

// Sections that do not go together are refused with their line, not passed over: a hub
// has no energy, a cluster has, and a scenario has no queue.
func TestConflictingSectionsAreReportedWithTheirLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for sections, want := range map[string]string{
		"queue: {kueue: {}}\n":                                            "",
		"queue: {kueue: {}}\ngrid: {price: 70, carbon: 400}\n":            "agent.yaml:5: grid: a hub with only a queue",
		"queue: {kueue: {}}\nterms: {own: [a]}\n":                         "agent.yaml:5: terms: a hub with only a queue",
		"kubernetes: {sharing: dra}\n":                                    "agent.yaml:4: kubernetes: needs a section grid",
		"simulate: {scenario: six-regions, as: hydro-north}\nqueue: {}\n": "agent.yaml:5: queue: a queue needs a real cluster",
	} {
		text := "site: hub\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\n" + sections
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig("cluster-agent", file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", sections, err, want)
		}
	}
}

// The terms of a site are read with its configuration, and a fault in them has its line.
func TestTermsAreReadWithTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for terms, want := range map[string]string{
		"terms: {own: [us], exclude: [rival], most_gpus: 16}\n":                                    "",
		"terms: {serve: [a]}\n":                                                                    "",
		"terms:\n  hours:\n  - {from: \"20:00\", to: \"06:00\", days: [mon, fri]}\n":               "",
		"terms:\n  own: [us]\n  exclude: [rival, us]\n":                                            "agent.yaml:8: terms/exclude/1: us is in own, too",
		"terms:\n  hours:\n  - {from: \"20:00\", to: \"06:00\"}\n  - {from: 8pm, to: \"06:00\"}\n": "agent.yaml:9: terms/hours/1/from",
		"terms: {most: 16}\n":      "agent.yaml:6: terms/most: unknown key",
		"terms: {most_gpus: -1}\n": "agent.yaml:6: terms/most_gpus",
		"terms: {}\n":              "agent.yaml:6: terms",
	} {
		text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid: {price: 70, carbon: 400}\n" + terms
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig("cluster-agent", file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", terms, err, want)
		}
		if site := c.SiteTerms(); err == nil && site.IsZero() {
			t.Errorf("%q: the terms are empty", terms)
		}
	}
}

// The table of GPUs is open: a site adds models and replaces figures.
func TestASiteHasGPUsOfItsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\ngrid: {price: 70, carbon: 400, nodes_sleep: true}\nkubernetes:\n  sharing: dra\n  power:\n" +
		"    X900: {idle: 25, load: 240, limit: 320, speed: 1.85, caps: [{limit: 256, speed: 0.965, energy: 0.948}]}\n    L40S: {idle: 30, load: 250, limit: 350, speed: 1.5}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig("cluster-agent", file)
	if err != nil || !c.Grid.NodesSleep {
		t.Fatalf("nodes_sleep %t, %v", c.Grid != nil && c.Grid.NodesSleep, err)
	}
	table, err := c.Kubernetes.PowerTable()
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := table.LookupModel("X900"); !ok || g.Load != 240_000 || g.Speed != 1850 || len(g.Caps) != 1 || g.Caps[0] != (power.Cap{Limit: 256_000, Speed: 965, Energy: 948}) {
		t.Errorf("X900 is %+v", g)
	}
	if g, _ := table.LookupModel("L40S"); g.Load != 250_000 || g.Assumed || len(g.Caps) != 0 {
		t.Errorf("L40S is %+v", g)
	}
	if _, ok := table.LookupModel("H100"); !ok {
		t.Error("the built-in models are gone")
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "speed: 1.5", "sped: 1.5", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadConfig("cluster-agent", file); err == nil || !strings.Contains(err.Error(), "kubernetes/power/L40S") {
		t.Errorf("a key that is misspelt: %v", err)
	}
}

// What a queue beside a cluster would not heed is refused, not passed over.
func TestQueueUsesTheSitesCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for queue, want := range map[string]string{
		"{}": "", "{namespaces: [inbox]}": "agent.yaml:6: queue: kubeconfig and namespaces are for a hub", "{kubeconfig: other}": "agent.yaml:6: queue: kubeconfig and namespaces are for a hub",
	} {
		text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid: {price: 70, carbon: 400}\nqueue: " + queue + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig("cluster-agent", file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("queue: %s: %v; want %q", queue, err, want)
		}
	}
}

// The rule that forecasts prices is that of the market in which power is paid, and not that of a
// day-ahead series which forecasts it.
func TestPricesAreForecastAsThoseOfTheMarketThatIsPaid(t *testing.T) {
	const real, ahead = "    - {tells: price, from: csv, file: real.csv, unit: USD/MWh, market: real-time}\n", "    - {tells: price, from: csv, file: ahead.csv, unit: USD/MWh, forecast: true}\n"
	for _, sources := range []string{real + ahead, ahead + real, real} {
		c, err := LoadConfig("cluster-agent", written(t, sources))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Grid.ForecastConfig().Price; got != forecast.Steady {
			t.Errorf("prices of\n%s are forecast by %q; want %q", sources, got, forecast.Steady)
		}
	}
}
