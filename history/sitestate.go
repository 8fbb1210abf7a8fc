package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A SiteCondition is how a site stands, since when and why. It is the one definition of a site's
// state: commands, page, metrics and answers show it.
type SiteCondition struct {
	State protocol.SiteState
	Since protocol.Time
	Until protocol.Time // of a drain or a pause that ends by itself; 0: it does not
	Why   protocol.Reason
	By    string // the operator; "" where none caused it
}

// A conditionChange is a condition of a site from an instant on, as it was known then.
type conditionChange struct {
	at protocol.Time
	SiteCondition
}

// siteStanding is what the state of a site follows from. Of several that hold, the most severe
// counts (protocol.AllSiteStates); the policy in force is added where the state is read.
type siteStanding struct {
	registered, gone, revoked, drain, monitor SiteCondition // State "": it is not so
	missedSince                               protocol.Time // the first round of SilentRounds
	changes                                   []conditionChange
}

// keptConditions bounds the changes of one site that a live view keeps.
const keptConditions = 4

// current returns how a site stands by what is known now, apart from the policy.
func (s *SiteRecord) current() SiteCondition {
	x := &s.standing
	switch {
	case x.gone.State != "", x.registered.State == "":
		return x.gone
	case x.revoked.State != "":
		return x.revoked
	case x.monitor.State == protocol.SiteSilent:
		return x.monitor
	case s.SilentRounds > 1:
		return SiteCondition{State: protocol.SiteSilent, Since: x.missedSince, Why: protocol.Reason{Code: protocol.MissedRounds, Note: fmt.Sprintf("%d in a row", s.SilentRounds)}}
	case x.drain.State != "":
		return x.drain
	case x.monitor.State != "":
		return x.monitor
	}
	return x.registered
}

// noteCondition keeps how a site stands where it changed, and lists a new state as an event unless
// an act of an operator caused it, which is listed itself. Of rounds that a site misses on and on
// only the number in the reason changes; and a site that is ok by its registration is so by its
// heartbeats from then on, which is no event either.
func (b *History) noteCondition(s *SiteRecord, at protocol.Time, act bool) {
	now := s.current()
	n := len(s.standing.changes)
	if now.State == "" || n > 0 && s.standing.changes[n-1].SiteCondition == now {
		return
	}
	goesOn := n > 0 && s.standing.changes[n-1].State == now.State && s.standing.changes[n-1].Why.Code == now.Why.Code && s.standing.changes[n-1].By == now.By
	if goesOn && s.standing.changes[n-1].Since == now.Since {
		s.standing.changes[n-1].Why, s.standing.changes[n-1].Until = now.Why, now.Until
		return
	}
	if b.cfg.Live && n >= keptConditions {
		s.standing.changes = slices.Delete(s.standing.changes, 0, 1)
	}
	s.standing.changes = append(s.standing.changes, conditionChange{at, now})
	switch {
	case goesOn:
	case n == 0 && now.State == protocol.SiteOK:
		b.addEvent(SiteEvent{At: at, Kind: EventRegistered, Site: s.Site})
	case !act:
		b.addEvent(SiteEvent{At: at, Kind: EventState, Site: s.Site, SiteCondition: now})
	}
}

// ConditionAt returns how a site stood at an instant, as it was known then; the State is "" for a
// site that had not registered. A rule of the policy that forbids all jobs there pauses it.
func (b *History) ConditionAt(site string, at protocol.Time) (c SiteCondition) {
	s := b.sites[site]
	if s == nil {
		return c
	}
	for _, x := range s.standing.changes {
		if x.at <= at || c.State == "" && b.cfg.Live { // a live view has dropped what was before
			c = x.SiteCondition
		}
	}
	if p := b.pauseAt(site, at); c.State != "" && p.State != "" && severity(p.State) < severity(c.State) {
		return p
	}
	return c
}

// severity orders states: the most severe is 0.
func severity(s protocol.SiteState) int { return slices.Index(protocol.AllSiteStates(), s) }

// policyAt returns the policy in force at an instant; false if there was none.
func (b *History) policyAt(at protocol.Time) (PolicyVersion, bool) {
	i, _ := slices.BinarySearchFunc(b.rules, at+1, func(v PolicyVersion, at protocol.Time) int { return cmp.Compare(v.At, at) })
	if i == 0 {
		return PolicyVersion{}, false
	}
	return b.rules[i-1], true
}

