package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

func TestToolsSayWhatTheyMiss(t *testing.T) {
	none := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"gpus", "--library", none}, 1, "no NVIDIA driver library"},
		{[]string{"powercal", "--library", none, "--", "true"}, 1, "no NVIDIA driver library"},
		{[]string{"powercal", "--library", none}, 1, "want a command after --"},
		{[]string{"powercal", "--help"}, 0, "measures what a command takes"},
		{[]string{"guard"}, 1, "want --state"},
	} {
		var out strings.Builder
		if code := run(tc.args, &out); code != tc.code || !strings.Contains(out.String(), tc.want) {
			t.Errorf("cluster-agent %v = %d, %q; want %d and %q", tc.args, code, out.String(), tc.code, tc.want)
		}
	}
}

// bounds is a device that knows its limits and nothing else.
type bounds struct{ nvml.Device }

func (bounds) Limits() (nvml.Limits, error) {
	return nvml.Limits{Least: 200_000, Most: 700_000, Default: 600_000, Now: 600_000}, nil
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
