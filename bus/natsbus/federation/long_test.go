package federation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// bigOffer is an offer of so many options for each of 600 jobs.
func bigOffer(options int) protocol.Message {
	offer := protocol.Bids{Round: 1}
	for i := range 600 {
		menu := protocol.JobBids{Job: protocol.JobID(fmt.Sprint("tenant/experiment-", i))}
		for k := range options {
			at := protocol.FromStdTime(now).Add(time.Duration(k) * time.Hour)
			menu.Options = append(menu.Options, protocol.BidOption{
				Start: at, Finish: at.Add(time.Hour), Model: fmt.Sprint("MODEL-", k%6), Cap: 200_000, Energy: 1e9, Carbon: 1e6, Money: 1e6, Transfer: 1e4, FragmentationDelta: 500, Score: 500, NodeIdleShare: 1e4})
		}
		offer.Jobs = append(offer.Jobs, menu)
	}
	return protocol.Message{Version: protocol.Current, From: oslo, Seq: uint64(5000 + options), To: protocol.Coordinator, Body: offer}
}

// A site's offer that is as long as the coordinator asks for at most is heard as it was
// said. One that is longer than the hub takes is refused where it is said, with its
// size and the limit, and nothing of it is heard.
func TestAnOfferIsHeardAsItWasSaidOrRefused(t *testing.T) {
	for _, topology := range []string{"one server", "leaves"} {
		t.Run(topology, func(t *testing.T) {
			s := newStage(t)
			s.hub.Limits = natsbus.DefaultSiteLimits()
			hub := s.open("oslo")
			var site bus.Bus = hub
			if topology == "leaves" {
				site = s.leaf("oslo")
			}
			coordinator, agent := s.join(s.hub, protocol.Coordinator), s.join(site, oslo)
			s.settle(coordinator, agent, oslo)
			most := s.hub.MaxMessageBytes(natsbus.DefaultSitePayload)
			said := bigOffer(1)
			for n := 2; len(encode(t, bigOffer(n))) <= most; n++ {
				said = bigOffer(n)
			}
			if n := len(encode(t, said)); n < most*4/5 {
				t.Fatalf("the offer has %d bytes; want nearly %d", n, most)
			}
			long := bigOffer(24)
			err := agent.Send(context.Background(), long)
			if err == nil {
				t.Fatal("an offer over the limit was taken")
			}
			signed := 0 // a leaf has no key of the site: its connection signs nothing
			if topology == "one server" {
				signed = protocol.SignatureSize
			}
			for _, want := range []string{"offer", fmt.Sprint(len(encode(t, long)) + signed), "524288", "max_payload", "MaxBytes"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the refusal %q does not name %s", err, want)
				}
			}
			s.say(agent, said)
			select {
			case got := <-coordinator.Messages():
				if (got.Signature != nil) != (signed > 0) {
					t.Errorf("the signature is %v", got.Signature)
				}
				got.Signature = nil
				if string(encode(t, got)) != string(encode(t, said)) {
					t.Errorf("heard something else than the %d bytes that were said", len(encode(t, said)))
				}
			case <-time.After(patience):
				t.Fatal("the offer was not heard")
			}
		})
	}
}
