package protocol

import "time"

// SiteMonitor is the party of a coordinator's process that watches the heartbeats of sites
// (coordinator/liveness). It is never on a bus: its messages go to the market as the operator
// API's do.
const SiteMonitor Party = "monitor"

// A SiteState is how a site stands, in one word; history.SiteCondition says since when and why.
// Of several that hold, the first of this list counts.
type SiteState string

// States of a site.
const (
	SiteRemoved  SiteState = "gone"          // an operator declared that it will not come back
	SiteRevoked  SiteState = "revoked"       // an operator revoked its keys
	SiteSilent   SiteState = "silent"        // it sends no heartbeats, or does not answer rounds
	SiteDraining SiteState = "draining"      // an operator drains it: it finishes its jobs, and gets no more
	SitePaused   SiteState = "paused"        // a rule of the operators' policy forbids all jobs there
	SignalsStale SiteState = "signals stale" // it bids by prices or carbon intensities that are old
	SiteOK       SiteState = "ok"
)

// AllSiteStates returns all states of a site, most severe first.
func AllSiteStates() []SiteState {
	return []SiteState{SiteRemoved, SiteRevoked, SiteSilent, SiteDraining, SitePaused, SignalsStale, SiteOK}
}

// Reasons of a site's state.
const (
	NoHeartbeat  Code = "no-heartbeat"  // the coordinator hears nothing from its agent
	MissedRounds Code = "missed-rounds" // it did not answer two rounds in a row, or more
	KeysRevoked  Code = "keys-revoked"
	Drained      Code = "drained"
	SignalsOld   Code = "signals-old" // no price or carbon intensity was published for hours
)

type (
	// Heartbeat says that an agent is alive, every few seconds; the coordinator's says so to all. Only
	// live parties send it, and no ledger holds it: the coordinator's monitor turns heartbeats and
	// silence into SiteConditions. The coordinator's are all numbered 1, outside its sequence.
	Heartbeat struct {
		Every time.Duration `msgpack:"e"`            // the next one follows after this time
		Stale Reason        `msgpack:"st,omitempty"` // why the site's signals are stale; no Code: they are not
	}

	// SiteCondition says that a site has come into a state: SiteOK, SiteSilent or SignalsStale
	// by the monitor, SiteRevoked by an operator.
	SiteCondition struct {
		Site  string    `msgpack:"s"`
		State SiteState `msgpack:"t"`
		Since Time      `msgpack:"n"` // by the coordinator's clock
		Why   Reason    `msgpack:"y,omitempty"`
		By    string    `msgpack:"by,omitempty"` // the operator
	}
)

func (Heartbeat) messageKind() string     { return "heartbeat" }
func (SiteCondition) messageKind() string { return "condition" }
