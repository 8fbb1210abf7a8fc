package market

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// decisionOnParts returns what is decided in a round on all parts of a job instead, if their own decisions are not
// awards that go together: that they wait, or that the job is rejected.
func (k *Market) decisionOnParts(now protocol.Time, r *round, w *lot, all []*auction.Decision) (d auction.Decision, apart bool) {
	d, apart = k.jointDecision(now, w, all)
	if apart && d.Verdict == auction.Defer {
		if why, never := k.partsNeverFit(r, w); never {
			d = auction.Decision{Verdict: auction.Reject, Why: why}
		}
	}
	return d, apart
}

// jointDecision is decisionOnParts for parts that may fit together some day.
func (k *Market) jointDecision(now protocol.Time, w *lot, all []*auction.Decision) (d auction.Decision, apart bool) {
	sites := make(map[string]bool)
	first, last, awards := all[0].Option.Start, all[0].Option.Start, 0
	d = auction.Decision{Until: now, Why: protocol.Reason{Code: protocol.PartsApart}}
	for _, x := range all {
		switch x.Verdict {
		case auction.Reject:
			return *x, true
		case auction.Defer:
			d.Until = max(d.Until, x.Until)
			if x.Why.Code == protocol.NoBids || x.Why.Code == protocol.Forbidden || x.Why.Code == protocol.OverQuota {
				d.Why = x.Why
			}
		default:
			awards++
			sites[x.Site] = true
			first, last = min(first, x.Option.Start), max(last, x.Option.Start)
		}
	}
	return d, awards < len(all) || len(sites) > w.job.MaxSites || last.Sub(first) > k.cfg.Planning.MaxStartDelay
}

// partsNeverFit returns why the parts of a job can never go together, though each of them fits some site: by the
// GPUs that sites have and by what they said of each part in a round, no so many sites hold all parts, even if
// nothing else ran there. It errs to the side of parts that might fit: a site that did not answer takes any part,
// and what a site takes of several parts is reckoned by the sum of its GPUs of the models that will do for them.
func (k *Market) partsNeverFit(r *round, w *lot) (why protocol.Reason, never bool) {
	n := len(w.parts)
	need := make([]int, 1<<n) // by set of parts: the fewest of the sites so far that hold them
	for set := 1; set < len(need); set++ {
		need[set] = n + 1
	}
	for _, name := range k.siteNames {
		holds := k.partSetsHeld(r, w, name)
		for set := len(need) - 1; set > 0; set-- { // from the largest: each site counts once
			for part := set; part > 0; part = (part - 1) & set {
				if holds[part] {
					need[set] = min(need[set], need[set&^part]+1)
				}
			}
		}
	}
	most := 0
	for set, sites := range need {
		if sites <= w.job.MaxSites {
			most = max(most, bits.OnesCount(uint(set)))
		}
	}
	if most == n {
		return why, false
	}
	return protocol.Reason{Code: protocol.FitsNoNode, Note: fmt.Sprintf("no %d sites hold its %d parts together, even empty ones: they hold at most %d of them", w.job.MaxSites, n, most)}, true
}

// partSetsHeld returns by set of the parts of a job whether a site could hold them all, if nothing else ran there.
func (k *Market) partSetsHeld(r *round, w *lot, site string) []bool {
	holds := make([]bool, 1<<len(w.parts))
	alone := make([]bool, len(w.parts))
	for i, p := range w.parts {
		alone[i] = k.sites[site].mayRun(p) && !r.canNeverRun(site, p.job.ID)
	}
	for set := range holds {
		holds[set] = true
		for i, p := range w.parts {
			if set&(1<<i) != 0 && holds[set] {
				holds[set] = alone[i] && gpusWithin(w, set, p.job.Models) <= k.sites[site].gpusOf(p.job.Models)
			}
		}
	}
	return holds
}

// gpusWithin returns how many GPUs those of a set of parts take, in thousandths, for which no other than some models
// will do; none: any will.
func gpusWithin(w *lot, set int, models []string) (sum protocol.Milli) {
	for i, p := range w.parts {
		other := func(model string) bool { return !slices.Contains(models, model) }
		if set&(1<<i) != 0 && (len(models) == 0 || len(p.job.Models) > 0 && !slices.ContainsFunc(p.job.Models, other)) {
			sum += p.job.TotalGPUMilli()
		}
	}
	return sum
}

// canNeverRun reports whether a site said in the round that it can never run a job.
func (r *round) canNeverRun(site string, id protocol.JobID) bool {
	jobs := r.offers[site].Jobs
	i := slices.IndexFunc(jobs, func(b protocol.JobBids) bool { return b.Job == id })
	return i >= 0 && len(jobs[i].Options) == 0 && isPermanentReason(jobs[i].Why.Code)
}
