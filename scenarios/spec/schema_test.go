package spec_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// smallest is a scenario that is all right; tests break it.
const smallest = `name: small
start: 2026-01-02T00:00:00Z
sites:
  - name: here
    region: {price: {mean: 50, swing: 20}, carbon: {mean: 300, swing: 100}, match: 0.5}
    fleet: [{count: 2, model: T4, gpus: 2, cpu: 16, memory: 64}]
jobs: {count: 5}
`

// file writes text as a scenario.yaml and returns its folder.
func file(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// manySites is the smallest scenario with n sites.
func manySites(n int) string {
	head, rest, _ := strings.Cut(smallest, "  - name: here\n")
	site, tail, _ := strings.Cut(rest, "jobs:")
	for i := range n {
		head += fmt.Sprintf("  - name: site-%d\n", i) + site
	}
	return head + "jobs:" + tail
}

func TestAScenarioMayHaveAThousandSites(t *testing.T) {
	s, err := spec.LoadScenario(file(t, manySites(1000)), spec.Options{})
	if err != nil || len(s.Sites) != 1000 {
		t.Errorf("%d sites: %v", len(s.Sites), err)
	}
}

func TestAScenarioThatIsWrongIsRefusedWithItsLine(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(smallest, old, new, 1) }
	for _, tc := range []struct{ name, text, want string }{
		{"an outage that ends before it starts", swap("    fleet:", "    outages: [{from: 2026-01-02T12:00:00Z, to: 2026-01-02T11:00:00Z}]\n    fleet:"), "want an end after the start"},
		{"terms that exclude an own tenant", swap("    fleet:", "    terms: {own: [a], exclude: [b, a]}\n    fleet:"), ":6: sites/0/terms/exclude/1: a is in own, too"},
		{"hours of no day", swap("    fleet:", "    terms: {hours: [{days: [someday], from: \"20:00\", to: \"06:00\"}]}\n    fleet:"), "sites/0/terms/hours/0/days/0"},
		{"quotas beyond the fleets", smallest + "quotas: [{name: a, min: 4}, {name: b, min: 5000}]\n", ":8: quotas: guarantees 5004 GPUs together, and there are"},
		{"quotas beyond a model", smallest + "quotas: [{name: a, models: {B200: {min: 4}}}]\n", ":8: quotas: guarantees 4 GPUs of B200 together, and there are 0"},
		{"a quota of a model that lends what it lacks", smallest + "quotas:\n  - name: a\n    models:\n      V100: {min: 1, lend: 2}\n", ":11: quotas/0/models/V100/lend: it lends more than its min of 1"},
		{"a quota twice", smallest + "quotas:\n  - {name: a}\n  - {name: a}\n", ":10: quotas/1/name: a has two quotas"},
		{"a quota below its children", smallest + "quotas:\n  - {name: g, min: 1}\n  - {name: a, parent: g, min: 2}\n", ":9: quotas/0/min: g is guaranteed 1 GPUs and its children 2"},
		{"a quota that lends what it lacks", smallest + "quotas: [{name: a, min: 1, lend: 2}]\n", ":8: quotas/0/lend: it lends more than its min of 1"},
		{"a quota of nothing", smallest + "quotas: [{name: a, max: 0.0001}]\n", ":8: quotas/0/max: a max of 0"},
		{"outages that overlap", swap("    fleet:", "    outages: [{from: 2026-01-02T01:00:00Z, to: 2026-01-02T03:00:00Z}, {from: 2026-01-02T02:00:00Z, to: 2026-01-02T04:00:00Z}]\n    fleet:"), "each outage after the one before"},
		{"an outage of another year", swap("    fleet:", "    outages: [{from: 2025-01-02T01:00:00Z, to: 2025-01-02T03:00:00Z}]\n    fleet:"), ":6: sites/0/outages: from \"2025-01-02T01:00:00Z\" to \"2025-01-02T03:00:00Z\": want it while jobs run"},
		{"an outage of a year to come", swap("    fleet:", "    outages: [{from: 2027-01-02T01:00:00Z, to: 2027-01-02T03:00:00Z}]\n    fleet:"), "sites/0/outages: from"},
		{"a bid of nothing", swap("    fleet:", "    bids: {price: 0}\n    fleet:"), "price"},
		{"nothing", "", "empty: want a scenario"},
		{"no YAML", "a: [", "correct the YAML"},
		{"a list", "- a", ":1: is array: want object"},
		{"an unknown key", smallest + "colour: red\n", ":8: colour: unknown key: want about, carbon, end, events, expect, imports, jobs, lag_hours, name,"},
		{"an unknown key deep down", swap("match: 0.5}", "match: 0.5, tide: 3}"), ":5: sites/0/region/tide: unknown key: want carbon, match, peak, price"},
		{"an unknown key of a fleet", swap("memory: 64", "memory: 64, gpu: 1"), `:6: sites/0/fleet/0/gpu: unknown key (did you mean "gpu_memory", "gpus" or "cpu"?): want count, cpu, gpu_memory, gpus`},
		{"a key twice", smallest + "name: other\n", ":8: name: appears twice"},
		{"a word for a number", swap("swing: 20", "swing: much"), ":5: sites/0/region/price/swing: is string: want number"},
		{"a number that is none", swap("swing: 20", "swing: .nan"), ":5: sites/0/region/price/swing: is .nan: want a finite number"},
		{"a fraction of a node", swap("count: 2", "count: 2.5"), ":6: sites/0/fleet/0/count: is number: want integer"},
		{"too many GPUs", swap("gpus: 2", "gpus: 9"), ":6: sites/0/fleet/0/gpus: is too large: want at most 8"},
		{"the former price of waiting", smallest + "weights: {delay: 1}\n", ":8: weights/delay: unknown key: want kappa, late, late_most, preset, wait_flexible,"},
		{"an unknown preset", smallest + "weights: {preset: cheap}\n", ":8: weights/preset: is cheap: want one of default free-waiting"},
		{"a negative kappa", smallest + "weights: {kappa: -1}\n", ":8: weights/kappa: is too small: want at least 0"},
		{"a correlation over one", swap("match: 0.5", "match: 1.5"), ":5: sites/0/region/match: is too large: want at most 1"},
		{"a name in capitals", swap("name: here", "name: Here"), `:4: sites/0/name: is "Here": want a name of small letters`},
		{"half an hour", swap("T00:00:00Z", "T00:30:00Z"), `:2: start: is "2026-01-02T00:30:00Z": want a whole hour`},
		{"a start before all clocks", swap("2026-01-02", "0001-01-02"), `:2: start: is 0001-01-02T00:00:00Z: want 1970-01-02 or later`},
		{"a day that does not exist", swap("2026-01-02", "2026-02-31"), `:2: start: is "2026-02-31T00:00:00Z": want an existing date`},
		{"an end before the start", smallest + "end: 2026-01-01T00:00:00Z\n", ":8: end: is 2026-01-01T00:00:00Z with start 2026-01-02T00:00:00Z: want it after"},
		{"an unknown policy", smallest + "policies: [auction, luck]\n", ":8: policies/1: is luck: want one of auction auction/own auction/perfect auction/wrong auction/none auction/learned auction/runtimes auction-now chance greensched home-fifo"},
		{"a policy twice", smallest + "policies: [auction, auction]\n", ":8: policies: has an item twice (1 and 2)"},
		{"no jobs", swap("jobs: {count: 5}", "seed: 2"), ":1: lacks jobs: add it"},
		{"two kinds of jobs", swap("count: 5", "count: 5, trace: x.csv"), ":7: jobs: want one of trace, count and list"},
		{"invented jobs from a second", swap("count: 5", "count: 5, from: 3"), ":7: jobs: from, max, columns and one_node belong to a trace"},
		{"listed jobs that should grow", swap("count: 5", "list: [{id: a, gpus: 8, run: 1h}], gangs: {share: 0.5}"), ":7: jobs: deferrable, flexible, resident, input and pausable draw traits of jobs, gangs lets them grow, and elastic lets them scale"},
		{"gangs without a share", swap("count: 5", "count: 5, gangs: {mean: 20}"), ":7: jobs/gangs"},
		{"gangs beyond all jobs", swap("count: 5", "count: 5, gangs: {share: 1.5}"), ":7: jobs/gangs/share"},
		{"a scale of nothing", smallest + "nodes: {file: x, scale: 0}\n", ":8: nodes/scale: is neither auto nor a number"},
		{"more sites than a federation may have", manySites(1001), "sites: is too long: shorten it"},
		{"a site twice", smallest + "# \n", ""},
		{"no sites", "name: a\njobs: {count: 1}\n", ":1: no sites: name some, or a window"},
		{"a site without a grid", strings.ReplaceAll(smallest, "    region", "    #"), ":4: sites/0: here has no grid: add a region"},
		{"a site without a fleet", strings.ReplaceAll(smallest, "    fleet", "    #"), ":4: sites/0: here has no fleet: add one"},
		{"more nodes than memory", swap("fleet: [{count: 2, ", "fleet: ["+strings.Repeat("{count: 10000, cpu: 1, memory: 1}, ", 20)+"{count: 2, "), ":6: sites/0/fleet: over 200000 nodes in all"},
		{"GPUs of no model", swap("model: T4, ", ""), ":6: sites/0/fleet/0: gpus and model go together"},
		{"GPUs of an unknown model", swap("model: T4", "model: A6000"), `:6: sites/0/fleet/0/model: unknown GPU model "A6000"`},
		{"no start", swap("start", "#"), ":1: lacks start: add it, or a window"},
		{"an alias", "a: &x 1\nb: *x\n", ":2: b: an alias: write the value out"},
		{"nothing for a section", smallest + "nodes:\n", ":8: nodes: is null: want object"},
		{"deep nesting", "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper than 16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := spec.LoadScenario(file(t, tc.text), spec.Options{})
			if tc.want == "" {
				if err != nil {
					t.Errorf("Load = %v; want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Load = %v; want an error with %q", err, tc.want)
			}
		})
	}
}

