package spec

import (
	"cmp"
	"slices"
	"time"
)

// defaultLag is how late a value of carbon or of a real-time price is by default: the mean of an
// hour can be published when the hour is over, and live sources are no sooner.
const defaultLag = time.Hour

// signalLag returns the first of some lags in hours that is given, or the default.
func signalLag(hours ...*float64) time.Duration {
	for _, h := range hours {
		if h != nil {
			return time.Duration(*h * float64(time.Hour)).Round(time.Second)
		}
	}
	return defaultLag
}

// noteSignalLag notes how late carbon and real-time prices become known, if they do at all
// sites equally late; otherwise at the earliest and at the latest one.
func (out *Scenario) noteSignalLag() {
	byLag := func(x, y Site) int { return cmp.Compare(x.Lag, y.Lag) }
	least, most := slices.MinFunc(out.Sites, byLag).Lag, slices.MaxFunc(out.Sites, byLag).Lag
	if least == most {
		out.addNote("carbon and real-time prices are known %g h after their hour begins", least.Hours())
		return
	}
	out.addNote("carbon and real-time prices are known %g to %g h after their hour begins", least.Hours(), most.Hours())
}
