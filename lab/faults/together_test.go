package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// newBusyRun returns a run without faults of two sites of one node each, whose jobs keep both full, and of a job whose two
// parts need one site each.
func newBusyRun(t *testing.T, seed uint64) (p *faultRun, whole protocol.Job) {
	t.Helper()
	for s := seed * 1000; s < seed*1000+100; s++ {
		p, err := newFaultRun(s, FaultPlan{Sites: 2, Jobs: 1, MaxDelay: time.Millisecond, FaultPeriod: time.Second}, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.oracle.has) != 2 {
			continue
		}
		dice := rand.New(rand.NewPCG(seed, 9))
		var jobs []protocol.Job
		for n, at := 0, time.Duration(0); at < 40*time.Minute; n, at = n+1, at+time.Duration(1+dice.IntN(240))*time.Second {
			j := smallJob(fmt.Sprintf("job-%d-0", n), startTime.Add(at), time.Duration(2+dice.IntN(14))*time.Minute)
			j.GPUs += dice.IntN(2)
			jobs = append(jobs, j)
		}
		whole = smallJob("job-wide", startTime.Add(10*time.Minute), 10*time.Minute)
		whole, _ = whole.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 2, Share: 1000, CPU: 1000, Memory: 512}}).WithEqualParts(2)
		whole.MaxSites = 2
		p.submitMore(append(jobs, whole)...)
		return p, whole
	}
	t.Fatal("no seed draws two sites of one node")
	return nil, whole
}

// The bound of how long a job in parts waits, while other jobs come all the time and both sites are never free at
// once: soon after it came it is promised a start, no later than the ends of what was promised to others before it
// and the time in which nodes wake, and it starts then.
func TestAJobInPartsWaitsForWhatWasPromisedBeforeIt(t *testing.T) {
	waited := 0
	for seed := range uint64(40) {
		p, whole := newBusyRun(t, seed)
		run := make(map[protocol.JobID]time.Duration)
		var latest, awarded, start protocol.Time
		starts := 0
		p.beforeSend = func(_ *simHost, m protocol.Message) bool {
			switch b := m.Body.(type) {
			case protocol.Submit:
				run[b.Job.ID] = b.Job.Run
			case protocol.Accept:
				if awarded == 0 {
					latest = max(latest, b.Start.Add(run[b.Job]))
				}
			case protocol.Award:
				if strings.HasPrefix(string(b.Job), string(whole.ID)) {
					if awarded == 0 {
						awarded, start = p.now, b.Option.Start
					}
					if start > awarded.Add(time.Minute) && !strings.Contains(b.Why.Note, "all parts start together at") {
						t.Errorf("seed %d: %s was awarded for later: %+v", seed, b.Job, b.Why)
					}
				}
			case protocol.Launch:
				if b.Job.PartOf == whole.ID {
					starts++
					if late := p.now.Sub(max(start, awarded)); late > 16*time.Minute || b.Job.StartWith != 0 {
						t.Errorf("seed %d: %s starts %v after its promise", seed, b.Job.ID, late)
					}
				}
			}
			return false
		}
		if wrong := p.runToEnd(); wrong != nil {
			t.Fatalf("seed %d: %v", seed, wrong.What)
		}
		if awarded == 0 || awarded > whole.Arrival.Add(2*time.Minute) || start > max(latest, awarded).Add(5*time.Minute) || starts != 2 {
			t.Errorf("seed %d: came at %s, awarded at %s for %s in %d starts; others ran until %s", seed, sinceStart(whole.Arrival), sinceStart(awarded), sinceStart(start), starts, sinceStart(latest))
		}
		if start > awarded.Add(time.Minute) {
			waited++
		}
	}
	if waited < 20 {
		t.Errorf("only %d of 40 had to wait", waited)
	}
}
