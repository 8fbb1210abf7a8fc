package learned

import (
	"math"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/internal/net"
)

// fileOf returns weights of a net of one layer, all zero but those of some inputs.
func fileOf(weights map[string]float64) net.File {
	f := net.File{Name: Name, Features: InputNames(), Net: *net.New(Inputs, 1)}
	for i, name := range f.Features {
		f.Layers[0].Weights[i] = weights[name]
	}
	return f
}

// threeOptions is an observation of options that cost the same, a tenth and two tenths more; the last
// starts now. The first one's room is gone.
func threeOptions() (o Observation) {
	for i := range 3 {
		f := features{row: o.optionRow(i)}
		f.put(1)
		f.put(float64(i) / 10)
		o.optionRow(i)[inTimeFeature] = 1
		o.Mask[i] = 1
	}
	o.optionRow(2)[9] = 1
	o.Mask[0], o.Mask[Hold] = 0, 1
	return o
}

func TestTheBestAllowedActionIsChosen(t *testing.T) {
	for _, tc := range []struct {
		why     string
		weights map[string]float64
		want    int
	}{
		{"nothing learned: the cheapest that is allowed", nil, 1},
		{"a start now is worth more than its cost", map[string]float64{"starts_now": 6}, 2},
		{"a start now is not worth its cost", map[string]float64{"starts_now": 4}, 1},
		{"any option is worse than to hold", map[string]float64{"valid": -7}, Hold},
		{"no worth is a number", map[string]float64{"valid": math.NaN(), "job_gpus": math.NaN()}, Hold},
		{"one worth is beyond all numbers", map[string]float64{"starts_now": math.Inf(-1)}, Hold},
	} {
		f, o := fileOf(tc.weights), threeOptions()
		c := newChooser(f)
		if got := c.choose(&o); got != tc.want {
			t.Errorf("%s: action %d; want %d", tc.why, got, tc.want)
		}
	}
}

// An option that misses the deadline is taken only where none keeps it.
func TestDeadlinesCountBeforeCosts(t *testing.T) {
	f, o := fileOf(nil), threeOptions()
	c := newChooser(f)
	o.optionRow(2)[costFeature] = 0.05 // cheaper than the second, and late
	o.optionRow(2)[inTimeFeature] = 0
	if got := c.choose(&o); got != 1 {
		t.Errorf("action %d; want the one that keeps the deadline", got)
	}
	o.optionRow(1)[inTimeFeature] = 0
	if got := c.choose(&o); got != 2 {
		t.Errorf("action %d; want the cheaper of two that are late", got)
	}
}

func TestWeightsOfOtherNetsAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*net.File){
		"name: ":     func(f *net.File) { f.Name = "another" },
		"features: ": func(f *net.File) { f.Features[0] = "colour" },
		"layers: ":   func(f *net.File) { *f = fileOf(nil); f.Layers[0] = net.New(Inputs, 2).Layers[0] },
	} {
		f := fileOf(nil)
		spoil(&f)
		text, err := f.Write()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseWeights(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if len(InputNames()) != Inputs {
		t.Errorf("%d names for %d inputs", len(InputNames()), Inputs)
	}
}