func TestAllFaultsAreToldAtOnceInTheOrderOfTheirLines(t *testing.T) {
	text := strings.Replace(smallest, "swing: 20", "swing: -1", 1) + "colour: red\nseed: -4\n"
	err := spec.CheckSyntax(file(t, text))
	if err == nil {
		t.Fatal("Check = nil; want three faults")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], ":5:") || !strings.Contains(lines[1], ":8:") || !strings.Contains(lines[2], ":9:") {
		t.Errorf("Check = %q; want faults of lines 5, 8 and 9", lines)
	}
}

// Dates of a file are checked without its data files.
func TestDatesAreCheckedWithoutData(t *testing.T) {
	for old, tc := range map[string]struct{ text, want string }{
		"start: 2026-01-02": {"start: 2026-02-30", `start: is "2026-02-30T00:00:00Z": want an existing date`},
		"jobs:":             {"end: 2026-01-01T00:00:00Z\njobs:", "want it after start, by at most 31 days"},
		"    fleet:":        {"    outages: [{from: 2026-01-02T09:00:00Z, to: 2026-01-02T08:00:00Z}]\n    fleet:", "sites/0/outages: from"},
	} {
		if err := spec.CheckSyntax(file(t, strings.Replace(smallest, old, tc.text, 1))); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Check with %q = %v; want %q", tc.text, err, tc.want)
		}
	}
}

