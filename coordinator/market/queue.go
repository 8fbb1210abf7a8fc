package market

import "github.com/gridbid/gridbid/protocol"

// isToldStatus reports whether the submitter of a lot gets its status: a site's queue, which shows it
// on the site's own cluster, and a tenant.
func (l *lot) isToldStatus() bool { return isToldStatus(l.from) }

func isToldStatus(from protocol.Party) bool { return from.SiteName() != "" || from.TenantName() != "" }

// reportStatus records the status of a lot whose submitter is told it, and returns the message to it.
func (k *Market) reportStatus(now protocol.Time, l *lot, s protocol.JobStatus) []protocol.Message {
	if !l.isToldStatus() {
		return nil
	}
	k.recordStatus(l, s)
	return []protocol.Message{k.sendAndRecord(now, l.from, l.lastStatus)}
}

// recordStatus stores the last status of a lot whose submitter is told it. It is no event: Restore
// computes it from the events that led to it.
func (k *Market) recordStatus(l *lot, s protocol.JobStatus) {
	if l.isToldStatus() {
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
