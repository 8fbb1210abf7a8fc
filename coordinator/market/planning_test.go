package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Every call carries the configured planning, and the rule clears by the same. An invalid
// planning, which a hostile ledger may name, is replaced by the default.
func TestCallAndRuleHaveTheConfiguredPlanning(t *testing.T) {
	fine := protocol.Planning{Slot: 5 * time.Minute, Horizon: 24 * time.Hour, MaxStartDelay: 10 * time.Minute, FirmLead: time.Hour}
	for _, tc := range []struct {
		name      string
		cfg, want protocol.Planning
	}{
		{"none", protocol.Planning{}, protocol.DefaultPlanning()},
		{"its own", fine, fine},
		{"half of one", protocol.Planning{Slot: time.Hour}, protocol.DefaultPlanning()},
		{"a negative slot", protocol.Planning{Slot: -1, Horizon: 1, MaxStartDelay: 1, FirmLead: 1}, protocol.DefaultPlanning()},
	} {
		s := newTestMarket(t)
		s.market = New(Config{Planning: tc.cfg}, s.rule)
		s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo"})
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		if got := lastSent[protocol.CallForBids](s).Planning; got != tc.want {
			t.Errorf("%s: the call sends %+v; want %+v", tc.name, got, tc.want)
		}
		s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
		if len(s.rule.rounds) != 1 || s.rule.rounds[0].Planning != tc.want {
			t.Errorf("%s: the rule cleared %+v; want one round by %+v", tc.name, s.rule.rounds, tc.want)
		}
	}
}
