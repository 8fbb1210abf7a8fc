package division

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Kind is the rule by which replicas are divided.
type Kind string

// Kinds of division. The zero value is ByCost.
const (
	// ByCost takes the cheapest replicas by the steps of the sites.
	ByCost Kind = "cost"
	// ByFreeReplicas divides in proportion to free replicas (Karmada: dynamicWeight,
	// AvailableReplicas). What is removed is divided in proportion to what runs.
	ByFreeReplicas Kind = "free-replicas"
	// FewestSites takes the fewest sites that have room for all, and divides in proportion to free
	// replicas among them (Karmada: Aggregated). It does not fill one site after the other.
	FewestSites Kind = "fewest-sites"
	// ByWeight divides in proportion to the weights of the sites. A site gets no more than it has
	// room for; what is beyond goes to the others by their weights.
	ByWeight Kind = "weight"
	// ByWeightUncapped divides in proportion to weights without regard to room, as Karmada's
	// static weights do.
	ByWeightUncapped Kind = "weight-uncapped"
)

// A Request is one service whose replicas are to be divided.
type Request struct {
	// UID breaks ties: in ascending order of site names if it is empty or its 32-bit FNV-1a hash is
	// even, else in descending order, so that services do not all favour the same site.
	UID  string
	Kind Kind

	// Wanted is the number of replicas, brought into Min..Max first. A Max of 0 is none.
	Wanted, Min, Max int
	// MinPerSite is what each site gets before the rest is divided, as far as it has room and
	// Wanted goes. Sites without a weight, under a kind that divides by weight, get none.
	MinPerSite int
	// AllOrNothing places no replica beyond those held unless there is room for all: a service
	// whose replicas are useless in part, or Karmada's rule. Otherwise what finds no room is pending.
	AllOrNothing bool
	// Rebalance divides all replicas anew instead of only those added or removed.
	Rebalance bool
	// ExclusiveTiers lets one tier alone hold the service: the first that has room for all replicas,
	// from the one in use on unless Rebalance is set (Karmada: clusterAffinities). Otherwise a tier
	// overflows into the next (Karmada: overflowAffinities), and the last shrinks first.
	ExclusiveTiers    bool
	SpreadConstraints []SpreadConstraint
	Move              Move

	// Load, if it is above 0, is what the replicas are to serve, in thousandths of a request a second: it says how
	// many there are, at most Max, in place of Wanted and Min. Failover is the part of it, in thousandths, that
	// is to be served still if any one site is lost. Serves is what a replica serves at its best. A load is
	// divided ByCost, without tiers, MinPerSite, AllOrNothing and SpreadConstraints.
	Load, Failover, Serves protocol.Milli

	// Sites are those where the service may run, each name once, in any order. A site that is lost
	// or draining is left out: its replicas then count as not placed.
	Sites []Site
}

// A Site is a place for replicas.
type Site struct {
	Name             string
	Region, Provider string // groups of SpreadConstraints
	// Tier is 0 for those to fill first. Tiers need not be consecutive.
	Tier int
	// Weight counts under ByWeight and ByWeightUncapped. A site of weight 0 gets nothing, unless all
	// weights are 0: then all sites weigh the same.
	Weight int64
	// Held is how many replicas of the service the site has by the last division; Free is for how many
	// more it has room.
	Held, Free int
	// Steps are the costs of all replicas at the site, in the order in which it fills: the Held
	// ones, then the Free ones. They must cover Held+Free under ByCost; they may rise or fall (a
	// node that wakes is a dear step before cheap ones). Other kinds only add them up, where given.
	Steps []Step
	// Start is what the start of one more replica costs once: transfer of the model, and running
	// twice until it is ready.
	Start protocol.Microdollars
	// Room is what the site shares with others of DivideAll, if it is named, and Takes how much of it
	// one more replica takes.
	Room  string
	Takes protocol.Milli
	// Silent is a site without a bid in this round: it keeps Held, gets and gives nothing, and
	// its Free and Steps do not count. HeldServes is what each of its replicas is taken to serve.
	Silent     bool
	HeldServes protocol.Milli
}

// A Step is the cost of some replicas in a row.
type Step struct {
	Replicas int                   // at least 1
	Cost     protocol.Microdollars // of each, per hour; a mean over Move.Horizon if known
	Serves   protocol.Milli        // each, in thousandths of a request a second; counts with a Load only
}

// Move says when a replica that runs is moved, which only a Rebalance under ByCost does for cost.
type Move struct {
	// Horizon is for how long the replicas are expected to stay; starts are spread over it. Zero
	// counts no start costs.
	Horizon time.Duration
	// Hysteresis is by which part, in thousandths, a saving must exceed the cost of moving.
	Hysteresis protocol.Milli
	// Most is how many replicas one division moves for cost at most; 0 is any number.
	Most int
}

// A Group says by what sites are grouped.
type Group string

// Groups of sites.
const (
	BySite     Group = "site"
	ByRegion   Group = "region"
	ByProvider Group = "provider"
)

// A SpreadConstraint bounds over how many groups of sites the replicas are spread (Karmada: spreadConstraints).
// A group counts if it has a replica. Fewer replicas than MinGroups need only as many groups.
type SpreadConstraint struct {
	By                   Group
	MinGroups, MaxGroups int // 0 is no bound
}
