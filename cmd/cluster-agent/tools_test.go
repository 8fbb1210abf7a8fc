package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/protocol"
)

func TestToolsReportMissingArguments(t *testing.T) {
	none := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"gpus", "--library", none}, 1, "no NVIDIA driver library"},
		{[]string{"powercal", "--library", none, "--", "true"}, 1, "no NVIDIA driver library"},
		{[]string{"powercal", "--library", none, "--out", filepath.Join(none, "curve.json"), "--", "true"}, 1, "--out: open"},
		{[]string{"powercal", "--library", none}, 1, "want a command after --"},
		{[]string{"powercal", "--help"}, 0, "measures what a command takes"},
		{[]string{"guard"}, 1, "want --state"},
		{[]string{"powercal", "--clocks", "fast", "--library", none, "--", "true"}, 1, "no NVIDIA driver library"},
		{[]string{"node"}, 1, "--node and --state are required"},
		{[]string{"node", "--node", "a", "--state", "s", "--namespaces", "jobs, "}, 1, "want names joined by commas"},
		{[]string{"node", "--help"}, 0, "holds the GPUs"},
		{[]string{"node", "--node", "a", "--state", "s", "--every", "8s"}, 1, "at most half of --period"},
		{[]string{"node", "--node", "a", "--state", "s", "--site-ceiling", "9000"}, 1, "--budget"},
		{[]string{"node", "--node", "a", "--state", "s", "--idle-clocks", "low"}, 1, "want keep or lowest"},
		{[]string{"node", "--node", "a", "--state", "s", "--ceiling", "-1"}, 1, "want watts"},
		{[]string{"node", "--node", "a", "--state", "s", "--log-format", "xml"}, 1, "text or json"},
		{[]string{"node", "--node", "a", "--state", "s", "--curves", "a.json", "b.json", "--ceiling", "2000"}, 1, `unknown argument "b.json"`},
		{[]string{"guard", "on", "--state", "s"}, 1, `unknown argument "on"`},
	} {
		var out strings.Builder
		if code := runCommand(tc.args, &out); code != tc.code || !strings.Contains(out.String(), tc.want) {
			t.Errorf("cluster-agent %v = %d, %q; want %d and %q", tc.args, code, out.String(), tc.code, tc.want)
		}
	}
}

// bounds is a device that knows its limits and nothing else.
type bounds struct{ nvml.Device }

func (bounds) PowerLimits() (nvml.Limits, error) {
	return nvml.Limits{Least: 200_000, Most: 700_000, Default: 600_000, Now: 600_000}, nil
}

// silent is a device that has fallen silent since it was found.
type silent struct{ nvml.Device }

func (silent) Index() int                                { return 0 }
func (silent) UUID() string                              { return "GPU-0" }
func (silent) Model() string                             { return "H100" }
func (silent) ReadSensors() (nvml.Reading, error)        { return nvml.Reading{}, nvml.ErrLost }
func (silent) MIGInstances() ([]nvml.MIGInstance, error) { return nil, nil }

// answers is a device that answers.
type answers struct{ silent }

func (answers) Index() int                         { return 1 }
func (answers) ReadSensors() (nvml.Reading, error) { return nvml.Reading{}, nil }
func (answers) PowerLimits() (nvml.Limits, error)  { return bounds{}.PowerLimits() }

func TestUnreadableGPUHidesNoOther(t *testing.T) {
	cards, err := readDevices([]nvml.Device{silent{}, answers{}})
	if !errors.Is(err, nvml.ErrLost) || len(cards) != 1 || cards[0].Index != 1 || cards[0].Limits.Default != 600_000 {
		t.Errorf("look = %+v, %v", cards, err)
	}
}

