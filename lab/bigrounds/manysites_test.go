package bigrounds

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

var (
	manySites = flag.Int("many-sites", 50, "sites of the federation in which many jobs wait")
	waiting   = flag.Int("waiting", 120, "jobs that wait at once")
	mostBids  = flag.Int("most-bids", 1000, "bids that a round may have (market.Config.MostBids)")
)

// cannedBids answers a call as an agent with two GPU models and much room does: by its bytes, not by
// computing anything.
func cannedBids(now protocol.Time, c protocol.CallForBids) protocol.Bids {
	const options, slots, hours = 16, 288, 96
	o := protocol.Bids{Round: c.Round, Grid: protocol.GridForecast{From: now.Floor(time.Hour)}}
	for range hours {
		o.Grid.Price, o.Grid.Carbon = append(o.Grid.Price, 50_000), append(o.Grid.Carbon, 200_000)
	}
	for _, model := range []string{"V100", "A100"} {
		r := protocol.CapacityProfile{Model: model, From: now.Floor(15 * time.Minute), Slot: 15 * time.Minute, Total: 64_000}
		for range slots {
			r.Free = append(r.Free, 64_000)
		}
		o.Capacity = append(o.Capacity, r)
	}
	for _, j := range c.Jobs {
		m := protocol.JobBids{Job: j.ID}
		for i := range options {
			start := now.Add(time.Duration(i) * time.Hour)
			m.Options = append(m.Options, protocol.BidOption{
				Start: start, Finish: start.Add(j.Run), Model: o.Capacity[i%2].Model, Cap: 250_000,
				Energy: 720_000_000 + protocol.Millijoules(i), Carbon: 40_000, Money: 10_000,
			})
		}
		o.Jobs = append(o.Jobs, m)
	}
	return o
}

// answerCalls is a site that registers, answers each call and accepts each award, until its
// connection ends.
func answerCalls(conn bus.Conn, site string) error {
	who := protocol.Sender{Party: protocol.AgentParty(site)}
	say := func(b protocol.Body) error {
		return conn.Send(context.Background(), who.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, b))
	}
	err := say(protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", GPUs: 64}}})
	for m := range conn.Messages() {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			err = say(cannedBids(m.At, b))
		case protocol.Award:
			err = say(protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: b.Option.Start})
		}
		if err != nil {
			return err
		}
	}
	return conn.Close()
}

// Many jobs wait at many sites of a live market over NATS: all are awarded, in as many rounds as
// the market can read the bids of, and no connection fails. With the flags it shows where a market
// breaks (make many-sites).
func TestManyJobsWaitAtManySites(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	k := market.New(market.Config{Gather: -1, MostBids: *mostBids}, auction.New(auction.Config{}))
	conn, err := srv.Connect(ctx, protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	var sites sync.WaitGroup
	defer sites.Wait()
	defer cancel()
	sitesBus := srv.NewBus()
	for i := range *manySites {
		name := fmt.Sprint("site-", i)
		port, err := sitesBus.Connect(ctx, protocol.AgentParty(name))
		if err != nil {
			t.Fatal(err)
		}
		sites.Go(func() {
			if err := answerCalls(port, name); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	registered, rounds, awarded := 0, 0, make(map[protocol.JobID]bool)
	allRegistered, done := make(chan struct{}), make(chan error, 1)
	began := time.Now()
	loop := bus.Loop{OnSent: func(received, sent []protocol.Message) {
		for _, m := range received {
			if isRegistration(m) {
				if registered++; registered == *manySites {
					close(allRegistered)
				}
			}
		}
		for _, m := range sent {
			switch b := m.Body.(type) {
			case protocol.CallForBids:
				rounds++
			case protocol.Award:
				if awarded[b.Job] = true; len(awarded) == *waiting {
					cancel()
				}
			}
		}
	}}
	go func() { done <- loop.Run(ctx, conn, k) }()
	select {
	case <-allRegistered:
	case err := <-done:
		t.Fatal(err)
	}
	port, err := sitesBus.Connect(ctx, protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	who, now := protocol.Sender{Party: protocol.Submitter}, protocol.FromStdTime(time.Now())
	for _, j := range jobs(*waiting, now) {
		j.Urgency = protocol.UrgencyNow
		if err := port.Send(ctx, who.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: j})); err != nil {
			t.Fatal(err)
		}
	}
	why := <-done
	t.Logf("%d sites, %d jobs, at most %d bids in a round: %d awarded in %d rounds, %v; %v", *manySites, *waiting, *mostBids, len(awarded), rounds, time.Since(began).Round(time.Millisecond), k.RefusalCounts())
	if len(awarded) != *waiting {
		t.Errorf("%d of %d jobs are awarded: %v", len(awarded), *waiting, why)
	}
	if least := (*waiting - 1) / max(*mostBids / *manySites, 1); rounds <= least {
		t.Errorf("%d rounds; want more than %d", rounds, least)
	}
}

func isRegistration(m protocol.Message) bool { _, ok := m.Body.(protocol.RegisterSite); return ok }