func TestTwoSitesMayNotShareAName(t *testing.T) {
	text := strings.Replace(smallest, "jobs:", `  - name: here
    region: {price: {mean: 50, swing: 20}, carbon: {mean: 300, swing: 100}, match: 0.5}
    fleet: [{count: 1, cpu: 16, memory: 64}]
jobs:`, 1)
	if _, err := spec.LoadScenario(file(t, text), spec.Options{}); err == nil || !strings.Contains(err.Error(), ":7: sites/1/name: duplicate site name here") {
		t.Errorf("Load = %v; want a duplicate site name", err)
	}
}

func TestWhatIsNotThereIsSaidWithWhatThereIs(t *testing.T) {
	_, err := spec.LoadScenario("no-such-place", spec.Options{})
	if err == nil || !strings.Contains(err.Error(), "one of six-regions, real-days/") {
		t.Errorf("Load = %v; want the list of scenarios", err)
	}
	_, err = spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no such file: put it there, or name the data folder (--data DIR") {
		t.Errorf("Load without data = %v; want what to do", err)
	}
	if _, err := spec.LoadWindow(spec.Options{}); err == nil {
		t.Error("Window of nothing = nil; want an error")
	}
}

// Every shipped scenario follows the published schema, by a reader of its own.
func TestShippedScenariosFollowThePublishedSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(spec.ScenarioSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	list := spec.ShippedNames()
	if len(list) < 11 || list[0] != "six-regions" {
		t.Fatalf("List = %q; want six-regions and ten real days", list)
	}
	for _, name := range list {
		_, text, _, err := spec.ScenarioSource(name)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "start: 2026-03-11T00:00:00Z", `start: "2026-03-11T00:00:00Z"`)), &plain); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(inst); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := spec.CheckSyntax(name); err != nil {
			t.Errorf("Check(%s) = %v", name, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add([]byte(listed))
	f.Add([]byte(strings.NewReplacer("placed: {site: oslo, by: 10m}", "running: {at: 1h, count: 1, site: oslo}", "waits: {until: 2h, why: waiting}", "nodes: 2", "site_down: oslo, for: 1m", "cancel: a").Replace(listed)))
	f.Add([]byte(strings.NewReplacer("{job: a, placed: {site: oslo, by: 10m}}", "{never: [{job: a, node: oslo-1-t4-02}, {job: b}]}", "waits: {until: 2h, why: waiting}", "refused: {why: fits-no-node, by: 1m}").Replace(listed)))
	f.Add([]byte("name: x\nwindow: {file: w.csv}\nnodes: {file: n, scale: 0.5}\njobs: {trace: j}\n"))
	f.Add([]byte("a: &x [1]\nb: *x\n? [c]\n: d\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "s.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spec.CheckSyntax(path); err != nil && !strings.HasPrefix(err.Error(), "spec: ") {
			t.Errorf("error %q does not name the package", err)
		}
	})
}

func TestTheExampleOfTheDocsFollowsTheSchema(t *testing.T) {
	doc, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/scenarios.md has no example")
	}
	if err := spec.CheckSyntax(file(t, example)); err != nil {
		t.Errorf("Check of the example = %v", err)
	}
}

