package market

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkRoundWithQuotas takes in the bids of 64 sites for 1,000 jobs of 1,000 tenants, eight options
// each, and clears the round: without quotas, with a tree of the tenants in 30 groups, and with one that has quotas
// of a model and budgets, too. Beside each round with a tree it plays one without, and reports the ratio of their
// CPU times.
func BenchmarkRoundWithQuotas(b *testing.B) {
	const jobs, sites = 1000, 64
	tree := make([]protocol.Quota, 0, jobs+30)
	for g := range 30 {
		tree = append(tree, protocol.Quota{Name: fmt.Sprint("g", g), Min: 64000, Max: 512_000, Weight: 1000})
	}
	for i := range jobs {
		tree = append(tree, protocol.Quota{Name: fmt.Sprint("t", i), Parent: fmt.Sprint("g", i%30), Min: 1000, Max: 16_000, Weight: 1000})
	}
	full := slices.Clone(tree)
	for i := range full {
		q := &full[i]
		q.Budget, q.CarbonBudget = 1e9, 1e9
		q.Models = []protocol.ModelQuota{{Model: "V100", Min: q.Min, Max: q.Max, Weight: 1000}}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the collector takes idle processors, and would count their time
	for _, c := range []struct {
		name string
		tree []protocol.Quota
	}{{"none", nil}, {"tenants=1000", tree}, {"tenants=1000,models,budgets", full}} {
		b.Run(c.name, func(b *testing.B) {
			var with, without time.Duration
			for b.Loop() {
				b.StopTimer()
				if c.tree != nil {
					without += timeRound(b, nil, jobs, sites)
				}
				with += timeRound(b, c.tree, jobs, sites)
				b.StartTimer()
			}
			b.ReportMetric(0, "ns/op") // of wall-clock time there is none
			b.ReportMetric(with.Seconds()*1000/float64(b.N), "cpu-ms/op")
			if c.tree != nil {
				b.ReportMetric(with.Seconds()/without.Seconds(), "x-none")
			}
		})
	}
}

// timeRound returns the CPU time from the first bid of a round to its decisions, under a quota tree.
func timeRound(b *testing.B, tree []protocol.Quota, jobs, sites int) time.Duration {
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
	if tree != nil {
		send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: tree})
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
	grid := protocol.GridForecast{From: now.Floor(time.Hour)}
	for range 24 {
		grid.Price, grid.PriceOff = append(grid.Price, 50_000), append(grid.PriceOff, 10_000)
		grid.Carbon, grid.CarbonOff = append(grid.Carbon, 200_000), append(grid.CarbonOff, 30_000)
	}
	bids := make([]protocol.Bids, sites)
	for s := range bids {
		bids[s] = protocol.Bids{Round: k.rounds, Capacity: []protocol.CapacityProfile{{Model: "V100", From: now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{64000}, Total: 64000}}, Grid: grid}
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
	runtime.GC() // what was made so far is not this round's to clear away
	before := processorTime()
	for s := range sites {
		send(protocol.AgentParty(fmt.Sprintf("site-%02d", s)), bids[s])
	}
	took := processorTime() - before
	if k.round != nil {
		b.Fatal("the round is still open")
	}
	return took
}

// processorTime returns the CPU time of this process: on a busy machine wall-clock time says little.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of ourselves it does not fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAdmission holds one option of one job against the quotas of its tenant and of the five groups above it,
// of all GPUs and of a model, and against their budgets, in a tree of 10,000 tenants.
func BenchmarkAdmission(b *testing.B) {
	const tenants, depth = 10_000, 5
	var tree []protocol.Quota
	add := func(name, parent string) {
		tree = append(tree, protocol.Quota{
			Name: name, Parent: parent, Max: 1e8, Weight: 1000, Budget: 1e14, CarbonBudget: 1e14,
			Models: []protocol.ModelQuota{{Model: "V100", Max: 1e8, Weight: 1000}},
		})
	}
	parent := ""
	for d := range depth {
		add(fmt.Sprint("g", d), parent)
		parent = fmt.Sprint("g", d)
	}
	for i := range tenants {
		add(fmt.Sprint("t", i), parent)
	}
	k := New(Config{}, auction.New(auction.Config{}))
	k.replacePolicy(protocol.Policy{Version: 1, Quotas: tree})
	u := k.plannedUse(noon, &round{}, nil)
	for i := range tenants {
		name := fmt.Sprint("t", i)
		u.quotas.shares[name], u.quotas.models[0].shares[name] = 1e6, 1e6
	}
	grid := &protocol.GridForecast{From: noon, PriceOff: make([]protocol.Microdollars, 48), CarbonOff: make([]protocol.Milligrams, 48)}
	options := []protocol.BidOption{{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 720_000_000, Carbon: 40_000, Money: 10_000}}
	b.ReportAllocs()
	before := processorTime()
	for i := 0; b.Loop(); i++ {
		j := protocol.Job{ID: "j", Tenant: fmt.Sprint("t", i%tenants), GPUs: 1, Share: 1000}
		c := u.openClaim(k, &j)
		if fitting, _ := c.withinUseCaps("oslo", options, nil, grid); len(fitting) != 1 {
			b.Fatal("the job is not admitted")
		}
		c.closeClaim()
		delete(u.jobs, j.ID) // its use goes with the next job
		u.updateProfiles(k, c.own, -1)
	}
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}
