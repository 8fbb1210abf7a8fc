package snapshot_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

// A market restored from a snapshot does with its services what one does that is restored from all events,
// whatever was asked of them; of services that are gone everywhere nothing is kept.
func TestServicesAreRestoredFromASnapshot(t *testing.T) {
	w := newTown(1, noon)
	meter := func() protocol.ReplicaMeter {
		ran := w.now.Sub(noon)
		return protocol.ReplicaMeter{Since: noon, Until: w.now, Ran: ran, Used: protocol.ReplicaUse{Money: protocol.Microdollars(ran / time.Millisecond)}}
	}
	acked := make(map[protocol.ServiceID]uint64) // by bern
	serve := func(ms []protocol.Message) {
		for len(ms) > 0 {
			m := ms[0]
			ms = ms[1:]
			switch b := m.Body.(type) {
			case protocol.CallForCapacity:
				for _, site := range []string{"bern", "oslo"} {
					o := protocol.CapacityBid{Round: b.Round}
					for _, s := range b.Services {
						o.Services = append(o.Services, protocol.ReplicaBid{Service: s.ID, Available: 4, Steps: []protocol.CostStep{{Count: 4, Cost: 7}}})
					}
					ms = append(ms, w.say(protocol.AgentParty(site), o)...)
				}
			case protocol.AssignReplicas:
				if m.To == protocol.AgentParty("bern") {
					acked[b.Service.ID] = b.Revision
				}
				if m.To == protocol.AgentParty("bern") || b.Count > 0 { // oslo does not say that it has removed one
					ms = append(ms, w.say(m.To, protocol.ReplicaStatus{Service: b.Service.ID, Revision: b.Revision, Assigned: b.Count, Ready: b.Count, Meter: meter()})...)
				}
			}
		}
	}
	run := func(d time.Duration) {
		for until := w.now.Add(d); w.market.Due() != 0 && w.market.Due() <= until; {
			serve(w.tick())
		}
	}
	for _, site := range []string{"bern", "oslo"} {
		serve(w.say(protocol.AgentParty(site), protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16, CPU: 64_000, Memory: 1 << 20}}}))
	}
	submit := func(id protocol.ServiceID, wanted int, division protocol.Division) {
		serve(w.say(protocol.Submitter, protocol.SubmitService{Service: protocol.Service{ID: id, Wanted: wanted, GPUs: 1, Share: 1000, CPU: 1000, Division: division}}))
		run(10 * time.Second)
	}
	submit("scaled", 3, protocol.Division{})
	serve(w.say(protocol.OperatorAPI, protocol.ScaleService{Service: "scaled", Wanted: 6}))
	run(10 * time.Second)
	submit("again", 3, protocol.Division{})
	submit("again", 3, protocol.Division{MinPerSite: 1})
	serve(w.say(protocol.Submitter, protocol.SubmitService{Service: protocol.Service{ID: "again", Wanted: 2, GPUs: 1, Share: 1000, CPU: 1000}}))
	submit("removed", 2, protocol.Division{Tiers: []protocol.SiteTier{{Sites: []string{"bern"}}}})
	serve(w.say(protocol.OperatorAPI, protocol.DeleteService{Service: "removed"}))
	submit("half-removed", 8, protocol.Division{})
	serve(w.say(protocol.OperatorAPI, protocol.DeleteService{Service: "half-removed"}))
	submit("waits", 20, protocol.Division{Rule: protocol.DivideByCapacity})
	serve(w.say(protocol.OperatorAPI, protocol.RebalanceService{Service: "scaled"}))
	serve(w.say(protocol.OperatorAPI, protocol.ScaleService{Service: "waits", Wanted: 21}))

	for range 3 {
		w.now = w.now.Add(time.Hour)
		for _, id := range []protocol.ServiceID{"scaled", "again"} {
			serve(w.say(protocol.AgentParty("bern"), protocol.ReplicaStatus{Service: id, Revision: acked[id], Meter: meter()}))
		}
	}

	snap := snapshot.New(config.Remember)
	for _, m := range w.events {
		snap.AddEvent(m)
	}
	kept := snap.SnapshotMessages(uint64(len(w.events)))
	for _, m := range kept {
		switch b := m.Body.(type) {
		case protocol.SubmitService:
			if b.Service.ID == "removed" || b.Service.ID == "half-removed" {
				t.Errorf("the snapshot keeps %+v", b)
			}
		case protocol.AssignReplicas:
			if b.Service.ID == "removed" {
				t.Errorf("the snapshot keeps %+v", b)
			}
		}
	}
	say := func(events []protocol.Message) (all []protocol.Body) {
		k := market.New(config, auction.New(auction.Config{}))
		for _, m := range events {
			k.Restore(m)
		}
		balance := k.Accounts().BalanceOf(accounts.SiteAccount("bern"))
		if all = append(all, protocol.Settlement{Paid: balance}); balance < 6*3_600_000 {
			t.Errorf("bern was paid %d", balance)
		}
		for now, n := w.now, 0; n < 20; n++ {
			now = max(now, k.Due())
			for _, m := range k.Tick(now) {
				all = append(all, m.Body)
			}
		}
		return all
	}
	want, got := say(w.events), say(kept)
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("from the snapshot the market says\n%+v\nfrom all events\n%+v", got, want)
	}
}

