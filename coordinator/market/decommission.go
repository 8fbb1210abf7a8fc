package market

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// handleDecommission takes all jobs from a site that an operator declares lost, and requeues or
// ends them. Only the operator API may ask: a silent site may still run its jobs, and only a
// person can know that it does not (decision 0026).
func (k *Market) handleDecommission(now protocol.Time, m protocol.Message, g protocol.DecommissionSite) (msgs []protocol.Message) {
	if k.sites[g.Site] == nil || m.From != protocol.OperatorAPI {
		k.counts["gone-of-nothing"]++
		return nil
	}
	k.recordEvent(m)
	left := decommissionedStatus(g)
	for _, l := range k.takeJobsFromSite(now, g.Site) {
		switch {
		case l.whole != nil:
			msgs = append(msgs, k.partLost(now, l, left.Why)...)
		case l.cancelRequested:
			msgs = append(msgs, k.rejectLot(now, l, reasonCancelled)...)
		case g.End:
			msgs = append(msgs, k.rejectLot(now, l, left.Why)...)
		default:
			msgs = append(msgs, k.reportStatus(now, l, left)...)
		}
	}
	k.wakeWaiting(now)
	return msgs
}

// decommissionedStatus returns the status of a job that a decommissioned site had.
func decommissionedStatus(g protocol.DecommissionSite) protocol.JobStatus {
	why := protocol.Reason{Code: protocol.SiteDecommissioned, Note: fmt.Sprintf("%s, says %s", g.Site, g.By)}
	return protocol.JobStatus{State: protocol.Waiting, Site: g.Site, Why: why}
}

// takeJobsFromSite removes a site and returns the jobs that it had, which wait now. Their epochs
// at that site are over: anything the site still reports about them is void. Each becomes an
// orphaned run, which the site must stop before it may get that job once more.
func (k *Market) takeJobsFromSite(now protocol.Time, name string) (taken []*lot) {
	if delete(k.sites, name); slices.Contains(k.siteNames, name) {
		k.siteNames = slices.DeleteFunc(slices.Clone(k.siteNames), func(other string) bool { return other == name })
	}
	if k.round != nil {
		delete(k.round.offers, name)
		delete(k.round.awaited, name)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		if l.from == protocol.QueueParty(name) {
			l.alone = false
		}
		switch {
		case l.site != name || l.state == ended:
			continue
		case l.state == waiting || l.state == called: // the lease had expired, and an Accept may still be on its way
			l.site = ""
			continue
		}
		k.orphanedRuns = append(k.orphanedRuns, protocol.OrphanedRun{Site: name, Job: id, Epoch: l.epoch})
		if l.whole != nil {
			k.restPart(l)
		} else {
			k.requeueLot(now, l)
		}
		k.preemptionOver(now, l)
		taken = append(taken, l)
	}
	return taken
}

// cancelOrphanedRuns returns the Cancels for the orphaned runs of a site, sorted so that a restart
// sends them in the same order. The market repeats them when the site registers, and with the
// site's bids for as long as it has not confirmed: a Cancel may have been lost.
func (k *Market) cancelOrphanedRuns(now protocol.Time, name string) (msgs []protocol.Message) {
	all := slices.DeleteFunc(slices.Clone(k.orphanedRuns), func(x protocol.OrphanedRun) bool { return x.Site != name })
	slices.SortFunc(all, func(x, y protocol.OrphanedRun) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Epoch, y.Epoch))
	})
	k.sites[name].lastStopSent = now
	for _, x := range all {
		msgs = append(msgs, k.sendAndRecord(now, protocol.AgentParty(name), protocol.Cancel{Job: x.Job, Epoch: x.Epoch}))
	}
	return msgs
}

// clearOrphanedRun forgets an orphaned run that its site has stopped or never had, and reports
// whether there was one.
func (k *Market) clearOrphanedRun(from protocol.Party, id protocol.JobID, epoch uint64) bool {
	n := len(k.orphanedRuns)
	k.orphanedRuns = slices.DeleteFunc(k.orphanedRuns, func(x protocol.OrphanedRun) bool {
		return x.Job == id && x.Epoch == epoch && from == protocol.AgentParty(x.Site)
	})
	return len(k.orphanedRuns) < n
}

// mayStillRun reports whether a site may still run a job that was taken from it. Its bids for that
// job are ignored: the job must not run there twice at once.
func (k *Market) mayStillRun(name string, id protocol.JobID) bool {
	return slices.ContainsFunc(k.orphanedRuns, func(x protocol.OrphanedRun) bool { return x.Site == name && x.Job == id })
}
