package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// drawQueue draws gangs and jobs of a pod or two that come within half an hour, on a site of so many nodes: most
// have to wait for others, and where those leave a node empty, it sleeps.
func drawQueue(dice *rand.Rand, nodes int) (jobs []protocol.Job) {
	for n := range 7 {
		at := startTime.Add(time.Duration(dice.IntN(1800)) * time.Second)
		j := smallJob(fmt.Sprintf("job-%d-0", n), at, time.Duration(5+dice.IntN(25))*time.Minute)
		if j.GPUs += dice.IntN(2); dice.IntN(3) > 0 {
			j = j.WithPods([]protocol.Component{{Role: "worker", Pods: 1 + dice.IntN(nodes), GPUs: 2, Share: 1000, CPU: 1000, Memory: 512}})
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// What a site promises a gang holds though its nodes sleep when they are empty: those that run before it may have
// to wake a node first, and end later by that.
func TestAPromiseToAGangAllowsForNodesThatWake(t *testing.T) {
	launched := 0
	for seed := range uint64(100) {
		dice := rand.New(rand.NewPCG(seed, 11))
		nodes := 2 + dice.IntN(3)
		p, err := newFaultRun(seed, FaultPlan{Sites: 1, Jobs: 1, Nodes: nodes, Sleep: true, MaxDelay: time.Millisecond, FaultPeriod: time.Second}, true)
		if err != nil {
			t.Fatal(err)
		}
		p.submitMore(drawQueue(dice, nodes)...)
		promised, begun := make(map[protocol.JobID]protocol.Time), make(map[protocol.JobID]bool)
		p.beforeSend = func(_ *simHost, m protocol.Message) bool {
			switch b := m.Body.(type) {
			case protocol.Accept:
				if promised[b.Job] == 0 && p.oracle.jobs[b.Job].job.IsGang() {
					promised[b.Job] = b.Start
				}
			case protocol.Decline:
				if at := promised[b.Job]; at != 0 {
					t.Errorf("seed %d: %s was promised a start at %s, and is given back at %s: %s", seed, b.Job, sinceStart(at), sinceStart(p.now), b.Why.Code)
				}
			case protocol.Launch:
				if at := promised[b.Job.ID]; at != 0 && !begun[b.Job.ID] { // while nodes wake a launch is said again
					begun[b.Job.ID] = true
					if launched++; p.now.Sub(at) > 5*time.Minute {
						t.Errorf("seed %d: %s was promised a start at %s, and is launched at %s", seed, b.Job.ID, sinceStart(at), sinceStart(p.now))
					}
				}
			}
			return false
		}
		if wrong := p.runToEnd(); wrong != nil {
			t.Errorf("seed %d: %v", seed, wrong.What)
		}
	}
	if launched < 250 {
		t.Errorf("%d gangs were launched; want 250, or this shows nothing", launched)
	}
}
