package agents

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An enquiry is answered as a call would be, and leaves nothing behind: an agent that is asked
// before each call bids later what one bids that is never asked.
func TestAnEnquiryChangesNoLaterBid(t *testing.T) {
	asked, quiet := newSite(t, eager, 4, 2), newSite(t, eager, 4, 2)
	for i := range 6 {
		j := job("train", 1+i%3)
		j.Urgency = protocol.UrgencyFlexible
		other := job("other", 2)
		other.Arrival = asked.now // placement would learn from it
		// A job that fits nowhere, and another planning: what a call would keep.
		for _, c := range []protocol.CallForBids{
			{Round: 77, Jobs: []protocol.Job{j}, Weights: weights},
			{Round: 78, Jobs: []protocol.Job{job("huge", 16), other}, Weights: weights, Planning: protocol.Planning{Slot: time.Hour, Horizon: 24 * time.Hour, MaxStartDelay: time.Hour, FirmLead: time.Hour}},
		} {
			msgs := asked.agent.Step(asked.now, asked.market.NewMessage(asked.now, "", protocol.QuoteRequest{Call: c}))
			q, ok := msgs[0].Body.(protocol.Quote)
			if len(msgs) != 1 || !ok || q.Bids.Round != c.Round || len(q.Bids.Jobs) != len(c.Jobs) || len(asked.agent.Events()) != 0 {
				t.Fatalf("an enquiry is answered by %+v and %d events; want one quote", msgs, len(asked.agent.Events()))
			}
			if c.Round == 77 && len(q.Bids.Jobs[0].Options) == 0 {
				t.Errorf("nothing is quoted for %d GPUs: %+v", j.GPUs, q.Bids.Jobs[0].Why)
			}
		}
		call := protocol.CallForBids{Round: uint64(i), Jobs: []protocol.Job{j}, Weights: weights}
		got, want := asked.offer(call), quiet.offer(call)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("call %d is bid\n%+v\nafter an enquiry, without one\n%+v", i, got, want)
		}
		if due := asked.agent.Due(); due != quiet.agent.Due() {
			t.Errorf("after an enquiry the agent is due at %v, without one at %v", due, quiet.agent.Due())
		}
		asked.now, quiet.now = asked.now.Add(25*time.Minute), quiet.now.Add(25*time.Minute)
	}
}
