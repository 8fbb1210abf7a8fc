package snapshot_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A siteLog draws what a market stores of sites: registrations, what operators do, and what the
// coordinator's monitor says.
type siteLog struct {
	now      protocol.Time
	speakers map[protocol.Party]*protocol.Sender
	told     map[string]protocol.SiteCondition // by the monitor, last
	known    map[string]bool                   // sites of the market: registered, and not removed
	events   []protocol.Message
}

func (l *siteLog) say(who protocol.Party, b protocol.Body) {
	if l.speakers[who] == nil {
		l.speakers[who] = &protocol.Sender{Party: who}
	}
	l.events = append(l.events, l.speakers[who].NewMessage(l.now, protocol.Coordinator, b))
}

// add adds an event of a site. The market stores nothing of a site that it does not know but its
// registration.
func (l *siteLog) add(t *rapid.T, site string) {
	l.now = l.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "minutes")) * time.Minute)
	by := rapid.SampledFrom([]string{"ada", "ben"})
	kind := rapid.SampledFrom([]string{"register", "drain", "drain", "over", "monitor", "monitor", "revoke", "remove"}).Draw(t, "event")
	switch {
	case kind == "register" || !l.known[site]:
		l.known[site] = true
		l.say(protocol.AgentParty(site), protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", GPUs: 8, Nodes: 1}}})
	case kind == "drain":
		l.say(protocol.OperatorAPI, protocol.Drain{Site: site, By: by.Draw(t, "by"), Why: "switches", Until: l.now.Add(time.Hour)})
	case kind == "over":
		l.say(protocol.OperatorAPI, protocol.Drain{Site: site, Over: true, By: by.Draw(t, "by")})
	case kind == "monitor":
		c := rapid.SampledFrom([]protocol.SiteCondition{
			{State: protocol.SiteOK}, {State: protocol.SiteSilent, Why: protocol.Reason{Code: protocol.NoHeartbeat}},
			{State: protocol.SignalsStale, Why: protocol.Reason{Code: protocol.SignalsOld, Note: "price"}},
			{State: protocol.SignalsStale, Why: protocol.Reason{Code: protocol.SignalsOld, Note: "price; carbon"}},
		}).Draw(t, "condition")
		c.Site, c.Since = site, l.now
		if was := l.told[site]; was.Why.Code == c.Why.Code && was.State == c.State { // liveness.Monitor: the state goes on
			c.Since = was.Since
		}
		l.told[site] = c
		l.say(protocol.SiteMonitor, c)
	case kind == "revoke":
		l.say(protocol.OperatorAPI, protocol.SiteCondition{Site: site, State: protocol.SiteRevoked, Since: l.now, By: by.Draw(t, "by"), Why: protocol.Reason{Code: protocol.KeysRevoked, Note: "stolen"}})
	case kind == "remove":
		l.known[site] = false
		l.say(protocol.OperatorAPI, protocol.DecommissionSite{Site: site, By: by.Draw(t, "by"), Why: "sold"})
	}
}

// standings returns how the sites stand for a leader that begins with these events.
func (l *siteLog) standings(events []protocol.Message) (all []string) {
	var v jobstatus.View
	for _, m := range events {
		v.AddMessage(m)
	}
	for _, s := range v.AllSites(l.now) {
		all = append(all, fmt.Sprintf("%s %+v drained %v until %v gone %v", s.Name, s.Condition, s.Drained, s.DrainedUntil, s.Decommissioned))
	}
	return all
}

// A leader that begins with a snapshot shows each site as one that reads the whole log: its state,
// since when, until when, why and by whom.
func TestCompactionKeepsHowSitesStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &siteLog{now: noon, speakers: make(map[protocol.Party]*protocol.Sender), told: make(map[string]protocol.SiteCondition), known: make(map[string]bool)}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			l.add(t, rapid.SampledFrom([]string{"bern", "oslo"}).Draw(t, "site"))
		}
		all, want := l.events, l.standings(l.events)
		one := rapid.IntRange(0, len(all)).Draw(t, "first snapshot")
		two := rapid.IntRange(one, len(all)).Draw(t, "second snapshot")
		for name, events := range map[string][]protocol.Message{
			"a snapshot":                       sum(all),
			"a snapshot and what came after":   append(sum(all[:two]), all[two:]...),
			"a snapshot of a snapshot":         sum(sum(all[:one]), all[one:]),
			"two snapshots, and what followed": append(sum(sum(all[:one]), all[one:two]), all[two:]...),
		} {
			if got := l.standings(events); !slices.Equal(got, want) {
				t.Fatalf("%s: %d events of %d:\n%v\nwant:\n%v", name, len(events), len(all), got, want)
			}
		}
	})
}

// What a snapshot keeps of the acts of operators is listed once, and oldest first.
func TestEventsOfASnapshotAreInOrder(t *testing.T) {
	l := &siteLog{now: noon, speakers: make(map[protocol.Party]*protocol.Sender)}
	for _, x := range []struct {
		who protocol.Party
		b   protocol.Body
	}{
		{"agent/oslo", protocol.RegisterSite{Site: "oslo"}},
		{protocol.OperatorAPI, protocol.Drain{Site: "oslo", By: "ada"}},
		{protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"}},
		{"agent/oslo", protocol.RegisterSite{Site: "oslo"}},
		{"agent/bern", protocol.RegisterSite{Site: "bern"}},
		{protocol.OperatorAPI, protocol.Drain{Site: "oslo", By: "ben"}},
	} {
		l.now = l.now.Add(time.Minute)
		l.say(x.who, x.b)
	}
	var v jobstatus.View
	for _, m := range sum(l.events) {
		v.AddMessage(m)
	}
	all := v.Events(0, "")
	if !slices.IsSortedFunc(all, func(x, y jobstatus.SiteEvent) int { return int(x.At - y.At) }) {
		t.Errorf("they are not in order: %+v", all)
	}
	n := make(map[history.EventKind]int)
	for _, e := range all {
		n[e.Kind]++
	}
	if n[history.EventDrain] != 1 || n[history.EventRemove] != 1 {
		t.Errorf("one drain holds, after one removal: %+v", all)
	}
}
