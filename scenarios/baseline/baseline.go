// Package baseline implements the scheduling rules that the auction is compared with.
// They run with the same agents, fleets, physics and settlement as the auction; only
// the clearing rule differs (METHOD, section 7; BASELINES, section 1).
//
// Most rules award each job at once: to a site that can start it now, else to a site
// that queues it. Rules that delay a job do so at its home site, by its carbon
// forecast alone; package published computes for how long. Jobs are awarded in order
// of arrival, and capacity awarded earlier in the round counts as taken.
package baseline

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Names of the rules, in the order of the report's tables.
const (
	RuleHomeFIFO        = "home-fifo"
	RuleRoundRobin      = "round-robin"
	RuleRandom          = "random"
	RuleLeastAllocated  = "k8s-least-allocated"
	RuleMostAllocated   = "k8s-most-allocated"
	RuleCheapestNow     = "cheapest-now"
	RuleGreenestNow     = "greenest-now"
	RuleCarbonThreshold = "carbon-threshold"
	RuleWaitAwhile      = "wait-awhile" // Let's Wait Awhile, without interruptions
	RuleGAIA            = "gaia"        // GAIA's carbon-time rule

	RuleSuspendResume    = "suspend-resume"           // Ecovisor's suspend and resume
	RuleWaitInterrupting = "wait-awhile-interrupting" // Let's Wait Awhile, with interruptions

	RuleCarbonScaler = "carbonscaler" // CarbonScaler, for elastic jobs

	RuleEnergyAware   = "energy-aware"   // least energy
	RulePriorityOrder = "priority-order" // clusters by fixed priority, as in ACK One
	RuleGeoGreedy     = "geo-greedy"     // least price and carbon now
)

// RuleNames returns the names of all rules, in the order of the report's tables.
func RuleNames() []string {
	return []string{
		RuleHomeFIFO, RuleRoundRobin, RuleRandom, RuleLeastAllocated, RuleMostAllocated, RulePriorityOrder, RuleEnergyAware,
		RuleCheapestNow, RuleGreenestNow, RuleGeoGreedy, RuleCarbonThreshold, RuleWaitAwhile, RuleGAIA, RuleSuspendResume, RuleWaitInterrupting, RuleCarbonScaler,
	}
}

// New returns a new instance of a rule by name, or false if the name is unknown. The
// seed is for rules that draw at random. Rules keep state, so each run needs its own
// instance.
func New(name string, seed uint64) (auction.ClearingRule, bool) {
	pick, ok := map[string]func() lotDecider{
		RuleHomeFIFO:       func() lotDecider { return awardAtHome },
		RuleRoundRobin:     roundRobinRule,
		RuleRandom:         func() lotDecider { return randomRule(seed) },
		RuleLeastAllocated: func() lotDecider { return awardByPlacementScore },
		RuleMostAllocated:  func() lotDecider { return awardByPlacementScore },
		RuleCheapestNow: func() lotDecider {
			return awardByGridSignal(func(o protocol.GridForecast) int64 { return int64(o.Price[0]) })
		},
		RuleGreenestNow: func() lotDecider {
			return awardByGridSignal(func(o protocol.GridForecast) int64 { return int64(o.Carbon[0]) })
		},
		RuleCarbonThreshold: func() lotDecider { return waitForThreshold },
		RuleWaitAwhile:      waitAwhileRule,
		RuleGAIA:            gaiaRule,

		RuleSuspendResume:    suspendResumeRule,
		RuleWaitInterrupting: cheapestSegmentsRule,
		RuleCarbonScaler:     carbonScalerRule,

		RuleEnergyAware:   func() lotDecider { return awardLeastEnergy },
		RulePriorityOrder: func() lotDecider { return awardFirstWithRoom },
		RuleGeoGreedy:     func() lotDecider { return awardGeoGreedy },
	}[name]
	if !ok {
		return nil, false
	}
	return &baselineRule{pick()}, true
}

// A lotDecider decides one lot of a round.
type lotDecider func(r baselineRound, l auction.Lot) auction.Decision

// A baselineRound is an auction round with the capacity that is left while its lots are awarded.
type baselineRound struct {
	auction.Round
	free map[gpuPool]protocol.Milli // GPUs that can be used now, by site and model
}

// A gpuPool is the GPUs of one model at one site.
type gpuPool struct{ site, model string }

// A baselineRule clears a round lot by lot. It implements auction.ClearingRule.
type baselineRule struct{ decide lotDecider }

// ShadowPrices implements auction.ClearingRule. Baselines compute no shadow prices.
func (b *baselineRule) ShadowPrices() []protocol.ShadowPrice { return nil }

