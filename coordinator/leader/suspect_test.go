package leader_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// answerCalls has a site bid for each job of a call, from now on, and accept what it wins.
func answerCalls(ctx context.Context, srv *natsbus.Server, site string) error {
	port, err := srv.Connect(ctx, protocol.AgentParty(site))
	if err != nil {
		return err
	}
	who := protocol.Sender{Party: protocol.AgentParty(site)}
	say := func(b protocol.Body) error {
		return port.Send(ctx, who.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, b))
	}
	if err := say(protocol.RegisterSite{Site: site}); err != nil {
		return err
	}
	go func() {
		for m := range port.Messages() {
			switch b := m.Body.(type) {
			case protocol.CallForBids:
				o := protocol.Bids{Round: b.Round, Capacity: []protocol.CapacityProfile{{
					Model: "V100", From: m.At.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{4000, 4000}, Total: 4000,
				}}}
				for _, j := range b.Jobs {
					o.Jobs = append(o.Jobs, protocol.JobBids{Job: j.ID, Options: []protocol.BidOption{{Start: m.At, Finish: m.At.Add(time.Minute), Model: "V100"}}})
				}
				_ = say(o) // if it fails, the test waits in vain
			case protocol.Award:
				_ = say(protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: b.Option.Start})
			}
		}
	}()
	return nil
}

// A site that missed a round lives: the monitor hears its heartbeats and tells the market, which
// waits for it in the next round.
func TestTheMarketIsToldThatASuspectLives(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer cancel()
	told, rounds := make(chan protocol.SiteCondition, 100), make(chan time.Duration, 100)
	desk, called := api.New(), protocol.Time(0)
	ended.Go(func() {
		_ = leader.RunWhenElected(ctx, leader.Config{
			Bus: &srv.Bus, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) }, Market: market.Config{Gather: -1},
			EventLog: eventlog.Config{Lease: held}, API: desk, Log: slog.New(slog.DiscardHandler),
			OnInput: func(_ protocol.Time, m *protocol.Message) {
				if m != nil && m.From == protocol.SiteMonitor {
					told <- m.Body.(protocol.SiteCondition)
				}
			},
			OnSent: func(_, sent []protocol.Message) {
				for _, m := range sent {
					switch m.Body.(type) {
					case protocol.CallForBids:
						called = m.At
					case protocol.Award:
						rounds <- m.At.Sub(called)
					}
				}
			},
		})
	})
	for !desk.IsLeading() {
		time.Sleep(10 * time.Millisecond)
	}
	if err := answerCalls(ctx, srv, "bern"); err != nil {
		t.Fatal(err)
	}
	port, err := srv.Connect(ctx, "agent/oslo") // it answers nothing
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range port.Messages() {
		}
	}()
	sender := &protocol.Sender{Party: "agent/oslo"}
	if err := port.Send(ctx, sender.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})); err != nil {
		t.Fatal(err)
	}
	stop := beat(t, port, sender)
	defer stop()
	await := func(what string) (c protocol.SiteCondition) {
		t.Helper()
		select {
		case c = <-told:
		case <-time.After(time.Minute):
			t.Fatalf("the market is not told that oslo %s", what)
		}
		return c
	}
	await("sends heartbeats")
	submitter, err := srv.Connect(ctx, protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	who := protocol.Sender{Party: protocol.Submitter}
	for _, id := range []protocol.JobID{"first", "second"} {
		now := protocol.FromStdTime(time.Now())
		if err := submitter.Send(ctx, who.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
			Urgency: protocol.UrgencyNow, ID: id, Tenant: "lab", GPUs: 1, Share: 1000, Arrival: now, Run: time.Minute, Deadline: now.Add(time.Hour),
		}})); err != nil {
			t.Fatal(err)
		}
		select {
		case took := <-rounds:
			if took < 250*time.Millisecond { // the least window
				t.Errorf("the round of the %s job did not wait for oslo: %v", id, took)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the %s job is not awarded", id)
		}
		if c := await("lives"); c.Site != "oslo" || c.State != protocol.SiteOK {
			t.Errorf("told %+v", c)
		}
	}
}