// One row is a series that ends after an hour, and no constant: pue is for that.
func TestASeriesOfOneHourIsNoConstant(t *testing.T) {
	dir := tiny(t)
	if err := os.WriteFile(filepath.Join(dir, "pue.csv"), []byte("time_utc,pue\n2030-01-01T00:00:00Z,1.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "name: tiny\nwindow: {file: w.csv}\nnodes: {file: n.csv, scale: 1}\njobs: {trace: j.csv, from: 0}\n" +
		"sites: [{name: one, zone: DE, signals: {pue: {file: pue.csv, column: pue}}}]\n"
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spec.LoadScenario(dir, spec.Options{}); err == nil || !strings.Contains(err.Error(), "one: pue is given for 2030-01-01T00:00:00Z..") {
		t.Errorf("a PUE of one hour of 2030: %v; want the hours that are wanted", err)
	}
}

// The series that bids do not go by is accounted for all the same.
func TestAverageIntensityIsOfTheDayThoughBidsGoByTheMarginal(t *testing.T) {
	dir := tiny(t)
	text := "name: tiny\nwindow: {file: w.csv}\nnodes: {file: n.csv, scale: 1}\njobs: {trace: j.csv, from: 0}\n" +
		"sites: [{name: one, zone: DE, signals: {carbon: {file: old.csv, column: g}, marginal: {file: p.csv, column: usd}}}]\n"
	for name, text := range map[string]string{"scenario.yaml": text, "old.csv": "time_utc,g\n" + strings.Join(hours("2021-01", 48, "300"), "")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for carbon, want := range map[string]string{"": "one: carbon is given for 2021-01-01T00:00:00Z..", spec.ByMarginal: "one: average is given for 2021-01-01T00:00:00Z.."} {
		if _, err := spec.LoadScenario(dir, spec.Options{Carbon: carbon}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("intensities of the year before, bids by %q: %v; want %q", carbon, err, want)
		}
	}
}
