package protocol

import "strings"

// Bounds of the reported usage of a run, or of an hour of a site. They are far above
// real values, and keep sums and products of them within 64 bits.
const (
	MaxEnergy = Millijoules(1e15)  // 278 MWh
	MaxCarbon = Milligrams(1e12)   // 1,000 t
	MaxMoney  = Microdollars(1e12) // a million dollars
	MaxTariff = Microdollars(1e9)  // a thousand dollars per GPU-hour
)

// isWithinBounds reports whether b is within these bounds on either side of zero.
func (b Usage) isWithinBounds() bool {
	return withinBounds(b.IT, MaxEnergy) && withinBounds(b.Energy, MaxEnergy) && withinBounds(b.Carbon, MaxCarbon) && withinBounds(b.Money, MaxMoney)
}

// IsMeterReading reports whether m is a reading of a site's hour. Usage without a total
// instead reports the energy of an interrupted run, or the correction of bills.
func (m SiteUsage) IsMeterReading() bool { return m.Total != 0 || m.Idle.IsZero() && m.Jobs.IsZero() }

// IsZero reports whether b is no usage at all; encoders leave it out by this.
func (b Usage) IsZero() bool { return b == (Usage{}) }

// Plus returns the sum of two usages, without their finish.
func (b Usage) Plus(c Usage) Usage {
	return Usage{IT: b.IT + c.IT, Energy: b.Energy + c.Energy, Carbon: b.Carbon + c.Carbon, Money: b.Money + c.Money}
}

// Minus returns by how much b is more than c, without their finish.
func (b Usage) Minus(c Usage) Usage {
	return Usage{IT: b.IT - c.IT, Energy: b.Energy - c.Energy, Carbon: b.Carbon - c.Carbon, Money: b.Money - c.Money}
}

// withinBounds reports whether |v| <= most.
func withinBounds[T ~int64](v, most T) bool { return v >= -most && v <= most }

// IsPlausible reports whether the sender of m may send such a message and its values are
// possible: see the package comment. Any party can send anything to a coordinator, which
// ignores most of it; code that displays messages must check IsPlausible first.
func (m Message) IsPlausible() bool {
	by := func(role string) bool { return strings.HasPrefix(string(m.From), role) }
	switch b := m.Body.(type) {
	case CallForBids, SitePrices, Award, Defer, Reject, Settlement, Confirm, JobStatus, JudgeRequest, PartsDecided, Preempt, CallForCapacity, ServiceDivision, ServiceStatus, ServiceSettlement, AssignReplicas:
		return m.From == Coordinator
	case RegisterSite:
		return b.Site != "" && m.From == AgentParty(b.Site) && !nameTooLong(b.Location.Region) && !nameTooLong(b.Location.Provider)
	case QuoteRequest:
		return m.From == Coordinator || m.From == OperatorAPI
	case Bids, Quote, Accept, Decline:
		return by("agent/")
	case UsageReport:
		return by("agent/") && len(b.Months) <= maxMonths && b.IT >= 0 && b.Energy >= 0 && b.Carbon >= 0 && b.Ended >= b.Started &&
			Usage{IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money}.isWithinBounds()
	case SiteUsage:
		return by("agent/") && b.Total >= 0 && b.Total <= MaxEnergy && b.Idle.isWithinBounds() && b.Jobs.isWithinBounds()
	case LogRequest:
		return m.From == Coordinator || by("agent/") && m.To == ExecutorParty(m.From.SiteName())
	case JobLog:
		return by("hands/") || by("agent/") && m.To == Coordinator
	case Heartbeat:
		return (by("agent/") || m.From == Coordinator) && b.Every > 0
	case LocalStart:
		return by("agent/") && b.isPossible()
	case SiteCondition:
		return b.Site != "" && (m.From == SiteMonitor || m.From == OperatorAPI && b.State == SiteRevoked)
	case Preempted:
		return by("agent/") && b.Lost >= 0 && b.Left >= 0 && b.IT >= 0 && b.Energy >= 0 && b.Carbon >= 0 && b.Ended >= b.Started &&
			Usage{IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money}.isWithinBounds()
	case Launch:
		return by("agent/") && m.To == ExecutorParty(m.From.SiteName())
	case Started:
		return by("hands/") || by("agent/") && m.To == Coordinator
	case Finished, Interrupted:
		return by("hands/")
	case CapacityBid:
		return by("agent/") && b.isPossible()
	case ReplicaStatus:
		return by("agent/") && b.isPossible()
	case RunReplicas:
		return by("agent/") && m.To == ExecutorParty(m.From.SiteName())
	case ReplicasRunning:
		return by("hands/")
	case ScaleService:
		return !strings.Contains(string(m.From), "/") && b.Wanted >= 0 && b.Wanted <= MaxReplicas
	case SubmitService:
		return m.From.mayChangeService(b.Service.ID) && m.From.isPayerOfSite(b.Service.Tenant)
	case DeleteService:
		return m.From.mayChangeService(b.Service)
	case RebalanceService:
		return !strings.Contains(string(m.From), "/")
	case Submit:
		return m.From.WhyForeign(b.Job) == ""
	}
	return true
}
