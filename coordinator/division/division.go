package division

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Reason says why replicas are pending, or not as wished.
type Reason string

// Reasons. The zero value is that all is placed.
const (
	NoSites       Reason = "no-sites"       // no site is named, or all are silent
	NoRoom        Reason = "no-room"        // Room is less than what is wanted
	NotAllFit     Reason = "not-all-fit"    // there is no room for all, and AllOrNothing is set
	NoTierFitsAll Reason = "no-tier"        // no exclusive tier has room for all
	GroupsFull    Reason = "groups-full"    // there is room for all, but not in as few groups as SpreadConstraints allow
	TooFewGroups  Reason = "too-few-groups" // the sites with room are in fewer groups than SpreadConstraints ask for
	HeldBySilent  Reason = "held-by-silent" // silent sites hold more than is wanted

	AtMost            Reason = "at-most"             // Max is less than the load needs
	TooLittleFailover Reason = "too-little-failover" // without the largest site, less of the load is served than Failover asks for
)

// A Share is what one site gets.
type Share struct {
	Site     string
	Replicas int
	// RoomPrice is what one more place at a full site would save per hour, if it cost what the
	// site's last replica does. Only of ByCost.
	RoomPrice protocol.Microdollars
}

// A Division is how the replicas of a service are divided: counts, not changes.
type Division struct {
	Shares []Share // of each site of the request, by name
	// Placed is their sum. Pending is how many of the wanted replicas have no place; Reason says why.
	Placed, Pending int
	Reason          Reason
	// Room is how many replicas the sites could hold in all, those held included, in all tiers and
	// groups; under a kind that divides by weight, the sites with a weight.
	Room int

	// Cost is of all placed replicas, per hour, by the steps of the sites. Starts do not count.
	Cost protocol.Microdollars
	// LowerBound is a cost per hour that no division can be below that places as many replicas in
	// each tier and keeps MinPerSite. Cost minus it is at most what staying steady and keeping
	// SpreadConstraints cost, and what the search did not find. Relaxed says what else the bound
	// leaves out. Only of ByCost.
	LowerBound protocol.Microdollars
	Relaxed    []Relaxation
	// Unrestricted is a lower bound of any division of as many replicas, without tiers, MinPerSite
	// and SpreadConstraints: the policy costs at most Cost minus it. Only of ByCost.
	Unrestricted protocol.Microdollars

	// Serves is what the placed replicas serve, in thousandths of a request a second. Only with a Load; LowerBound is
	// then of any replicas that serve as much of it, or where power is paid for, of as many.
	Serves protocol.Milli

	// Moves is how many replicas start at one site because they leave another. StartCost is what all
	// starts of the division cost, once, moved or added.
	Moves     int
	StartCost protocol.Microdollars
}

// A Relaxation names a rule that a lower bound leaves out.
type Relaxation string

// Relaxations.
const (
	// FallingSteps: where steps fall, part of a block of replicas counts as that part of its cost.
	// It is named only if the search did not close the gap.
	FallingSteps Relaxation = "falling-steps"
	// SpreadLeftOut: MinGroups and MaxGroups are left out.
	SpreadLeftOut Relaxation = "spread"
	// MinPerSiteLeftOut: MinPerSite is left out, as there are too few replicas to keep it.
	MinPerSiteLeftOut Relaxation = "min-per-site"
	// PartOfReplica: a part of a replica serves that part of the load. It is named only if the search did not
	// close the gap.
	PartOfReplica Relaxation = "part-of-a-replica"
)

// Stuck is what a site reports of replicas that its cluster cannot schedule.
type Stuck struct {
	Site                 string
	Ready, Unschedulable int
	For                  time.Duration // since when all of Unschedulable are so
}
