package agents

import (
	"slices"
	"sort"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// spreadOptions returns the options of a gang for which the site knows nodes, and notes these for the
// bids, in which so many options come before them. An option without nodes could not be delivered, and the
// market would refuse it.
func (p *bidPricing) spreadOptions(j *protocol.Job, ways []capacity.RunConfig, options []protocol.BidOption, before int) []protocol.BidOption {
	kept := options[:0]
	for i := range options {
		o := &options[i]
		w := slices.IndexFunc(ways, func(w capacity.RunConfig) bool { return w.Model == o.Model && w.Choice.Cap == o.Cap })
		run := ways[max(w, 0)].Run + p.agent.cfg.Network.transferTime(*j, p.agent.cfg.Site)
		if places, ok := p.agent.fleet.SpreadAt(p.now, j, o.Model, o.Start, run); ok && w >= 0 {
			p.spreads = append(p.spreads, protocol.Spread{Job: j.ID, Option: before + len(kept), Places: places})
			if o.Start > p.now {
				p.noteHole(j, o, places, before+len(kept), run)
			}
			kept = append(kept, *o)
		}
	}
	return kept
}

// fewerPods returns with how many pods a gang that may start without some of them is offered, too: as many as
// could start now, and quotas have room for, or as few as it may have; 0 if it may not, or if it starts now with
// all and quotas limit nothing.
func (p *bidPricing) fewerPods(j *protocol.Job, options []protocol.BidOption) int {
	all, least := j.PodCount(), j.LeastPods()
	for least < all && j.WithPodCount(least).Run > protocol.MaxRun {
		least++ // no job may run for so long
	}
	most := all - 1
	if j.MostPods > 0 {
		most = max(min(most, j.MostPods), least)
	}
	if least == all || j.MostPods == 0 && slices.ContainsFunc(options, func(o protocol.BidOption) bool { return o.Start <= p.now }) {
		return 0
	}
	beyond := sort.Search(most-least+1, func(i int) bool { return p.startsNow(j.WithPodCount(most - i)) })
	return max(most-beyond, least)
}

// startsNow reports whether a gang could start now, on some model.
func (p *bidPricing) startsNow(j protocol.Job) bool {
	ways, _ := p.agent.fleet.RunConfigs(j)
	for i, w := range ways {
		if i > 0 && ways[i-1].Model == w.Model {
			continue // under another cap
		}
		if _, ok := p.agent.fleet.QuotePlacement(p.now, j, w.Model, w.Run+p.agent.cfg.Network.transferTime(j, p.agent.cfg.Site)); ok {
			return true
		}
	}
	return false
}

// noteHole notes for the bids what an option of a gang keeps idle until it starts, and charges it to the option:
// room that is kept could be sold.
func (p *bidPricing) noteHole(j *protocol.Job, o *protocol.BidOption, places []protocol.Place, at int, run time.Duration) {
	fleet, room := p.agent.fleet, p.shadow[o.Model]
	q := fleet.HoleAt(p.now, j, places, o.Start)
	cost := fleet.Cost(q, room.meanPrice)
	o.NodeIdleShare += cost
	p.holes = append(p.holes, protocol.Hole{
		Job: j.ID, Option: at, Fit: fleet.PodsThatFit(p.now, j, o.Model, run), From: q.From, GPUHours: q.GPUHours, Cost: cost,
	})
}

// holesOf is spreadsOf for the holes of a job.
func holesOf(all []protocol.Hole, id protocol.JobID, kept []int) (out []protocol.Hole) {
	for i, k := range kept {
		if at := slices.IndexFunc(all, func(h protocol.Hole) bool { return h.Job == id && h.Option == k }); at >= 0 {
			h := all[at]
			h.Option = i
			out = append(out, h)
		}
	}
	return out
}

// spreadsOf returns the spreads of the options that are left of a job, of which kept is the index of
// each before.
func spreadsOf(all []protocol.Spread, id protocol.JobID, kept []int) (out []protocol.Spread) {
	for i, k := range kept {
		at := slices.IndexFunc(all, func(s protocol.Spread) bool { return s.Job == id && s.Option == k })
		if at >= 0 {
			s := all[at]
			s.Option = i
			out = append(out, s)
		}
	}
	return out
}

// goOnWithFewer notes that a gang has lost pods and runs on with those at some places, as its executor says. It
// reports whether that is news.
func (a *Agent) goOnWithFewer(now protocol.Time, l *activeRun, left []protocol.Place) bool {
	job := l.launch.Job.AtPlaces(left)
	if job.PodCount() >= l.launch.Job.PodCount() || l.launch.Job.InvalidPlaces(left) != "" {
		return false
	}
	a.fleet.GoOnWithFewer(now, job.ID, left) // false before a restarted agent knows its nodes; then it adopts the launch
	all, fewer := l.launch.Job.SlowedBy(&job)
	done := max(now.Sub(l.started), 0)
	l.launch.Run = done + (max(l.launch.Run-done, 0)*all+fewer-1)/fewer
	l.launch.Power = l.launch.Power * protocol.Milliwatts(job.PodCount()) / protocol.Milliwatts(l.launch.Job.PodCount())
	l.launch.Job, l.launch.Places, l.launch.Node, l.launch.Devices = job, left, left[0].Node, left[0].Devices
	return true
}
