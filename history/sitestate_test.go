package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const desk, monitor = protocol.OperatorAPI, protocol.SiteMonitor

// A nightWatch tells of a site, a minute after each other, in a full history and in a live one.
type nightWatch struct {
	s    stage
	all  *History
	live *History
}

func newNightWatch() *nightWatch {
	w := &nightWatch{all: New(Config{}), live: New(Config{Live: true})}
	w.s.now = noon
	return w
}

func (w *nightWatch) say(who, to protocol.Party, body protocol.Body) {
	w.s.now = w.s.now.Add(time.Minute)
	w.s.said = w.s.said[:0]
	w.s.say(who, to, body)
	w.all.AddMessage(w.s.said[0])
	w.live.AddMessage(w.s.said[0])
}

// stands returns the state of oslo now, with since when, who and why.
func (w *nightWatch) stands(t *testing.T) string {
	t.Helper()
	c := w.all.ConditionAt("oslo", w.s.now)
	if x := w.live.ConditionAt("oslo", w.s.now); x != c {
		t.Errorf("a live view shows %+v, and the whole history %+v", x, c)
	}
	return strings.TrimSpace(fmt.Sprintf("%s +%v %s %s %s", c.State, c.Since.Sub(noon).Minutes(), c.Why.Code, c.Why.Note, c.By))
}

func TestASitesStateHasAReasonAndABeginning(t *testing.T) {
	w := newNightWatch()
	at := func(n int) protocol.Time { return noon.Add(time.Duration(n) * time.Minute) }
	oslo := protocol.AgentParty("oslo")
	call := func(round uint64) func() {
		return func() { w.say(protocol.Coordinator, "", protocol.CallForBids{Round: round}) }
	}
	say := func(who protocol.Party, body protocol.Body) func() {
		return func() { w.say(who, protocol.Coordinator, body) }
	}
	forbid := protocol.Policy{Version: 1, By: "ben", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}}}}
	for i, x := range []struct {
		do   func()
		want string
	}{
		{say(oslo, protocol.RegisterSite{Site: "oslo"}), "ok +1"},
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteOK, Since: at(1)}), "ok +1"},
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteSilent, Since: at(2), Why: protocol.Reason{Code: protocol.NoHeartbeat}}), "silent +2 no-heartbeat"},
		{say(desk, protocol.Drain{Site: "oslo", By: "ada", Why: "switches"}), "silent +2 no-heartbeat"}, // the worse of both
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteOK, Since: at(5)}), "draining +4 drained switches ada"},
		{say(desk, protocol.Drain{Site: "oslo", By: "ada", Why: "switches and cables"}), "draining +4 drained switches and cables ada"},
		{say(desk, protocol.Drain{Site: "oslo", Over: true, By: "ben"}), "ok +5"},
		{call(1), "ok +5"},
		{call(2), "ok +5"},
		{call(3), "silent +8 missed-rounds 2 in a row"},
		{call(4), "silent +8 missed-rounds 3 in a row"},
		{say(oslo, protocol.Bids{Round: 4}), "ok +5"},
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SignalsStale, Since: at(13), Why: protocol.Reason{Code: protocol.SignalsOld, Note: "price"}}), "signals stale +13 signals-old price"},
		{func() { w.say(protocol.Coordinator, "", forbid) }, "paused +14 policy R-1 ben"},
		{func() { w.say(protocol.Coordinator, "", protocol.Policy{Version: 2, By: "ben"}) }, "signals stale +13 signals-old price"},
		{say(desk, protocol.SiteCondition{Site: "oslo", State: protocol.SiteRevoked, Since: at(16), Why: protocol.Reason{Code: protocol.KeysRevoked, Note: "stolen"}, By: "ada"}), "revoked +16 keys-revoked stolen ada"},
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteSilent, Since: at(16), Why: protocol.Reason{Code: protocol.NoHeartbeat}}), "revoked +16 keys-revoked stolen ada"},
		{say(desk, protocol.DecommissionSite{Site: "oslo", By: "ada", Why: "sold"}), "gone +18 site-gone sold ada"},
		{say(oslo, protocol.RegisterSite{Site: "oslo"}), "silent +16 no-heartbeat"}, // until the monitor hears it
		{say(monitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteOK, Since: at(20)}), "ok +20"},
	} {
		x.do()
		if got := w.stands(t); got != x.want {
			t.Errorf("%d: oslo is %q; want %q", i+1, got, x.want)
		}
	}
	// In the past a site stands as it was known then.
	for n, want := range map[int]protocol.SiteState{0: "", 3: protocol.SiteSilent, 6: protocol.SiteDraining, 10: protocol.SiteSilent, 14: protocol.SitePaused, 16: protocol.SiteRevoked, 18: protocol.SiteRemoved} {
		if got := w.all.ConditionAt("oslo", at(n)).State; got != want {
			t.Errorf("after %d minutes oslo was %q; want %q", n, got, want)
		}
	}
	var kinds []string
	for _, e := range w.all.Events() {
		k := string(e.Kind)
		if e.Kind == EventState {
			k = string(e.State)
		}
		kinds = append(kinds, k)
	}
	if got, want := strings.Join(kinds, ", "), "registered, silent, drain, draining, drain, undrain, silent, ok, signals stale, policy, policy, revoke, remove, silent, ok"; got != want {
		t.Errorf("events: %s\nwant:   %s", got, want)
	}
	if a, b := fmt.Sprint(w.all.Events()), fmt.Sprint(w.live.Events()); a != b {
		t.Errorf("a live view lists other events:\n%s\n%s", b, a)
	}
}

