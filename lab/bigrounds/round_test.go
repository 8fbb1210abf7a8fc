package bigrounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// federationOf returns a scenario of n sites with every GPU model that there is, so that
// each has much to offer, and the one instant at which its round is held: no clock is
// read, so that the same round is the same over every bus.
func federationOf(n int) (s spec.Scenario, now protocol.Time, err error) {
	s, err = spec.LoadScenario("six-regions", spec.Options{})
	if err != nil {
		return s, 0, err
	}
	of := s.Sites
	s.Sites = nil
	var models []spec.Node // a node of each
	for _, site := range of {
		for _, n := range site.Nodes {
			if !slices.ContainsFunc(models, func(m spec.Node) bool { return m.Model == n.Model }) {
				models = append(models, n)
			}
		}
	}
	for i := range n {
		site := of[i%len(of)]
		site.Name = fmt.Sprint("site-", i)
		site.Nodes = slices.Concat(site.Nodes, models)
		for k := range site.Nodes {
			site.Nodes[k].Name = fmt.Sprintf("node-%d-%d", i, k)
		}
		s.Sites = append(s.Sites, site)
	}
	return s, s.Start.Floor(time.Hour).Add(time.Hour), nil
}

// A bidder is the agent of a site with known grid signals, and its first messages.
type bidder struct {
	site  string
	agent bus.Machine
	hello []protocol.Message
}

func newBidder(s spec.Scenario, site string, now protocol.Time) (*bidder, error) {
	simulated, err := scenarios.SimulateSite(s, site, now.Add(-time.Hour), now.Add(30*24*time.Hour))
	if err != nil {
		return nil, err
	}
	parties, err := simulated.Build("") // nothing runs them, so nothing is written
	if err != nil {
		return nil, err
	}
	agent, signals := parties.Agent, simulated.Signals.Machine
	b := &bidder{site: site, agent: agent, hello: agent.Tick(now)}
	for due := signals.Due(); due != 0 && due <= now; due = signals.Due() {
		for _, m := range signals.Tick(due) {
			agent.Step(now, m)
		}
	}
	return b, nil
}

// bid connects to the bus, registers the site, answers one call and writes what it sends as
// SITE.offer into a folder.
func (b *bidder) bid(ctx context.Context, anyBus bus.Bus, folder string) error {
	conn, err := anyBus.Connect(ctx, protocol.AgentParty(b.site))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Send(ctx, b.hello...); err != nil {
		return err
	}
	for m := range conn.Messages() {
		if _, ok := m.Body.(protocol.CallForBids); !ok {
			continue
		}
		for _, reply := range b.agent.Step(m.At, m) {
			data, err := protocol.Encode(reply)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, b.site+".offer"), data, 0o600); err != nil {
				return err
			}
			if err := conn.Send(ctx, reply); err != nil {
				return err
			}
		}
		return conn.Close()
	}
	return errors.Join(context.Cause(ctx), conn.Close())
}

