package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/lab/natsfloor"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// writesPerAward is the number of event log entries between submission and award: the
// submission and the award.
const writesPerAward = 2

// A latencySpread summarizes many times.
type latencySpread struct {
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// latencySpreadOf sorts all and returns its median and 99th percentile.
func latencySpreadOf(all []time.Duration) latencySpread {
	slices.Sort(all)
	return latencySpread{all[len(all)/2], all[len(all)*99/100]}
}

// A loadResult is the measurement at one number of sites.
type loadResult struct {
	Sites             int            `json:"sites"`
	Sync              bool           `json:"sync"` // whether the server syncs each entry to disk
	Award             latencySpread  `json:"award"`
	Floor             latencySpread  `json:"floor"`
	Durable           latencySpread  `json:"durable_floor"`        // the floor, plus the event log writes of an award
	AwardCPU          time.Duration  `json:"award_cpu_ns"`         // user and system time of the whole process for each
	DurableCPU        time.Duration  `json:"durable_floor_cpu_ns"` // the same for each round of the durable floor
	Bids              time.Duration  `json:"bids_ns"`              // time of all sites to compute bids for one job, p99
	Aim               time.Duration  `json:"aim_ns"`               // three times the floor's p99, plus Bids
	DurableAim        time.Duration  `json:"durable_aim_ns"`
	JobsPerSecond     float64        `json:"jobs_per_second"`
	AuctionsPerSecond float64        `json:"auctions_per_second"`
	Stages            []phaseLatency `json:"stages"` // phases of the award
}

// batchCount is the number of alternations between awards and floors, so that other load
// on the machine affects all of them.
const batchCount = 8

// measureFederation measures a federation of n sites, and its floors.
func measureFederation(ctx context.Context, n int, flush bool, each, burst int) (r loadResult, err error) {
	s, err := loadSites(n)
	if err != nil {
		return r, err
	}
	f, ctx, err := startLoadFederation(ctx, s, flush)
	if err != nil {
		return r, err
	}
	defer f.close()
	r.Sites, r.Sync = n, flush
	// Caches, connections and the sites' profiles are warm after this.
	if _, err := f.awardsOneByOne(ctx, "warm", 20+each/10); err != nil {
		return r, err
	}
	base, err := f.startFloorBench(ctx, filepath.Join(f.dir, "floor"), flush)
	if err != nil {
		return r, err
	}
	defer base.closeBench()
	// The warm-up is not part of the result.
	f.bids.clearTimes()
	f.stages.clearTimes()
	var awards, bare, durable []time.Duration
	for i := range batchCount {
		cpu := cpuTime()
		took, err := f.awardsOneByOne(ctx, fmt.Sprintf("each-%d", i), max(1, each/batchCount))
		if err != nil {
			return r, err
		}
		awards = append(awards, took...)
		r.AwardCPU += cpuTime() - cpu
		// Let the batch's jobs end, so that the floor has the machine to itself.
		if err := sleepContext(ctx, drainTime); err != nil {
			return r, err
		}
		for _, to := range []struct {
			writes int
			all    *[]time.Duration
		}{{0, &bare}, {writesPerAward, &durable}} {
			cpu := cpuTime()
			took, err := base.latencyFloor.MeasureRounds(ctx, to.writes, warmUpAwards+max(1, each/batchCount))
			if err != nil {
				return r, err
			}
			if to.writes > 0 {
				r.DurableCPU += (cpuTime() - cpu) / time.Duration(len(took))
			}
			took = took[warmUpAwards:]
			*to.all = append(*to.all, took...)
		}
	}
	r.AwardCPU, r.DurableCPU = r.AwardCPU/time.Duration(len(awards)), r.DurableCPU/batchCount
	r.Award, r.Floor, r.Durable, r.Bids = latencySpreadOf(awards), latencySpreadOf(bare), latencySpreadOf(durable), f.bids.roundTime(n)
	r.Aim, r.DurableAim = 3*r.Floor.P99+r.Bids, 3*r.Durable.P99+r.Bids
	r.Stages = f.stages.phaseLatencies()
	// Throughput is measured last: its load would disturb the times above.
	rounds, began := f.seen.rounds.Load(), time.Now()
	if err := f.submitConcurrently(ctx, burst, 64); err != nil {
		return r, err
	}
	took := time.Since(began).Seconds()
	r.JobsPerSecond, r.AuctionsPerSecond = float64(burst)/took, float64(f.seen.rounds.Load()-rounds)/took
	return r, nil
}

// warmUpAwards is the number of floor rounds that are not counted: an idle machine is slow at
// first.
const warmUpAwards = 10

// drainTime is the time after which the jobs of a batch have ended. Floors are measured
// while the federation is idle.
const drainTime = 1200 * time.Millisecond

// sleepContext waits for a duration or until ctx ends.
func sleepContext(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// floorBench is a second server like the federation's, for floors.
type floorBench struct {
	server       *natsbus.Server
	eventLog     *eventlog.Log
	latencyFloor *natsfloor.LatencyFloor
}

// startFloorBench starts the second server and its floor, with messages as long as those that
// the federation sent.
func (f *loadFederation) startFloorBench(ctx context.Context, folder string, flush bool) (g *floorBench, err error) {
	g = new(floorBench)
	defer func() {
		if err != nil {
			g.closeBench()
		}
	}()
	if g.server, err = natsbus.StartServer(natsbus.Config{Listen: "127.0.0.1:0", Store: folder, Sync: flush}); err != nil {
		return nil, err
	}
	natsBus := natsbus.Dial(g.server.ClientURL(), natsbus.PasswordsOf(g.server))
	if g.eventLog, err = eventlog.Open(ctx, natsBus, protocol.Coordinator, eventlog.Config{}); err != nil {
		return nil, err
	}
	names := make([]string, len(f.scenario.Sites))
	for i, site := range f.scenario.Sites {
		names[i] = site.Name
	}
	g.latencyFloor, err = natsfloor.OpenFloor(natsBus, names, natsfloor.RoundSizes{Call: f.seen.call.meanBytes(), Offer: f.seen.offer.meanBytes(), Entry: f.seen.entry.meanBytes()})
	return g, err
}

// closeBench closes what was opened, in reverse order.
func (g *floorBench) closeBench() {
	if g.latencyFloor != nil {
		g.latencyFloor.Close()
	}
	if g.eventLog != nil {
		g.eventLog.Close()
	}
	if g.server != nil {
		g.server.Close()
	}
}

// loadSites returns n sites modelled on those of the default scenario, with its days
// shifted to now.
func loadSites(n int) (spec.Scenario, error) {
	s, err := spec.LoadScenario("six-regions", spec.Options{})
	if err != nil {
		return s, err
	}
	s = scenarios.ShiftScenario(s, protocol.FromStdTime(time.Now()).Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
	of := s.Sites
	s.Sites = nil
	for i := range n {
		one := of[i%len(of)]
		one.Name = fmt.Sprintf("site-%d", i)
		one.Nodes = slices.Clone(one.Nodes)
		for k := range one.Nodes {
			one.Nodes[k].Name = fmt.Sprintf("%s-%d", one.Nodes[k].Name, i)
		}
		s.Sites = append(s.Sites, one)
	}
	return s, nil
}
