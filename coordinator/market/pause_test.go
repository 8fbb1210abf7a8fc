package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// pauser pauses what it awards an hour after its start.
type pauser struct{ soonest }

func (p *pauser) Clear(r auction.Round) auction.Outcome {
	out := p.soonest.Clear(r)
	for i := range out.Decisions {
		out.Decisions[i].PauseAt = out.Decisions[i].Option.Start.Add(time.Hour)
	}
	return out
}

// A job of four hours is paused after one: its first quarter is paid, and the rest is called as a
// job whose input is at that site.
func TestRestOfAPausedJobIsAwarded(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{}, &pauser{})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	j := s.job()
	j.Run, j.Deadline, j.Urgency, j.Pause, j.State, j.Input = 4*time.Hour, noon.Add(24*time.Hour), protocol.UrgencyStandard, 2*time.Minute, 4096, 100
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	events := append([]protocol.Message(nil), s.market.Events()...)
	keep := func() { events = append(events, s.market.Events()...) }
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, 4*time.Hour)))
	keep()
	a := lastSent[protocol.Award](s)
	if a.Pause != a.Option.Start.Add(time.Hour) {
		t.Fatalf("awarded %+v", a)
	}
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: 1})
	keep()
	d := s.done(a)
	d.Left, d.Money = 3*time.Hour, 3_000
	s.now = d.Ended
	s.send("agent/oslo", d)
	keep()
	got := lastSent[protocol.Settlement](s)
	if !got.Part || got.Late || got.Paid != 3_000 || got.BidFor.Money != 2_500 || got.BidFor.Energy != 180_000_000 {
		t.Errorf("settled %+v", got)
	}
	// The same market, restored from its facts, stands where this one does.
	restored := New(Config{}, &pauser{})
	for _, f := range events {
		restored.Restore(f)
	}
	if b := restored.Accounts().BalanceOf(accounts.SiteAccount("oslo")); b != 3_000 {
		t.Errorf("restored, oslo has %d", b)
	}
	want := j
	want.Run, want.Home, want.Input = 3*time.Hour+2*time.Minute, "oslo", 4196
	for name, k := range map[string]*Market{"the market": s.market, "the restored one": restored} {
		s.market = k
		s.wait()
		if call := lastSent[protocol.CallForBids](s); len(call.Jobs) != 1 || !call.Jobs[0].MayWait() || call.Jobs[0].Run != want.Run || call.Jobs[0].Home != "oslo" || call.Jobs[0].Input != 4196 {
			t.Errorf("%s called %+v, want %+v", name, call.Jobs, want)
		}
	}
	if n := count[protocol.Confirm](s.send(protocol.Submitter, protocol.Submit{Job: j})); n != 1 || s.market.RefusalCounts()["duplicate-id"] != 0 {
		t.Errorf("the job as it was submitted is taken for another: %v", s.market.RefusalCounts())
	}
}

// A report of a pause that was not requested, or with more left than there was, ends the job
// unpaid.
func TestUnrequestedPauseIsImplausible(t *testing.T) {
	for _, left := range []time.Duration{time.Minute, -time.Minute} {
		s := sold(t)
		a := lastSent[protocol.Award](s)
		s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch})
		d := s.done(a)
		d.Left, s.now = left, d.Ended
		if s.send("agent/oslo", d); s.market.RefusalCounts()[string(protocol.ImpossibleBid)] != 1 {
			t.Errorf("left %v: %v", left, s.market.RefusalCounts())
		}
	}
}