// Clear implements auction.ClearingRule. It decides lots one by one, in the order of the round.
func (b *baselineRule) Clear(in auction.Round) (out auction.Outcome) {
	r := baselineRound{in, make(map[gpuPool]protocol.Milli)}
	for _, s := range in.Sites {
		for _, room := range s.Capacity {
			if len(room.Free) > 0 {
				r.free[gpuPool{s.Name, room.Model}] = room.Free[0]
			}
		}
	}
	for _, l := range r.Lots {
		d := auction.Decision{Verdict: auction.Defer, Until: r.Next, Why: protocol.Reason{Code: protocol.NoBids}}
		if len(l.Bids) > 0 {
			d = b.decide(r, l)
		}
		// Only starts of now use the capacity of now; queued and later starts do not.
		if d.Verdict == auction.Award && d.Option.Start <= r.Now {
			r.free[gpuPool{d.Site, d.Option.Model}] -= l.Job.GPUsUnder(&d.Option)
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// awardToSite awards a lot to a site by its first option. If the site cannot start it now,
// the site queues it.
func awardToSite(m auction.SiteBids) auction.Decision {
	return auction.Decision{
		Verdict: auction.Award, Site: m.Site, Option: m.Options[0], MayQueue: true,
		Why: protocol.Reason{Code: protocol.ByRule},
	}
}

// awardAtHome awards a job to the site at which it was submitted. If its home never bids for
// it, the job goes to the site with the earliest start.
func awardAtHome(r baselineRound, l auction.Lot) auction.Decision {
	for _, m := range l.Bids {
		if m.Site == l.Job.Home {
			return awardToSite(m)
		}
	}
	return awardToSite(earliestStartBids(r, l))
}

// earliestStartBids returns the menu with the earliest start. A site whose capacity of now was
// awarded earlier in this round has no known start, so it comes last.
func earliestStartBids(r baselineRound, l auction.Lot) auction.SiteBids {
	gone := func(m auction.SiteBids) int {
		if m.Options[0].Start <= r.Now && !r.hasRoom(l, m) {
			return 1
		}
		return 0
	}
	return slices.MinFunc(l.Bids, func(x, y auction.SiteBids) int {
		return cmp.Or(gone(x)-gone(y), cmp.Compare(x.Options[0].Start, y.Options[0].Start), cmp.Compare(x.Site, y.Site))
	})
}

// hasRoom reports whether a lot can start at once with the first option of a menu.
func (r baselineRound) hasRoom(l auction.Lot, m auction.SiteBids) bool {
	o := m.Options[0]
	return o.Start <= r.Now && r.free[gpuPool{m.Site, o.Model}] >= l.Job.TotalGPUMilli()
}

// sitesWithRoom returns the menus of the sites at which a lot can start at once.
func sitesWithRoom(r baselineRound, l auction.Lot) []auction.SiteBids {
	return slices.DeleteFunc(slices.Clone(l.Bids), func(m auction.SiteBids) bool { return !r.hasRoom(l, m) })
}

// roundRobinRule awards lots to the bidding sites in turn.
func roundRobinRule() lotDecider {
	turn := 0
	return func(_ baselineRound, l auction.Lot) auction.Decision {
		turn++
		return awardToSite(l.Bids[(turn-1)%len(l.Bids)])
	}
}

// randomRule draws a site from the seed and the job's id, so that an additional job does
// not change where the others go.
func randomRule(seed uint64) lotDecider {
	return func(_ baselineRound, l auction.Lot) auction.Decision {
		h := fnv.New64a()
		h.Write([]byte(l.Job.ID)) // hash.Hash never returns an error
		return awardToSite(l.Bids[rand.New(rand.NewPCG(seed, h.Sum64())).IntN(len(l.Bids))])
	}
}

// awardByPlacementScore awards to the site whose best node scores highest by its own placement
// policy, as one Kubernetes scheduler over all clusters would.
func awardByPlacementScore(r baselineRound, l auction.Lot) auction.Decision {
	return awardBestWithRoom(r, l, sitesWithRoom(r, l), func(x, y auction.SiteBids) int {
		return cmp.Compare(y.Options[0].Score, x.Options[0].Score)
	})
}

// awardBestWithRoom awards to the smallest of the menus in now, by site name among equals. If now
// is empty, it awards to the site with the earliest start.
func awardBestWithRoom(r baselineRound, l auction.Lot, now []auction.SiteBids, compare func(x, y auction.SiteBids) int) auction.Decision {
	if len(now) == 0 {
		return awardToSite(earliestStartBids(r, l))
	}
	return awardToSite(slices.MinFunc(now, func(x, y auction.SiteBids) int {
		return cmp.Or(compare(x, y), cmp.Compare(x.Site, y.Site))
	}))
}

// awardByGridSignal awards to the site with room whose grid has the smallest value of a quantity
// in this hour.
func awardByGridSignal(least func(protocol.GridForecast) int64) lotDecider {
	return func(r baselineRound, l auction.Lot) auction.Decision {
		value := make(map[string]int64)
		for _, s := range r.Sites {
			if len(s.Forecast.Price) > 0 && len(s.Forecast.Carbon) > 0 {
				value[s.Name] = least(s.Forecast)
			}
		}
		now := slices.DeleteFunc(sitesWithRoom(r, l), func(m auction.SiteBids) bool { _, ok := value[m.Site]; return !ok })
		return awardBestWithRoom(r, l, now, func(x, y auction.SiteBids) int { return cmp.Compare(value[x.Site], value[y.Site]) })
	}
}

// waitForThreshold defers a job at home until the intensity is at or below the 30th
// percentile of the next 24 hours' forecast, at the latest until the job must start
// to meet its deadline (the Ecovisor rule as coded in GAIA).
func waitForThreshold(r baselineRound, l auction.Lot) auction.Decision {
	d := awardAtHome(r, l)
	latest := l.Job.Deadline.Add(-d.Option.Finish.Sub(d.Option.Start))
	if !l.Job.MayWait() || latest <= r.Now {
		return d
	}
	for _, s := range r.Sites {
		if s.Name != d.Site || len(s.Forecast.Carbon) == 0 {
			continue
		}
		day := slices.Clone(s.Forecast.Carbon[:min(24, len(s.Forecast.Carbon))])
		slices.Sort(day)
		if s.Forecast.Carbon[0] <= day[len(day)*3/10] {
			return d
		}
		d.Verdict, d.MayQueue = auction.Defer, false
		// The forecast changes by the hour: decide anew just after the next full hour.
		d.Until = min(latest, r.Now.Floor(time.Hour).Add(time.Hour+time.Second))
		d.Why = protocol.Reason{Code: protocol.CheaperLater}
	}
	return d
}
