package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A job in parts has the state of its least part, and its parts are the jobs that count.
func TestAJobInPartsStandsAsItsParts(t *testing.T) {
	const at = protocol.Time(1_767_571_200_000)
	j, _ := protocol.Job{ID: "wide", Tenant: "lab", Arrival: at, Run: time.Hour, Deadline: at.Add(4 * time.Hour)}.WithPods(
		[]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000, CPU: 1000}}).WithEqualParts(2)
	j.MaxSites = 2
	for _, live := range []bool{false, true} {
		b, n := New(Config{Live: live}), map[protocol.Party]uint64{}
		say := func(from, to protocol.Party, body protocol.Body) {
			n[from]++
			b.AddMessage(protocol.Message{Version: protocol.Current, At: at.Add(time.Duration(n[from]) * time.Minute), From: from, Seq: n[from], To: to, Body: body})
		}
		state := func() JobState {
			r, _ := b.LatestJob("wide")
			return b.JobStateNow(&r, at.Add(5*time.Hour))
		}
		want := func(what string, s State, site string) {
			t.Helper()
			if got := state(); got.State != s || got.Site != site {
				t.Errorf("%s (live %t): %+v; want %s at %q", what, live, got, s, site)
			}
		}
		say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		want("submitted", Pending, "")
		award := func(epoch uint64, id protocol.JobID, site string) {
			say(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{Round: epoch, Job: id, Epoch: epoch, Option: protocol.BidOption{Start: at.Add(time.Hour), Finish: at.Add(2 * time.Hour)}})
		}
		accept := func(epoch uint64, id protocol.JobID, site string) {
			say(protocol.AgentParty(site), protocol.Coordinator, protocol.Accept{Job: id, Epoch: epoch, Start: at.Add(time.Hour)})
		}
		award(1, "wide.1", "east")
		award(1, "wide.2", "west")
		accept(1, "wide.1", "east")
		say(protocol.Coordinator, protocol.Submitter, protocol.PartsDecided{Job: "wide", Epoch: 1, Parts: []protocol.PartSite{{Part: "wide.1", Site: "east"}, {Part: "wide.2", Site: "west"}}, Why: protocol.Reason{Code: protocol.PartLost}})
		want("void", Pending, "")
		award(2, "wide.1", "east")
		award(2, "wide.2", "west")
		accept(2, "wide.1", "east")
		accept(2, "wide.2", "west")
		say(protocol.Coordinator, protocol.Submitter, protocol.PartsDecided{Job: "wide", Epoch: 2, Committed: true})
		want("committed", Running, "east, west")
		for id, site := range map[protocol.JobID]string{"wide.1": "east", "wide.2": "west"} {
			say(protocol.AgentParty(site), protocol.Coordinator, protocol.UsageReport{Job: id, Epoch: 2, Started: at.Add(time.Hour), Ended: at.Add(2 * time.Hour), Node: "n1", Devices: []int{0}, IT: 5, Energy: 6, Money: 7})
			say(protocol.Coordinator, "", protocol.Settlement{Job: id, Site: site, Payer: "lab", Paid: 7, Counted: protocol.Usage{IT: 5, Energy: 6, Money: 7, Finish: at.Add(2 * time.Hour)}})
		}
		want("ended", Done, "east, west")
		if ids := b.JobIDs(); len(ids) != 2 || len(b.WholeIDs()) != 1 || len(b.CheckInvariants(nil)) > 0 && !live {
			t.Errorf("jobs %v, in parts %v, %v", ids, b.WholeIDs(), b.CheckInvariants(nil))
		}
	}
}
