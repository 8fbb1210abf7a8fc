package federation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A site of many GPU models has more to offer for a full round than it may say at once. It
// says the soonest and some of the others of each job, as one that is not heard wins nothing.
func TestASiteOfManyModelsIsHeardInFullRounds(t *testing.T) {
	for _, topology := range []string{"one server", "leaves", "others hear less"} {
		t.Run(topology, func(t *testing.T) {
			s := newStage(t)
			hub, most := s.open("oslo"), 512<<10
			var site bus.Hub = hub
			switch topology {
			case "leaves":
				site = s.leaf("oslo")
			case "others hear less":
				most = 200 << 10
				hub.Longest = most
			}
			coordinator, agent := s.join(s.hub, protocol.Coordinator), s.join(site, oslo)
			s.settle(coordinator, agent, oslo)
			offer := protocol.Offer{Round: 1}
			start := protocol.At(now)
			for i := range 600 {
				id := protocol.JobID(fmt.Sprint("tenant/experiment-", i))
				menu := protocol.Menu{Job: id}
				for k := range 24 {
					at := start.Add(time.Duration(k) * time.Hour)
					menu.Options = append(menu.Options, protocol.Option{
						Start: at, Finish: at.Add(time.Hour), Model: fmt.Sprint("MODEL-", k%6), Cap: 200_000, Energy: 1e9, Carbon: 1e6, Money: 1e6, Transfer: 1e4, Fragment: 500, Score: 500, Awake: 1e4})
				}
				offer.Jobs = append(offer.Jobs, menu)
			}
			s.say(agent, protocol.Message{Version: protocol.Current, From: oslo, Seq: 5000, To: protocol.Coordinator, Body: offer})
			var got protocol.Offer
			ok := false
			select {
			case m := <-coordinator.Heard():
				got, ok = m.Body.(protocol.Offer)
			case <-time.After(patience):
			}
			if !ok || len(got.Jobs) != 600 {
				t.Fatalf("the coordinator heard an offer for %d jobs", len(got.Jobs))
			}
			data, err := protocol.Encode(protocol.Message{Version: protocol.Current, From: oslo, Seq: 5000, To: protocol.Coordinator, Body: got})
			if s.must(err); len(data) > most || len(data) < most*4/5 {
				t.Errorf("it is %d bytes long; %d are heard", len(data), most)
			}
			for i, m := range got.Jobs {
				all := offer.Jobs[i].Options
				if n := len(m.Options); n < 4 || n >= len(all) || m.Options[0] != all[0] || m.Options[n-1].Start < all[len(all)/2].Start {
					t.Fatalf("of %d options of %s it heard %+v", len(all), m.Job, m.Options)
				}
			}
		})
	}
}
