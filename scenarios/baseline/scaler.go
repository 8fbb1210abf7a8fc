package baseline

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A scalerLevel is one number of pods on which a job's home bid it.
type scalerLevel struct {
	pods   int
	option protocol.BidOption
	hours  float64 // of the whole job
}

// carbonScalerRule is CarbonScaler (W. Hanafy et al., SIGMETRICS 2024): at its home site a job has in each hour
// the number of pods that its greedy algorithm gives it by the site's carbon forecast, and is paused where the
// number changes. Numbers are those that the site bid, at most four and no pods; each plan keeps the cost of one
// pause back, and is made anew at each pause. Of a job that is not elastic there is one number. A job that
// cannot be paused has the fewest pods that finish in time, from now on: the published algorithm has no word
// for it.
func carbonScalerRule() lotDecider {
	return func(r baselineRound, l auction.Lot) auction.Decision {
		d := awardAtHome(r, l)
		levels := scalerLevels(&l, d.Site)
		k := slices.IndexFunc(r.Sites, func(s auction.Site) bool { return s.Name == d.Site })
		if l.Job.Pause == 0 || k < 0 {
			d.Option = firstInTime(levels, l.Job.Deadline)
			return d
		}
		intensity := hourlyIntensity(r.Now, l.Job.Deadline.Add(-l.Job.Pause), r.Sites[k].Forecast)
		curve := published.ScalingCurve{Work: []float64{0}, Energy: []float64{0}}
		for _, x := range levels {
			curve.Work, curve.Energy = append(curve.Work, 1/x.hours), append(curve.Energy, x.option.Energy.InKWh()/x.hours)
		}
		plan := published.ElasticSchedule(intensity, 1, curve)
		first := slices.IndexFunc(plan, func(s published.WorkerShare) bool { return s.Workers > 0 })
		switch {
		case first < 0: // no plan is in time
			d.Option = levels[len(levels)-1].option
		case first > 0:
			d.Option = levels[plan[first].Workers-1].option
			at := r.Now.Add(time.Duration(first) * time.Hour)
			d.Verdict, d.MayQueue, d.Until, d.Option.Start = auction.Defer, false, at, at
			d.Why = protocol.Reason{Code: protocol.CheaperLater}
		default:
			d.Option = levels[plan[0].Workers-1].option
			d.PauseAt = changeOf(r.Now, plan)
		}
		return d
	}
}

// changeOf returns when a plan that begins now first changes its number of workers; 0: at no time before it is
// done.
func changeOf(now protocol.Time, plan []published.WorkerShare) protocol.Time {
	last := len(plan) - 1
	for last > 0 && plan[last].Workers == 0 {
		last--
	}
	for t := range last {
		if plan[t].Part < 1 || plan[t+1].Workers != plan[0].Workers {
			return now.Add(time.Duration(t)*time.Hour + time.Duration(float64(plan[t].Part*float64(time.Hour))).Truncate(time.Second))
		}
	}
	return 0
}

// scalerLevels returns the numbers of pods that a site bid for a lot, the fewest first, each by its first option.
func scalerLevels(l *auction.Lot, site string) (all []scalerLevel) {
	for _, m := range l.Bids {
		if m.Site != site {
			continue
		}
		for _, o := range m.Options {
			at := l.Job.Under(&o)
			if !slices.ContainsFunc(all, func(x scalerLevel) bool { return x.pods == at.PodCount() }) {
				all = append(all, scalerLevel{at.PodCount(), o, max(o.Finish.Sub(o.Start)-o.Wake, time.Second).Hours()})
			}
		}
	}
	slices.SortFunc(all, func(x, y scalerLevel) int { return cmp.Compare(x.pods, y.pods) })
	return all
}

// firstInTime returns the option on the fewest pods that finishes in time, or the last.
func firstInTime(levels []scalerLevel, deadline protocol.Time) protocol.BidOption {
	for _, x := range levels {
		if x.option.Finish <= deadline {
			return x.option
		}
	}
	return levels[len(levels)-1].option
}

// hourlyIntensity returns the mean forecast intensity of each whole hour from now until a time, as far as the
// forecast reaches.
func hourlyIntensity(now, until protocol.Time, g protocol.GridForecast) (out []float64) {
	c, from := carbonCurve(now, g)
	if from < 0 {
		return nil
	}
	for t := now.Add(time.Hour); t <= until && from+fullHour <= c.EndTick(); t = t.Add(time.Hour) {
		out = append(out, c.SumOver(from, from+fullHour)/fullHour)
		from += fullHour
	}
	return out
}
