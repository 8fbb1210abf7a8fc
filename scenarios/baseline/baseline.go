// Package baseline implements the scheduling rules that the auction is compared with. They run with the same
// agents, fleets, physics and settlement as the auction; only the clearing rule differs (METHOD, section 7;
// BASELINES, section 1).
//
// Most rules award each job at once: to a site that can start it now, else to a site that queues it. Rules that
// delay a job do so at its home site, by its carbon forecast alone; package published computes for how long. Jobs
// are awarded in order of arrival, and capacity awarded earlier in the round counts as taken.
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
	HomeFIFO        = "home-fifo"
	RoundRobin      = "round-robin"
	Random          = "random"
	LeastAllocated  = "k8s-least-allocated"
	MostAllocated   = "k8s-most-allocated"
	CheapestNow     = "cheapest-now"
	GreenestNow     = "greenest-now"
	CarbonThreshold = "carbon-threshold"
	WaitAwhile      = "wait-awhile" // Let's Wait Awhile, without interruptions
	GAIA            = "gaia"        // GAIA's carbon-time rule

	SuspendResume    = "suspend-resume"           // Ecovisor's suspend and resume
	WaitInterrupting = "wait-awhile-interrupting" // Let's Wait Awhile, with interruptions

	EnergyAware   = "energy-aware"   // least energy
	PriorityOrder = "priority-order" // clusters by fixed priority, as in ACK One
	GeoGreedy     = "geo-greedy"     // least price and carbon now
)

// Names returns the names of all rules, in the order of the report's tables.
func Names() []string {
	return []string{
		HomeFIFO, RoundRobin, Random, LeastAllocated, MostAllocated, PriorityOrder, EnergyAware,
		CheapestNow, GreenestNow, GeoGreedy, CarbonThreshold, WaitAwhile, GAIA, SuspendResume, WaitInterrupting,
	}
}

// New returns a new instance of a rule by name, or false if the name is unknown. The seed is for rules that draw at
// random. Rules keep state, so each run needs its own instance.
func New(name string, seed uint64) (auction.Rule, bool) {
	pick, ok := map[string]func() picker{
		HomeFIFO:        func() picker { return home },
		RoundRobin:      roundRobin,
		Random:          func() picker { return random(seed) },
		LeastAllocated:  func() picker { return byScore },
		MostAllocated:   func() picker { return byScore },
		CheapestNow:     func() picker { return byGrid(func(o protocol.Outlook) int64 { return int64(o.Price[0]) }) },
		GreenestNow:     func() picker { return byGrid(func(o protocol.Outlook) int64 { return int64(o.Carbon[0]) }) },
		CarbonThreshold: func() picker { return threshold },
		WaitAwhile:      waitAwhile,
		GAIA:            gaia,

		SuspendResume:    suspended,
		WaitInterrupting: cheapest,

		EnergyAware:   func() picker { return leastEnergy },
		PriorityOrder: func() picker { return first },
		GeoGreedy:     func() picker { return geo },
	}[name]
	if !ok {
		return nil, false
	}
	return &rule{pick()}, true
}

// A picker decides one lot of a round.
type picker func(r round, l auction.Lot) auction.Decision

// A round is an auction round with the capacity that is left while its lots are awarded.
type round struct {
	auction.Round
	free map[pool]protocol.Milli // GPUs that can be used now, by site and model
}

type pool struct{ site, model string }

type rule struct{ pick picker }

// Shadow implements auction.Rule. Baselines compute no shadow prices.
func (b *rule) Shadow() []protocol.Price { return nil }

