package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// ruled has a market with the auction in force decide on one job that oslo and
// bern offer to run, oslo for less, under a policy that the desk asks for.
func ruled(t *testing.T, from protocol.Party, p protocol.Policy) (*stage, string) {
	t.Helper()
	s := newStage(t, "bern", "oslo")
	s.market.rule = auction.New(auction.Config{})
	s.tell(from, p)
	j := s.job()
	s.tell(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	dear := s.option(0, time.Hour)
	dear.Money += 2_000
	s.offer("bern", menu(j.ID, dear))
	s.offer("oslo", menu(j.ID, s.option(0, time.Hour)))
	for _, m := range s.said {
		if _, ok := m.Body.(protocol.Award); ok {
			return s, m.To.SiteName()
		}
	}
	return s, ""
}

func TestTheMarketObeysAPolicy(t *testing.T) {
	rule := func(r protocol.Rule) protocol.Policy {
		r.ID = "R-1"
		return protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{r}}
	}
	for _, tc := range []struct {
		name string
		from protocol.Party
		p    protocol.Policy
		want string
	}{
		{"none", protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada"}, "oslo"},
		{"a preference decides between offers that are near", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"bern"}, Weight: 300}), "bern"},
		{"and not between others", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"bern"}, Weight: 50}), "oslo"},
		{"a ban", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}}), "bern"},
		{"a ban of all but one", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Forbid, Tenant: "lab", Sites: []string{"bern"}, Outside: true}), "bern"},
		{"of another tenant", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Forbid, Tenant: "others", Sites: []string{"oslo"}}), "oslo"},
		{"of another time", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, From: noon.Add(9 * time.Hour)}), "oslo"},
		{"of everywhere", protocol.OperatorAPI, rule(protocol.Rule{Kind: protocol.Forbid, Tenant: "lab"}), ""},
		{"from a stranger", protocol.AgentParty("bern"), rule(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}}), "oslo"},
		{"made against another version", protocol.OperatorAPI, protocol.Policy{Version: 7, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}}}}, "oslo"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, got := ruled(t, tc.from, tc.p); got != tc.want {
				t.Errorf("awarded to %q; want %q", got, tc.want)
			}
		})
	}
}

// What is in force is what the ledger says is in force: it is announced, kept
// over a restart, and not loosened by one person.
func TestAPolicyIsInForceFromTheLedger(t *testing.T) {
	ban := protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}}}}
	s := newStage(t, "bern", "oslo")
	said := s.tell(protocol.OperatorAPI, ban)
	if len(said) != 1 || said[0].To != "" || said[0].Body.(protocol.Policy).Version != 1 || len(s.market.Events()) != 1 {
		t.Fatalf("the market says %+v; want the policy in force, to everyone and to its books", said)
	}
	alone := protocol.Policy{Version: 2, By: "ada", Second: "ada"}
	if said := s.tell(protocol.OperatorAPI, alone); len(said) != 1 || said[0].To != protocol.OperatorAPI || s.market.CurrentPolicy().Version != 1 {
		t.Errorf("one person loosened a ban: %+v", said)
	}
	if s.tell(protocol.OperatorAPI, protocol.Policy{Version: 2, By: "ada", Second: "ben"}); s.market.CurrentPolicy().Version != 2 {
		t.Error("two persons did not loosen a ban")
	}
	again := New(Config{}, &soonest{})
	again.Restore(said[0])
	if again.CurrentPolicy().Version != 1 || len(again.CurrentPolicy().Rules) != 1 {
		t.Errorf("after a restart %+v is in force; want the ban", again.CurrentPolicy())
	}
}

// A site starts what waits in its queue as soon as it can. What a hard rule allows only
// later is sold for no sooner.
func TestWhatMayNotStartSoonerIsSoldFirm(t *testing.T) {
	for name, tc := range map[string]struct {
		rule protocol.Rule
		firm bool
	}{
		"forbidden until then":      {protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, To: noon.Add(time.Hour)}, true},
		"forbidden at times":        {protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Weekly: protocol.Night}, true},
		"carbon is capped":          {protocol.Rule{Kind: protocol.Cap, Carbon: 1}, true},
		"power is capped by day":    {protocol.Rule{Kind: protocol.Cap, Power: 1, To: noon.Add(time.Hour)}, true},
		"forbidden elsewhere":       {protocol.Rule{Kind: protocol.Forbid, Sites: []string{"bern"}}, false},
		"forbidden after that":      {protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, From: noon.Add(3 * time.Hour)}, false},
		"no more forbidden":         {protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, To: noon}, false},
		"another site is preferred": {protocol.Rule{Kind: protocol.Prefer, Sites: []string{"bern"}, Weight: 100}, false},
	} {
		s := newStage(t, "oslo")
		tc.rule.ID = "R-1"
		s.tell(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{tc.rule}})
		s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("oslo", menu("train", s.option(2*time.Hour, time.Hour)))
		if a := the[protocol.Award](s); a.NotBeforeStart != tc.firm {
			t.Errorf("%s: it is awarded firm: %v; want %v", name, a.NotBeforeStart, tc.firm)
		}
	}
}
