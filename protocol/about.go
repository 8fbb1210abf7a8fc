package protocol

import "slices"

// IsAbout reports whether m concerns a job.
func (m Message) IsAbout(id JobID) bool {
	switch b := m.Body.(type) {
	case Submit:
		return b.Job.ID == id
	case CallForBids:
		return slices.ContainsFunc(b.Jobs, func(j Job) bool { return j.ID == id })
	case Bids:
		return slices.ContainsFunc(b.Jobs, func(x JobBids) bool { return x.Job == id })
	case Launch:
		return b.Job.ID == id
	case CompletedRun:
		return b.Job.ID == id
	case Inventory:
		return slices.ContainsFunc(b.Held, func(h FoundRunning) bool { return h.Launch.Job.ID == id })
	case Snapshot:
		return slices.ContainsFunc(b.Ended, func(p EndedJob) bool { return p.Job == id }) ||
			slices.ContainsFunc(b.Strays, func(s OrphanedRun) bool { return s.Job == id })
	}
	one, ok := m.OneJob()
	return ok && one == id
}

// OneJob returns the job that m refers to by id; false if m refers to none, to several,
// or contains a whole Job.
func (m Message) OneJob() (JobID, bool) {
	if one, ok := m.Body.(aboutOne); ok {
		return one.about(), true
	}
	return "", false
}

// aboutOne is implemented by bodies that refer to one job by id.
type aboutOne interface{ about() JobID }

func (b Award) about() JobID        { return b.Job }
func (b Defer) about() JobID        { return b.Job }
func (b Reject) about() JobID       { return b.Job }
func (b Accept) about() JobID       { return b.Job }
func (b Decline) about() JobID      { return b.Job }
func (b Confirm) about() JobID      { return b.Job }
func (b Cancel) about() JobID       { return b.Job }
func (b Started) about() JobID      { return b.Job }
func (b Finished) about() JobID     { return b.Job }
func (b Interrupted) about() JobID  { return b.Job }
func (b UsageReport) about() JobID  { return b.Job }
func (b Settlement) about() JobID   { return b.Job }
func (b JobStatus) about() JobID    { return b.Job }
func (b JudgeRequest) about() JobID { return b.Job }
func (b JudgeAnswer) about() JobID  { return b.Job }
