package signals

import (
	"slices"
	"time"
)

// Life-cycle grams of CO2-equivalent per kWh of electricity: medians of IPCC AR5
// (2014), working group III, annex III, table A.III.2. It has none for oil and
// for what nobody names, for which the 650 and 700 that Electricity Maps uses
// stand. Lignite is taken as coal, of which table A.III.2 makes no kinds.
const (
	coal, gas, oil, unnamed     = 820, 490, 650, 700
	biomass, geothermal, hydro  = 230, 38, 24
	nuclear, solar, wind, ocean = 12, 45, 11, 17
)

// A share is what one kind of plant made from one instant to another.
type share struct {
	from, to time.Time
	made     float64 // mean power, in any unit that is the same for all
	factor   float64 // g/kWh
}

// nearly is the least part of the median hour's energy that an hour must have to
// be believed: now and then a large kind of plant is missing for a while.
const nearly = 0.55

// month is the longest that a plant is said to make the same.
const month = 31 * 24 * time.Hour

// intensity returns grams per kWh, hour by hour, of all that was made in it.
// Storage must not be among the shares. What is negative, as of plants that draw
// more than they make, counts as nothing.
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
		// An hour that is not over has its part of the energy.
		if x.made > 0 && x.made*3600 >= least*x.seconds {
			out = append(out, Span{From: h, To: h.Add(time.Hour), Value: x.grams / x.made})
		}
	}
	slices.SortFunc(out, func(x, y Span) int { return x.From.Compare(y.From) })
	return out
}
