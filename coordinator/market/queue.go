package market

import (
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// isForeignSubmission reports whether a site submits a job through another party than its queue,
// or with an id, tenant or home that is not its own. Without this check a site could take another
// site's ids, or let another site's tenant pay.
func isForeignSubmission(from protocol.Party, j protocol.Job) bool {
	site := from.SiteName()
	own := site + "/"
	return site != "" && (from != protocol.QueueParty(site) || !strings.HasPrefix(string(j.ID), own) ||
		!strings.HasPrefix(j.Tenant, own) || j.Home != "" && j.Home != site)
}

// isFromQueue reports whether a site's queue submitted the lot. The queue gets its status, which
// the site's users see on their own cluster.
func (l *lot) isFromQueue() bool { return l.from.SiteName() != "" }

// reportStatus records the status of a lot that a queue submitted, and returns the message to it.
func (k *Market) reportStatus(now protocol.Time, l *lot, s protocol.JobStatus) []protocol.Message {
	if !l.isFromQueue() {
		return nil
	}
	k.recordStatus(l, s)
	return []protocol.Message{k.sendAndRecord(now, l.from, l.lastStatus)}
}

// recordStatus stores the last status of a lot that a queue submitted. It is no event: Restore
// computes it from the events that led to it.
func (k *Market) recordStatus(l *lot, s protocol.JobStatus) {
	if l.isFromQueue() {
		s.Job, s.Epoch = l.job.ID, l.epoch
		l.lastStatus = s
	}
}

// placedStatus returns the status of a lot that its site accepted: the option that was awarded,
// moved to the start that the site promises.
func (l *lot) placedStatus(start protocol.Time) protocol.JobStatus {
	o := l.option
	return protocol.JobStatus{
		State: protocol.AcceptConfirmed, Site: l.site, Model: o.Model, Start: start, Why: l.why,
		Bill: protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish + start - o.Start},
	}
}

// closedStatus returns the status of a lot that ended, from its site's usage report.
func (l *lot) closedStatus(d protocol.UsageReport) protocol.JobStatus {
	return protocol.JobStatus{
		State: protocol.JobClosed, Site: l.site, Model: l.option.Model, Start: d.Started, Failed: d.Failed,
		Bill: protocol.Usage{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended},
	}
}
