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
	case QuoteRequest:
		return slices.ContainsFunc(b.Call.Jobs, func(j Job) bool { return j.ID == id })
	case Quote:
		return slices.ContainsFunc(b.Bids.Jobs, func(x JobBids) bool { return x.Job == id })
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
		return one.referredJob(), true
	}
	return "", false
}

// aboutOne is implemented by bodies that refer to exactly one job by its id.
type aboutOne interface{ referredJob() JobID }

func (b Award) referredJob() JobID        { return b.Job }
func (b Defer) referredJob() JobID        { return b.Job }
func (b Reject) referredJob() JobID       { return b.Job }
func (b Accept) referredJob() JobID       { return b.Job }
func (b Decline) referredJob() JobID      { return b.Job }
func (b Confirm) referredJob() JobID      { return b.Job }
func (b Cancel) referredJob() JobID       { return b.Job }
func (b Started) referredJob() JobID      { return b.Job }
func (b Finished) referredJob() JobID     { return b.Job }
func (b Interrupted) referredJob() JobID  { return b.Job }
func (b UsageReport) referredJob() JobID  { return b.Job }
func (b Settlement) referredJob() JobID   { return b.Job }
func (b JobStatus) referredJob() JobID    { return b.Job }
func (b JudgeRequest) referredJob() JobID { return b.Job }
func (b JudgeAnswer) referredJob() JobID  { return b.Job }