func TestWattsAreReadOrStepDown(t *testing.T) {
	for _, tc := range []struct {
		list string
		want []protocol.Milliwatts
	}{
		{"500, 350.5", []protocol.Milliwatts{500_000, 350_500}},
		{"", []protocol.Milliwatts{200_000, 300_000, 400_000, 500_000}},
		{"500,x", nil}, {"-5", nil}, {"NaN", nil}, {"1e9", nil}, {",", nil},
	} {
		got, err := parseWatts(tc.list, bounds{})
		if !slices.Equal(got, tc.want) && tc.want != nil || (err == nil) != (tc.want != nil) {
			t.Errorf("parseWatts(%q) = %v, %v; want %v", tc.list, got, err, tc.want)
		}
	}
}

func TestClocksAreRead(t *testing.T) {
	for list, want := range map[string][]int{"1500, 900": {1500, 900}, "": nil} {
		if got, err := parseClocks(list); !slices.Equal(got, want) || err != nil {
			t.Errorf("parseClocks(%q) = %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"fast", "0", "1500,", "99999"} {
		if got, err := parseClocks(list); err == nil {
			t.Errorf("parseClocks(%q) = %v", list, got)
		}
	}
}

// A site's own curve takes the place of what the table assumes.
func TestCurvesReplaceTheTablesFigures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curve.json")
	text := `{"schema":1,"device":"NVIDIA H100 80GB HBM3","uuid":"GPU-1","driver":"580","command":["train"],"at":"2026-01-02T12:00:00Z","idle_mw":66000,
		"default_limit_mw":700000,"points":[{"limit_mw":700000,"seconds":100,"joules":60000,"runs":3},{"limit_mw":400000,"clock_mhz":1200,"seconds":110,"joules":44000,"runs":3}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := withCurves(power.DefaultTable(), map[string]string{"H100": file})
	if g, _ := got.LookupModel("H100"); err != nil || g.Idle != 66_000 || g.Load != 600_000 || len(g.Caps) != 1 || g.Assumed {
		t.Errorf("withCurves = %+v, %v", g, err)
	}
	if _, err := withCurves(power.DefaultTable(), map[string]string{"Abacus": file}); err == nil || !strings.Contains(err.Error(), "Abacus") {
		t.Errorf("an unknown model: %v", err)
	}
	clock, err := nodeOptions{curves: file}.clockByCap()
	if err != nil || clock("NVIDIA H100 80GB HBM3", 400_000) != 1200 || clock("NVIDIA H100 80GB HBM3", 700_000) != 0 || clock("other", 400_000) != 0 {
		t.Errorf("clocks: %v", err)
	}
}

// A product must be mapped to a known model, or its nodes would never be offered.
func TestUnknownModelIsRefused(t *testing.T) {
	c := program.Config{Site: "oslo", Grid: new(program.Grid), Kubernetes: &program.Kubernetes{Sharing: "dra", Models: map[string]string{"Acme-X1": "H100", "Acme-X2": "H10O"}}}
	if _, err := buildSite(c, nil, nil); err == nil || !strings.Contains(err.Error(), `models: Acme-X2: "H10O" is not in the power table: want one of A10,`) {
		t.Errorf("%v", err)
	}
	c.Kubernetes.Power = map[string]program.GPU{"H10O": {Idle: 20, Load: 10, Limit: 300, Speed: 1}}
	if _, err := buildSite(c, nil, nil); err == nil || !strings.Contains(err.Error(), `gpu "H10O": idle`) {
		t.Errorf("a GPU that draws more without work than with it: %v", err)
	}
}

// An API server that is started anew is silent for a while, and what runs there runs on.
func TestAbandonTimeHasAMinimum(t *testing.T) {
	for _, abandon := range []string{"1s", "59s", "-10m", "10"} {
		c := program.Config{Site: "oslo", Grid: new(program.Grid), Kubernetes: &program.Kubernetes{Sharing: "dra", Abandon: abandon}}
		if _, err := buildSite(c, nil, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("abandon: %q", abandon)) {
			t.Errorf("abandon: %s: %v", abandon, err)
		}
	}
}
