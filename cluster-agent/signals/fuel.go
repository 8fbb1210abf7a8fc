package signals

import (
	"slices"
	"time"
)

// Life-cycle grams of CO2-equivalent per kWh of electricity: medians of IPCC AR5 (2014), working group III, annex
// III, table A.III.2. The table has no values for oil and for unnamed fuels; for these we use 650 and 700, as
// Electricity Maps does. Lignite counts as coal, of which table A.III.2 has one kind only.
const (
	coal, gas, oil, unnamed     = 820, 490, 650, 700
	biomass, geothermal, hydro  = 230, 38, 24
	nuclear, solar, wind, ocean = 12, 45, 11, 17
)

// A share is the generation of one plant type over a period.
type share struct {
	from, to time.Time
	made     float64 // mean power, in any unit common to all shares
	factor   float64 // g/kWh
}

// nearly is the smallest fraction of the median hour's energy that an hour must have to be used: services
// temporarily omit large plant types, which would distort the mix.
const nearly = 0.55

// month is the longest period of one value; longer ones are ignored.
const month = 31 * 24 * time.Hour

// intensity returns the mean of emission factors weighted by generation, in grams per kWh, by hour. Storage must
// not be among the shares. Negative power (plants that consume more than they generate) counts as zero.
func intensity(shares []share) []Span {
	type sum struct{ made, grams, seconds float64 }
	hours := make(map[time.Time]sum)
	for _, s := range shares {
		if !s.to.After(s.from) || s.to.Sub(s.from) > month {
			continue
		}
		for from := s.from; from.Before(s.to); {
			h := from.Truncate(time.Hour)
			to := h.Add(time.Hour)
			if to.After(s.to) {
				to = s.to
			}
			made := max(s.made, 0) * to.Sub(from).Hours()
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
	slices.Sort(made)
	least := nearly * made[len(made)/2]
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
