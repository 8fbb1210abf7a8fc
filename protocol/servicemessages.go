package protocol

import (
	"slices"
	"time"
)

// Messages about services: see coordinator/services.
type (
	// SubmitService asks the market to run a service. The same id again replaces what was asked for; what
	// runs stays where it is unless it no longer may.
	SubmitService struct {
		Service Service `msgpack:"sv"`
	}

	// ScaleService sets the number of replicas of a service.
	ScaleService struct {
		Service ServiceID `msgpack:"sv"`
		Wanted  int       `msgpack:"w"`
		By      string    `msgpack:"by,omitempty"` // who asked
	}

	// RebalanceService asks to divide all replicas of a service anew, as if none were placed.
	RebalanceService struct {
		Service ServiceID `msgpack:"sv"`
		By      string    `msgpack:"by,omitempty"`
		Preview bool      `msgpack:"pv,omitempty"` // only say what it would move: see ServiceDivision
	}

	// DeleteService removes a service from all sites.
	DeleteService struct {
		Service ServiceID `msgpack:"sv"`
		By      string    `msgpack:"by,omitempty"`
	}

	// CallForCapacity asks all agents how many further replicas of each service they could run now.
	CallForCapacity struct {
		Round    uint64    `msgpack:"n"`
		Closes   Time      `msgpack:"cl"` // at the latest; later bids are void
		Services []Service `msgpack:"sv,omitempty"`
		Weights  Weights   `msgpack:"w" name:"terms"` // of the objective, by which replicas are priced
	}

	// CapacityBid answers a CallForCapacity: one row for each of its services. It reserves nothing.
	CapacityBid struct {
		Round    uint64       `msgpack:"n"`
		Services []ReplicaBid `msgpack:"sv,omitempty"`
	}

	// A ReplicaBid is what a site could run of a service, next to all that is there and planned.
	ReplicaBid struct {
		Service    ServiceID     `msgpack:"sv"`
		Available  int           `msgpack:"a,omitempty"`  // further replicas that fit now
		Steps      []CostStep    `msgpack:"c,omitempty"`  // of these, in the order in which they would be placed
		HeldCost   Microdollars  `msgpack:"hc,omitempty"` // an hour, of each replica that is here
		HeldCarbon Milligrams    `msgpack:"hg,omitempty"` // emitted in that hour, which HeldCost has at its price
		HeldServes Milli         `msgpack:"hs,omitempty"` // of each replica that is here, if the service has a load
		Beyond     int           `msgpack:"by,omitempty"` // of those here and available, the last so many would take GPUs that are left to jobs
		Held       ReplicaStatus `msgpack:"h,omitempty"`  // as of now
		Why        Reason        `msgpack:"w,omitempty"`  // why none is available
		Hourly     ReplicaUse    `msgpack:"u,omitempty"`  // of the replica, here or to come, that draws most: in the hour from now on
	}

	// A CostStep is replicas that cost the same.
	CostStep struct {
		Count  int          `msgpack:"n"`
		Cost   Microdollars `msgpack:"c"`            // of one replica for an hour: energy and carbon at their prices, with the idle draw of a node that it wakes, and what its GPUs are worth to jobs
		Carbon Milligrams   `msgpack:"g,omitempty"`  // emitted in that hour, which Cost has at its price
		Serves Milli        `msgpack:"sv,omitempty"` // each, in thousandths of a request per second, if the service has a load
	}

	// ServiceDivision is the coordinator's decision how a service is divided. It is broadcast.
	ServiceDivision struct {
		Service  ServiceID    `msgpack:"sv"`
		Decision uint64       `msgpack:"d"` // counts the decisions of the service
		Wanted   int          `msgpack:"w"`
		Sites    []SiteCount  `msgpack:"s,omitempty"` // by name
		Pending  int          `msgpack:"p,omitempty"` // replicas that find no room
		Move     bool         `msgpack:"mv,omitempty"`
		Why      Reason       `msgpack:"y"`
		Cost     Microdollars `msgpack:"c,omitempty"` // an hour, of the replicas placed by it, where sites bid it
		Bound    Microdollars `msgpack:"b,omitempty"` // that no division of these replicas can be below
		Lack     Reason       `msgpack:"l,omitempty"` // why some are pending
		Deleted  bool         `msgpack:"g,omitempty"` // the service was deleted

		// CarbonDoubled is where a rebalance would put the replicas if carbon were twice as dear, beside where it
		// would put them as it is; empty: the bids do not say what replicas emit, or they are not divided by cost.
		CarbonDoubled []SiteCount `msgpack:"x2,omitempty"`

		// Preview is of what a rebalance would decide; nothing follows from it. Stay is the cost an hour of the
		// same replicas if none moves, Starts what the moves cost, once; of any rebalance by cost.
		Preview bool         `msgpack:"pv,omitempty"`
		Stay    Microdollars `msgpack:"sy,omitempty"`
		Starts  Microdollars `msgpack:"st,omitempty"`
	}

	// A SiteCount is the replicas that a site is to hold.
	SiteCount struct {
		Site   string `msgpack:"s"`
		Count  int    `msgpack:"n"`
		Before int    `msgpack:"b,omitempty"` // that it was to hold until then
	}

	// ServiceStatus answers a SubmitService or a DeleteService of a site's queue: how the service stands. The
	// queue repeats its request to ask for it.
	ServiceStatus struct {
		Service ServiceID        `msgpack:"sv"`
		Wanted  int              `msgpack:"w,omitempty"`
		Decided bool             `msgpack:"d,omitempty"` // it was divided since its last change
		Pending int              `msgpack:"p,omitempty"` // replicas that find no room
		Sites   []SiteOfReplicas `msgpack:"s,omitempty"` // that are to hold some, or do; by name
		Why     Reason           `msgpack:"y,omitempty"` // why some are pending, or why the service is refused
		Deleted bool             `msgpack:"g,omitempty"` // there is no such service, or it is being removed
	}

	// A SiteOfReplicas is how many replicas of a service a site is to hold, and how many run there.
	SiteOfReplicas struct {
		Site  string `msgpack:"s"`
		Count int    `msgpack:"n,omitempty"`
		Ready int    `msgpack:"rd,omitempty"`
	}

	// AssignReplicas tells a site how many replicas of a service it is to hold from now on. It is repeated
	// until the site's ReplicaStatus names it.
	AssignReplicas struct {
		Service  Service `msgpack:"sv"`
		Revision uint64  `msgpack:"r"` // fencing token: the site ignores one that is not higher than it has seen of the service
		Count    int     `msgpack:"n"`
	}

	// ReplicaStatus says how the replicas of a service at a site stand.
	ReplicaStatus struct {
		Service  ServiceID `msgpack:"sv,omitempty"`
		Revision uint64    `msgpack:"r,omitempty"`  // of the newest AssignReplicas
		Assigned int       `msgpack:"a,omitempty"`  // by that
		Ready    int       `msgpack:"rd,omitempty"` // that run
		Pending  int       `msgpack:"p,omitempty"`  // that find no node
		Since    Time      `msgpack:"si,omitempty"` // when the first of these came to find none

		Meter ReplicaMeter `msgpack:"mt,omitempty"` // read at each full hour, and when the last replica has stopped
	}

	// A ReplicaMeter is what replicas of a service have taken at a site, counted up by their planned draw: who misses a
	// reading needs only the next.
	ReplicaMeter struct {
		Since Time          `msgpack:"f,omitempty"` // when it began at nothing: with the agent's process, at the earliest
		Until Time          `msgpack:"u,omitempty"` // when it was read
		Ran   time.Duration `msgpack:"r,omitempty"` // the time of all replicas together
		Used  ReplicaUse    `msgpack:"us,omitempty"`
	}

	// A ReplicaUse is the energy of replicas with its cost. Only money may be below zero.
	ReplicaUse struct {
		IT     Millijoules  `msgpack:"it,omitempty"` // without the facility's overhead
		Energy Millijoules  `msgpack:"eg,omitempty"`
		Carbon Milligrams   `msgpack:"co,omitempty"`
		Money  Microdollars `msgpack:"mo,omitempty"`
	}

	// ServiceSettlement pays a site for what replicas of a service took since the reading before. It is broadcast.
	ServiceSettlement struct {
		Service ServiceID      `msgpack:"sv"`
		Site    string         `msgpack:"s"`
		Payer   string         `msgpack:"py"` // tenant
		Paid    Microdollars   `msgpack:"pd"`
		From    Time           `msgpack:"f"` // the reading before
		Ran     time.Duration  `msgpack:"r"` // since then
		Counted Usage          `msgpack:"c"` // since then
		Meter   ReplicaMeter   `msgpack:"mt"`
		Charges []BudgetCharge `msgpack:"bc,omitempty"` // to the budgets of the payer's quotas
	}

	// RunReplicas has the executor run these replicas of a service, and stop all others of it.
	RunReplicas struct {
		Service  Service   `msgpack:"sv"`
		Revision uint64    `msgpack:"r"`            // rises with each change of the list
		Replicas []Replica `msgpack:"l,omitempty"`  // by number
		Newest   int       `msgpack:"nw,omitempty"` // the highest number that the agent has given
		Stopping []Replica `msgpack:"st,omitempty"` // that it stops: their room is not free until it has answered
	}

	// A Replica is one replica on a node.
	Replica struct {
		Number  int        `msgpack:"n"` // of this service at this site; never reused
		Node    string     `msgpack:"nd"`
		Devices []int      `msgpack:"dv,omitempty"`
		Model   string     `msgpack:"md,omitempty"`
		Power   Milliwatts `msgpack:"pw,omitempty"` // planned draw, without the facility's overhead
	}

	// ReplicasRunning answers RunReplicas, and reports changes: which replicas run, and which were lost.
	ReplicasRunning struct {
		Service  ServiceID `msgpack:"sv"`
		Revision uint64    `msgpack:"r"`
		Running  []int     `msgpack:"l,omitempty"`
		Lost     []int     `msgpack:"x,omitempty"` // their node is down; they run no more
	}
)

