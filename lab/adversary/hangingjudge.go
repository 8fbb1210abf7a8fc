package adversary

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
	"github.com/gridbid/gridbid/protocol"
)

// Parameters of the live market with a model that hangs.
const (
	judgeBudget      = 50 * time.Millisecond
	maxAwardLateness = 10 * time.Millisecond
	gatherTime       = 10 * time.Millisecond
	hangAttempts     = 3
)

// An awardDelay is the delay of one award for which the market waited for the model.
type awardDelay struct {
	over time.Duration // delay of the award after the end of the budget
	bare time.Duration // delay of a bare timer, set at the same instant for the same time
}

// MeasureHangingJudge runs a live market with a model server that hangs in several ways, and
// measures the delay of awards after the end of their budget.
//
// Each award is compared with a bare timer: a delay of both is the machine's, further
// delay of the award is the market's. A busy machine has spikes even so; therefore a
// failed measurement is repeated, up to three times. A systematic delay fails all of
// them.
func MeasureHangingJudge(ctx context.Context, awards int) (AttackResult, error) {
	row := AttackResult{ID: "hang", What: "a live market beside a model server that hangs"}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for n := 1; n <= hangAttempts && !row.Held; n++ {
		all, err := awaitHangingServer(ctx, awards, nil)
		if err != nil {
			return row, err
		}
		row.Held, row.Detail = awardsInTime(all)
		if n > 1 {
			row.Detail += fmt.Sprintf(" (measured %d times)", n)
		}
	}
	return row, nil
}

// awardsInTime reports whether awards are in time: at most maxAwardLateness later than the bare timer,
// in the median and the 99th percentile.
func awardsInTime(all []awardDelay) (held bool, detail string) {
	rank := func(of func(awardDelay) time.Duration) (median, p99 time.Duration) {
		var v []time.Duration
		for _, x := range all {
			v = append(v, of(x))
		}
		slices.Sort(v)
		return v[len(v)/2], v[len(v)*99/100]
	}
	over, overMost := rank(func(x awardDelay) time.Duration { return x.over })
	bare, bareMost := rank(func(x awardDelay) time.Duration { return x.bare })
	// What counts is the award's delay beyond the bare timer's, award by award.
	more, moreMost := rank(func(x awardDelay) time.Duration { return x.over - x.bare })
	us := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	return more <= maxAwardLateness && moreMost <= maxAwardLateness, fmt.Sprintf(
		"%d awards, budget %v: said %v after its end at the median, %v at the 99th percentile; bare timers %v and %v late; each award beside its own timer %v and %v later, want at most %v",
		len(all), judgeBudget, us(over), us(overMost), us(bare), us(bareMost), us(more), us(moreMost), maxAwardLateness)
}

// awaitHangingServer measures a number of awards with hanging model servers. slow, if not nil, is
// called with each award: a test uses it to plant a fault.
func awaitHangingServer(ctx context.Context, awards int, slow func()) (all []awardDelay, err error) {
	// Only server faults that show as a late answer.
	hangs := slices.DeleteFunc(faultyserver.CommonFaults(), func(b faultyserver.Misbehaviour) bool { return b.Fault != string(llm.Late) })
	for i := 0; len(all) < awards; i++ {
		s, err := faultyserver.StartServer(hangs[i%len(hangs)].Do)
		if err != nil {
			return nil, err
		}
		model, err := llm.OpenModel(llm.Config{URL: s.BaseURL(), Model: "m"})
		if err != nil {
			s.Close()
			return nil, err
		}
		before := len(all)
		err = runLiveMarket(ctx, advisor.NewJudge(model, time.Now), slow, func(x awardDelay) bool {
			all = append(all, x)
			return len(all) < before+3 // after three faults the circuit breaker opens
		})
		s.Close()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// runLiveMarket runs a market, two sites, a submitter and a judge until more returns false.
func runLiveMarket(ctx context.Context, judge *advisor.Judge, slow func(), more func(awardDelay) bool) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	hub := new(membus.Bus)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done()
	all := tradingParties("")
	all[protocol.Coordinator] = &awardTimer{Machine: market.New(askingMarketConfig(), auction.New(auction.Config{Steps: 4})), slow: slow, saw: func(x awardDelay) {
		if !more(x) {
			done()
		}
	}}
	for who, machine := range all {
		port, err := hub.Connect(ctx, who)
		if err != nil {
			return err
		}
		wg.Go(func() { _ = bus.RunMachine(ctx, port, machine) }) // ends with ctx
	}
	port, err := hub.Connect(ctx, protocol.Judge)
	if err != nil {
		return err
	}
	if err := judge.ServeRequests(ctx, port, bus.Clock{}, 0); ctx.Err() == nil {
		return err // otherwise ctx ended, and its connection may have been closed before that was noticed
	}
	return nil
}

// askingMarketConfig returns the configuration of a market that asks a judge about each job of
// traders.
func askingMarketConfig() market.Config {
	return market.Config{
		Advice: market.Advice{Ease: 100, MaxTotalExtra: 1000, Budget: judgeBudget, Calls: 1 << 30,
			Notes: []market.TimedNote{{OperatorNotice: protocol.OperatorNotice{ID: "N1", Site: "oslo", Text: "prefer it"}}}},
		Gather: gatherTime, Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1, Late: 1},
	}
}

