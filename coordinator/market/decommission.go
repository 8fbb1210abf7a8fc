package market

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// handleDecommission takes a site's jobs from it. Only the desk may ask: that they do not run
// there any more is known to nobody else.
func (k *Market) handleDecommission(now protocol.Time, m protocol.Message, g protocol.DecommissionSite) (said []protocol.Message) {
	if k.sites[g.Site] == nil || m.From != protocol.OperatorAPI {
		k.counts["gone-of-nothing"]++
		return nil
	}
	k.recordEvent(m)
	left := decommissionedStatus(g)
	for _, l := range k.takeJobsFromSite(now, g.Site) {
		switch {
		case l.cancelRequested:
			said = append(said, k.rejectLot(now, l, reasonCancelled)...)
		case g.End:
			said = append(said, k.rejectLot(now, l, left.Why)...)
		default:
			said = append(said, k.reportStatus(now, l, left)...)
		}
	}
	k.wakeWaiting(now)
	return said
}

// decommissionedStatus is how a job stands that a site had which was said to be gone.
func decommissionedStatus(g protocol.DecommissionSite) protocol.JobStatus {
	why := protocol.Reason{Code: protocol.SiteDecommissioned, Note: fmt.Sprintf("%s, says %s", g.Site, g.By)}
	return protocol.JobStatus{State: protocol.Waiting, Site: g.Site, Why: why}
}

// takeJobsFromSite forgets a site, and returns the jobs that it had, which wait now. The
// epoch of its awards is over: whatever it says of them is void.
func (k *Market) takeJobsFromSite(now protocol.Time, name string) (taken []*lot) {
	delete(k.sites, name)
	if k.round != nil {
		delete(k.round.offers, name)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		switch {
		case l.site != name || l.state == ended:
			continue
		case l.state == waiting || l.state == called: // the lease had ended; an accept may be on its way
			l.site = ""
			continue
		}
		k.orphanedRuns = append(k.orphanedRuns, protocol.OrphanedRun{Site: name, Job: id, Epoch: l.epoch})
		k.requeueLot(now, l)
		taken = append(taken, l)
	}
	return taken
}

// cancelOrphanedRuns tells a site that was said to be gone what it is to stop, in an order that
// a restart does not change. It is told when it greets, and with its offers for as
// long as it has not answered: what was told may not have been heard.
func (k *Market) cancelOrphanedRuns(now protocol.Time, name string) (said []protocol.Message) {
	all := slices.DeleteFunc(slices.Clone(k.orphanedRuns), func(x protocol.OrphanedRun) bool { return x.Site != name })
	slices.SortFunc(all, func(x, y protocol.OrphanedRun) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Epoch, y.Epoch))
	})
	k.sites[name].lastStopSent = now
	for _, x := range all {
		said = append(said, k.sendAndRecord(now, protocol.AgentParty(name), protocol.Cancel{Job: x.Job, Epoch: x.Epoch}))
	}
	return said
}

// clearOrphanedRun notes that a site has stopped, or never had, a job that was taken from
// it, and reports whether that is news.
func (k *Market) clearOrphanedRun(from protocol.Party, id protocol.JobID, epoch uint64) bool {
	n := len(k.orphanedRuns)
	k.orphanedRuns = slices.DeleteFunc(k.orphanedRuns, func(x protocol.OrphanedRun) bool {
		return x.Job == id && x.Epoch == epoch && from == protocol.AgentParty(x.Site)
	})
	return len(k.orphanedRuns) < n
}

// mayStillRun reports whether a site may still run a job that was taken from it.
func (k *Market) mayStillRun(name string, id protocol.JobID) bool {
	return slices.ContainsFunc(k.orphanedRuns, func(x protocol.OrphanedRun) bool { return x.Site == name && x.Job == id })
}
