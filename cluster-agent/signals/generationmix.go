package signals

import (
	"slices"
	"time"
)

// Life-cycle grams of CO2-equivalent per kWh of electricity: medians of IPCC AR5
// (2014), working group III, annex III, table A.III.2. The table has no values for
// oil and for unnamed fuels; for these we use 650 and 700, as Electricity Maps does.
// Lignite counts as coal, of which table A.III.2 has one kind only.
const (
	factorCoal, factorGas, factorOil, factorUnnamed     = 820, 490, 650, 700
	factorBiomass, factorGeothermal, factorHydro        = 230, 38, 24
	factorNuclear, factorSolar, factorWind, factorOcean = 12, 45, 11, 17
)

// A plantOutput is the generation of one plant type over a period.
type plantOutput struct {
	from, to  time.Time
	meanPower float64 // mean power, in any unit common to all shares
	factor    float64 // g/kWh
}

// minGenerationCoverage is the smallest fraction of the median hour's energy that an hour must have
// to be used: services temporarily omit large plant types, which would distort the
// mix.
const minGenerationCoverage = 0.55

// maxGenerationStep is the longest period of one value; longer ones are ignored.
const maxGenerationStep = 31 * 24 * time.Hour

// intensityOfMix returns the mean of emission factors weighted by generation, in grams per
// kWh, by hour. Storage must not be among the shares. Negative power (plants that
// consume more than they generate) counts as zero.
func intensityOfMix(shares []plantOutput) []Span {
	type sum struct{ made, grams, seconds float64 }
	hours := make(map[time.Time]sum)
	for _, s := range shares {
		if !s.to.After(s.from) || s.to.Sub(s.from) > maxGenerationStep {
			continue
		}
		for from := s.from; from.Before(s.to); {
			h := from.Truncate(time.Hour)
			to := h.Add(time.Hour)
			if to.After(s.to) {
				to = s.to
			}
			made := max(s.meanPower, 0) * to.Sub(from).Hours()
			x := hours[h]
			hours[h] = sum{x.made + made, x.grams + made*s.factor, max(x.seconds, to.Sub(h).Seconds())}
			from = to
		}
	}
	var made []float64
	for _, x := range hours {
		made = append(made, x.made)
	}
	if len(made) == 0 {
		return nil
	}
	// An hour without one of the large plant types has far less energy than the median hour.
	slices.Sort(made)
	least := minGenerationCoverage * made[len(made)/2]
	var out []Span
	for h, x := range hours {
		// Scale the threshold of the current hour by the part of it that has data.
		if x.made > 0 && x.made*3600 >= least*x.seconds {
			out = append(out, Span{From: h, To: h.Add(time.Hour), Value: x.grams / x.made})
		}
	}
	slices.SortFunc(out, func(x, y Span) int { return x.From.Compare(y.From) })
	return out
}
