//go:build kube

package clusters

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// A submitter submits jobs and records how they end.
type submitter struct {
	testing.TB
	port   bus.Conn
	sender protocol.Sender
	ended  map[protocol.JobID]protocol.Body
}

func newSubmitter(t testing.TB, hub bus.Bus) *submitter {
	port, err := hub.Connect(t.Context(), protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	return &submitter{TB: t, port: port, sender: protocol.Sender{Party: protocol.Submitter}, ended: make(map[protocol.JobID]protocol.Body)}
}

// submit submits a job of some GPUs that runs for a while. Notes annotate its pod.
func (s *submitter) submit(id string, gpus int, share protocol.Milli, run time.Duration, notes ...map[string]string) {
	s.Helper()
	all := make(map[string]string)
	for _, n := range notes {
		maps.Copy(all, n)
	}
	s.submitJob(newJob(id, gpus, share, 4*max(run, time.Second)), run, all)
}

// newJob returns a job that is wanted now, and runs so long on a V100.
func newJob(id string, gpus int, share protocol.Milli, run time.Duration) protocol.Job {
	now := WallClock()
	j := protocol.Job{Urgency: protocol.UrgencyNow, ID: protocol.JobID(id), Tenant: "vision", GPUs: gpus, Share: share, CPU: 4000, Memory: 16 << 10,
		Arrival: now, Run: run, Deadline: now.Add(time.Hour)}
	if share < 1000 {
		j.GPUMemory = protocol.MiB(int64(share) * 80 << 10 / 1000)
	}
	return j
}

// submitJob submits a job whose pod ends after run, with annotations.
func (s *submitter) submitJob(j protocol.Job, run time.Duration, notes map[string]string) {
	s.Helper()
	m := s.sender.NewMessage(j.Arrival, protocol.Coordinator, protocol.Submit{Job: j, Task: kubetest.BatchJobTask(run, 1, 0, notes)})
	if err := s.port.Send(s.Context(), m); err != nil {
		s.Fatal(err)
	}
}

// await receives messages until n jobs have ended.
func (s *submitter) await(n int, limit time.Duration) {
	s.Helper()
	over := time.After(limit)
	for len(s.ended) < n {
		select {
		case m := <-s.port.Messages():
			switch b := m.Body.(type) {
			case protocol.Settlement:
				if s.ended[b.Job] != nil {
					s.Errorf("%s ended twice: %v, then %v", b.Job, s.ended[b.Job], b)
				}
				s.ended[b.Job] = b
			case protocol.Reject:
				s.ended[b.Job] = b
			}
		case <-over:
			s.Fatalf("%d of %d jobs ended within %v", len(s.ended), n, limit)
		}
	}
}

func (s *submitter) settled(site string) (n int) {
	for _, b := range s.ended {
		if x, ok := b.(protocol.Settlement); ok && (site == "" || x.Site == site) {
			n++
		}
	}
	return n
}

// A registrationBus is a bus that signals when a site registers.
type registrationBus struct {
	bus.Bus
	rings chan string
}

type ringing struct {
	bus.Conn
	rings chan string
}

func newHub() registrationBus { return registrationBus{new(membus.Bus), make(chan string, 64)} }

func (d registrationBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	p, err := d.Bus.Connect(ctx, who)
	return ringing{p, d.rings}, err
}

func (r ringing) Send(ctx context.Context, ms ...protocol.Message) error {
	err := r.Conn.Send(ctx, ms...)
	for _, m := range ms {
		if h, ok := m.Body.(protocol.RegisterSite); ok && len(h.Pools) > 0 {
			select {
			case r.rings <- h.Site:
			default:
			}
		}
	}
	return err
}

// await waits until so many sites have registered.
func (d registrationBus) await(t testing.TB, sites int) {
	t.Helper()
	known := make(map[string]bool)
	for len(known) < sites {
		select {
		case s := <-d.rings:
			known[s] = true
		case <-time.After(3 * time.Minute):
			t.Fatalf("sites %v introduced themselves; want %d", known, sites)
		}
	}
}

// open starts a federation without sites, cleared by the auction.
func open(t testing.TB, hub bus.Bus) (*LiveTestbed, context.Context) {
	return openUnder(t, hub, scenarios.PolicyAuction)
}

// openUnder starts a federation without sites, cleared by the rule of a policy.
func openUnder(t testing.TB, hub bus.Bus, policy string) (*LiveTestbed, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := StartMarket(ctx, hub, policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); s.AwaitParties() })
	return s, ctx
}