// A site follows no revision that is not higher than it has seen, also of a service that was removed everywhere.
func TestASnapshotKeepsTheHighestRevision(t *testing.T) {
	w := newTown(1, noon)
	w.say(protocol.AgentParty("bern"), protocol.RegisterSite{Site: "bern", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16, CPU: 64_000, Memory: 1 << 20}}})
	// assigned returns the revision that bern is told when a service is submitted or deleted.
	assigned := func(k *market.Market, sender *protocol.Sender, request protocol.Body, answers bool) (revision uint64) {
		now := w.now
		say := func(from *protocol.Sender, b protocol.Body) []protocol.Message {
			ms := k.Step(now, from.NewMessage(now, protocol.Coordinator, b))
			w.events = append(w.events, k.Events()...)
			return ms
		}
		bern := w.senders[protocol.AgentParty("bern")]
		queue := say(sender, request)
		for n := 0; n < 20; n++ {
			for len(queue) > 0 {
				m := queue[0]
				queue = queue[1:]
				switch b := m.Body.(type) {
				case protocol.CallForCapacity:
					o := protocol.CapacityBid{Round: b.Round}
					for _, s := range b.Services {
						o.Services = append(o.Services, protocol.ReplicaBid{Service: s.ID, Available: 4, Steps: []protocol.CostStep{{Count: 4, Cost: 7}}})
					}
					queue = append(queue, say(bern, o)...)
				case protocol.AssignReplicas:
					if revision = b.Revision; answers {
						queue = append(queue, say(bern, protocol.ReplicaStatus{Service: b.Service.ID, Revision: b.Revision, Assigned: b.Count, Ready: b.Count})...)
					}
				}
			}
			now = max(now, k.Due())
			queue = k.Tick(now)
			w.events = append(w.events, k.Events()...)
		}
		w.now = now
		return revision
	}
	gone := protocol.Service{ID: "gone", Wanted: 2, GPUs: 1, Share: 1000, CPU: 1000}
	submitter := &protocol.Sender{Party: protocol.Submitter}
	assigned(w.market, submitter, protocol.SubmitService{Service: gone}, true)
	last := assigned(w.market, &protocol.Sender{Party: protocol.OperatorAPI}, protocol.DeleteService{Service: "gone"}, true)
	snap := snapshot.New(config.Remember)
	for _, m := range w.events {
		snap.AddEvent(m)
	}
	k := market.New(config, auction.New(auction.Config{}))
	for _, m := range snap.SnapshotMessages(uint64(len(w.events))) {
		k.Restore(m)
	}
	if next := assigned(k, submitter, protocol.SubmitService{Service: gone}, false); last == 0 || next <= last {
		t.Errorf("after a restart the service is assigned by revision %d; bern has seen %d", next, last)
	}
}
