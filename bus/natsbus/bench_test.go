package natsbus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

// bidder is the least that a site can do: it offers eight options for each job.
type bidder struct{ mouth protocol.Sender }

func (b *bidder) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	call := m.Body.(protocol.CallForBids)
	menus := make([]protocol.JobBids, len(call.Jobs))
	for i, j := range call.Jobs {
		options := make([]protocol.BidOption, 8)
		for k := range options {
			start := now.Add(time.Duration(k) * time.Hour)
			options[k] = protocol.BidOption{Start: start, Finish: start.Add(j.Run), Model: "V100", Cap: 250_000,
				Energy: 912_345_678, Carbon: 31_234_567, Money: 14_321, Transfer: 12, FragmentationDelta: -125, Score: 87}
		}
		menus[i] = protocol.JobBids{Job: j.ID, Options: options}
	}
	return []protocol.Message{b.mouth.NewMessage(now, protocol.Coordinator, protocol.Bids{Round: call.Round, Jobs: menus})}
}

func (b *bidder) Tick(protocol.Time) []protocol.Message { return nil }
func (b *bidder) Due() protocol.Time                    { return 0 }

const (
	sites           = 6
	noon            = protocol.Time(1_649_851_200_000)
	windowsOfRounds = 8
)

func bidders() (all []*bidder) {
	for i := range sites {
		all = append(all, &bidder{protocol.Sender{Party: protocol.AgentParty(fmt.Sprintf("site-%d", i))}})
	}
	return all
}

func calls(jobs int) func() protocol.Message {
	mouth := protocol.Sender{Party: protocol.Coordinator}
	c := protocol.CallForBids{Closes: noon, Jobs: make([]protocol.Job, jobs)}
	for i := range c.Jobs {
		c.Jobs[i] = protocol.Job{ID: protocol.JobID(fmt.Sprintf("philly-%06d", i)), Tenant: "vision", Home: "oslo", GPUs: 1, Share: 1000,
			CPU: 4000, Memory: 32768, Models: []string{"V100", "A100"}, Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour)}
	}
	return func() protocol.Message { c.Round++; return mouth.NewMessage(noon, "", c) }
}

// BenchmarkRound measures a Call to six agents and their Offers: by direct
// function call, in memory, and over embedded NATS; one round at a time, and
// eight rounds under way at once. x-direct is how many times the direct call's
// time it takes; the codec, which direct calls do not need, is most of it.
func BenchmarkRound(b *testing.B) {
	for _, jobs := range []int{1, 64} {
		var direct float64 // ns per round
		run := func(name string, round func(b *testing.B)) {
			b.Run(fmt.Sprintf("jobs=%d/%s", jobs, name), func(b *testing.B) {
				round(b)
				took := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if name == "direct" {
					direct = took
				}
				b.ReportMetric(1e9/took, "rounds/s")
				b.ReportMetric(1e9/took*float64(jobs), "jobs/s")
				if direct > 0 {
					b.ReportMetric(took/direct, "x-direct")
				}
			})
		}
		run("direct", func(b *testing.B) {
			agents, next := bidders(), calls(jobs)
			for b.Loop() {
				m := next()
				for _, a := range agents {
					if len(a.Step(noon, m)) != 1 {
						b.Fatal("no offer")
					}
				}
			}
		})
		for _, window := range []int{1, windowsOfRounds} {
			run(fmt.Sprintf("mem/window=%d", window), func(b *testing.B) { rounds(b, new(membus.Bus), jobs, window) })
			run(fmt.Sprintf("nats/window=%d", window), func(b *testing.B) { rounds(b, serve(b, ""), jobs, window) })
		}
	}
}

func rounds(b *testing.B, hub bus.Bus, jobs, window int) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, a := range bidders() {
		port, err := hub.Connect(ctx, a.mouth.Party)
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = bus.RunMachine(ctx, port, a) }()
		defer port.Close()
	}
	coordinator, err := hub.Connect(ctx, protocol.Coordinator)
	if err != nil {
		b.Fatal(err)
	}
	defer coordinator.Close()
	next := calls(jobs)
	ahead := 0
	for b.Loop() {
		for ; ahead < window; ahead++ {
			if err := coordinator.Send(ctx, next()); err != nil {
				b.Fatal(err)
			}
		}
		for range sites {
			if m, ok := <-coordinator.Messages(); !ok {
				b.Fatalf("port closed: %v", coordinator.Close())
			} else if _, ok := m.Body.(protocol.Bids); !ok {
				b.Fatalf("heard %s", m.KindName())
			}
		}
		ahead--
	}
}
