package market

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A tenant under a cap gets as many GPUs as it says, first the jobs that arrived first; the others
// wait with the rule as their reason, and are offered what starts after a run's end.
func TestATenantHoldsAsManyGPUsAsItsCapSays(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Tenant: "lab", GPUs: 2000}}})
	var bids []protocol.JobBids
	for i := range 4 {
		j := s.job()
		j.ID = protocol.JobID(fmt.Sprint("lab-", i))
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	other := s.job()
	other.ID, other.Tenant = "other", "guest"
	s.send(protocol.Submitter, protocol.Submit{Job: other})
	s.wait()
	for _, id := range []protocol.JobID{"lab-0", "lab-1", "lab-2", "lab-3", "other"} {
		bids = append(bids, bidsOf(id, s.option(0, time.Hour)))
	}
	got := make(map[protocol.JobID]string)
	for _, m := range s.offer("oslo", bids...) {
		switch b := m.Body.(type) {
		case protocol.Award:
			got[b.Job] = "awarded"
		case protocol.Defer:
			got[b.Job] = string(b.Why.Code) + " " + b.Why.Note
		}
	}
	held := "policy R-1: jobs of tenant lab may hold at most 2 GPUs at a time over all sites"
	want := map[protocol.JobID]string{"lab-0": "awarded", "lab-1": "awarded", "other": "awarded", "lab-2": held, "lab-3": held}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
	// While both run, what starts sooner than they end is no option; what starts later is one.
	for _, id := range []protocol.JobID{"lab-0", "lab-1"} {
		s.send("agent/oslo", protocol.Accept{Job: id, Epoch: 1, Start: s.now})
	}
	end := s.now.Add(time.Hour)
	for range 3 {
		if s.wait(); s.market.round != nil {
			break
		}
	}
	early, late := s.option(0, time.Hour), s.option(end.Sub(s.now), time.Hour)
	s.offer("oslo", bidsOf("lab-2", early), bidsOf("lab-3", early, late))
	round := s.rule.rounds[len(s.rule.rounds)-1]
	for _, l := range round.Lots {
		n := 0
		for _, b := range l.Bids {
			n += len(b.Options)
		}
		if want := map[protocol.JobID]int{"lab-2": 0, "lab-3": 1}[l.Job.ID]; n != want {
			t.Errorf("%s has %d options in the round; want %d", l.Job.ID, n, want)
		}
	}
}

// The reason that a job waits for is the sentence of its rule, which people know.
func TestReasonOfARuleNamesIt(t *testing.T) {
	why := reasonOfRule(protocol.Rule{ID: "R-7", Kind: protocol.Cap, Tenant: "lab", Sites: []string{"oslo"}, GPUs: 1500})
	if why.Code != protocol.Forbidden || !strings.HasPrefix(why.Note, "R-7: ") || !strings.Contains(why.Note, "1.5 GPUs at a time at oslo") {
		t.Errorf("%+v", why)
	}
}