// bidAll has sites bid side by side.
func bidAll(ctx context.Context, s spec.Scenario, now protocol.Time, sites []string, busOf func(site string) (bus.Bus, error), folder string) error {
	var all sync.WaitGroup
	errs := make([]error, len(sites))
	for i, site := range sites {
		all.Go(func() {
			errs[i] = func() error {
				siteBus, err := busOf(site)
				if err != nil {
					return err
				}
				b, err := newBidder(s, site, now)
				if err != nil {
					return err
				}
				return b.bid(ctx, siteBus, folder)
			}()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// jobs are those that are called in the round: of several lengths and sizes, most of
// which can wait for a better hour.
func jobs(n int, now protocol.Time) []protocol.Job {
	all := make([]protocol.Job, n)
	for i := range all {
		run := time.Duration(1+i%4) * time.Hour
		all[i] = protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("tenant/experiment-%d", i)), Tenant: "tenant", GPUs: 1 + i%2, Share: 1000, CPU: 4000, Memory: 4096,
			Arrival: now, Run: run, Deadline: now.Add(run + 20*time.Hour), Urgency: protocol.StandardOrNow(i%8 != 0),
		}
	}
	return all
}

// A round is the outcome of one.
type round struct {
	sent, received map[string][]byte // offers, by site
	outcome        [][]byte          // the market's messages after the bids, sorted by their bytes
	awards         int
	took           time.Duration // from the call to the last award
}

// A setting is the size of a round and the payload limit.
type setting struct {
	sites, jobs, payload int
	most                 int // bytes of an offer
}

// hold runs one round over a bus, where bid has all sites bid until its context ends
// and writes what they send into a folder.
func hold(t *testing.T, with setting, anyBus bus.Bus, bid func(ctx context.Context, s spec.Scenario, now protocol.Time, folder string) error) round {
	t.Helper()
	s, now, err := federationOf(with.sites)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn, err := anyBus.Connect(ctx, protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	folder, bidding := t.TempDir(), make(chan error, 1)
	go func() {
		err := bid(ctx, s, now, folder)
		if err != nil {
			cancel()
		}
		bidding <- err
	}()
	m := market.New(market.Config{Terms: scenarios.MarketWeights(s), Most: with.jobs, MaxOfferBytes: with.most}, auction.New(auction.Config{}))
	next := func() protocol.Message {
		received, ok := <-conn.Messages()
		if !ok {
			t.Fatalf("the market receives nothing more: %v, %v", conn.Close(), <-bidding)
		}
		return received
	}
	for range with.sites {
		m.Step(now, next())
	}
	submitter := protocol.Sender{Party: protocol.Submitter}
	for _, j := range jobs(with.jobs, now) {
		m.Step(now, submitter.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: j}))
	}
	now = m.Due()
	r := round{sent: make(map[string][]byte), received: make(map[string][]byte)}
	began := time.Now()
	if err := conn.Send(ctx, m.Tick(now)...); err != nil {
		t.Fatal(err)
	}
	for len(r.received) < with.sites {
		received := next()
		if _, ok := received.Body.(protocol.Bids); !ok {
			continue
		}
		received.Signature = nil // the bus of a federation adds it
		if r.received[received.From.SiteName()], err = protocol.Encode(received); err != nil {
			t.Fatal(err)
		}
		for _, reply := range m.Step(now, received) {
			if _, ok := reply.Body.(protocol.Award); ok {
				r.awards++
			}
			reply.Seq = 1 // the order in which bids arrive may change sequence numbers, and nothing else
			data, err := protocol.Encode(reply)
			if err != nil {
				t.Fatal(err)
			}
			r.outcome = append(r.outcome, data)
		}
	}
	r.took = time.Since(began)
	slices.SortFunc(r.outcome, bytes.Compare)
	if err := <-bidding; err != nil {
		t.Fatal(err)
	}
	for _, site := range s.Sites {
		if r.sent[site.Name], err = os.ReadFile(filepath.Join(folder, site.Name+".offer")); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// differences returns where a round differs from the expected one: what was received
// is not what was sent, or bids or awards are not the same as over
// another bus.
func differences(want, got round) (wrong []string) {
	for _, site := range slices.Sorted(maps.Keys(want.sent)) {
		if !bytes.Equal(got.sent[site], got.received[site]) {
			wrong = append(wrong, fmt.Sprintf("%s sent an offer of %d bytes, and the market received another of %d", site, len(got.sent[site]), len(got.received[site])))
		}
		if !bytes.Equal(want.sent[site], got.sent[site]) {
			wrong = append(wrong, fmt.Sprintf("%s sent an offer of %d bytes, and another of %d elsewhere", site, len(got.sent[site]), len(want.sent[site])))
		}
	}
	if want.awards != got.awards || !slices.EqualFunc(want.outcome, got.outcome, bytes.Equal) {
		wrong = append(wrong, fmt.Sprintf("%d awards and %d messages came of it that are not the %d and %d from elsewhere", got.awards, len(got.outcome), want.awards, len(want.outcome)))
	}
	return wrong
}
