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

// Of the live market that waits for a model which hangs.
const (
	judgeBudget      = 50 * time.Millisecond
	maxAwardLateness = 10 * time.Millisecond
	gatherTime       = 10 * time.Millisecond
	hangAttempts     = 3
)

// A awardDelay is one award that a hanging model was waited for.
type awardDelay struct {
	over time.Duration // after the end of the budget it was said
	bare time.Duration // a timer, set in the same instant for the same time, was late
}

// MeasureHangingJudge runs a live market whose model server hangs, each time in another way,
// and measures how long after its budget so many awards are said.
//
// Each award has a timer of its own beside it: what both are late by is the
// machine's, what the award is later than its timer is ours. On a machine that is
// busy with others even that has spikes, so a measurement that fails is made
// again, up to three times; what makes every award late fails each.
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

// awardsInTime reports whether awards are said in time: at most grace later than a bare
// timer, at the median and at the 99th percentile.
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
	more, moreMost := rank(func(x awardDelay) time.Duration { return x.over - x.bare })
	us := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	return more <= maxAwardLateness && moreMost <= maxAwardLateness, fmt.Sprintf(
		"%d awards, budget %v: said %v after its end at the median, %v at the 99th percentile; bare timers %v and %v late; each award beside its own timer %v and %v later, want at most %v",
		len(all), judgeBudget, us(over), us(overMost), us(bare), us(bareMost), us(more), us(moreMost), maxAwardLateness)
}

// awaitHangingServer waits for a model server that hangs until there are so many awards. slow is
// called with each, for a test that plants a fault; nil without.
func awaitHangingServer(ctx context.Context, awards int, slow func()) (all []awardDelay, err error) {
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
			return len(all) < before+3 // then the breaker opens
		})
		s.Close()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// runLiveMarket runs a market, two sites, a submitter and a judge as long as each of its
// awards is followed by more.
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
		wg.Go(func() { _ = bus.RunMachine(ctx, port, machine) }) // it ends with ctx
	}
	port, err := hub.Connect(ctx, protocol.Judge)
	if err != nil {
		return err
	}
	if err := judge.ServeRequests(ctx, port, bus.Clock{}, 0); ctx.Err() == nil {
		return err // else it was told to end, and may have seen its port close first
	}
	return nil
}

// askingMarketConfig are the rules of a market in which a judge is asked about each job of
// traders.
func askingMarketConfig() market.Config {
	return market.Config{
		Advice: market.Advice{Ease: 100, Purse: 1000, Budget: judgeBudget, Calls: 1 << 30,
			Notes: []market.TimedNote{{OperatorNotice: protocol.OperatorNotice{ID: "N1", Site: "oslo", Text: "prefer it"}}}},
		Gather: gatherTime, Terms: protocol.Weights{Carbon: 100_000, Delay: 1, Late: 1},
	}
}

// tradingParties are two sites that ask nearly the same, and who submits to them jobs of a
// name.
func tradingParties(name string) map[protocol.Party]bus.Machine {
	return map[protocol.Party]bus.Machine{
		protocol.AgentParty("lyon"): &sellingSite{site: "lyon", money: 1_000_000, sender: protocol.Sender{Party: protocol.AgentParty("lyon")}},
		protocol.AgentParty("oslo"): &sellingSite{site: "oslo", money: 1_010_000, sender: protocol.Sender{Party: protocol.AgentParty("oslo")}},
		protocol.Submitter:          &jobSubmitter{sender: protocol.Sender{Party: protocol.Submitter}, name: name},
	}
}

// A awardTimer market notes how long after a question's budget its awards are said,
// and how late a timer is that was set with the question.
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

// A sellingSite offers one GPU for every job, at its price.
type sellingSite struct {
	site   string
	money  protocol.Microdollars
	sender protocol.Sender
	hello  protocol.Time // when it says it again; far off once that is on the books
}

// Step implements bus.Machine.
func (s *sellingSite) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if b.Code == protocol.Acknowledged && b.Job == "" {
			s.hello = 1 << 62
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
	s.hello = now.Add(50 * time.Millisecond)
	return []protocol.Message{s.sender.NewMessage(now, protocol.Coordinator, protocol.RegisterSite{Site: s.site})}
}

// Due implements bus.Machine.
func (s *sellingSite) Due() protocol.Time {
	if s.hello == 1<<62 {
		return 0
	}
	return max(s.hello, 1)
}

// A jobSubmitter submits the next job when the last has a place.
type jobSubmitter struct {
	sender protocol.Sender
	name   string // of its jobs and tenant; "": job-1, job-2
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
		ID: id, Tenant: b.name, GPUs: 1, Share: 1000, CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(8 * time.Hour),
	}})}
}

// Due implements bus.Machine.
func (b *jobSubmitter) Due() protocol.Time { return max(b.due, 1) }