func (SubmitService) messageKind() string     { return "service" }
func (ScaleService) messageKind() string      { return "scale" }
func (RebalanceService) messageKind() string  { return "rebalance" }
func (DeleteService) messageKind() string     { return "delete" }
func (CallForCapacity) messageKind() string   { return "capacity-call" }
func (CapacityBid) messageKind() string       { return "capacity" }
func (ServiceDivision) messageKind() string   { return "division" }
func (ServiceStatus) messageKind() string     { return "service-status" }
func (AssignReplicas) messageKind() string    { return "assign" }
func (ReplicaStatus) messageKind() string     { return "replicas" }
func (RunReplicas) messageKind() string       { return "run-replicas" }
func (ReplicasRunning) messageKind() string   { return "running" }
func (ServiceSettlement) messageKind() string { return "service-settled" }

// Reasons of divisions, and of sites that bid no replicas.
const (
	ServicePlaced  Code = "service-placed"
	ServiceScaled  Code = "service-scaled"
	RoomAppeared   Code = "room-appeared" // for replicas that waited
	Rescheduled    Code = "rescheduled"   // replicas that found no node at their site
	SiteLost       Code = "site-lost"     // its replicas are divided among the others
	Rebalanced     Code = "rebalanced"    // on demand
	ServiceDeleted Code = "service-deleted"
	TooFewReplicas Code = "too-few-fit"      // fewer replicas fit than are wanted
	RunsNoServices Code = "runs-no-services" // its executor runs no services yet
	NoSiteAllowed  Code = "no-site-allowed"  // no site that may run it has answered
)

