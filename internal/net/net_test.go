package net

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn returns a file with a net of drawn weights.
func drawn(seed uint64) File {
	dice := rand.New(rand.NewPCG(seed, 0))
	n := New(3, 4, 2)
	for i := range n.Layers {
		for k := range n.Layers[i].Weights {
			n.Layers[i].Weights[k] = dice.NormFloat64()
		}
		for k := range n.Layers[i].Bias {
			n.Layers[i].Bias[k] = dice.NormFloat64()
		}
	}
	n.Mean, n.Scale = []float64{1, 0, -1}, []float64{2, 1, 0.5}
	return File{Name: "test", Version: "v1", Seed: seed, Features: []string{"a", "b", "c"}, Net: *n}
}

func TestForwardIsWhatItsLayersSay(t *testing.T) {
	n := New(2, 2, 1)
	n.Mean, n.Scale = []float64{1, 0}, []float64{2, 1}
	n.Layers[0] = Layer{[]float64{1, 2, -1, -1}, []float64{0.5, 0}}
	n.Layers[1] = Layer{[]float64{10, 100}, []float64{-1}}
	// Inputs are (3-1)/2 = 1 and 4; hidden 1+8+0.5 = 9.5, and -5, which the rectifier makes 0.
	if got := n.Forward([]float64{3, 4}, n.NewActivation()); got[0] != 94 {
		t.Errorf("Forward = %v; want 94", got)
	}
}

// Bits that other machines must give, too.
func TestForwardGivesTheSameBitsEverywhere(t *testing.T) {
	f := drawn(1)
	got := f.Forward([]float64{0.1, 0.2, 0.3}, f.NewActivation())
	want := []uint64{0x3ff0cdb9ea99d442, 0x3fe3754f9bdc4f0b}
	if math.Float64bits(got[0]) != want[0] || math.Float64bits(got[1]) != want[1] {
		t.Errorf("Forward = %#x, %#x; want %#x", math.Float64bits(got[0]), math.Float64bits(got[1]), want)
	}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	f := drawn(2)
	text, err := f.Write()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Write()
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("written %s\nagain %s, %v", text, again, err)
	}
}

func TestAFlippedBitAnywhereIsRefused(t *testing.T) {
	text, _ := drawn(3).Write()
	for i := range text {
		for bit := range 8 {
			bad := bytes.Clone(text)
			bad[i] ^= 1 << bit
			if _, err := Parse(bad); err == nil {
				t.Fatalf("accepted with bit %d of byte %d flipped: %s", bit, i, bad)
			}
		}
	}
}

func TestBadWeightsAreRefusedByTheirField(t *testing.T) {
	text, _ := drawn(4).Write()
	whole := string(text)
	for _, tc := range []struct{ old, new, want string }{
		{`"schema":1`, `"schema":2`, "schema: 2: this program reads 1"},
		{`"bias":[`, `"bias":[NaN,`, "invalid character 'N'"},
		{`"bias":[`, `"bias":[1e999,`, "bias"},
		{`"bias":[`, `"bias":[1,`, "layers[0].weights: 12 numbers for 3 inputs and 5 outputs"},
		{`"scale":[2,`, `"scale":[0,`, "scale[0]: 0: want a number above 0"},
		{`"seed":4`, `"seed":5`, "they were altered"},
		{`"seed":4`, `"seed": 4`, "they were altered"},
		{`"seed":4`, `"seed":4,"colour":1`, "colour"},
		{`"features":["a",`, `"features":[`, "features: 2 names for 3 inputs"},
	} {
		_, err := Parse([]byte(strings.Replace(whole, tc.old, tc.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s for %s: %v; want %q", tc.new, tc.old, err, tc.want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		f := drawn(5)
		f.Layers[1].Weights[6] = v
		if _, err := f.Write(); err == nil || !strings.Contains(err.Error(), "layers[1].weights[6]") {
			t.Errorf("wrote %v: %v", v, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, _ := drawn(6).Write()
	f.Add(text)
	f.Add([]byte(`{"schema":1,"mean":[0],"scale":[1],"layers":[{}]}`))
	f.Add([]byte(`{"schema":1,"layers":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		again, err := file.Write()
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("accepted what is not written so: %q", text)
		}
		file.Forward(make([]float64, len(file.Mean)), file.NewActivation())
	})
}
