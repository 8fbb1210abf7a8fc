package scenarios

import (
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// An emissionsAccount sums the emissions of all energy that a federation drew, by both
// methods, whichever the bids used: attributional, by the average intensity of the
// grid, and consequential, by the marginal intensity. It counts by hour and site,
// from the same slices of energy as the bills.
type emissionsAccount struct {
	sites             map[string]*siteSignals
	average, marginal float64 // milligrams
}

// siteSignals are a site's values, each in force from its point on.
type siteSignals struct{ average, marginal, pue []protocol.Point }

// newEmissionsAccount extends each site's series to the latest end of a replay, so that every
// hour with energy has an intensity.
func newEmissionsAccount(s spec.Scenario) *emissionsAccount {
	a := &emissionsAccount{sites: make(map[string]*siteSignals)}
	until := MeteredUntil(s).Add(MaxReplayOverrun)
	// Without a marginal series the average stands for it; the scenario notes that.
	for _, site := range s.Sites {
		x := &siteSignals{average: site.Signals[protocol.GridCarbon], marginal: site.Signals[trace.MarginalColumn], pue: site.Signals[protocol.GridPUE]}
		if s.Carbon == spec.ByMarginal && len(site.Signals[spec.AverageCarbon]) > 0 {
			x.average = site.Signals[spec.AverageCarbon]
		}
		if len(x.marginal) == 0 {
			x.marginal = x.average
		}
		x.average, x.marginal, x.pue = RepeatLastDay(x.average, until), RepeatLastDay(x.marginal, until), RepeatLastDay(x.pue, until)
		a.sites[site.Name] = x
	}
	return a
}

// addMeteredMessage counts the energy of a message from a site's executor.
func (a *emissionsAccount) addMeteredMessage(m protocol.Message) {
	x := a.sites[m.From.SiteName()]
	if x == nil || m.From != protocol.ExecutorParty(m.From.SiteName()) {
		return
	}
	var drew []protocol.HourlyEnergy
	switch b := m.Body.(type) {
	case protocol.Finished:
		drew = b.Draw
	case protocol.Interrupted:
		drew = b.Draw
	case protocol.IdleReading:
		// Job energy arrives with the jobs' ends, so the meter adds idle energy alone.
		drew = []protocol.HourlyEnergy{{Hour: b.Hour, Energy: b.Idle}}
	}
	for _, s := range drew {
		kWh := s.Energy.InKWh() * float64(valueInForce(x.pue, s.Hour)) / 1000
		a.average += float64(kWh * float64(valueInForce(x.average, s.Hour)))
		a.marginal += float64(kWh * float64(valueInForce(x.marginal, s.Hour)))
	}
}

// valueInForce returns the value in force at t; points are hourly, or a single constant.
func valueInForce(points []protocol.Point, t protocol.Time) int64 {
	i := int(t.Sub(points[0].At).Hours())
	return points[max(0, min(i, len(points)-1))].Value
}
