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
	case Award:
		return b.Job == id
	case Hold:
		return b.Job == id
	case Refuse:
		return b.Job == id
	case Accept:
		return b.Job == id
	case Decline:
		return b.Job == id
	case Confirm:
		return b.Job == id
	case Cancel:
		return b.Job == id
	case Launch:
		return b.Job.ID == id
	case Started:
		return b.Job == id
	case Exited:
		return b.Job == id
	case Lost:
		return b.Job == id
	case Ran:
		return b.Job.ID == id
	case Done:
		return b.Job == id
	case Settled:
		return b.Job == id
	case Standing:
		return b.Job == id
	case Ask:
		return b.Job == id
	case Answer:
		return b.Job == id
	case Inventory:
		return slices.ContainsFunc(b.Held, func(h Held) bool { return h.Launch.Job.ID == id })
	case Brought:
		return slices.ContainsFunc(b.Ended, func(p Past) bool { return p.Job == id }) ||
			slices.ContainsFunc(b.Strays, func(s Stray) bool { return s.Job == id })
	}
	return false
}
