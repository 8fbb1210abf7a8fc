package forecast

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/protocol"
)

// netOf returns corrections of which one function draws all weights.
func netOf(draw func() float64) *Learned {
	n := net.New(len(LearnedInputNames()), 6, LearnedOutputs)
	for i := range n.Layers {
		for k := range n.Layers[i].Weights {
			n.Layers[i].Weights[k] = draw()
		}
		for k := range n.Layers[i].Bias {
			n.Layers[i].Bias[k] = draw()
		}
	}
	return NewLearned(*n)
}

// always returns corrections that say the same number whatever they are asked.
func always(v float64) *Learned {
	l := NoLearned()
	bias := l.file.Layers[0].Bias
	for i := range bias {
		bias[i] = v
	}
	return l
}

// Whatever the weights are, and the history is, no forecast moves by more than half of what the site says
// it may be off, no published value moves, and nothing leaves its quantity's bounds.
func TestCorrectionsStayWithinTheirBand(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	nets := map[string]*Learned{
		"small":  netOf(dice.NormFloat64),
		"huge":   netOf(func() float64 { return math.Copysign(1e300, dice.Float64()-0.5) }),
		"none":   netOf(math.NaN),
		"up":     always(1e300),
		"beyond": always(math.Inf(-1)),
	}
	moved := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"small", "huge", "none", "up", "beyond"}).Draw(t, "net")
		value := rapid.OneOf(rapid.Int64Range(0, 400_000), rapid.Int64Range(-200_000, 200_000), rapid.SampledFrom([]int64{priceLimits.least, priceLimits.most}))
		tr := trackOf(rapid.SliceOfN(value, day, 12*day).Draw(t, "told")...)
		if rapid.Bool().Draw(t, "ahead") {
			tr.putValue(tr.endHour(), value.Draw(t, "last"), false)
		}
		h := tr.endHour() + hour(rapid.IntRange(-30, 5).Draw(t, "now"))
		for kind, of := range []struct {
			q     protocol.Quantity
			rule  Rule
			bound limits
		}{{protocol.GridCarbon, Regression, carbonLimits}, {protocol.GridPrice, Blend, priceLimits}, {protocol.GridPrice, Steady, priceLimits}} {
			usual, off := tr.forecastHours(of.rule, h, 80, of.bound)
			guarded, same := tr.correctForecast(nets[name], of.q, of.rule, h, 80, of.bound)
			got := slices.Clone(usual)
			if anchor, ok := tr.lastFactBefore(h + 79); ok {
				nets[name].correct(tr, kind, h, anchor, got, off, of.bound)
			}
			for i := range usual {
				_, told := tr.factAt(h + hour(i))
				by := int64(absValue(got[i] - usual[i]))
				moved[name] = moved[name] || by > 0
				if by > off[i]/2 || told && by > 0 || !told && got[i] != of.bound.clampValue(got[i]) || guarded[i] != got[i] && guarded[i] != usual[i] {
					t.Fatalf("%s, %s: hour %d, of which the rule says %d±%d, told %v, is %d, guarded %d", name, of.q, i, usual[i], off[i], told, got[i], guarded[i])
				}
			}
			if !slices.Equal(off, same) {
				t.Fatalf("the stated errors changed: %v to %v", off, same)
			}
		}
	})
	if moved["none"] || !moved["up"] || !moved["small"] || !moved["huge"] || !moved["beyond"] {
		t.Errorf("moved: %v; want all but what is no number", moved)
	}
}

// Corrections are silent where they would have made the last three days worse, and in force where they
// would have made them better.
func TestTheGuardComparesWithTheUsualRule(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	level, values := int64(100_000), make([]int64, 10*day)
	for i := range values { // rises all the time, which the usual rules do not expect
		values[i] = level + 1500*int64(i) + r.Int64N(1000)
	}
	tr := trackOf(values...)
	usual, _ := tr.forecastHours(Blend, tr.endHour(), day, priceLimits)
	better, _ := tr.correctForecast(always(0.2), protocol.GridPrice, Blend, tr.endHour(), day, priceLimits)
	worse, _ := tr.correctForecast(always(-0.2), protocol.GridPrice, Blend, tr.endHour(), day, priceLimits)
	if slices.Equal(better, usual) || better[20] <= usual[20] {
		t.Errorf("what helps is silent: %v, usual %v", better, usual)
	}
	if !slices.Equal(worse, usual) {
		t.Errorf("what harms is in force: %v, usual %v", worse, usual)
	}
}