// tradingParties returns two sites with nearly equal bids, and a submitter of jobs with a name.
func tradingParties(name string) map[protocol.Party]bus.Machine {
	return map[protocol.Party]bus.Machine{
		protocol.AgentParty("lyon"): &sellingSite{site: "lyon", money: 1_000_000, sender: protocol.Sender{Party: protocol.AgentParty("lyon")}},
		protocol.AgentParty("oslo"): &sellingSite{site: "oslo", money: 1_010_000, sender: protocol.Sender{Party: protocol.AgentParty("oslo")}},
		protocol.Submitter:          &jobSubmitter{sender: protocol.Sender{Party: protocol.Submitter}, name: name},
	}
}

// An awardTimer measures the delay of its awards after a question's budget, and of
// a bare timer set with the question.
type awardTimer struct {
	bus.Machine
	slow  func()
	saw   func(awardDelay)
	asked time.Time
	timer chan time.Duration
}

// Step implements bus.Machine.
func (w *awardTimer) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	return w.timeAwards(w.Machine.Step(now, m))
}

// Tick implements bus.Machine.
func (w *awardTimer) Tick(now protocol.Time) []protocol.Message {
	return w.timeAwards(w.Machine.Tick(now))
}

// timeAwards starts a bare timer with each question and compares the next award with it.
func (w *awardTimer) timeAwards(said []protocol.Message) []protocol.Message {
	for _, m := range said {
		switch m.Body.(type) {
		case protocol.JudgeRequest:
			began, timer := time.Now(), make(chan time.Duration, 1)
			time.AfterFunc(judgeBudget, func() { timer <- time.Since(began) - judgeBudget })
			w.asked, w.timer = began, timer
		case protocol.Award:
			if w.asked.IsZero() {
				continue
			}
			if w.slow != nil {
				w.slow()
			}
			over := time.Since(w.asked) - judgeBudget
			w.saw(awardDelay{over, <-w.timer})
			w.asked = time.Time{}
		}
	}
	return said
}

// A sellingSite bids one GPU for every job, at its price.
type sellingSite struct {
	site             string
	money            protocol.Microdollars
	sender           protocol.Sender
	nextRegistration protocol.Time // next retransmission of the registration; far away once it is acknowledged
}

// Step implements bus.Machine.
func (s *sellingSite) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if b.Code == protocol.Acknowledged && b.Job == "" {
			s.nextRegistration = 1 << 62
		}
	case protocol.CallForBids:
		o := protocol.Bids{Round: b.Round, Capacity: []protocol.CapacityProfile{{Model: "V100", From: now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{100_000}, Total: 100_000}}}
		for _, j := range b.Jobs {
			o.Jobs = append(o.Jobs, protocol.JobBids{Job: j.ID, Options: []protocol.BidOption{{
				Start: m.At, Finish: m.At.Add(time.Hour), Model: "V100", Money: s.money, Energy: 1e9,
			}}})
		}
		return []protocol.Message{s.sender.NewMessage(now, protocol.Coordinator, o)}
	case protocol.Award:
		return []protocol.Message{s.sender.NewMessage(now, protocol.Coordinator, protocol.Accept{Job: b.Job, Epoch: b.Epoch})}
	}
	return nil
}

// Tick implements bus.Machine.
func (s *sellingSite) Tick(now protocol.Time) []protocol.Message {
	s.nextRegistration = now.Add(50 * time.Millisecond)
	return []protocol.Message{s.sender.NewMessage(now, protocol.Coordinator, protocol.RegisterSite{Site: s.site})}
}

// Due implements bus.Machine.
func (s *sellingSite) Due() protocol.Time {
	if s.nextRegistration == 1<<62 {
		return 0
	}
	return max(s.nextRegistration, 1)
}

// A jobSubmitter submits jobs at fixed intervals.
type jobSubmitter struct {
	sender protocol.Sender
	name   string // name of its jobs and tenant; "": job-1, job-2
	due    protocol.Time
	n      int
}

// Step implements bus.Machine.
func (b *jobSubmitter) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }

// Tick implements bus.Machine.
func (b *jobSubmitter) Tick(now protocol.Time) []protocol.Message {
	b.due = now.Add(gatherTime + judgeBudget + 40*time.Millisecond)
	b.n++
	id := protocol.JobID(fmt.Sprint("job-", b.n))
	if b.name != "" {
		id = protocol.JobID(fmt.Sprint(b.name, " ", b.n))
	}
	return []protocol.Message{b.sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
		Urgency: protocol.UrgencyNow, ID: id, Tenant: b.name, GPUs: 1, Share: 1000, CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(8 * time.Hour),
	}})}
}

// Due implements bus.Machine.
func (b *jobSubmitter) Due() protocol.Time { return max(b.due, 1) }