// IsZero reports whether r says nothing; encoders leave it out by this.
func (r ReplicaStatus) IsZero() bool { return r == (ReplicaStatus{}) }

// IsChanging reports whether replicas start, stop or are about to be divided.
func (b *ServiceStatus) IsChanging() bool {
	return !b.Decided || slices.ContainsFunc(b.Sites, func(x SiteOfReplicas) bool { return x.Ready != x.Count })
}

// IsZero reports whether m was never read; encoders leave it out by this.
func (m ReplicaMeter) IsZero() bool { return m == (ReplicaMeter{}) }

// isPossible reports whether r states what a site can be in: see Message.IsPlausible.
func (r *ReplicaStatus) isPossible() bool {
	within := func(n int) bool { return n >= 0 && n <= MaxReplicas }
	return within(r.Assigned) && within(r.Ready) && within(r.Pending) && r.Meter.isPossible()
}

// isPossible reports whether a meter may show that: nothing below zero but money.
func (m *ReplicaMeter) isPossible() bool {
	return m.Until >= m.Since && m.Ran >= 0 && m.Used.isPossible()
}

// Usage returns u as usage.
func (u ReplicaUse) Usage() Usage {
	return Usage{IT: u.IT, Energy: u.Energy, Carbon: u.Carbon, Money: u.Money}
}

// isPossible reports whether u is nothing below zero but money, and nothing beyond measure.
func (u ReplicaUse) isPossible() bool {
	return u.IT >= 0 && u.Energy >= 0 && u.Carbon >= 0 && u.Usage().isWithinBounds()
}

// isPossible reports whether b is a bid that a site can mean: each service once, counts that are not
// negative, and steps that add up to what is available. Whether a site has so many GPUs the coordinator
// knows.
func (b *CapacityBid) isPossible() bool {
	seen := make(map[ServiceID]bool, len(b.Services))
	for i := range b.Services {
		r := &b.Services[i]
		if seen[r.Service] || r.Available < 0 || r.Available > MaxReplicas || !withinBounds(r.HeldCost, MaxMoney) || r.HeldServes < 0 || r.Beyond < 0 || r.Beyond > 2*MaxReplicas || r.HeldCarbon < 0 || r.HeldCarbon > MaxCarbon || !r.Held.isPossible() || !r.Hourly.isPossible() {
			return false
		}
		seen[r.Service] = true
		sum := 0
		for _, s := range r.Steps {
			if s.Count <= 0 || s.Count > MaxReplicas || !withinBounds(s.Cost, MaxMoney) || s.Serves < 0 || s.Carbon < 0 || s.Carbon > MaxCarbon {
				return false
			}
			if sum += s.Count; sum > r.Available {
				return false
			}
		}
		if sum != r.Available {
			return false
		}
	}
	return true
}
