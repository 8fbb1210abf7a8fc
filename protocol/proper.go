package protocol

import "strings"

// Bounds of what a run, or an hour of a site, may be said to have taken. They are far
// above what can be, and keep arithmetic on it safe.
const (
	MostEnergy = Millijoules(1e15)  // 278 MWh
	MostCarbon = Milligrams(1e12)   // 1,000 t
	MostMoney  = Microdollars(1e12) // a million dollars
)

// possible reports whether b is within those bounds, on either side of zero.
func (b Bill) possible() bool {
	return within(b.IT, MostEnergy) && within(b.Energy, MostEnergy) && within(b.Carbon, MostCarbon) && within(b.Money, MostMoney)
}

// Read reports whether m is a reading of its hour. What a lost run drew is told as a
// Meter, too, with a bill and without a total.
func (m Meter) Read() bool { return m.Total != 0 || m.Idle == (Bill{}) }

func within[T ~int64](v, most T) bool { return v >= -most && v <= most }

// Proper reports whether m is said by somebody who may say such a thing, and can be:
// see the package comment. Anybody may tell a coordinator anything, and it acts on little
// of that; whoever shows what was said asks first.
func (m Message) Proper() bool {
	by := func(role string) bool { return strings.HasPrefix(string(m.From), role) }
	switch b := m.Body.(type) {
	case Call, Award, Hold, Refuse, Settled, Confirm, Standing, Ask:
		return m.From == Coordinator
	case Hello:
		return b.Site != "" && m.From == Agent(b.Site)
	case Offer, Accept, Decline:
		return by("agent/")
	case Done:
		return by("agent/") && b.IT >= 0 && b.Energy >= 0 && b.Carbon >= 0 && b.Ended >= b.Started &&
			Bill{IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money}.possible()
	case Meter:
		return by("agent/") && b.Total >= 0 && b.Total <= MostEnergy && b.Idle.possible()
	case Preempted:
		return by("agent/") && b.Lost >= 0
	case Launch:
		return by("agent/") && m.To == Hands(m.From.Site())
	case Started, Exited, Lost:
		return by("hands/")
	case Submit:
		return m.From.Site() == "" || by("queue/")
	}
	return true
}
