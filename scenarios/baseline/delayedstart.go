package baseline

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A startChooser chooses the start of a job of length seconds within [now, now+wait]. All
// arguments are seconds on the carbon curve of the job's site.
type startChooser func(c published.Curve, now, wait, length int) int

// delayedStartRule makes a rule that moves jobs in time at one site. It plans a job once, by the
// forecast at its first round, holds it until the planned time, and then awards it to
// its home. A job that is not deferrable starts at once.
func delayedStartRule(start startChooser) lotDecider {
	plans := make(map[protocol.JobID]protocol.Time)
	return func(r baselineRound, l auction.Lot) auction.Decision {
		d := awardAtHome(r, l)
		at, planned := plans[l.Job.ID]
		if !planned {
			at = r.Now
			k := slices.IndexFunc(r.Sites, func(s auction.Site) bool { return s.Name == d.Site })
			if l.Job.MayWait() && k >= 0 && len(r.Sites[k].Forecast.Carbon) > 0 {
				at = plannedStart(start, r.Now, r.Sites[k].Forecast, l.Job, d.Option)
			}
			plans[l.Job.ID] = at
		}
		if at <= r.Now {
			return d
		}
		d.Verdict, d.MayQueue, d.Until = auction.Defer, false, at
		d.Option.Start = at
		d.Why = protocol.Reason{Code: protocol.CheaperLater}
		return d
	}
}

// plannedStart returns the start that a rule chooses for a job.
func plannedStart(start startChooser, now protocol.Time, g protocol.GridForecast, j protocol.Job, o protocol.BidOption) protocol.Time {
	length := o.Finish.Sub(o.Start)
	c, from := carbonCurve(now, g)
	wait := toSeconds(j.Deadline.Sub(now.Add(length)))
	// Without slack the job starts now, late or not.
	if wait <= 0 {
		return now
	}
	s := start(c, from, wait, toSeconds(length))
	return now.Add(time.Duration(s-from) * time.Second)
}

// carbonCurve returns the intensity forecast of a site as a curve in seconds, and the
// position of now on it.
func carbonCurve(now protocol.Time, g protocol.GridForecast) (c published.Curve, from int) {
	values := make([]float64, len(g.Carbon))
	for i, v := range g.Carbon {
		values[i] = float64(v)
	}
	return published.NewCurve(values, 3600), toSeconds(now.Sub(g.From))
}

// Step widths of candidate starts, in seconds. Let's Wait Awhile uses slots of half
// an hour; a quarter of an hour includes those starts, so the rule cannot do worse.
// GAIA tries full hours after the arrival.
const (
	quarterHour = 900
	fullHour    = 3600
)

// waitAwhileRule is Let's Wait Awhile without interruptions (Wiesner et al., Middleware
// 2021).
func waitAwhileRule() lotDecider {
	return delayedStartRule(func(c published.Curve, now, wait, length int) int {
		return published.LowestWindow(c, now, wait, length, quarterHour)
	})
}

// gaiaRule is GAIA's carbon-time rule. It does not know a job's run time, only the mean
// run time seen so far in the job's queue (short or long).
func gaiaRule() lotDecider {
	var sum, n [2]int
	return delayedStartRule(func(c published.Curve, now, wait, length int) int {
		queue := 0 // the short one; from GAIA's limit of two hours on the long one
		if length >= toSeconds(2*time.Hour) {
			queue = 1
		}
		sum[queue] += length
		n[queue]++
		return published.CarbonTime(c, now, wait, sum[queue]/n[queue], fullHour)
	})
}

// awardFirstWithRoom awards to the first site, by name, that has room, as ACK One orders clusters
// by priority.
func awardFirstWithRoom(r baselineRound, l auction.Lot) auction.Decision {
	if now := sitesWithRoom(r, l); len(now) > 0 {
		return awardToSite(now[0])
	}
	return awardToSite(earliestStartBids(r, l))
}

// awardLeastEnergy awards to the site with room where the job uses least energy, including
// the facility's overhead.
func awardLeastEnergy(r baselineRound, l auction.Lot) auction.Decision {
	return awardBestWithRoom(r, l, sitesWithRoom(r, l), func(x, y auction.SiteBids) int {
		return cmp.Compare(x.Options[0].Energy, y.Options[0].Energy)
	})
}

// awardGeoGreedy awards to the site with room where a kilowatt-hour costs least in this hour:
// price plus carbon at the market's own weight, times PUE.
func awardGeoGreedy(r baselineRound, l auction.Lot) auction.Decision {
	return awardByGridSignal(func(o protocol.GridForecast) int64 {
		pue := int64(1000)
		if len(o.PUE) > 0 {
			pue = int64(o.PUE[0])
		}
		return (int64(o.Price[0]) + int64(r.Weights.CarbonCost(o.Carbon[0]))) * pue
	})(r, l)
}