// add starts a site, with a data folder of its own unless it has one.
func (s *LiveTestbed) add(ctx context.Context, t testing.TB, x LiveSite) (stop func()) {
	t.Helper()
	if x.DataDir == "" {
		x.DataDir = t.TempDir()
	}
	stop, err := s.StartSite(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// shapes are the kinds of jobs that are submitted, in turn.
var shapes = []struct {
	gpus  int
	share protocol.Milli
}{{1, 1000}, {1, 250}, {1, 500}, {2, 1000}, {1, 330}, {1, 700}, {1, 250}, {1, 100}}

func TestAThousandJobsOnAHundredNodes(t *testing.T) {
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(100, "oslo")
	o := c.StartOracle()
	hub := newHub()
	s, ctx := open(t, hub)
	sub := newSubmitter(t, hub)
	s.add(ctx, t, LiveSite{Config: executor.Config{Site: "oslo", Sharing: kube.SharingDRA}, Kubeconfig: c.AgentKubeconfig("dra", "default"), Price: 40_000, Carbon: 30_000})
	hub.await(t, 1)
	const jobs = 1000
	began := time.Now()
	for i := range jobs {
		x := shapes[i%len(shapes)]
		sub.submit(fmt.Sprintf("job-%04d", i), x.gpus, x.share, 20*time.Second)
	}
	sub.await(jobs, 8*time.Minute)
	took := time.Since(began)
	ran := o.StopAndCheck()
	if len(ran) != jobs || sub.settled("oslo") != jobs {
		t.Errorf("%d jobs ran, %d were settled; want %d", len(ran), sub.settled("oslo"), jobs)
	}
	for id, n := range ran {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	t.Logf("%d jobs in %v; at most %d pods at once; the oracle saw %d events", jobs, took.Round(time.Second), o.MaxBoundPods, o.Events)
}

// A federation over three control planes: each job runs once, at any site. Then one
// control plane dies with its jobs, and the others take over; and a site's process
// is killed with jobs running, and restarts.
func TestThreeControlPlanes(t *testing.T) {
	t.Parallel() // it waits for most of its time
	hub := newHub()
	s, ctx := open(t, hub)
	sub := newSubmitter(t, hub)
	names := []string{"bern", "lyon", "oslo"}
	planes, oracles := map[string]*kubetest.Cluster{}, map[string]*kubetest.Oracle{}
	sites, stops := map[string]LiveSite{}, map[string]func(){}
	for i, name := range names {
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(2, name)
		planes[name], oracles[name] = c, c.StartOracle()
		sites[name] = LiveSite{
			Config:     executor.Config{Site: name, Sharing: kube.SharingDevicePlugin, AbandonAfter: 8 * time.Second},
			Kubeconfig: c.AgentKubeconfig("plugin", "default"), DataDir: t.TempDir(), Price: 40_000, Carbon: protocol.Milligrams(20_000 * (i + 1)),
		}
		stops[name] = s.add(ctx, t, sites[name])
	}
	hub.await(t, 3)
	for i := range 30 { // more than one site's GPUs
		sub.submit(fmt.Sprintf("first-%02d", i), 1, 1000, 2*time.Second)
	}
	sub.await(30, 5*time.Minute)
	t.Logf("bern ran %d, lyon %d, oslo %d", sub.settled("bern"), sub.settled("lyon"), sub.settled("oslo"))

	// A site dies in mid-flight and comes back.
	for i := range 10 {
		sub.submit(fmt.Sprintf("second-%02d", i), 1, 1000, 8*time.Second)
	}
	time.Sleep(3 * time.Second)
	stops["bern"]()
	time.Sleep(time.Second)
	stops["bern"] = s.add(ctx, t, sites["bern"])
	sub.await(40, 5*time.Minute)

	// A plane dies with its nodes, its jobs go elsewhere.
	before := sub.settled("bern")
	for i := range 10 {
		sub.submit(fmt.Sprintf("third-%02d", i), 1, 1000, 20*time.Second)
	}
	time.Sleep(5 * time.Second)
	planes["bern"].StopPlane()
	sub.await(50, 5*time.Minute)
	t.Logf("after bern's plane died it settled %d more, the others took the rest", sub.settled("bern")-before)
	if n := sub.settled(""); n != 50 || sub.settled("bern") != before {
		t.Errorf("%d of 50 jobs were settled, %d with a site that is dead", n, sub.settled("bern")-before)
	}
	ran := map[string]int{}
	for _, name := range names {
		for job, n := range oracles[name].StopAndCheck() {
			ran[job] += n
		}
	}
	for i := range 50 {
		job := fmt.Sprintf("%s-%02d", []string{"first", "first", "first", "second", "third"}[i/10], i%10)
		if i < 30 {
			job = fmt.Sprintf("first-%02d", i)
		}
		if ran[job] != 1 {
			t.Errorf("%s ran %d times to its end", job, ran[job])
		}
	}
}
