package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A memoryMark is a measurement after a number of jobs.
type memoryMark struct {
	Jobs  int     `json:"jobs"`
	Heap  uint64  `json:"heap_bytes"`
	Known int     `json:"known"` // jobs that the market holds in memory
	Rate  float64 `json:"jobs_per_second"`
}

// A memoryLoad is how many jobs arrive at once and how often, and how long ids of ended ones are
// remembered.
type memoryLoad struct {
	batch    int
	every    time.Duration
	remember time.Duration
}

// busyMinutes has a hundred jobs arrive per second, and remembers them for ten minutes.
var busyMinutes = memoryLoad{batch: 100, every: time.Second, remember: 10 * time.Minute}

// busyMonth has so many jobs arrive in a day, and remembers them as long as a coordinator does.
func busyMonth(daily int) memoryLoad {
	return memoryLoad{batch: max(1, daily/(24*60)), every: time.Minute, remember: protocol.MaxRun}
}

// runTime is how long each job runs.
const runTime = time.Minute

// measureSettledJobs runs n jobs from submission to settlement in simulated time, with two sites
// that always have room, and returns the measurements.
func measureSettledJobs(load memoryLoad, n, marks int) ([]memoryMark, error) {
	b := &busyMarket{now: protocol.Time(1_700_000_000_000), market: market.New(market.Config{Remember: load.remember}, auction.New(auction.Config{}))}
	for i := range b.sites {
		b.sites[i] = protocol.Sender{Party: protocol.AgentParty(fmt.Sprintf("site-%d", i))}
		b.stepMarket(b.sites[i].NewMessage(b.now, protocol.Coordinator, protocol.RegisterSite{Site: b.sites[i].Party.SiteName()}))
	}
	b.submitter.Party = protocol.Submitter
	// Memory is constant once as many jobs have ended as are kept.
	var all []memoryMark
	began := time.Now()
	for b.settled < n {
		if b.submitted < n {
			for range min(load.batch, n-b.submitted) {
				b.submitJob()
			}
		}
		if err := b.advanceTime(load.every); err != nil {
			return nil, err
		}
		if b.settled >= (len(all)+1)*n/marks {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			all = append(all, memoryMark{b.settled, m.HeapAlloc, b.market.KnownJobs(), float64(b.settled) / time.Since(began).Seconds()})
		}
	}
	runtime.KeepAlive(b)
	return all, nil
}

// busyMarket is a market with its submitter and sites.
type busyMarket struct {
	market             *market.Market
	now                protocol.Time
	sites              [2]protocol.Sender
	submitter          protocol.Sender
	submitted, settled int
	running            []protocol.UsageReport // soonest first
	by                 []int                  // index of each running job's site
	late               int                    // ticks, to detect a market that is due without end
}

// submitJob submits the next job.
func (b *busyMarket) submitJob() {
	b.submitted++
	b.stepMarket(b.submitter.NewMessage(b.now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
		Urgency: protocol.UrgencyNow, ID: protocol.JobID(fmt.Sprintf("job-%09d", b.submitted)), Tenant: fmt.Sprintf("tenant-%d", b.submitted%50), GPUs: 1, Share: 1000, CPU: 1000,
		Arrival: b.now, Run: runTime, Deadline: b.now.Add(10 * runTime),
	}}))
}

// stepMarket steps the market with a message.
func (b *busyMarket) stepMarket(m protocol.Message) { b.answerMarket(b.market.Step(b.now, m)) }

// advanceTime advances the simulated time.
func (b *busyMarket) advanceTime(by time.Duration) error {
	end := b.now.Add(by)
	for due := b.market.Due(); due != 0 && due <= end; due = b.market.Due() {
		b.now = max(b.now, due)
		b.answerMarket(b.market.Tick(b.now))
		if b.late++; b.late > 100_000_000 {
			return fmt.Errorf("the market is due without end at %v", b.now)
		}
	}
	b.now = end
	for len(b.running) > 0 && b.running[0].Ended <= b.now {
		d, i := b.running[0], b.by[0]
		b.running, b.by = b.running[1:], b.by[1:]
		b.stepMarket(b.sites[i].NewMessage(b.now, protocol.Coordinator, d))
	}
	return nil
}

// answerMarket processes the market's messages: sites bid, accept awards and run jobs.
func (b *busyMarket) answerMarket(sent []protocol.Message) {
	for _, m := range sent {
		switch x := m.Body.(type) {
		case protocol.CallForBids:
			for i := range b.sites {
				b.stepMarket(b.sites[i].NewMessage(b.now, protocol.Coordinator, b.bidsFor(x, i)))
			}
		case protocol.Award:
			i := 0
			if m.To == b.sites[1].Party {
				i = 1
			}
			b.running = append(b.running, protocol.UsageReport{
				Job: x.Job, Epoch: x.Epoch, Started: b.now, Ended: b.now.Add(runTime), Node: "n", Devices: []int{0},
				Energy: x.Option.Energy, IT: x.Option.Energy, Carbon: x.Option.Carbon, Money: x.Option.Money,
			})
			b.by = append(b.by, i)
			b.stepMarket(b.sites[i].NewMessage(b.now, protocol.Coordinator, protocol.Accept{Job: x.Job, Epoch: x.Epoch, Start: b.now}))
		case protocol.Settlement:
			b.settled++
		}
	}
}

// bidsFor returns a site's bids: one option for each job, with alternating prices so that
// both sites win.
func (b *busyMarket) bidsFor(c protocol.CallForBids, i int) protocol.Bids {
	hour := b.now.Floor(time.Hour)
	o := protocol.Bids{Round: c.Round, Capacity: []protocol.CapacityProfile{{Model: "V100", From: hour, Slot: time.Hour, Free: []protocol.Milli{50_000_000, 50_000_000}, Total: 50_000_000}}}
	for _, j := range c.Jobs {
		o.Jobs = append(o.Jobs, protocol.JobBids{Job: j.ID, Options: []protocol.BidOption{{
			Start: b.now, Finish: b.now.Add(runTime), Model: "V100", Energy: 15_000_000, Carbon: 1000, Money: protocol.Microdollars(300 + i + b.submitted%2),
		}}})
	}
	return o
}
