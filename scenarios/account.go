package scenarios

import (
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// An account sums the emissions of all energy that a federation drew, by both methods, whichever the bids used:
// attributional, by the average intensity of the grid, and consequential, by the marginal intensity. It counts by
// hour and site, from the same slices of energy as the bills.
type account struct {
	sites             map[string]*series
	average, marginal float64 // milligrams
}

// series are a site's values, each in force from its point on.
type series struct{ average, marginal, pue []protocol.Point }

func newAccount(s spec.Scenario) *account {
	a := &account{sites: make(map[string]*series)}
	until := Metered(s).Add(Longest)
	// Without a marginal series the average stands for it; the scenario notes that.
	for _, site := range s.Sites {
		x := &series{average: site.Signals[protocol.GridCarbon], marginal: site.Signals[trace.Marginal], pue: site.Signals[protocol.GridPUE]}
		if s.Carbon == spec.ByMarginal && len(site.Signals[spec.Average]) > 0 {
			x.average = site.Signals[spec.Average]
		}
		if len(x.marginal) == 0 {
			x.marginal = x.average
		}
		x.average, x.marginal, x.pue = Lasting(x.average, until), Lasting(x.marginal, until), Lasting(x.pue, until)
		a.sites[site.Name] = x
	}
	return a
}

// add counts the energy of a message from a site's executor.
func (a *account) add(m protocol.Message) {
	x := a.sites[m.From.Site()]
	if x == nil || m.From != protocol.Hands(m.From.Site()) {
		return
	}
	var drew []protocol.Slice
	switch b := m.Body.(type) {
	case protocol.Exited:
		drew = b.Draw
	case protocol.Lost:
		drew = b.Draw
	case protocol.Reading:
		// Job energy arrives with the jobs' ends, so the meter adds idle energy alone.
		drew = []protocol.Slice{{Hour: b.Hour, Energy: b.Idle}}
	}
	for _, s := range drew {
		kWh := s.Energy.KWh() * float64(at(x.pue, s.Hour)) / 1000
		a.average += float64(kWh * float64(at(x.average, s.Hour)))
		a.marginal += float64(kWh * float64(at(x.marginal, s.Hour)))
	}
}

// at returns the value in force at t; points are hourly, or a single constant.
func at(points []protocol.Point, t protocol.Time) int64 {
	i := int(t.Sub(points[0].At).Hours())
	return points[max(0, min(i, len(points)-1))].Value
}
