package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A mark is what a market takes after so many jobs.
type mark struct {
	Jobs  int     `json:"jobs"`
	Heap  uint64  `json:"heap_bytes"`
	Known int     `json:"known"` // jobs that are on their way or remembered
	Rate  float64 `json:"jobs_per_second"`
}

// Rules of the market whose memory is measured: a hundred jobs arrive in each
// second, and ended ones are remembered for ten minutes.
const (
	perSecond = 100
	remember  = 10 * time.Minute
	runs      = time.Minute
)

// settle has a market take n jobs from submission to settlement, in simulated
// time, with two sites that always have room, and returns so many marks.
func settle(n, marks int) ([]mark, error) {
	b := &busy{now: protocol.Time(1_700_000_000_000), market: market.New(market.Config{Remember: remember}, auction.New(auction.Config{}))}
	for i := range b.sites {
		b.sites[i] = protocol.Mouth{Who: protocol.Agent(fmt.Sprintf("site-%d", i))}
		b.hear(b.sites[i].Say(b.now, protocol.Coordinator, protocol.Hello{Site: b.sites[i].Who.Site()}))
	}
	b.submitter.Who = protocol.Submitter
	// Memory is flat once as many have ended as are remembered.
	var all []mark
	began := time.Now()
	for b.settled < n {
		if b.submitted < n {
			for range min(perSecond, n-b.submitted) {
				b.submit()
			}
		}
		if err := b.second(); err != nil {
			return nil, err
		}
		if b.settled >= (len(all)+1)*n/marks {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			all = append(all, mark{b.settled, m.HeapAlloc, b.market.Known(), float64(b.settled) / time.Since(began).Seconds()})
		}
	}
	runtime.KeepAlive(b)
	return all, nil
}

// busy is a market, and all who speak to it.
type busy struct {
	market             *market.Market
	now                protocol.Time
	sites              [2]protocol.Mouth
	submitter          protocol.Mouth
	submitted, settled int
	running            []protocol.Done // soonest first
	by                 []int           // site of each
	late               int
}

func (b *busy) submit() {
	b.submitted++
	b.hear(b.submitter.Say(b.now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
		ID: protocol.JobID(fmt.Sprintf("job-%09d", b.submitted)), Tenant: fmt.Sprintf("tenant-%d", b.submitted%50), GPUs: 1, Share: 1000, CPU: 1000,
		Arrival: b.now, Run: runs, Deadline: b.now.Add(10 * runs),
	}}))
}

func (b *busy) hear(m protocol.Message) { b.answer(b.market.Step(b.now, m)) }

// second lets a second pass.
func (b *busy) second() error {
	end := b.now.Add(time.Second)
	for due := b.market.Due(); due != 0 && due <= end; due = b.market.Due() {
		b.now = max(b.now, due)
		b.answer(b.market.Tick(b.now))
		if b.late++; b.late > 100_000_000 {
			return fmt.Errorf("the market is due without end at %v", b.now)
		}
	}
	b.now = end
	for len(b.running) > 0 && b.running[0].Ended <= b.now {
		d, i := b.running[0], b.by[0]
		b.running, b.by = b.running[1:], b.by[1:]
		b.hear(b.sites[i].Say(b.now, protocol.Coordinator, d))
	}
	return nil
}

// answer is what sites say to what the market says.
func (b *busy) answer(said []protocol.Message) {
	for _, m := range said {
		switch x := m.Body.(type) {
		case protocol.Call:
			for i := range b.sites {
				b.hear(b.sites[i].Say(b.now, protocol.Coordinator, b.offer(x, i)))
			}
		case protocol.Award:
			i := 0
			if m.To == b.sites[1].Who {
				i = 1
			}
			b.running = append(b.running, protocol.Done{
				Job: x.Job, Epoch: x.Epoch, Started: b.now, Ended: b.now.Add(runs), Node: "n", Devices: []int{0},
				Energy: x.Option.Energy, IT: x.Option.Energy, Carbon: x.Option.Carbon, Money: x.Option.Money,
			})
			b.by = append(b.by, i)
			b.hear(b.sites[i].Say(b.now, protocol.Coordinator, protocol.Accept{Job: x.Job, Epoch: x.Epoch, Start: b.now}))
		case protocol.Settled:
			b.settled++
		}
	}
}

func (b *busy) offer(c protocol.Call, i int) protocol.Offer {
	hour := b.now.Floor(time.Hour)
	o := protocol.Offer{Round: c.Round, Room: []protocol.Room{{Model: "V100", From: hour, Slot: time.Hour, Free: []protocol.Milli{50_000_000, 50_000_000}, Total: 50_000_000}}}
	for _, j := range c.Jobs {
		o.Jobs = append(o.Jobs, protocol.Menu{Job: j.ID, Options: []protocol.Option{{
			Start: b.now, Finish: b.now.Add(runs), Model: "V100", Energy: 15_000_000, Carbon: 1000, Money: protocol.Microdollars(300 + i + b.submitted%2),
		}}})
	}
	return o
}
