package narrate

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A CostCause is one term of an option's cost.
type CostCause struct {
	Key   string // in a fact's name: "late"
	Label string // "lateness"
	Of    func(protocol.CostBreakdown) protocol.Microdollars

	InWords string // in a sentence: "keeping a node awake"
}

// CostCauses returns all terms of a cost, in the order in which tables and charts show them.
func CostCauses() []CostCause {
	return []CostCause{
		{"energy", "energy", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Money }, "energy"},
		{"carbon", "carbon", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Carbon }, "carbon"},
		{"awake", "awake", func(t protocol.CostBreakdown) protocol.Microdollars { return t.NodeIdle }, "keeping a node awake"},
		{"transfer", "transfer", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Transfer }, "moving its input"},
		{"fragment", "fragments", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Fragmentation }, "fragments"},
		{"delay", "delay", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Delay }, "delay"},
		{"late", "lateness", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Late }, "lateness"},
		{"tariff", "tariff", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Tariff }, "the site's tariff"},
	}
}

// LargestDifference returns the cause in which dear exceeds cheap most, and by how much; nothing if
// it exceeds it in none.
func LargestDifference(cheap, dear protocol.CostBreakdown) (cause CostCause, by protocol.Microdollars) {
	for _, c := range CostCauses() {
		if d := c.Of(dear) - c.Of(cheap); d > by {
			cause, by = c, d
		}
	}
	return cause, by
}

// CheapestOtherSite returns the cheapest option that arrived in time from another site than here.
func CheapestOtherSite(h history.JobRound, here string) (best history.PricedOption, site string, ok bool) {
	for _, a := range h.Answers {
		if a.Site == here || a.Late || len(a.Options) == 0 {
			continue
		}
		if p := a.Options[0]; !ok || p.Terms.Total() < best.Terms.Total() {
			best, site, ok = p, a.Site, true
		}
	}
	return best, site, ok
}

// EarliestOption returns the option with the earliest start of those that came in time, the cheapest
// of equals, and its site.
func EarliestOption(h history.JobRound) (best history.PricedOption, site string, ok bool) {
	for _, a := range h.Answers {
		if a.Late {
			continue
		}
		for _, p := range a.Options {
			if !ok || p.Start < best.Start || p.Start == best.Start && p.Terms.Total() < best.Terms.Total() {
				best, site, ok = p, a.Site, true
			}
		}
	}
	return best, site, ok
}
