package quantity

import "testing"

func TestQuantities(t *testing.T) {
	for text, want := range map[string]float64{"4": 4, "500m": 0.5, "2k": 2000, "16Gi": 16 << 30, "1.5M": 1.5e6, "0": 0} {
		if got, ok := Parse(text, 1e12, "m", "k", "M", "Gi"); !ok || got != want {
			t.Errorf("Parse(%q) = %g, %v; want %g", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "m", "lots", "-1", "1Ki", "4 ", "5mm", "NaN", "Inf", "1e300", "2T", "1Gim"} {
		if got, ok := Parse(text, 1e12, "m", "k", "M", "Gi"); ok {
			t.Errorf("Parse(%q) = %g; want none", text, got)
		}
	}
}
