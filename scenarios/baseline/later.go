package baseline

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A starter chooses when a job of length runs that may start from now until now
// and wait, all in seconds on the curve of its site's carbon.
type starter func(c published.Curve, now, wait, length int) int

// later is a rule of one region that moves jobs in time: it plans a job once,
// when it is called first, by the forecast of that moment, and sells it to its
// home when its time has come. A job that may not be deferred starts at once.
func later(start starter) picker {
	plans := make(map[protocol.JobID]protocol.Time)
	return func(r round, l auction.Lot) auction.Decision {
		d := home(r, l)
		at, planned := plans[l.Job.ID]
		if !planned {
			at = r.Now
			k := slices.IndexFunc(r.Sites, func(s auction.Site) bool { return s.Name == d.Site })
			if l.Job.Deferrable && k >= 0 && len(r.Sites[k].Grid.Carbon) > 0 {
				at = plan(start, r.Now, r.Sites[k].Grid, l.Job, d.Option)
			}
			plans[l.Job.ID] = at
		}
		if at <= r.Now {
			return d
		}
		d.Verdict, d.Queue, d.Until = auction.Hold, false, at
		d.Option.Start = at
		d.Why = protocol.Reason{Code: protocol.CheaperLater}
		return d
	}
}

// plan returns when a job starts by a rule.
func plan(start starter, now protocol.Time, g protocol.Outlook, j protocol.Job, o protocol.Option) protocol.Time {
	length := o.Finish.Sub(o.Start)
	c, from := carbon(now, g)
	wait := int(j.Deadline.Sub(now.Add(length)) / time.Second)
	if wait <= 0 {
		return now
	}
	s := start(c, from, wait, int(length/time.Second))
	return now.Add(time.Duration(s-from) * time.Second)
}

// carbon returns the curve of a site's intensity, in seconds, and where now lies
// on it.
func carbon(now protocol.Time, g protocol.Outlook) (c published.Curve, from int) {
	values := make([]float64, len(g.Carbon))
	for i, v := range g.Carbon {
		values[i] = float64(v)
	}
	return published.NewCurve(values, 3600), int(now.Sub(g.From) / time.Second)
}

// Starts that the rules try: Let's Wait Awhile has slots of half an hour, which
// with ours of a quarter it cannot do worse than; GAIA tries full hours from
// the arrival on.
const (
	quarter  = 900
	fullHour = 3600
)

// waitAwhile is Let's Wait Awhile without interruptions.
func waitAwhile() picker {
	return later(func(c published.Curve, now, wait, length int) int {
		return published.LowestWindow(c, now, wait, length, quarter)
	})
}

// gaia is GAIA's carbon-time. It does not know how long a job will run, only
// the mean of those seen so far in its queue, the short or the long one.
func gaia() picker {
	var sum, n [2]int
	return later(func(c published.Curve, now, wait, length int) int {
		queue := 0
		if length >= int(2*time.Hour/time.Second) {
			queue = 1
		}
		sum[queue] += length
		n[queue]++
		return published.CarbonTime(c, now, wait, sum[queue]/n[queue], fullHour)
	})
}

// first sells to the first site, by name, that has room: ACK One's order of
// clusters by priority.
func first(r round, l auction.Lot) auction.Decision {
	if now := withRoom(r, l); len(now) > 0 {
		return sell(now[0])
	}
	return sell(soonest(r, l))
}

// leastEnergy sells to the site with room where the job takes least energy, the
// facility's share included.
func leastEnergy(r round, l auction.Lot) auction.Decision {
	return best(r, l, withRoom(r, l), func(x, y auction.Menu) int {
		return cmp.Compare(x.Options[0].Energy, y.Options[0].Energy)
	})
}

// geo sells to the site with room where a kilowatt-hour costs least in this
// hour, carbon at the market's own weight and the facility's share included.
func geo(r round, l auction.Lot) auction.Decision {
	return byGrid(func(o protocol.Outlook) int64 {
		pue := int64(1000)
		if len(o.PUE) > 0 {
			pue = int64(o.PUE[0])
		}
		return (int64(o.Price[0]) + int64(r.Terms.CarbonCost(o.Carbon[0]))) * pue
	})(r, l)
}
