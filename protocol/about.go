package protocol

import "slices"

// IsAbout reports whether m says something about a job.
func (m Message) IsAbout(id JobID) bool {
	switch b := m.Body.(type) {
	case Submit:
		return b.Job.ID == id
	case Call:
		return slices.ContainsFunc(b.Jobs, func(j Job) bool { return j.ID == id })
	case Offer:
		return slices.ContainsFunc(b.Jobs, func(x Menu) bool { return x.Job == id })
	case Launch:
		return b.Job.ID == id
	case Ran:
		return b.Job.ID == id
	case Inventory:
		return slices.ContainsFunc(b.Held, func(h Held) bool { return h.Launch.Job.ID == id })
	case Brought:
		return slices.ContainsFunc(b.Ended, func(p Past) bool { return p.Job == id }) ||
			slices.ContainsFunc(b.Strays, func(s Stray) bool { return s.Job == id })
	}
	one, ok := m.OneJob()
	return ok && one == id
}

// OneJob returns the job that m is about by its name alone; false if it is about none,
// about several, or brings a job with all that it asks.
func (m Message) OneJob() (JobID, bool) {
	if one, ok := m.Body.(aboutOne); ok {
		return one.about(), true
	}
	return "", false
}

// aboutOne is implemented by the bodies that are about one job.
type aboutOne interface{ about() JobID }

func (b Award) about() JobID    { return b.Job }
func (b Hold) about() JobID     { return b.Job }
func (b Refuse) about() JobID   { return b.Job }
func (b Accept) about() JobID   { return b.Job }
func (b Decline) about() JobID  { return b.Job }
func (b Confirm) about() JobID  { return b.Job }
func (b Cancel) about() JobID   { return b.Job }
func (b Started) about() JobID  { return b.Job }
func (b Exited) about() JobID   { return b.Job }
func (b Lost) about() JobID     { return b.Job }
func (b Done) about() JobID     { return b.Job }
func (b Settled) about() JobID  { return b.Job }
func (b Standing) about() JobID { return b.Job }
func (b Ask) about() JobID      { return b.Job }
func (b Answer) about() JobID   { return b.Job }
