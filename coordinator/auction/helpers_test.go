package auction

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// usual is the grid of the default Planning.
var usual = newGrid(protocol.DefaultPlanning())

const usualSlots = 288

var weights = protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}

// hourly is room of one model, free from noon on, hour by hour; the last value
// holds on.
func hourly(model string, total protocol.Milli, free ...protocol.Milli) protocol.CapacityProfile {
	return protocol.CapacityProfile{Model: model, From: noon, Slot: time.Hour, Free: free, Total: total}
}

// option runs from one hour after noon to another, at a price in cents.
func option(model string, from, to float64, cents protocol.Microdollars) protocol.BidOption {
	at := func(h float64) protocol.Time { return noon + protocol.Time(h*3_600_000) }
	return protocol.BidOption{Start: at(from), Finish: at(to), Model: model, Money: cents * 10_000}
}

// lot is a job of whole GPUs that can be deferred, with menus.
func lot(id protocol.JobID, gpus int, menus ...SiteBids) Lot {
	return Lot{Bids: menus, Job: protocol.Job{
		ID: id, GPUs: gpus, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(24 * time.Hour), Urgency: protocol.UrgencyStandard,
	}}
}

func round(lots []Lot, sites ...Site) Round {
	return Round{Number: 1, Now: noon, Next: noon.Add(time.Hour), Full: true, Lots: lots, Sites: sites, Weights: weights}
}

// drawRound draws a round that is tight: up to three sites with a model or two,
// few GPUs, and lots that mostly want the same hours.
func drawRound(t *rapid.T, most int) Round {
	r := round(nil)
	r.Now = noon.Add(time.Duration(rapid.IntRange(0, 899).Draw(t, "seconds")) * time.Second)
	for _, name := range []string{"bern", "kiel", "oslo"}[:rapid.IntRange(1, 3).Draw(t, "sites")] {
		s := Site{Name: name, Trust: rapid.SampledFrom([]protocol.Milli{0, 1000, 1500}).Draw(t, "trust")}
		for _, model := range []string{"A100", "V100"}[:rapid.IntRange(1, 2).Draw(t, "models")] {
			total := protocol.Milli(rapid.IntRange(0, 4).Draw(t, "gpus")) * 1000
			room := hourly(model, total)
			for range 4 {
				room.Free = append(room.Free, protocol.Milli(rapid.Int64Range(0, int64(total)).Draw(t, "free")))
			}
			if rapid.Bool().Draw(t, "kept") {
				for _, v := range room.Free {
					room.ForDeferrable = append(room.ForDeferrable, protocol.Milli(rapid.Int64Range(0, int64(v)).Draw(t, "open")))
				}
			}
			s.Capacity = append(s.Capacity, room)
		}
		r.Sites = append(r.Sites, s)
	}
	for i := range rapid.IntRange(1, most).Draw(t, "lots") {
		l := lot(protocol.JobID(fmt.Sprint("job-", i)), rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "gpus"))
		l.Job.Urgency, l.Job.Priority = protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable")), rapid.IntRange(0, 1).Draw(t, "priority")
		l.Job.Deadline = noon.Add(time.Duration(rapid.SampledFrom([]int{24, 24, 2}).Draw(t, "due")) * time.Hour)
		switch l.Job.GPUs {
		case 0:
			l.Job.Share, l.Job.CPU = 0, 4000
		case 1:
			l.Job.Share = rapid.SampledFrom([]protocol.Milli{300, 1000}).Draw(t, "share")
		}
		for _, s := range r.Sites {
			m := SiteBids{Site: s.Name}
			for range rapid.IntRange(0, 3).Draw(t, "options") {
				o := option(rapid.SampledFrom(s.Capacity).Draw(t, "room").Model, 0, 0, protocol.Microdollars(rapid.IntRange(-2, 9).Draw(t, "cents")))
				o.Start = r.Now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 20, 60, 90}).Draw(t, "start")) * time.Minute)
				o.Finish = o.Start.Add(time.Duration(rapid.IntRange(5, 200).Draw(t, "minutes")) * time.Minute)
				m.Options = append(m.Options, o)
			}
			if len(m.Options) > 0 {
				l.Bids = append(l.Bids, m)
			}
		}
		r.Lots = append(r.Lots, l)
	}
	return r
}

// shadow returns what the room of k costs at the prices of p, by hand.
func shadow(p *problem, k *candidate) float64 {
	if k.pool < 0 {
		return 0
	}
	return float64(k.gpu) / 1000 * p.sums[k.pool].sumBetween(k.a, k.b)
}
