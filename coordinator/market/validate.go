package market

import (
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Bounds of what may be said of a job. They are far above what can be, and keep
// arithmetic on it safe.
const (
	maxFragmentDelta = protocol.Milli(8_000)                               // GPUs of one node
	maxSiteGPUs      = protocol.Milli(1e9)                                 // a million GPUs
	maxSiteModels    = 64                                                  // of GPUs at one site
	maxRunSpan       = 3 * protocol.MaxRun                                 // on the slowest GPU
	maxFinishAhead   = 4 * protocol.MaxRun                                 // end of a run
	maxForecastHours = int((maxFinishAhead + protocol.MaxRun) / time.Hour) // of an outlook, which may begin so long ago
	maxClockSkew     = 5 * time.Minute                                     // between a speaker's clock and the market's, waits on the way included
)

// validateBids returns o without what cannot be: menus for jobs that were not
// called, and options that break the job's own limits or physics.
func (k *Market) validateBids(site string, o protocol.Bids) protocol.Bids {
	o.Capacity, o.Grid = k.validProfiles(o.Capacity), k.validForecast(o.Grid)
	seen := make(map[protocol.JobID]bool, len(o.Jobs))
	menus := make([]protocol.JobBids, 0, len(o.Jobs))
	for _, m := range o.Jobs {
		i, ok := k.round.index[m.Job]
		if !ok || seen[m.Job] {
			k.counts["offer-for-unknown-job"]++
			continue
		}
		seen[m.Job] = true
		job := k.round.lots[i].job
		kept := make([]protocol.BidOption, 0, len(m.Options))
		for _, opt := range m.Options {
			if k.isPossibleOption(site, job, opt) && hasCapacityFor(o.Capacity, job, opt) {
				opt.Money = k.recomputeMoney(opt, o.Grid)
				kept = append(kept, opt)
			} else {
				k.counts[string(protocol.ImpossibleBid)]++
			}
		}
		if len(m.Options) > 0 && len(kept) == 0 {
			m.Why = protocol.Reason{Code: protocol.ImpossibleBid}
		}
		m.Options = kept
		menus = append(menus, m)
	}
	o.Jobs = menus
	return o
}

// validProfiles returns those that can be, of the first so many models. A model that is told
// of twice counts as told the first time.
func (k *Market) validProfiles(all []protocol.CapacityProfile) []protocol.CapacityProfile {
	rooms := make([]protocol.CapacityProfile, 0, len(all))
	for _, r := range all {
		if len(rooms) == maxSiteModels || !k.isValidProfile(r) || slices.ContainsFunc(rooms, func(q protocol.CapacityProfile) bool { return q.Model == r.Model }) {
			k.counts[string(protocol.ImpossibleBid)]++
			continue
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// validForecast returns g, as far as runs go, if it is of now, and else one that says
// nothing: the time to any other may overflow.
func (k *Market) validForecast(g protocol.GridForecast) protocol.GridForecast {
	if k.startsNearRound(g.From) { // each of thousands of options is held to its hours
		g.Price, g.Carbon = g.Price[:min(len(g.Price), maxForecastHours)], g.Carbon[:min(len(g.Carbon), maxForecastHours)]
		return g
	}
	if len(g.Price)+len(g.Carbon) > 0 {
		k.counts[string(protocol.ImpossibleBid)]++
	}
	return protocol.GridForecast{}
}

// startsNearRound reports whether what is told by slots or hours may begin at t.
func (k *Market) startsNearRound(t protocol.Time) bool {
	return t >= k.round.opened.Add(-protocol.MaxRun) && t <= k.round.opened.Add(protocol.MaxRun)
}

func (k *Market) isValidProfile(r protocol.CapacityProfile) bool {
	return r.Total >= 0 && r.Total <= maxSiteGPUs && r.Slot >= time.Second && r.Slot <= protocol.MaxRun && k.startsNearRound(r.From) &&
		!slices.ContainsFunc(slices.Concat(r.Free, r.ForDeferrable), func(v protocol.Milli) bool { return v < 0 || v > r.Total })
}

// hasCapacityFor reports whether a site said what room it has for o. An option on GPUs that
// nobody counts would seem to take none.
func hasCapacityFor(rooms []protocol.CapacityProfile, j protocol.Job, o protocol.BidOption) bool {
	return j.GPUs == 0 || slices.ContainsFunc(rooms, func(r protocol.CapacityProfile) bool { return r.Model == o.Model && r.Total >= j.TotalGPUMilli() })
}

// isPossibleOption compares instants, not spans: a span of hostile instants overflows.
func (k *Market) isPossibleOption(site string, j protocol.Job, o protocol.BidOption) bool {
	return o.Start >= k.round.opened && o.Finish > o.Start &&
		o.Finish <= k.round.opened.Add(maxFinishAhead) && o.Finish <= o.Start.Add(maxRunSpan) &&
		o.Energy >= 0 && o.Energy <= protocol.MaxEnergy && o.Carbon >= 0 && o.Carbon <= protocol.MaxCarbon &&
		o.Money >= -protocol.MaxMoney && o.Money <= protocol.MaxMoney && o.Transfer >= 0 && o.Transfer <= protocol.MaxMoney &&
		o.NodeIdleShare >= -protocol.MaxMoney && o.NodeIdleShare <= protocol.MaxMoney &&
		o.FragmentationDelta >= -maxFragmentDelta && o.FragmentationDelta <= maxFragmentDelta && o.Cap >= 0 &&
		(len(j.Models) == 0 || j.GPUs == 0 || slices.Contains(j.Models, o.Model)) &&
		(len(j.Regions) == 0 || slices.Contains(j.Regions, site))
}

// recomputeMoney returns what an option's energy costs. Where a site is paid what was
// measured, the money that it says is no price but arithmetic: the option's
// energy at the prices that the same offer tells of its grid. A site whose
// arithmetic is wrong by more than rounding would win or lose jobs by it, and is
// taken at its own prices. What ends beyond them is taken as said.
func (k *Market) recomputeMoney(o protocol.BidOption, g protocol.GridForecast) protocol.Microdollars {
	if k.cfg.Pay.Pay == accounts.FirstPrice {
		return o.Money
	}
	const hour = protocol.Time(time.Hour / time.Millisecond)
	n := protocol.Time(len(g.Price))
	if o.Start < g.From || o.Finish > g.From+n*hour {
		return o.Money
	}
	cost, weight, pue := 0.0, 0.0, 1.0
	for i := range n {
		if int(i) < len(g.PUE) {
			pue = float64(g.PUE[i])
		}
		part := min(o.Finish, g.From+(i+1)*hour) - max(o.Start, g.From+i*hour)
		if part > 0 {
			weight += float64(float64(part) * pue)
			cost += float64(float64(part) * pue * float64(g.Price[i]))
		}
	}
	const milliPerKWh = 3.6e9
	cost = float64(o.Energy) / milliPerKWh * cost / max(weight, 1)
	rounded := 0.5 + math.Abs(cost)/float64(max(o.Energy, 1)) // money to the nearest, and energy
	if math.Abs(cost-float64(o.Money)) <= max(float64(0.01*math.Abs(cost)), rounded) {
		return o.Money
	}
	k.counts["money-not-as-told"]++
	return protocol.Microdollars(math.Round(min(max(cost, -float64(protocol.MaxMoney)), float64(protocol.MaxMoney))))
}
