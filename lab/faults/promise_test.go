package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// newSlowRun returns a run without faults of one site of so many nodes, whose messages take one to two seconds, and of these jobs beside one that is soon over.
func newSlowRun(t *testing.T, seed uint64, nodes int, jobs []protocol.Job) *faultRun {
	t.Helper()
	for s := seed * 1000; s < seed*1000+100; s++ {
		p, err := newFaultRun(s, FaultPlan{Sites: 1, Jobs: 1, MaxDelay: time.Millisecond, Slow: 2 * time.Second, FaultPeriod: time.Second}, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.oracle.has) != nodes {
			continue
		}
		p.submitMore(jobs...)
		return p
	}
	t.Fatalf("no seed draws a site of %d nodes", nodes)
	return nil
}

// submitMore has the submitter submit more jobs.
func (p *faultRun) submitMore(jobs ...protocol.Job) {
	for _, j := range jobs {
		p.oracle.expectJob(j)
		p.oracle.submitter.jobs = append(p.oracle.submitter.jobs, j)
		p.oracle.submitter.next = append(p.oracle.submitter.next, j.Arrival)
	}
	for _, h := range p.hosts {
		h.armTimer()
	}
}

// smallJob returns a job of one GPU that cannot wait for a cheaper hour.
func smallJob(id string, at protocol.Time, run time.Duration) protocol.Job {
	return protocol.Job{
		ID: protocol.JobID(id), Tenant: "lab", GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024, Run: run.Truncate(time.Second),
		Arrival: at, Deadline: at.Add(20 * time.Hour), Urgency: protocol.StandardOrNow(false),
	}
}

// drawStream draws jobs of one GPU that hold all GPUs of a site, and those that come after them, and a job that
// needs the whole site.
func drawStream(dice *rand.Rand, nodes int) (jobs []protocol.Job, large protocol.Job) {
	for k := range 2 * nodes {
		for n := range 2 {
			at := startTime.Add(time.Duration(n)*15*time.Minute + time.Duration(dice.IntN(60_000))*time.Millisecond)
			jobs = append(jobs, smallJob(fmt.Sprintf("job-%d-%d", k, n), at, 20*time.Minute+time.Duration(dice.IntN(60))*time.Second))
		}
	}
	large = smallJob("job-large", startTime.Add(5*time.Minute), 10*time.Minute)
	large.GPUs, large.CPU = 2, 2000
	if nodes > 1 {
		large = large.WithPods([]protocol.Component{{Role: "worker", Pods: nodes, GPUs: 2, Share: 1000, CPU: 1000, Memory: 512}})
	}
	return append(jobs, large), large
}

// What a site promises a job that waits for whole nodes holds while its messages take a second or two: the runs
// before it end late by what messages take, and jobs come, start and end in the meantime.
func TestAPromisedStartHoldsThoughMessagesAreSlow(t *testing.T) {
	for seed := range uint64(40) {
		for _, nodes := range []int{1, 2} {
			dice := rand.New(rand.NewPCG(seed, 7))
			jobs, large := drawStream(dice, nodes)
			p := newSlowRun(t, seed, nodes, jobs)
			var promised, started protocol.Time
			p.beforeSend = func(_ *simHost, m protocol.Message) bool {
				switch b := m.Body.(type) {
				case protocol.Accept:
					if b.Job == large.ID && promised == 0 {
						promised = b.Start
						for n := range 4 { // they come about when the runs before it end
							at := promised.Add(time.Duration(dice.IntN(10_000)-5000) * time.Millisecond)
							p.scheduleAfter(0, func() { p.submitMore(smallJob(fmt.Sprintf("job-late-%d", n), at, 3*time.Minute)) })
						}
					}
				case protocol.Decline:
					if b.Job == large.ID && promised != 0 {
						p.reportViolation("%s was promised a start at %s, and is given back: %s", b.Job, sinceStart(promised), b.Why.Code)
					}
				case protocol.Launch:
					if b.Job.ID == large.ID {
						started = p.now
					}
				}
				return false
			}
			if wrong := p.runToEnd(); wrong != nil {
				t.Errorf("seed %d, %d nodes: %v", seed, nodes, wrong.What)
			}
			if promised == 0 || started.Sub(promised) > time.Minute {
				t.Errorf("seed %d, %d nodes: promised %s, started %s", seed, nodes, sinceStart(promised), sinceStart(started))
			}
		}
	}
}
