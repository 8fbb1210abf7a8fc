package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// isStrayOfTenant reports whether a message comes from a tenant and is one that a tenant may not send,
// and counts it: of another kind than a submission or a cancellation, or numbered for a time far
// ahead. Such a number would have all that follows dropped as old, until that time.
func (k *Market) isStrayOfTenant(now protocol.Time, m protocol.Message) bool {
	if m.From.TenantName() == "" {
		return false
	}
	if !slices.Contains(protocol.KindsOfTenants(), m.KindName()) {
		k.counts["message-of-stranger"]++
		return true
	}
	if m.Seq > protocol.SequenceAt(now.Add(maxClockSkew).StdTime()) {
		k.counts["clock-apart"]++
		return true
	}
	return false
}

// asIfThen returns a submission as it would have been at the time of the one that created the lot:
// a tenant's command dates the job of a file when it runs, and a repetition of it is the same job.
func (l *lot) asIfThen(s protocol.Submit) protocol.Submit {
	since := s.Job.Arrival.Sub(l.submitted.Arrival)
	s.Job.Arrival = l.submitted.Arrival
	if s.Job.Deadline != l.submitted.Deadline { // it was given as a span
		s.Job.Deadline = s.Job.Deadline.Add(-since)
	}
	return s
}
