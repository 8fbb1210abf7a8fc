package protocol

import "strings"

// Bounds of the reported usage of a run, or of an hour of a site. They are far above
// real values, and keep sums and products of them within 64 bits.
const (
	MaxEnergy = Millijoules(1e15)  // 278 MWh
	MaxCarbon = Milligrams(1e12)   // 1,000 t
	MaxMoney  = Microdollars(1e12) // a million dollars
)

// isWithinBounds reports whether b is within these bounds on either side of zero.
func (b Usage) isWithinBounds() bool {
	return withinBounds(b.IT, MaxEnergy) && withinBounds(b.Energy, MaxEnergy) && withinBounds(b.Carbon, MaxCarbon) && withinBounds(b.Money, MaxMoney)
}

// IsMeterReading reports whether m is a reading of a site's hour. Usage
// without a total instead reports the energy of an interrupted run.
func (m SiteUsage) IsMeterReading() bool { return m.Total != 0 || m.Idle == (Usage{}) }

// withinBounds reports whether |v| <= most.
func withinBounds[T ~int64](v, most T) bool { return v >= -most && v <= most }

// IsPlausible reports whether the sender of m may send such a message and its values are
// possible: see the package comment. Any party can send anything to a coordinator, which
// ignores most of it; code that displays messages must check IsPlausible first.
func (m Message) IsPlausible() bool {
	by := func(role string) bool { return strings.HasPrefix(string(m.From), role) }
	switch b := m.Body.(type) {
	case CallForBids, Award, Defer, Reject, Settlement, Confirm, JobStatus, JudgeRequest:
		return m.From == Coordinator
	case RegisterSite:
		return b.Site != "" && m.From == AgentParty(b.Site)
	case Bids, Accept, Decline:
		return by("agent/")
	case UsageReport:
		return by("agent/") && b.IT >= 0 && b.Energy >= 0 && b.Carbon >= 0 && b.Ended >= b.Started &&
			Usage{IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money}.isWithinBounds()
	case SiteUsage:
		return by("agent/") && b.Total >= 0 && b.Total <= MaxEnergy && b.Idle.isWithinBounds()
	case Preempted:
		return by("agent/") && b.Lost >= 0
	case Launch:
		return by("agent/") && m.To == ExecutorParty(m.From.SiteName())
	case Started, Finished, Interrupted:
		return by("hands/")
	case Submit:
		return m.From.SiteName() == "" || by("queue/")
	}
	return true
}
