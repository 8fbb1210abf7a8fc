package market

import (
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// isForeignSubmission reports whether a site submits a job by another party than its queue,
// or in a name that is not its own: it could take another's ids, or have another
// pay.
func isForeignSubmission(from protocol.Party, j protocol.Job) bool {
	site := from.SiteName()
	own := site + "/"
	return site != "" && (from != protocol.QueueParty(site) || !strings.HasPrefix(string(j.ID), own) ||
		!strings.HasPrefix(j.Tenant, own) || j.Home != "" && j.Home != site)
}

// isFromQueue reports whether a lot was submitted by a site's queue, which is told
// how it stands: its people look there, and nowhere else.
func (l *lot) isFromQueue() bool { return l.from.SiteName() != "" }

// reportStatus notes how a job of a queue stands, and says so.
func (k *Market) reportStatus(now protocol.Time, l *lot, s protocol.JobStatus) []protocol.Message {
	if !l.isFromQueue() {
		return nil
	}
	k.recordStatus(l, s)
	return []protocol.Message{k.sendAndRecord(now, l.from, l.lastStatus)}
}

// recordStatus notes how a job of a queue stands. It is no fact: it follows from those.
func (k *Market) recordStatus(l *lot, s protocol.JobStatus) {
	if l.isFromQueue() {
		s.Job, s.Epoch = l.job.ID, l.epoch
		l.lastStatus = s
	}
}

// placedStatus is how a job stands that a site has accepted.
func (l *lot) placedStatus(start protocol.Time) protocol.JobStatus {
	o := l.option
	return protocol.JobStatus{
		State: protocol.AcceptConfirmed, Site: l.site, Model: o.Model, Start: start, Why: l.why,
		Bill: protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish + start - o.Start},
	}
}

// closedStatus is how a job stands that has ended, by what its site reported.
func (l *lot) closedStatus(d protocol.UsageReport) protocol.JobStatus {
	return protocol.JobStatus{
		State: protocol.JobClosed, Site: l.site, Model: l.option.Model, Start: d.Started, Failed: d.Failed,
		Bill: protocol.Usage{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended},
	}
}