// pauseAt returns the rule of the policy in force at an instant that forbids all jobs at a site;
// State "": there is none.
func (b *History) pauseAt(site string, at protocol.Time) (c SiteCondition) {
	v, _ := b.policyAt(at)
	for _, r := range v.Rules {
		if r.Kind == protocol.Forbid && r.Tenant == "" && len(r.Homes) == 0 && r.CoversSite(site) && r.IsActiveAt(at) {
			return SiteCondition{State: protocol.SitePaused, Since: b.activeSince(r, at), Until: r.To, By: v.By, Why: protocol.Reason{Code: protocol.Forbidden, Note: r.ID}}
		}
	}
	return c
}

// activeSince returns since when a rule that is active at an instant has been.
func (b *History) activeSince(r protocol.Rule, at protocol.Time) protocol.Time {
	since := max(r.From, b.ruleSince[r.ID])
	if r.Weekly == "" {
		return since
	}
	begin := at.Floor(time.Hour) // times of the week change at full hours
	for begin > since && r.IsActiveAt(begin-1) {
		begin = begin.Add(-time.Hour)
	}
	return max(begin, since)
}

// PowerCapAt returns the least power cap that the policy in force at an instant sets to all runs at
// a site, alone or together with other sites; 0: none.
func (b *History) PowerCapAt(site string, at protocol.Time) (least protocol.Milliwatts) {
	v, _ := b.policyAt(at)
	for _, r := range v.Rules {
		if r.Kind == protocol.Cap && r.Power != 0 && r.Tenant == "" && len(r.Homes) == 0 && r.CoversSite(site) && r.IsActiveAt(at) && (least == 0 || r.Power < least) {
			least = r.Power
		}
	}
	return least
}

// foldCondition takes in what the coordinator's monitor says of a site, or that its keys were
// revoked.
func (b *History) foldCondition(from MessageRef, m protocol.SiteCondition) {
	s := b.sites[m.Site]
	if s == nil {
		return
	}
	c := SiteCondition{State: m.State, Since: m.Since, Why: m.Why, By: m.By}
	if m.State == protocol.SiteRevoked {
		if was := s.standing.revoked; was.State != "" { // for good, so since the first time
			c.Since = was.Since
		}
		s.standing.revoked = c
	} else {
		// A site that was silent has missed rounds for that reason, and begins anew.
		if s.standing.monitor.State == protocol.SiteSilent && m.State != protocol.SiteSilent {
			s.SilentRounds, s.answered = 0, true
		}
		s.standing.monitor = c
	}
	b.noteCondition(s, from.At, m.State == protocol.SiteRevoked)
	if m.State == protocol.SiteRevoked {
		b.addEvent(SiteEvent{At: from.At, Kind: EventRevoke, Site: m.Site, SiteCondition: c})
	}
}

// foldDrain begins or ends the drain of a site: a drained site gets no new jobs. The market knows
// no site that is gone.
func (b *History) foldDrain(from MessageRef, m protocol.Drain) {
	s := b.sites[m.Site]
	if s == nil || s.decommissioned || from.From != protocol.OperatorAPI {
		return
	}
	c := SiteCondition{State: protocol.SiteDraining, Since: from.At, Until: m.Until, By: m.By, Why: protocol.Reason{Code: protocol.Drained, Note: m.Why}}
	kind, was := EventDrain, s.standing.drain
	if was.State != "" {
		c.Since = was.Since
	}
	s.Drained, s.standing.drain = true, c
	if m.Over {
		kind, s.Drained, s.standing.drain = EventUndrain, false, SiteCondition{}
		c = SiteCondition{By: m.By, Why: protocol.Reason{Note: m.Why}}
	}
	b.noteCondition(s, from.At, true)
	b.addEvent(SiteEvent{At: from.At, Kind: kind, Site: m.Site, SiteCondition: c})
}

// SendsHeartbeats reports whether the coordinator's monitor has ever said how a site stands: then
// silence has a record, and the times of other messages say nothing.
func (b *History) SendsHeartbeats(site string) bool {
	return b.sites[site] != nil && b.sites[site].standing.monitor.State != ""
}

// DrainedUntil returns when the drain of the site ends by itself; 0: it does not, or there is none.
func (s *SiteRecord) DrainedUntil() protocol.Time { return s.standing.drain.Until }
