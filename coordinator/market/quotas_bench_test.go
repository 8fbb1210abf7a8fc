package market

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkRoundWithQuotas takes in the bids of 64 sites for 1,000 jobs of 1,000 tenants, eight options
// each, and clears the round: without quotas, and with a tree of the tenants in 30 groups.
func BenchmarkRoundWithQuotas(b *testing.B) {
	const jobs, sites = 1000, 64
	tree := make([]protocol.Quota, 0, jobs+30)
	for g := range 30 {
		tree = append(tree, protocol.Quota{Name: fmt.Sprint("g", g), Min: 64000, Max: 512_000, Weight: 1000})
	}
	for i := range jobs {
		tree = append(tree, protocol.Quota{Name: fmt.Sprint("t", i), Parent: fmt.Sprint("g", i%30), Min: 1000, Max: 16_000, Weight: 1000})
	}
	for _, c := range []struct {
		name string
		tree []protocol.Quota
	}{{"none", nil}, {"tenants=1000", tree}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				k := New(Config{}, auction.New(auction.Config{}))
				now, senders := noon, make(map[protocol.Party]*protocol.Sender)
				send := func(who protocol.Party, body protocol.Body) {
					if senders[who] == nil {
						senders[who] = &protocol.Sender{Party: who}
					}
					k.Step(now, senders[who].NewMessage(now, protocol.Coordinator, body))
				}
				for s := range sites {
					name := fmt.Sprintf("site-%02d", s)
					send(protocol.AgentParty(name), protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", GPUs: 64}}})
				}
				if c.tree != nil {
					send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: c.tree})
				}
				for i := range jobs {
					send(protocol.Submitter, protocol.Submit{Job: protocol.Job{
						Urgency: protocol.UrgencyStandard, ID: protocol.JobID(fmt.Sprint("job-", i)), Tenant: fmt.Sprint("t", i), GPUs: 1 + i%4, Share: 1000, CPU: 4000, Models: []string{"V100"},
						Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour),
					}})
				}
				for k.round == nil {
					now = k.Due()
					k.Tick(now)
				}
				var bids [sites]protocol.Bids
				for s := range sites {
					bids[s] = protocol.Bids{Round: k.rounds, Capacity: []protocol.CapacityProfile{{Model: "V100", From: now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{64000}, Total: 64000}}}
					for _, l := range k.round.lots {
						o := protocol.JobBids{Job: l.job.ID}
						for n := range 8 {
							start := now.Add(time.Duration(n) * 15 * time.Minute)
							o.Options = append(o.Options, protocol.BidOption{
								Start: start, Finish: start.Add(time.Hour), Model: "V100", Energy: 720_000_000, Carbon: 40_000 + protocol.Milligrams(s*100), Money: 10_000 + protocol.Microdollars((s*7+n*13)%50*100),
							})
						}
						bids[s].Jobs = append(bids[s].Jobs, o)
					}
				}
				b.StartTimer()
				for s := range sites {
					send(protocol.AgentParty(fmt.Sprintf("site-%02d", s)), bids[s])
				}
				if k.round != nil {
					b.Fatal("the round is still open")
				}
			}
		})
	}
}
