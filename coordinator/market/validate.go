package market

import (
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Bounds of what a site may state about a job. They are far above anything real, and keep
// arithmetic on such values from overflowing.
const (
	maxFragmentDelta = protocol.Milli(8_000)                               // 8 GPUs: one node
	maxSiteGPUs      = protocol.Milli(1e9)                                 // a million GPUs
	maxSiteModels    = 64                                                  // GPU models at one site
	maxRunSpan       = 3 * protocol.MaxRun                                 // a run on the slowest GPU
	maxFinishAhead   = 4 * protocol.MaxRun                                 // end of a run after the round opened
	maxForecastHours = int((maxFinishAhead + protocol.MaxRun) / time.Hour) // of a forecast, which may begin up to MaxRun ago
	maxClockSkew     = 5 * time.Minute                                     // between a sender's clock and the market's, transport delay included
)

// validateBids returns o without impossible content: bids for jobs that were not called or that
// come twice, and options that break the job's own limits or physics. It counts what it removes.
func (k *Market) validateBids(site string, o protocol.Bids) protocol.Bids {
	o.Capacity, o.Grid = k.validProfiles(o.Capacity), k.validForecast(o.Grid)
	seen := make([]bool, len(k.round.lots))
	var spreads []protocol.Spread
	menus := make([]protocol.JobBids, 0, len(o.Jobs))
	options := 0
	for i := range o.Jobs {
		options += len(o.Jobs[i].Options)
	}
	all := make([]protocol.BidOption, 0, options) // that are kept
	for _, m := range o.Jobs {
		i, ok := k.round.index[m.Job]
		if !ok || seen[i] {
			k.counts["offer-for-unknown-job"]++
			continue
		}
		seen[i] = true
		job := &k.round.lots[i].job
		kept := all[len(all):]
		var sized []sizedOption
		for x := range m.Options {
			opt := &m.Options[x]
			places := []protocol.Place(nil)
			if job.IsGang() {
				places = spreadOf(o.Spreads, m.Job, x)
			}
			job := job
			if opt.Pods != 0 {
				at := job.Under(opt) // out of its range it stays as it is, and pods are not those of the option
				job = &at
			}
			as := job
			if job.MinPods > 0 {
				fewer := job.AtPlaces(places)
				as = &fewer
			}
			if k.isPossibleOption(site, job, opt) && hasCapacityFor(o.Capacity, as, opt) && (!job.IsGang() || k.invalidSpread(site, job, opt, places) == "") && (!job.LimitsPlaces() || slices.Contains(o.WithinDomain, job.ID)) && fitsCurve(job, opt, sized) {
				if job.IsElastic() {
					sized = append(sized, sizedOption{opt, job.PodCount()})
				}
				if job.IsGang() {
					spreads = append(spreads, protocol.Spread{Job: m.Job, Option: len(kept), Places: places})
				}
				kept = append(kept, *opt)
				kept[len(kept)-1].Money = k.recomputeMoney(opt, &o.Grid)
			} else {
				k.counts[string(protocol.ImpossibleBid)]++
			}
		}
		if len(m.Options) > 0 && len(kept) == 0 {
			m.Why = protocol.Reason{Code: protocol.ImpossibleBid}
		}
		all = all[:len(all)+len(kept)]
		m.Options = slices.Clip(kept)
		menus = append(menus, m)
	}
	o.Jobs, o.Spreads = menus, spreads
	return o
}

// validProfiles returns the valid capacity profiles of the first maxSiteModels models. If a model
// occurs twice, the first profile counts.
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

// validForecast returns g, cut to the hours that runs can reach, if it begins near the round; else
// an empty forecast, because spans between distant times may overflow.
func (k *Market) validForecast(g protocol.GridForecast) protocol.GridForecast {
	if k.startsNearRound(g.From) { // cut: each of thousands of options is checked against its hours
		g.Price, g.Carbon = g.Price[:min(len(g.Price), maxForecastHours)], g.Carbon[:min(len(g.Carbon), maxForecastHours)]
		return g
	}
	if len(g.Price)+len(g.Carbon) > 0 {
		k.counts[string(protocol.ImpossibleBid)]++
	}
	return protocol.GridForecast{}
}

// startsNearRound reports whether a series of slots or hours may begin at t: within MaxRun of the
// round.
func (k *Market) startsNearRound(t protocol.Time) bool {
	return t >= k.round.call.opened.Add(-protocol.MaxRun) && t <= k.round.call.opened.Add(protocol.MaxRun)
}

// isValidProfile reports whether a profile's amounts lie between 0 and its total, its parts between
// none and all, and its slots within bounds.
func (k *Market) isValidProfile(r protocol.CapacityProfile) bool {
	outside := func(v protocol.Milli) bool { return v < 0 || v > r.Total }
	if min(r.CPUUsed, r.MemoryUsed) < 0 || max(r.CPUUsed, r.MemoryUsed) > 1000 {
		return false
	}
	return r.Total >= 0 && r.Total <= maxSiteGPUs && r.Slot >= time.Second && r.Slot <= protocol.MaxRun && k.startsNearRound(r.From) &&
		!slices.ContainsFunc(r.Free, outside) && !slices.ContainsFunc(r.ForDeferrable, outside)
}

// hasCapacityFor reports whether the site's profiles include o's model with at least the job's
// GPUs in total. Without a profile the auction would take the option as using no capacity.
func hasCapacityFor(rooms []protocol.CapacityProfile, j *protocol.Job, o *protocol.BidOption) bool {
	return j.GPUs == 0 || slices.ContainsFunc(rooms, func(r protocol.CapacityProfile) bool { return r.Model == o.Model && r.Total >= j.TotalGPUMilli() })
}

// isPossibleOption reports whether an option is within bounds and within the job's models and
// regions. It compares instants and never subtracts them: a difference of hostile instants may
// overflow.
func (k *Market) isPossibleOption(site string, j *protocol.Job, o *protocol.BidOption) bool {
	pods := protocol.Milli(j.PodCount()) // each may be on a node of its own
	return o.Start >= k.round.call.opened && o.Finish > o.Start &&
		o.Finish <= k.round.call.opened.Add(maxFinishAhead) && o.Finish <= o.Start.Add(maxRunSpan) &&
		o.Energy >= 0 && o.Energy <= protocol.MaxEnergy && o.Carbon >= 0 && o.Carbon <= protocol.MaxCarbon &&
		o.Money >= -protocol.MaxMoney && o.Money <= protocol.MaxMoney && o.Transfer >= 0 && o.Transfer <= protocol.MaxMoney &&
		o.NodeIdleShare >= -protocol.MaxMoney && o.NodeIdleShare <= protocol.MaxMoney && o.Wake >= 0 && o.Wake <= maxRunSpan && o.Start.Add(o.Wake) <= o.Finish &&
		o.Tariff >= 0 && o.Tariff <= protocol.MaxTariff &&
		o.FragmentationDelta >= -maxFragmentDelta*pods && o.FragmentationDelta <= maxFragmentDelta*pods && o.Cap >= 0 &&
		(len(j.Models) == 0 || j.GPUs == 0 || slices.Contains(j.Models, o.Model)) &&
		(len(j.Regions) == 0 || slices.Contains(j.Regions, site))
}

// recomputeMoney returns the cost of an option's energy. Where sites are paid for measured usage,
// a bid's money is no price but arithmetic: the option's energy at the prices of the same
// message's forecast (decision 0204). A site whose arithmetic is off by more than rounding would
// win or lose jobs by it, so the market uses the recomputed amount. Options that reach beyond the
// forecast keep the site's amount.
func (k *Market) recomputeMoney(o *protocol.BidOption, g *protocol.GridForecast) protocol.Microdollars {
	if k.cfg.Pay.Pay == accounts.FirstPrice {
		return o.Money
	}
	const hour = protocol.Time(time.Hour / time.Millisecond)
	n := protocol.Time(len(g.Price))
	if o.Start < g.From || o.Finish > g.From+n*hour {
		return o.Money
	}
	cost, weight, pue := 0.0, 0.0, 1.0
	for i := (o.Start - g.From) / hour; i < n && g.From+i*hour < o.Finish; i++ {
		if len(g.PUE) > 0 {
			pue = float64(g.PUE[min(int(i), len(g.PUE)-1)])
		}
		part := min(o.Finish, g.From+(i+1)*hour) - max(o.Start, g.From+i*hour)
		weight += float64(float64(part) * pue)
		cost += float64(float64(part) * pue * float64(g.Price[i])) // weighted by PUE: the facility draws more in hours with a higher one
	}
	const milliPerKWh = 3.6e9
	cost = float64(o.Energy) / milliPerKWh * cost / max(weight, 1)
	rounded := 0.5 + math.Abs(cost)/float64(max(o.Energy, 1)) // half a unit of money, and the price of half a unit of energy, may be rounding
	if math.Abs(cost-float64(o.Money)) <= max(float64(0.01*math.Abs(cost)), rounded) {
		return o.Money
	}
	k.counts["money-not-as-told"]++
	return protocol.Microdollars(math.Round(min(max(cost, -float64(protocol.MaxMoney)), float64(protocol.MaxMoney))))
}
