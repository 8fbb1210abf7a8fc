package narrate

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Each state of a service is said: refused, not divided yet, in the middle of a move, and deleted.
func TestServicesInWords(t *testing.T) {
	h := history.New(history.Config{})
	coordinator, oslo := protocol.Sender{Party: protocol.Coordinator}, protocol.Sender{Party: protocol.AgentParty("oslo")}
	desk := protocol.Sender{Party: protocol.OperatorAPI}
	now := protocol.Time(1_649_851_200_000)
	said := func(by *protocol.Sender, b protocol.Body, want ...string) {
		t.Helper()
		now = now.Add(60_000_000_000)
		h.AddMessage(by.NewMessage(now, "", b))
		var text strings.Builder
		if err := WriteService(&text, h.Service("llm"), now); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(text.String()), " ")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%T: %q lacks %q", b, got, w)
			}
		}
	}
	said(&desk, protocol.SubmitService{Service: protocol.Service{ID: "llm", Wanted: 3, CPU: 1000}}, "llm wants 3 replicas. No call for capacity has been decided yet.")
	said(&coordinator, protocol.ServiceDivision{Service: "llm", Decision: 1, Wanted: 3, Sites: []protocol.SiteCount{{Site: "oslo", Count: 2}}, Pending: 1,
		Why: protocol.Reason{Code: protocol.ServicePlaced}, Lack: protocol.Reason{Note: "3 wanted, 2 fit"}, Cost: 80_000, Bound: 70_000, CarbonDoubled: []protocol.SiteCount{{Site: "oslo", Count: 2, Before: 2}}},
		"If carbon were twice as dear, a rebalance would put the same replicas at each site.",
		"llm wants 3 replicas, and 0 run.", "oslo from 0 to 2", "cost $0.0800 an hour together", "less than $0.0700", "1 replica is pending, and placed as soon as a site has room: 3 wanted, 2 fit.", "At oslo, 2 replicas do not run yet.")
	said(&oslo, protocol.ReplicaStatus{Service: "llm", Revision: 1, Assigned: 2, Ready: 1, Pending: 1, Since: now}, "1 run: 1 at oslo", "At oslo, 1 replica has found no node since")
	said(&coordinator, protocol.ServiceDivision{Service: "llm", Decision: 2, Wanted: 3, Sites: []protocol.SiteCount{{Site: "bern", Count: 3}, {Site: "oslo", Before: 2}}, Why: protocol.Reason{Code: protocol.Rebalanced}, Move: true, Cost: 60_000, Bound: 60_000, Stay: 80_000, Starts: 5000,
		CarbonDoubled: []protocol.SiteCount{{Site: "bern", Count: 1, Before: 3}, {Site: "lyon", Count: 2}, {Site: "oslo"}}},
		"Moving saves $0.0200 an hour, and costs $0.0050 once.", "If carbon were twice as dear, a rebalance would put 1 in place of 3 at bern and 2 in place of 0 at lyon.",
		"Decision 2", "a rebalance was asked for: bern from 0 to 3 and oslo from 2 to 0", "At oslo, 1 replica stays until others run in their place.")
	said(&coordinator, protocol.ServiceDivision{Service: "llm", Decision: 3, Deleted: true, Why: protocol.Reason{Code: protocol.ServiceDeleted}}, "llm was deleted at", "1 replica of it still run.")
	said(&coordinator, protocol.ServiceDivision{Service: "llm", Deleted: true, Why: protocol.Reason{Code: protocol.Malformed, Note: "replicas: want 0..10000"}}, "llm was refused: replicas: want 0..10000.")
}
