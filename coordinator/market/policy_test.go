package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// ruled returns a market with the auction, after it decided on one job for which oslo and bern
// bid, oslo the cheaper, under a policy that a party sent.
func ruled(t *testing.T, from protocol.Party, p protocol.Policy) (*testMarket, string) {
	t.Helper()
	s := newTestMarket(t, "bern", "oslo")
	s.market.rule = auction.New(auction.Config{})
	s.send(from, p)
	j := s.job()
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	dear := s.option(0, time.Hour)
	dear.Money += 2_000
	s.offer("bern", bidsOf(j.ID, dear))
	s.offer("oslo", bidsOf(j.ID, s.option(0, time.Hour)))
	for _, m := range s.sent {
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

// The policy in force is announced, survives a restart, and cannot be loosened by one person.
func TestAPolicyIsInForceFromTheLedger(t *testing.T) {
	ban := protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}}}}
	s := newTestMarket(t, "bern", "oslo")
	sent := s.send(protocol.OperatorAPI, ban)
	if len(sent) != 1 || sent[0].To != "" || sent[0].Body.(protocol.Policy).Version != 1 || len(s.market.Events()) != 1 {
		t.Fatalf("the market sends %+v; want the policy in force, to all parties and to its events", sent)
	}
	alone := protocol.Policy{Version: 2, By: "ada", Second: "ada"}
	if sent := s.send(protocol.OperatorAPI, alone); len(sent) != 1 || sent[0].To != protocol.OperatorAPI || s.market.CurrentPolicy().Version != 1 {
		t.Errorf("one person loosened a ban: %+v", sent)
	}
	if s.send(protocol.OperatorAPI, protocol.Policy{Version: 2, By: "ada", Second: "ben"}); s.market.CurrentPolicy().Version != 2 {
		t.Error("two persons did not loosen a ban")
	}
	restored := New(Config{}, &soonest{})
	restored.Restore(sent[0])
	if restored.CurrentPolicy().Version != 1 || len(restored.CurrentPolicy().Rules) != 1 {
		t.Errorf("after a restart %+v is in force; want the ban", restored.CurrentPolicy())
	}
}

// A site starts queued jobs as soon as it can. If a hard rule allows only a later start, the award
// says so.
func TestAwardOfAConstrainedStartSetsNotBeforeStart(t *testing.T) {
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
		s := newTestMarket(t, "oslo")
		tc.rule.ID = "R-1"
		s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{tc.rule}})
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("oslo", bidsOf("train", s.option(2*time.Hour, time.Hour)))
		if a := lastSent[protocol.Award](s); a.NotBeforeStart != tc.firm {
			t.Errorf("%s: it is awarded firm: %v; want %v", name, a.NotBeforeStart, tc.firm)
		}
	}
}
