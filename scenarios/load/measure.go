package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/floor"
	"github.com/gridbid/gridbid/cluster-agent/hands"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/desk"
	"github.com/gridbid/gridbid/coordinator/lead"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/script"
)

// gather is how long the market waits for more jobs. A real one waits a second;
// here it would hide what is measured.
const gather = time.Millisecond

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
}

func measure(ctx context.Context, n int, flush bool, each, burst int) (r result, err error) {
	dir, err := os.MkdirTemp("", "gridbid-load-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	srv, err := natsbus.Serve(natsbus.Config{Listen: "127.0.0.1:0", Store: filepath.Join(dir, "nats"), Sync: flush})
	if err != nil {
		return r, err
	}
	defer srv.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := stage(n)
	if err != nil {
		return r, err
	}
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
	f.bids.clear()
	awards, err := f.oneByOne(ctx, "each", each)
	if err != nil {
		return r, err
	}
	r.Award, r.Bids = spreadOf(awards), f.bids.round(n)
	rounds, began := f.seen.rounds.Load(), time.Now()
	if err := f.manyAtOnce(ctx, burst, 64); err != nil {
		return r, err
	}
	took := time.Since(began).Seconds()
	r.JobsPerSecond, r.AuctionsPerSecond = float64(burst)/took, float64(f.seen.rounds.Load()-rounds)/took
	cancel()
	f.all.Wait()
	// The floor has the same server, which has nothing else to do by now.
	names := make([]string, n)
	for i, site := range s.Sites {
		names[i] = site.Name
	}
	round := floor.Round{Sites: names, Call: f.seen.call.mean(), Offer: f.seen.offer.mean(), Entry: f.seen.entry.mean()}
	hub := natsbus.Dial(srv.URL(), natsbus.PasswordsOf(srv))
	for _, to := range []struct {
		writes int
		floor  *spread
		aim    *time.Duration
	}{{0, &r.Floor, &r.Aim}, {writes, &r.Durable, &r.DurableAim}} {
		round.Writes = to.writes
		took, err := floor.Rounds(context.Background(), hub, round, max(each, 200))
		if err != nil {
			return r, err
		}
		*to.floor = spreadOf(took)
		*to.aim = 3*to.floor.P99 + r.Bids + gather
	}
	return r, nil
}

// stage returns n sites that look like those of the default scenario, with its
// days moved to now.
func stage(n int) (script.Scenario, error) {
	s, err := script.Load("six-regions", script.Options{})
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

// A federation lives in this process, over real connections.
type federation struct {
	dir    string
	script script.Scenario
	server *natsbus.Server
	awards chan protocol.JobID
	bids   bids
	seen   seen
	all    sync.WaitGroup
	submit func(id protocol.JobID) error
}

func (f *federation) dial() *natsbus.Hub {
	return natsbus.Dial(f.server.URL(), natsbus.PasswordsOf(f.server))
}

func (f *federation) start(ctx context.Context) error {
	quiet := slog.New(slog.DiscardHandler)
	d := desk.New()
	f.all.Go(func() {
		_ = lead.Run(ctx, lead.Config{
			Hub: f.dial(), Desk: d, Log: quiet, Told: f.told,
			Market: market.Config{Gather: gather, Terms: scenarios.Weights(f.script)},
			Rule:   func() auction.Rule { return auction.New(auction.Config{}) },
		})
	})
	for !d.Leading() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	now := protocol.At(time.Now())
	for _, place := range f.script.Sites {
		name := place.Name
		p, agent, err := scenarios.Settle(f.script, name, now, now.Add(30*24*time.Hour))
		if err != nil {
			return err
		}
		cfg := site.Config{
			Site: name, Folder: filepath.Join(f.dir, name), Agent: &timed{agent, &f.bids}, Far: f.dial(), Log: quiet,
			Beside: map[protocol.Party]site.Party{protocol.Hands(name): hands.Simulate(name, p.Hands), protocol.Feed(name): p.Feed},
		}
		f.all.Go(func() { _ = site.Run(ctx, cfg) })
	}
	port, err := f.dial().Join(ctx, protocol.Submitter)
	if err != nil {
		return err
	}
	f.all.Go(func() {
		for range port.Heard() { // what it is told, it need not know
		}
	})
	mouth := protocol.Mouth{Who: protocol.Submitter}
	f.submit = func(id protocol.JobID) error {
		now := protocol.At(time.Now())
		return port.Say(ctx, mouth.Say(now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
			ID: id, Tenant: "load", GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024,
			Arrival: now, Run: time.Second, Deadline: now.Add(10 * time.Second),
		}}))
	}
	return f.greet(ctx)
}

// greet waits until all sites are known and bid.
func (f *federation) greet(ctx context.Context) error {
	for i := range 200 {
		if err := f.submit(protocol.JobID(fmt.Sprintf("greet-%d", i))); err != nil {
			return err
		}
		select {
		case <-f.awards:
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if int(f.seen.offers.Swap(0)) == len(f.script.Sites) {
			return nil
		}
	}
	return errors.New("not all sites bid")
}

func (f *federation) oneByOne(ctx context.Context, prefix string, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		id, began := protocol.JobID(fmt.Sprintf("%s-%d", prefix, i)), time.Now()
		if err := f.submit(id); err != nil {
			return nil, err
		}
		for got := protocol.JobID(""); got != id; {
			var err error
			if got, err = f.award(ctx); err != nil {
				return nil, err
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}

func (f *federation) manyAtOnce(ctx context.Context, n, atOnce int) error {
	for said, heard := 0, 0; heard < n; {
		if said < n && said-heard < atOnce {
			if err := f.submit(protocol.JobID(fmt.Sprintf("many-%d", said))); err != nil {
				return err
			}
			said++
			continue
		}
		if _, err := f.award(ctx); err != nil {
			return err
		}
		heard++
	}
	return nil
}

func (f *federation) award(ctx context.Context) (protocol.JobID, error) {
	select {
	case id := <-f.awards:
		return id, nil
	case <-time.After(time.Minute):
		return "", errors.New("no award within a minute")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// cores is how many bids are planned at a time.
func cores() int { return runtime.GOMAXPROCS(0) }