// Anybody may say anything: only the monitor and the operators say how a site stands.
func TestASiteDoesNotSayHowAnotherStands(t *testing.T) {
	w := newNightWatch()
	w.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})
	for _, who := range []protocol.Party{"agent/bern", "agent/oslo", desk} {
		w.say(who, protocol.Coordinator, protocol.SiteCondition{Site: "oslo", State: protocol.SiteSilent, Since: w.s.now})
	}
	w.say("agent/bern", protocol.Coordinator, protocol.SiteCondition{Site: "oslo", State: protocol.SiteRevoked, Since: w.s.now})
	w.say("agent/bern", protocol.Coordinator, protocol.Drain{Site: "oslo"})
	w.say(monitor, protocol.Coordinator, protocol.SiteCondition{Site: "mars", State: protocol.SiteSilent, Since: w.s.now})
	if got := w.stands(t); got != "ok +1" || len(w.all.Events()) != 1 {
		t.Errorf("oslo is %s, after %v", got, w.all.Events())
	}
}

// A rule that holds on weekends pauses a site since midnight of Saturday.
func TestARuleOfTheWeekPausesASite(t *testing.T) {
	w := newNightWatch()
	w.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})
	w.say(protocol.Coordinator, "", protocol.Policy{Version: 1, Rules: []protocol.Rule{
		{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}, Weekly: protocol.Weekend}, {ID: "R-2", Kind: protocol.Cap, Power: 5, Sites: []string{"oslo"}}, {ID: "R-3", Kind: protocol.Cap, Power: 3},
		{ID: "R-4", Kind: protocol.Forbid, Tenant: "vision"}, {ID: "R-5", Kind: protocol.Cap, Power: 1, Tenant: "vision"}, {ID: "R-6", Kind: protocol.Cap, Power: 2, Sites: []string{"bern"}},
	}})
	saturday := noon.Floor(24 * time.Hour)
	for saturday.StdTime().Weekday() != time.Saturday {
		saturday = saturday.Add(24 * time.Hour)
	}
	for at, want := range map[protocol.Time]protocol.SiteState{saturday.Add(-time.Hour): protocol.SiteOK, saturday.Add(33 * time.Hour): protocol.SitePaused, saturday.Add(48 * time.Hour): protocol.SiteOK} {
		c := w.all.ConditionAt("oslo", at)
		if c.State != want || want == protocol.SitePaused && c.Since != saturday {
			t.Errorf("at %v oslo is %s since %v; want %s", at, c.State, c.Since, want)
		}
	}
	if got := w.all.PowerCapAt("oslo", w.s.now); got != 3 {
		t.Errorf("the least cap is %d; want 3", got)
	}
}

// A coordinator that took over has a term of its own, which its messages tell.
func TestAChangeOfTheLeaderIsAnEvent(t *testing.T) {
	b := New(Config{})
	for term := range uint32(3) {
		s := protocol.Sender{Party: protocol.Coordinator, Incarnation: term + 1}
		for i := range 3 {
			b.AddMessage(s.NewMessage(noon.Add(time.Duration(term)*time.Hour+time.Duration(i)), "", protocol.CallForBids{Round: uint64(term)*3 + uint64(i) + 1}))
		}
	}
	if got := b.Events(); len(got) != 2 || got[1].Kind != EventLeader || got[1].Term != 3 || got[1].At != noon.Add(2*time.Hour) {
		t.Errorf("events: %+v; want two changes of the leader", got)
	}
}

// In a federation without jobs an operator's act may be the last message for hours. The record of
// a live coordinator ends with it, and not before.
func TestAnOperatorsActIsWithinTheRecord(t *testing.T) {
	b := New(Config{})
	for i, x := range []struct {
		who, to protocol.Party
		b       protocol.Body
	}{
		{protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: 1}},
		{"agent/oslo", protocol.Coordinator, protocol.RegisterSite{Site: "oslo"}},
		{desk, protocol.Coordinator, protocol.Drain{Site: "oslo", By: "ada"}},
	} {
		s := protocol.Sender{Party: x.who}
		b.AddMessage(s.NewMessage(noon.Add(time.Duration(i)*time.Hour), x.to, x.b))
	}
	c := b.Coverage()
	if got := b.ConditionAt("oslo", c.Last); !c.Live || c.Last != noon.Add(2*time.Hour) || got.State != protocol.SiteDraining {
		t.Errorf("at the end of %+v oslo is %+v; want it draining since two hours after noon", c, got)
	}
}
