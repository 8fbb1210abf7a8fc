package live

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Over a real server: with the coordinator away, a site runs the jobs that its queue submits; when it is back
// each is awarded to the site that ran it, and paid once.
func TestASiteRunsItsOwnJobsWithoutACoordinator(t *testing.T) {
	t.Parallel()
	s, err := spec.LoadScenario("six-regions", spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := newFederation(t, spec.Scenario{Name: s.Name, Start: s.Start}, 10)
	name := s.Sites[0].Name
	s.Sites[0].Terms.Own = []string{name + "/ops"}
	site, err := scenarios.SimulateSite(s, name, s.Start, s.Start.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := site.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	jobs := make(chan protocol.Job)
	var launched, settled, paid atomic.Int64
	cfg.FederationBus, cfg.Clock = &f.server.Bus, f.clock
	cfg.Heartbeat = 200 * time.Millisecond // alone after three seconds
	cfg.OnSent = func(received, sent []protocol.Message) {
		for _, m := range received {
			if x, ok := m.Body.(protocol.Settlement); ok {
				settled.Add(1)
				paid.Add(int64(x.Paid))
			}
		}
		for _, m := range sent {
			if l, ok := m.Body.(protocol.Launch); ok && l.Epoch == 1 {
				launched.Add(1)
			}
		}
	}
	cfg.Queue = func(ctx context.Context, conn bus.Conn, incarnation uint32) error {
		sender := protocol.Sender{Party: protocol.QueueParty(name), Incarnation: incarnation}
		var open []protocol.Job
		again := time.NewTicker(time.Second)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case j := <-jobs:
				open = append(open, j)
			case <-again.C:
			case <-conn.Messages():
				continue
			}
			for _, j := range open {
				if err := conn.Send(ctx, sender.NewMessage(f.clock.Now(), protocol.Coordinator, protocol.Submit{Job: j})); err != nil {
					return err
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runtime.RunSite(ctx, cfg) }()
	t.Cleanup(func() { cancel(); <-done })
	const n = 3
	for i := range n {
		now := f.clock.Now()
		jobs <- protocol.Job{
			ID: protocol.JobID(name + "/" + string(rune('a'+i))), Tenant: name + "/ops", GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024,
			Arrival: now, Run: time.Minute, Deadline: now.Add(time.Hour),
		}
	}
	until(t, "the site starts its jobs without a coordinator", func() bool { return launched.Load() >= n })
	_, end := f.lead(t.TempDir())
	defer end()
	until(t, "each is settled", func() bool { return settled.Load() >= n })
	if settled.Load() != n || paid.Load() <= 0 {
		t.Errorf("%d settlements of %d jobs, %d paid", settled.Load(), n, paid.Load())
	}
}
