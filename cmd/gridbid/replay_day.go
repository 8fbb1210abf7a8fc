package main

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/report"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// shownSteps is how long after the last arrival a report goes on: jobs are deferred into the
// next day.
const shownSteps = 24 * time.Hour

// newDayReport returns the part of a report that a scenario determines, before any replay:
// sites, hourly prices and carbon.
func newDayReport(s spec.Scenario) report.ReplayReport {
	d := report.ReplayReport{Scenario: s.Name, About: s.About, Start: s.Start, End: s.End.Add(shownSteps), Arrived: s.End, Step: time.Hour, Notes: s.Notes}
	for _, site := range s.Sites {
		x := report.SiteSignals{Name: site.Name}
		for _, n := range site.Nodes {
			x.GPUs += protocol.Milli(n.GPUs) * 1000
		}
		for at := d.Start; at < d.End; at = at.Add(d.Step) {
			if v, ok := valueAtHour(site.Signals[protocol.GridPrice], at); ok {
				x.Price = append(x.Price, protocol.Microdollars(v))
			}
			if v, ok := valueAtHour(site.Signals[protocol.GridCarbon], at); ok {
				x.Carbon = append(x.Carbon, protocol.Milligrams(v))
			}
		}
		d.Sites = append(d.Sites, x)
	}
	return d
}

// valueAtHour returns the value of a signal at an hour, if the source has one.
func valueAtHour(points []protocol.Point, at protocol.Time) (int64, bool) {
	for _, p := range points {
		if p.At == at {
			return p.Value, true
		}
	}
	return 0, false
}

// policyReport returns the part of a report that one replay determines: totals, and GPUs
// held by site and hour.
func policyReport(d report.ReplayReport, res scenarios.ReplayResult) report.PolicyRun {
	p := report.PolicyRun{Totals: res.Totals}
	held := res.History.GPUsHeldBySite(d.Start, d.End, d.Step)
	for _, site := range d.Sites {
		p.Busy = append(p.Busy, held[site.Name])
	}
	return p
}
