package agents

import (
	"slices"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// spreadOptions returns the options of a gang for which the site knows nodes, and notes these for the
// bids. An option without nodes could not be delivered, and the market would refuse it.
func (p *bidPricing) spreadOptions(j *protocol.Job, ways []capacity.RunConfig, options []protocol.BidOption) []protocol.BidOption {
	kept := options[:0]
	for i := range options {
		o := &options[i]
		w := slices.IndexFunc(ways, func(w capacity.RunConfig) bool { return w.Model == o.Model && w.Choice.Cap == o.Cap })
		run := ways[max(w, 0)].Run + p.agent.cfg.Network.transferTime(*j, p.agent.cfg.Site)
		if places, ok := p.agent.fleet.SpreadAt(p.now, j, o.Model, o.Start, run); ok && w >= 0 {
			p.spreads = append(p.spreads, protocol.Spread{Job: j.ID, Option: len(kept), Places: places})
			kept = append(kept, *o)
		}
	}
	return kept
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
