package market

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// scarce is a rule under which capacity is scarce at some sites, on two models each.
type scarce struct {
	soonest
	prices []protocol.ShadowPrice
}

func (s *scarce) ShadowPrices() []protocol.ShadowPrice { return s.prices }

func scarceAt(sites int) *scarce {
	s := new(scarce)
	for i := range sites {
		for _, model := range []string{"A100", "V100"} {
			s.prices = append(s.prices, protocol.ShadowPrice{Site: fmt.Sprintf("site-%02d", i), Model: model, From: noon, Slot: time.Hour, Values: []protocol.Microdollars{protocol.Microdollars(i + 1)}})
		}
	}
	return s
}

// Prices of few sites go to all in the call. Of many, each site hears its own, before the call; so
// does a request for quotes.
func TestEachOfManySitesHearsItsOwnPrices(t *testing.T) {
	for _, tc := range []struct{ sites, told int }{{1, 0}, {maxSharedPrices, 0}, {maxSharedPrices + 1, maxSharedPrices}, {40, 39}} {
		s := newTestMarket(t)
		rule := scarceAt(tc.sites)
		s.market = New(Config{}, rule)
		for i := range tc.sites - 1 { // the last one has gone
			name := fmt.Sprintf("site-%02d", i)
			s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
		}
		check := func(what string, sent []protocol.Message, round uint64, shared []protocol.ShadowPrice) {
			told := 0
			for i, m := range sent {
				b, ok := m.Body.(protocol.SitePrices)
				if !ok {
					continue
				}
				told++
				if m.To != protocol.AgentParty(fmt.Sprintf("site-%02d", i)) || b.Round != round || !reflect.DeepEqual(b.ShadowPrices, rule.prices[2*i:2*i+2]) {
					t.Errorf("%s: message %d to %s has %+v", what, i, m.To, b)
				}
			}
			if told != tc.told || (len(shared) == 0) != (told > 0) || told == 0 && !reflect.DeepEqual(shared, rule.prices) {
				t.Errorf("%d sites: %s has %d prices, and %d sites are told theirs; want %d", tc.sites, what, len(shared), told, tc.told)
			}
		}
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		sent := s.wait()
		check("the call", sent, 1, sent[len(sent)-1].Body.(protocol.CallForBids).ShadowPrices)
		sent = s.send(protocol.OperatorAPI, protocol.QuoteRequest{Call: protocol.CallForBids{Round: 5, Jobs: []protocol.Job{s.job()}}})
		check("the request for quotes", sent, 0, sent[len(sent)-1].Body.(protocol.QuoteRequest).Call.ShadowPrices)
	}
}

// Where not all sites are asked, those that are hear their prices, and no others.
func TestSitesThatAreNotAskedHearNoPrices(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{MostSites: 12}, scarceAt(40))
	for i := range 40 {
		name := fmt.Sprintf("site-%02d", i)
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 8}}})
	}
	j := s.job()
	j.Regions = nil
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	var told []string
	for _, m := range s.wait() {
		if _, ok := m.Body.(protocol.SitePrices); ok {
			told = append(told, m.To.SiteName())
		}
	}
	if c := lastSent[protocol.CallForBids](s); len(told) != 12 || !slices.Equal(told, c.Sites) {
		t.Errorf("told their prices: %v; asked: %v", told, c.Sites)
	}
}
