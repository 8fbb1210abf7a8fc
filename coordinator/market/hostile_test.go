package market

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A moment is a step of a job's way at which a hostile message arrives.
type moment int

const (
	submitted moment = iota
	calledOut
	soldOff
	running
	over
)

// honest plays a job from submission to settlement, and calls disturb at one moment of it.
func honest(s *testMarket, at moment, disturb func(*testMarket)) {
	s.Helper()
	when := func(m moment) {
		if m == at {
			disturb(s)
		}
	}
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	when(submitted)
	s.wait()
	when(calledOut)
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	if s.market.round != nil {
		s.wait() // bern may have spoken, or not
	}
	when(soldOff)
	a := lastSent[protocol.Award](s)
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch})
	when(running)
	d := s.done(a)
	s.now = d.Ended
	s.send("agent/oslo", d)
	when(over)
}

func TestHostileMessagesAreCountedAndStopNothing(t *testing.T) {
	const bern, oslo = protocol.Party("agent/bern"), protocol.Party("agent/oslo")
	other := newTestMarket(t).job()
	other.GPUs = 4
	for _, c := range []struct {
		name  string
		at    moment
		count string
		who   protocol.Party
		what  func(*testMarket) protocol.Body
	}{
		{"a job submitted twice", submitted, "submitted-twice", protocol.Submitter, func(s *testMarket) protocol.Body { return protocol.Submit{Job: s.job()} }},
		{"another job of the same name", submitted, "duplicate-id", protocol.Submitter, func(s *testMarket) protocol.Body { return protocol.Submit{Job: other} }},
		{"another job of the same name, at the end", over, "duplicate-id", protocol.Submitter, func(s *testMarket) protocol.Body { return protocol.Submit{Job: other} }},
		{"a site introduced by another", submitted, "hello-of-stranger", bern, func(s *testMarket) protocol.Body { return protocol.RegisterSite{Site: "rome"} }},
		{"an executor that registers a site", submitted, "hello-of-stranger", "hands/rome", func(s *testMarket) protocol.Body { return protocol.RegisterSite{Site: "rome"} }},
		{"a site without a name", submitted, "hello-of-stranger", "agent/", func(s *testMarket) protocol.Body { return protocol.RegisterSite{} }},
		{"an offer of a stranger", calledOut, "offer-of-stranger", "agent/rome", func(s *testMarket) protocol.Body {
			return protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Minute))}}
		}},
		{"an offer of a site's hands", calledOut, "offer-of-stranger", "hands/oslo", func(s *testMarket) protocol.Body { return protocol.Bids{Round: 1} }},
		{"an offer for an unknown job", calledOut, "offer-for-unknown-job", bern, func(s *testMarket) protocol.Body {
			return protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("ghost", s.option(0, time.Minute))}}
		}},
		{"a job offered for twice", calledOut, "offer-for-unknown-job", bern, func(s *testMarket) protocol.Body {
			return protocol.Bids{Round: 1, Jobs: []protocol.JobBids{noBids("train", protocol.NoCapacity), bidsOf("train", s.option(0, time.Minute))}}
		}},
		{"an offer before any call", submitted, "offer-too-late", bern, func(s *testMarket) protocol.Body { return protocol.Bids{} }},
		{"an offer for a round to come", calledOut, "offer-too-late", bern, func(s *testMarket) protocol.Body { return protocol.Bids{Round: 2} }},
		{"an offer after the end of the round", soldOff, "offer-too-late", bern, func(s *testMarket) protocol.Body { return protocol.Bids{Round: 1} }},
		{"an accept of a job that was not awarded", calledOut, "accept-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Accept{Job: "train"} }},
		{"an accept of an unknown job", soldOff, "accept-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Accept{Job: "ghost", Epoch: 1} }},
		{"an accept of another site", soldOff, "accept-of-nothing", bern, func(s *testMarket) protocol.Body { return protocol.Accept{Job: "train", Epoch: 1} }},
		{"an accept of another epoch", soldOff, "accept-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Accept{Job: "train", Epoch: 2} }},
		{"a repeated accept", running, "accept-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Accept{Job: "train", Epoch: 1} }},
		{"a decline of another site", soldOff, "decline-of-nothing", bern, func(s *testMarket) protocol.Body { return protocol.Decline{Job: "train", Epoch: 1} }},
		{"a decline of another epoch", running, "decline-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Decline{Job: "train"} }},
		{"a decline of a job that is done", over, "decline-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.Decline{Job: "train", Epoch: 1} }},
		{"an end before the accept", soldOff, "done-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.UsageReport{Job: "train", Epoch: 1} }},
		{"an end of another epoch", running, "done-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.UsageReport{Job: "train"} }},
		{"a report of another site", running, "done-of-nothing", bern, func(s *testMarket) protocol.Body { return protocol.UsageReport{Job: "train", Epoch: 1} }},
		{"a repeated report", over, "done-of-nothing", oslo, func(s *testMarket) protocol.Body { return protocol.UsageReport{Job: "train", Epoch: 1} }},
		{"an end that is still to come", running, "impossible-term", oslo, func(s *testMarket) protocol.Body {
			return protocol.UsageReport{Job: "train", Epoch: 1, Started: s.now, Ended: s.now + 1}
		}},
		{"an end before the start", running, "impossible-term", oslo, func(s *testMarket) protocol.Body {
			return protocol.UsageReport{Job: "train", Epoch: 1, Started: s.now, Ended: s.now - 1}
		}},
		{"a run that made energy", running, "impossible-term", oslo, func(s *testMarket) protocol.Body {
			return protocol.UsageReport{Job: "train", Epoch: 1, Started: s.now, Ended: s.now, Energy: -1}
		}},
		{"a run that took all the money there is", running, "impossible-term", oslo, func(s *testMarket) protocol.Body {
			return protocol.UsageReport{Job: "train", Epoch: 1, Started: s.now, Ended: s.now, Money: math.MaxInt64}
		}},
		{"a run that took all the energy there is", running, "impossible-term", oslo, func(s *testMarket) protocol.Body {
			return protocol.UsageReport{Job: "train", Epoch: 1, Started: s.now, Ended: s.now, Energy: math.MaxInt64}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			honest(s, c.at, func(s *testMarket) { s.send(c.who, c.what(s)) })
			if n := s.market.RefusalCounts()[c.count]; n != 1 {
				t.Errorf("%s counted %d times, want once; counts %v", c.count, n, s.market.RefusalCounts())
			}
			if c.count == "impossible-term" && c.name != "an end that is still to come" { // the job is over, and not paid
				if r := lastSent[protocol.Reject](s); r.Why.Code != protocol.ImpossibleBid || count[protocol.Settlement](s.sent) != 0 || s.market.Accounts().BalanceOf("site/oslo") != 0 {
					t.Errorf("refused %+v", r)
				}
				return
			}
			if x := lastSent[protocol.Settlement](s); x.Site != "oslo" || x.Paid != 12_000 {
				t.Errorf("settled %+v", x)
			}
			refusals := 0
			if c.count == "duplicate-id" {
				refusals = 1 // of the other job
				if r := lastSent[protocol.Reject](s); r.Why.Code != protocol.Duplicate || r.Why.Note == "" {
					t.Errorf("refused %+v", r)
				}
			}
			if count[protocol.Settlement](s.sent) != 1 || count[protocol.Reject](s.sent) != refusals {
				t.Error("the job ended more than once")
			}
		})
	}
}

func TestDuplicateMessageIsProcessedOnce(t *testing.T) {
	s := newTestMarket(t, "oslo")
	m := s.message(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.market.Step(s.now, m)
	s.market.Step(s.now, m)
	s.wait()
	o := s.message("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
	s.record(s.market.Step(s.now, o))
	s.record(s.market.Step(s.now, o))
	if c := s.market.RefusalCounts(); c["said-twice"] != 2 || count[protocol.Award](s.sent) != 1 {
		t.Errorf("counts %v, %d awards", c, count[protocol.Award](s.sent))
	}
}

func TestSecondBidsOfASiteAreIgnored(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(time.Second, time.Hour)))
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	s.offer("bern", noBids("train", protocol.NoCapacity))
	if a := lastSent[protocol.Award](s); a.Option.Start != s.now.Add(time.Second) || s.market.RefusalCounts()["offer-twice"] != 1 {
		t.Errorf("awarded %+v, counts %v", a.Option, s.market.RefusalCounts())
	}
}

// Each of these options would win if it were believed, because it starts at once.
func TestImpossibleOptionsAreCountedAndDoNotWin(t *testing.T) {
	far := protocol.Time(1) << 58 // times 10^6, to nanoseconds, is 0 in 64 bits
	for name, spoil := range map[string]func(*protocol.BidOption){
		"negative energy":           func(o *protocol.BidOption) { o.Energy = -1 },
		"endless energy":            func(o *protocol.BidOption) { o.Energy = math.MaxInt64 },
		"negative carbon":           func(o *protocol.BidOption) { o.Carbon = -1 },
		"endless carbon":            func(o *protocol.BidOption) { o.Carbon = math.MaxInt64 },
		"a fortune to earn":         func(o *protocol.BidOption) { o.Money = math.MinInt64 },
		"a fortune to pay":          func(o *protocol.BidOption) { o.Money = math.MaxInt64 },
		"a transfer that pays":      func(o *protocol.BidOption) { o.Transfer = -1 },
		"an endless transfer":       func(o *protocol.BidOption) { o.Transfer = math.MaxInt64 },
		"an income of being awake":  func(o *protocol.BidOption) { o.NodeIdleShare = math.MinInt64 },
		"an endless cost of waking": func(o *protocol.BidOption) { o.NodeIdleShare = math.MaxInt64 },
		"a node that wakes early":   func(o *protocol.BidOption) { o.Wake = -time.Second },
		"waking beyond the finish":  func(o *protocol.BidOption) { o.Wake = 2 * time.Minute },
		"waking without end":        func(o *protocol.BidOption) { o.Wake = math.MaxInt64 },
		"a tariff below nothing":    func(o *protocol.BidOption) { o.Tariff = -1 },
		"an endless tariff":         func(o *protocol.BidOption) { o.Tariff = protocol.MaxTariff + 1 },
		"more pieces than a node":   func(o *protocol.BidOption) { o.FragmentationDelta = -1e9 },
		"a negative cap":            func(o *protocol.BidOption) { o.Cap = -1 },
		"a start in the past":       func(o *protocol.BidOption) { o.Start = noon - 1 },
		"a finish before the start": func(o *protocol.BidOption) { o.Finish = o.Start - 1 },
		"no time at all":            func(o *protocol.BidOption) { o.Finish = o.Start },
		"a finish next century":     func(o *protocol.BidOption) { o.Finish = o.Start.Add(100 * 365 * 24 * time.Hour) },
		"a finish that overflows":   func(o *protocol.BidOption) { o.Finish = o.Start + far },
		"a start that overflows":    func(o *protocol.BidOption) { o.Start, o.Finish = o.Start+far, o.Finish+far },
		"the end of time":           func(o *protocol.BidOption) { o.Finish = math.MaxInt64 },
		"a model not allowed":       func(o *protocol.BidOption) { o.Model = "A100" },
		"a model without a profile": func(o *protocol.BidOption) { o.Model = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			honest(s, calledOut, func(s *testMarket) {
				o := s.option(0, time.Minute)
				o.Money = 1
				spoil(&o)
				s.offer("bern", bidsOf("train", o))
			})
			if c := s.market.RefusalCounts(); c["impossible-term"] != 1 {
				t.Errorf("counts %v", c)
			}
			if x := lastSent[protocol.Settlement](s); x.Site != "oslo" {
				t.Errorf("settled with %s", x.Site)
			}
		})
	}
}

func TestOptionWithoutCapacityProfileIsIgnored(t *testing.T) {
	j := newTestMarket(t).job()
	j.Models = nil
	good := freeCapacity(noon)
	for name, rooms := range map[string][]protocol.CapacityProfile{
		"no profile":            nil,
		"room of another model": {{Model: "T4", From: good.From, Slot: time.Hour, Total: 4000}},
		"room for half a GPU":   {{Model: "V100", From: good.From, Slot: time.Hour, Total: 500}},
		"negative total":        {{Model: "V100", From: good.From, Slot: time.Hour, Total: -1}},
		"endless total":         {{Model: "V100", From: good.From, Slot: time.Hour, Total: math.MaxInt64}},
		"no slots":              {{Model: "V100", From: good.From, Total: 4000}},
		"slots of a nanosecond": {{Model: "V100", From: good.From, Slot: 1, Total: 4000}},
		"before all time":       {{Model: "V100", From: math.MinInt64, Slot: time.Hour, Total: 4000}},
		"a start that wraps":    {{Model: "V100", From: good.From - 9_223_372_036_855, Slot: time.Hour, Total: 4000}},
		"more free than total":  {{Model: "V100", From: good.From, Slot: time.Hour, Total: 4000, Free: []protocol.Milli{4001}}},
		"more than all cores":   {{Model: "V100", From: good.From, Slot: time.Hour, Total: 4000, CPUUsed: 1001}},
		"less than no memory":   {{Model: "V100", From: good.From, Slot: time.Hour, Total: 4000, MemoryUsed: -1}},
		"less than nothing":     {{Model: "V100", From: good.From, Slot: time.Hour, Total: 4000, Free: []protocol.Milli{4000, -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "oslo")
			s.send(protocol.Submitter, protocol.Submit{Job: j})
			s.wait()
			s.send("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Hour))}, Capacity: rooms})
			if count[protocol.Award](s.sent) != 0 || s.market.RefusalCounts()["impossible-term"] == 0 {
				t.Errorf("%d awards, counts %v", count[protocol.Award](s.sent), s.market.RefusalCounts())
			}
		})
	}
}

func TestSecondProfileOfAModelIsIgnored(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.send("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now), freeCapacity(s.now)}})
	if in := s.rule.rounds[0]; len(in.Sites[0].Capacity) != 1 || s.market.RefusalCounts()["impossible-term"] != 1 {
		t.Errorf("rooms %v, counts %v", in.Sites[0].Capacity, s.market.RefusalCounts())
	}
}

func TestTooManyModelsAreIgnored(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	rooms := make([]protocol.CapacityProfile, 1000)
	for i := range rooms {
		rooms[i] = freeCapacity(s.now)
		rooms[i].Model = fmt.Sprint("model-", i)
	}
	s.send("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{noBids("train", protocol.NoCapacity)}, Capacity: rooms})
	if in := s.rule.rounds[0]; len(in.Sites[0].Capacity) != 64 || s.market.RefusalCounts()["impossible-term"] != 936 {
		t.Errorf("%d rooms, counts %v", len(in.Sites[0].Capacity), s.market.RefusalCounts())
	}
}

func TestJobWithoutGPUsNeedsNoProfile(t *testing.T) {
	s := newTestMarket(t, "oslo")
	j := s.job()
	j.GPUs, j.Share = 0, 0
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	o := s.option(0, time.Hour)
	o.Model = ""
	s.send("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", o)}})
	if a := lastSent[protocol.Award](s); a.Job != "train" {
		t.Errorf("awarded %+v", a)
	}
}

// A counterfactual clears the rounds of a ledger with the settings that the ledger names.
func TestSettingsBelowAMillisecondWork(t *testing.T) {
	for _, cfg := range []Config{{Gather: 1}, {Replan: time.Microsecond}} {
		s := &testMarket{T: t, now: noon, market: New(cfg, auction.New(auction.Config{})), senders: make(map[protocol.Party]*protocol.Sender)}
		s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo"})
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		for range 5 {
			s.wait()
		}
		if s.market.rounds == 0 {
			t.Errorf("%+v: no round is called", cfg)
		}
	}
}
