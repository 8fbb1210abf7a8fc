package main

import (
	"context"
	"fmt"
	"os"
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

// writes are entries on the way of a job to its award: that it was submitted, and
// the award.
const writes = 2

// A spread is of many times.
type spread struct {
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

func spreadOf(all []time.Duration) spread {
	slices.Sort(all)
	return spread{all[len(all)/2], all[len(all)*99/100]}
}

// A result is what was measured at one number of sites.
type result struct {
	Sites             int           `json:"sites"`
	Sync              bool          `json:"sync"` // the server flushes each entry to the disk
	Award             spread        `json:"award"`
	Floor             spread        `json:"floor"`
	Durable           spread        `json:"durable_floor"` // the floor, with the writes that an award takes
	Bids              time.Duration `json:"bids_ns"`       // of all sites for one job, p99
	Aim               time.Duration `json:"aim_ns"`        // by the floor
	DurableAim        time.Duration `json:"durable_aim_ns"`
	JobsPerSecond     float64       `json:"jobs_per_second"`
	AuctionsPerSecond float64       `json:"auctions_per_second"`
	Stages            []stage       `json:"stages"` // of the award
}

// batches is how many times award and floors are measured in turn, so that what
// else the machine does befalls all of them.
const batches = 8

func measure(ctx context.Context, n int, flush bool, each, burst int) (r result, err error) {
	dir, err := os.MkdirTemp("", "gridbid-load-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := sites(n)
	if err != nil {
		return r, err
	}
	srv, err := natsbus.Serve(natsbus.Config{Listen: "127.0.0.1:0", Store: filepath.Join(dir, "nats"), Sync: flush})
	if err != nil {
		return r, err
	}
	defer srv.Close()
	ctx, cancel := context.WithCancel(ctx)
	f := &federation{dir: dir, script: s, server: srv, awards: make(chan protocol.JobID, 4096)}
	defer f.all.Wait()
	defer cancel()
	if err := f.start(ctx); err != nil {
		return r, err
	}
	r.Sites, r.Sync = n, flush
	if _, err := f.oneByOne(ctx, "warm", 20+each/10); err != nil {
		return r, err
	}
	base, err := f.beside(ctx, filepath.Join(dir, "floor"), flush)
	if err != nil {
		return r, err
	}
	defer base.close()
	f.bids.clear()
	f.stages.clear()
	var awards, bare, durable []time.Duration
	for i := range batches {
		took, err := f.oneByOne(ctx, fmt.Sprintf("each-%d", i), max(1, each/batches))
		if err != nil {
			return r, err
		}
		awards = append(awards, took...)
		if err := sleep(ctx, ebb); err != nil {
			return r, err
		}
		for _, to := range []struct {
			writes int
			all    *[]time.Duration
		}{{0, &bare}, {writes, &durable}} {
			took, err := base.floor.Rounds(ctx, to.writes, warm+max(1, each/batches))
			if err != nil {
				return r, err
			}
			took = took[warm:]
			*to.all = append(*to.all, took...)
		}
	}
	r.Award, r.Floor, r.Durable, r.Bids = spreadOf(awards), spreadOf(bare), spreadOf(durable), f.bids.round(n)
	r.Aim, r.DurableAim = 3*r.Floor.P99+r.Bids, 3*r.Durable.P99+r.Bids
	r.Stages = f.stages.spreads()
	rounds, began := f.seen.rounds.Load(), time.Now()
	if err := f.manyAtOnce(ctx, burst, 64); err != nil {
		return r, err
	}
	took := time.Since(began).Seconds()
	r.JobsPerSecond, r.AuctionsPerSecond = float64(burst)/took, float64(f.seen.rounds.Load()-rounds)/took
	return r, nil
}

// warm rounds of a floor are not counted: a machine that slept is slow at first.
const warm = 10

// ebb is how long it takes until the jobs of a batch have ended. Floors are
// measured when the federation has nothing to do.
const ebb = 1200 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ground is a server like the federation's own, for floors.
type ground struct {
	server *natsbus.Server
	books  *eventlog.Books
	floor  *natsfloor.Floor
}

// beside starts it, and sends over it what is as long as what the federation was
// seen to send.
func (f *federation) beside(ctx context.Context, folder string, flush bool) (g *ground, err error) {
	g = new(ground)
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if g.server, err = natsbus.Serve(natsbus.Config{Listen: "127.0.0.1:0", Store: folder, Sync: flush}); err != nil {
		return nil, err
	}
	hub := natsbus.Dial(g.server.URL(), natsbus.PasswordsOf(g.server))
	if g.books, err = eventlog.Open(ctx, hub, protocol.Coordinator, eventlog.Config{}); err != nil {
		return nil, err
	}
	names := make([]string, len(f.script.Sites))
	for i, site := range f.script.Sites {
		names[i] = site.Name
	}
	g.floor, err = natsfloor.Open(hub, names, natsfloor.Round{Call: f.seen.call.mean(), Offer: f.seen.offer.mean(), Entry: f.seen.entry.mean()})
	return g, err
}

func (g *ground) close() {
	if g.floor != nil {
		g.floor.Close()
	}
	if g.books != nil {
		g.books.Close()
	}
	if g.server != nil {
		g.server.Close()
	}
}

// sites returns n sites that look like those of the default scenario, with its
// days moved to now.
func sites(n int) (spec.Scenario, error) {
	s, err := spec.Load("six-regions", spec.Options{})
	if err != nil {
		return s, err
	}
	s = scenarios.Moved(s, protocol.At(time.Now()).Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
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