func TestCorrectionsWantAWholeFreshDay(t *testing.T) {
	values := make([]int64, 30)
	for i := range values {
		values[i] = 100_000 + 3000*int64(i%7)
	}
	for name, tc := range map[string]struct {
		values []int64
		gap    int // an hour from the end that was not published; -1: none
		late   hour
		want   bool
	}{
		"a day": {values[:24], -1, 0, true}, "under a day": {values[:23], -1, 0, false},
		"a gap": {values, 5, 0, false}, "an old gap": {values, 26, 0, true},
		"late": {values, -1, 5, true}, "stale": {values, -1, 6, false},
	} {
		tr := &track{}
		for i, v := range tc.values {
			if tc.gap < 0 || i != len(tc.values)-1-tc.gap {
				tr.putValue(start+hour(i), v, false)
			}
		}
		h := tr.endHour() + tc.late
		usual, _ := tr.forecastHours(Regression, h, 12, carbonLimits)
		got, _ := tr.correctForecast(always(0.1), protocol.GridCarbon, Regression, h, 12, carbonLimits)
		// The guard has too few hours to compare, or none, on so short a history.
		past, ok := tr.until(h - 1 - tc.late).newVantage(0)
		if moved := !slices.Equal(got, usual); moved != tc.want && !(ok && tc.want && NoLearned().hasBeenWorse(tr, 0, Regression, past.anchor, carbonLimits)) {
			t.Errorf("%s: corrected %v; want %v", name, moved, tc.want)
		}
	}
	tr := trackOf(values...)
	usual, _ := tr.forecastHours(Blend, tr.endHour(), 12, pueLimits)
	if got, _ := tr.correctForecast(always(1), protocol.GridPUE, Blend, tr.endHour(), 12, pueLimits); !slices.Equal(got, usual) {
		t.Error("PUE was corrected")
	}
}

// No peek: what is published later changes no input of the net, and no verdict of its guard.
func TestLaterValuesChangeNoInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Int64Range(-100_000, 300_000)
		past := rapid.SliceOfN(value, day, 9*day).Draw(t, "past")
		here, there := trackOf(past...), trackOf(past...)
		anchor := here.endHour() - 1
		for h := anchor + 1; h < anchor+3*day; h++ {
			here.putValue(h, value.Draw(t, "here"), false)
			there.putValue(h, value.Draw(t, "there"), false)
		}
		a, _ := here.until(anchor).newVantage(2)
		b, _ := there.until(anchor).newVantage(2)
		for h := anchor + 1; h < anchor+3*day; h++ {
			if x, y := a.appendInputs(nil, h, 5000), b.appendInputs(nil, h, 5000); !slices.Equal(x, y) || len(x) != len(LearnedInputNames()) {
				t.Fatalf("%d hours on the inputs are %v and %v", h-anchor, x, y)
			}
		}
		l := always(0.3)
		if l.hasBeenWorse(here, 2, Steady, anchor, priceLimits) != l.hasBeenWorse(there, 2, Steady, anchor, priceLimits) {
			t.Fatal("the guard knows what came later")
		}
	})
}

func TestWeightsForAnythingElseAreRefused(t *testing.T) {
	if n := len(ShippedBytes()); n > 200_000 {
		t.Errorf("the weights in the program have %d bytes; want at most 200,000", n)
	}
	l, err := ShippedLearned()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*net.File)
		want   string
	}{
		"another name":     {func(f *net.File) { f.Name = "greensched" }, `name: "greensched": want "grid"`},
		"other inputs":     {func(f *net.File) { f.Features = slices.Clone(f.Features); f.Features[3] = "moon" }, "features:"},
		"too few outputs":  {func(f *net.File) { f.Net = *net.New(len(f.Features), 2) }, "2 outputs: want 21"},
		"nothing, so fine": {func(*net.File) {}, ""},
	} {
		f := l.File()
		tc.change(&f)
		text, err := f.Write()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseLearned(text); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
	text := ShippedBytes()
	text[len(text)/2] ^= 1
	if _, err := ParseLearned(text); err == nil {
		t.Error("a flipped bit was accepted")
	}
	if _, err := ParseLearned(bytes.Replace(ShippedBytes(), []byte(`"schema":1`), []byte(`"schema":2`), 1)); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("another version: %v", err)
	}
}

func BenchmarkCorrectedForecast(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	tr := &track{}
	for h := range hour(60 * day) {
		tr.putValue(h, r.Int64N(500_000), false)
	}
	l, err := ShippedLearned()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		tr.correctForecast(l, protocol.GridCarbon, Regression, tr.endHour(), 96, carbonLimits)
	}
}
