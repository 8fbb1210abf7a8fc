// Package quantity parses quantities as Kubernetes writes them, such as 500m or 16Gi.
package quantity

import (
	"slices"
	"strconv"
	"strings"
)

// scales are what the units of a quantity stand for.
var scales = map[string]float64{
	"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// Parse returns the value of a quantity; false if it is none, is negative or over most, or has a unit that
// is not among units.
func Parse(text string, most float64, units ...string) (float64, bool) {
	scale, number := 1.0, strings.TrimRight(text, "mkMGTi")
	if unit := text[len(number):]; unit != "" {
		if !slices.Contains(units, unit) {
			return 0, false
		}
		scale = scales[unit]
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= scale
	return v, err == nil && v >= 0 && v <= most
}
