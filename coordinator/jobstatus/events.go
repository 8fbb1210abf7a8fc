package jobstatus

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A SiteEvent is what an operator did, or what changed at a site or with the coordinator.
type SiteEvent struct {
	At     protocol.Time      `json:"at"`
	Kind   history.EventKind  `json:"kind"`
	Site   string             `json:"site,omitempty"`
	By     string             `json:"by,omitempty"`    // the operator
	State  protocol.SiteState `json:"state,omitempty"` // that a site came into
	Since  protocol.Time      `json:"since,omitzero"`  // of that state
	Until  protocol.Time      `json:"until,omitzero"`  // of a drain with an end
	Why    protocol.Code      `json:"reason,omitempty"`
	Note   string             `json:"note,omitempty"`
	Policy uint64             `json:"policy,omitempty"` // version that is in force since
	Term   uint64             `json:"term,omitempty"`   // of the coordinator that leads since
}

// EventsOf returns the events of a history from an instant on, oldest first; site, if not "", keeps
// those of one site and those that concern all. A history that was restored from a snapshot has them
// in another order, and some twice.
func EventsOf(h *history.History, since protocol.Time, site string) []SiteEvent {
	out := []SiteEvent{}
	for _, e := range h.Events() {
		if e.At >= since && (site == "" || e.Site == "" || e.Site == site) {
			out = append(out, SiteEvent{e.At, e.Kind, e.Site, e.By, e.State, e.Since, e.Until, e.Why.Code, e.Why.Note, e.Policy, e.Term})
		}
	}
	slices.SortStableFunc(out, func(x, y SiteEvent) int { return cmp.Compare(x.At, y.At) })
	return slices.Compact(out)
}

// Events returns the newest events that a live view keeps: see EventsOf.
func (b *View) Events(since protocol.Time, site string) []SiteEvent {
	return EventsOf(b.liveHistory(), since, site)
}

// Record returns the event's condition as history has it.
func (e SiteEvent) Record() history.SiteCondition {
	return history.SiteCondition{State: e.State, Since: e.Since, Until: e.Until, Why: protocol.Reason{Code: e.Why, Note: e.Note}, By: e.By}
}
