package main

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// A roundTally is the cost of awarding jobs in rounds of many sites without a network: one goroutine,
// direct function calls.
type roundTally struct {
	Sites    int           `json:"sites"`
	Jobs     int           `json:"jobs"`
	Awarded  int           `json:"awarded"`
	Calls    int           `json:"calls"`    // a call has only as many jobs as the market can read bids for
	Messages int           `json:"messages"` // a call counts once for each receiver
	Bytes    int64         `json:"bytes"`
	Offers   time.Duration `json:"offers_ns"` // time of all sites to compute their bids, one after the other
	Market   time.Duration `json:"market_ns"` // time to process the bids and clear the round
}

// measureDirectRound has a market of n sites award some jobs, in as many rounds as that takes.
func measureDirectRound(n, jobs int) (t roundTally, err error) {
	s, err := loadSites(n)
	if err != nil {
		return t, err
	}
	t.Sites, t.Jobs = n, jobs
	now := s.Start.Floor(time.Hour).Add(time.Hour)
	k := market.New(market.Config{MostSites: n, Terms: scenarios.MarketWeights(s)}, auction.New(auction.Config{}))
	all := make(map[protocol.Party]bus.Machine, n)
	register := func(ms []protocol.Message) {
		for _, m := range ms {
			if _, hello := m.Body.(protocol.RegisterSite); hello {
				k.Step(now, m)
			}
		}
	}
	for _, place := range s.Sites {
		x, err := scenarios.SimulateSite(s, place.Name, now.Add(-time.Hour), now.Add(30*24*time.Hour))
		if err != nil {
			return t, err
		}
		site, err := x.Build("")
		if err != nil {
			return t, err
		}
		all[protocol.AgentParty(place.Name)] = site.Agent
		register(site.Agent.Tick(now))
		signals := x.Signals.Machine
		for due := signals.Due(); due != 0 && due <= now; due = signals.Due() {
			for _, m := range signals.Tick(due) {
				register(site.Agent.Step(now, m))
			}
		}
	}
	sender := protocol.Sender{Party: protocol.Submitter}
	for i := range jobs {
		k.Step(now, sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
			Urgency: protocol.UrgencyNow, ID: protocol.JobID(fmt.Sprintf("job-%d", i)), Tenant: "load", GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024,
			Arrival: now, Run: time.Hour, Deadline: now.Add(90 * time.Minute),
		}}))
	}
	for t.Awarded < jobs && t.Calls < jobs && k.Due() != 0 {
		now = max(now, k.Due())
		for _, m := range k.Tick(now) {
			if _, ok := m.Body.(protocol.CallForBids); ok {
				t.exchangeRound(k, now, m, all)
			}
		}
	}
	return t, nil
}

// exchangeRound carries one call to all sites, and what comes of it back and forth.
func (t *roundTally) exchangeRound(k *market.Market, now protocol.Time, call protocol.Message, all map[protocol.Party]bus.Machine) {
	t.Calls, t.Messages, t.Bytes = t.Calls+1, t.Messages+len(all), t.Bytes+int64(len(all))*encodedSize(call)
	var offers, outcome []protocol.Message
	began := time.Now()
	for _, a := range all { // the market's result does not depend on the order of bids
		offers = append(offers, a.Step(now, call)...)
	}
	t.Offers += time.Since(began)
	began = time.Now()
	for _, o := range offers {
		outcome = append(outcome, k.Step(now, o)...)
	}
	t.Market += time.Since(began)
	for _, m := range append(offers, outcome...) {
		t.Messages++
		t.Bytes += encodedSize(m)
	}
	for _, m := range outcome {
		if _, ok := m.Body.(protocol.Award); !ok {
			continue
		}
		t.Awarded++
		for _, answer := range all[m.To].Step(now, m) {
			if answer.To == protocol.Coordinator {
				t.Messages++
				t.Bytes += encodedSize(answer)
				k.Step(now, answer)
			}
		}
	}
}