// Clear implements auction.Rule. It decides lots one by one, in the order of the round.
func (b *rule) Clear(in auction.Round) (out auction.Outcome) {
	r := round{in, make(map[pool]protocol.Milli)}
	for _, s := range in.Sites {
		for _, room := range s.Room {
			if len(room.Free) > 0 {
				r.free[pool{s.Name, room.Model}] = room.Free[0]
			}
		}
	}
	for _, l := range r.Lots {
		d := auction.Decision{Verdict: auction.Hold, Until: r.Next, Why: protocol.Reason{Code: protocol.NoOffer}}
		if len(l.Menus) > 0 {
			d = b.pick(r, l)
		}
		// Only starts of now use the capacity of now; queued and later starts do not.
		if d.Verdict == auction.Award && d.Option.Start <= r.Now {
			r.free[pool{d.Site, d.Option.Model}] -= l.Job.GPU()
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// sell awards a lot to a site by its first option. If the site cannot start it now, the site queues it.
func sell(m auction.Menu) auction.Decision {
	return auction.Decision{
		Verdict: auction.Award, Site: m.Site, Option: m.Options[0], Queue: true,
		Why: protocol.Reason{Code: protocol.ByRule},
	}
}

// home awards a job to the site at which it was submitted. If its home never bids for it, the job goes to the site
// with the earliest start.
func home(r round, l auction.Lot) auction.Decision {
	for _, m := range l.Menus {
		if m.Site == l.Job.Home {
			return sell(m)
		}
	}
	return sell(soonest(r, l))
}

// soonest returns the menu with the earliest start. A site whose capacity of now was awarded earlier in this round
// has no known start, so it comes last.
func soonest(r round, l auction.Lot) auction.Menu {
	gone := func(m auction.Menu) int {
		if m.Options[0].Start <= r.Now && !r.hasRoom(l, m) {
			return 1
		}
		return 0
	}
	return slices.MinFunc(l.Menus, func(x, y auction.Menu) int {
		return cmp.Or(gone(x)-gone(y), cmp.Compare(x.Options[0].Start, y.Options[0].Start), cmp.Compare(x.Site, y.Site))
	})
}

// hasRoom reports whether a lot can start at once with the first option of a menu.
func (r round) hasRoom(l auction.Lot, m auction.Menu) bool {
	o := m.Options[0]
	return o.Start <= r.Now && r.free[pool{m.Site, o.Model}] >= l.Job.GPU()
}

// withRoom returns the menus of the sites at which a lot can start at once.
func withRoom(r round, l auction.Lot) []auction.Menu {
	return slices.DeleteFunc(slices.Clone(l.Menus), func(m auction.Menu) bool { return !r.hasRoom(l, m) })
}

// roundRobin awards lots to the bidding sites in turn.
func roundRobin() picker {
	turn := 0
	return func(_ round, l auction.Lot) auction.Decision {
		turn++
		return sell(l.Menus[(turn-1)%len(l.Menus)])
	}
}

// random draws a site from the seed and the job's id, so that an additional job does not change where the others
// go.
func random(seed uint64) picker {
	return func(_ round, l auction.Lot) auction.Decision {
		h := fnv.New64a()
		h.Write([]byte(l.Job.ID)) // hash.Hash never returns an error
		return sell(l.Menus[rand.New(rand.NewPCG(seed, h.Sum64())).IntN(len(l.Menus))])
	}
}

// byScore awards to the site whose best node scores highest by its own placement policy, as one Kubernetes
// scheduler over all clusters would.
func byScore(r round, l auction.Lot) auction.Decision {
	return best(r, l, withRoom(r, l), func(x, y auction.Menu) int {
		return cmp.Compare(y.Options[0].Score, x.Options[0].Score)
	})
}

// best awards to the smallest of the menus in now, by site name among equals. If now is empty, it awards to the
// site with the earliest start.
func best(r round, l auction.Lot, now []auction.Menu, compare func(x, y auction.Menu) int) auction.Decision {
	if len(now) == 0 {
		return sell(soonest(r, l))
	}
	return sell(slices.MinFunc(now, func(x, y auction.Menu) int {
		return cmp.Or(compare(x, y), cmp.Compare(x.Site, y.Site))
	}))
}

// byGrid awards to the site with room whose grid has the smallest value of a quantity in this hour.
func byGrid(least func(protocol.Outlook) int64) picker {
	return func(r round, l auction.Lot) auction.Decision {
		value := make(map[string]int64)
		for _, s := range r.Sites {
			if len(s.Grid.Price) > 0 && len(s.Grid.Carbon) > 0 {
				value[s.Name] = least(s.Grid)
			}
		}
		now := slices.DeleteFunc(withRoom(r, l), func(m auction.Menu) bool { _, ok := value[m.Site]; return !ok })
		return best(r, l, now, func(x, y auction.Menu) int { return cmp.Compare(value[x.Site], value[y.Site]) })
	}
}

// threshold defers a job at home until the intensity is at or below the 30th percentile of the next 24 hours'
// forecast, at the latest until the job must start to meet its deadline (the Ecovisor rule as coded in GAIA).
func threshold(r round, l auction.Lot) auction.Decision {
	d := home(r, l)
	latest := l.Job.Deadline.Add(-d.Option.Finish.Sub(d.Option.Start))
	if !l.Job.Deferrable || latest <= r.Now {
		return d
	}
	for _, s := range r.Sites {
		if s.Name != d.Site || len(s.Grid.Carbon) == 0 {
			continue
		}
		day := slices.Clone(s.Grid.Carbon[:min(24, len(s.Grid.Carbon))])
		slices.Sort(day)
		if s.Grid.Carbon[0] <= day[len(day)*3/10] {
			return d
		}
		d.Verdict, d.Queue = auction.Hold, false
		// The forecast changes by the hour: decide anew just after the next full hour.
		d.Until = min(latest, r.Now.Floor(time.Hour).Add(time.Hour+time.Second))
		d.Why = protocol.Reason{Code: protocol.CheaperLater}
	}
	return d
}
