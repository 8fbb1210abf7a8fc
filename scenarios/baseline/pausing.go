package baseline

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A segmentChooser chooses the segments in which a job of length seconds runs if it may be
// suspended for wait seconds in total. All arguments are seconds on the carbon curve
// of the job's site.
type segmentChooser func(c published.Curve, now, wait, length int) []published.TickSpan

// pausingRule makes a rule that pauses jobs at one site. A pausable job runs until the
// end of its next segment and is planned anew in each of its rounds; each plan
// reserves the cost of one pause from the slack. Jobs that cannot be paused go to the
// rule otherwise.
func pausingRule(slice segmentChooser, otherwise lotDecider) lotDecider {
	return func(r baselineRound, l auction.Lot) auction.Decision {
		if l.Job.Pause == 0 {
			return otherwise(r, l)
		}
		d := awardAtHome(r, l)
		k := slices.IndexFunc(r.Sites, func(s auction.Site) bool { return s.Name == d.Site })
		length := d.Option.Finish.Sub(d.Option.Start)
		wait := l.Job.Deadline.Sub(r.Now.Add(length + l.Job.Pause))
		if k < 0 || len(r.Sites[k].Forecast.Carbon) == 0 || wait <= 0 {
			return d
		}
		c, from := carbonCurve(r.Now, r.Sites[k].Forecast)
		spans := slice(c, from, toSeconds(wait), toSeconds(length))
		at := func(tick int) protocol.Time { return r.Now.Add(time.Duration(tick-from) * time.Second) }
		if len(spans) > 1 && spans[0].To-spans[0].From <= 2*toSeconds(l.Job.Pause) { // the segment is too short to be worth its pause
			spans = spans[1:]
		}
		switch {
		case len(spans) == 0:
		case spans[0].From > from:
			d.Verdict, d.MayQueue, d.Until, d.Option.Start = auction.Defer, false, at(spans[0].From), at(spans[0].From)
			d.Why = protocol.Reason{Code: protocol.CheaperLater}
		case spans[0].To-from < toSeconds(length):
			d.PauseAt = at(spans[0].To)
		}
		return d
	}
}

// toSeconds converts to whole seconds, the ticks of the curves of this package.
func toSeconds(d time.Duration) int { return int(d / time.Second) }

// cheapestSegmentsRule is Let's Wait Awhile with interruptions (Wiesner et al., Middleware 2021).
func cheapestSegmentsRule() lotDecider {
	return pausingRule(published.CheapestSegments, waitAwhileRule())
}

// suspendResumeRule is Ecovisor's suspend and resume, as coded in GAIA: a job is suspended
// while the intensity is above the 30th percentile of the next 24 hours.
func suspendResumeRule() lotDecider {
	return pausingRule(func(c published.Curve, now, wait, length int) []published.TickSpan {
		return published.RunBelowThreshold(c, now, wait, length, c.QuantileThreshold(now, toSeconds(24*time.Hour), 0.30))
	}, waitForThreshold)
}
