package bound

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// gangDay is day with twice the nodes, on which every sixth job is a gang of pods of one GPU or two.
// The gangs have at most so many GPUs; nodes have two or four, and two of a site are of one model.
func gangDay(n, most int) spec.Scenario {
	s := day(n)
	s.Hash += fmt.Sprint(" with gangs of ", most)
	for i := range s.Sites {
		for _, more := range s.Sites[i].Nodes {
			more.Name += "-b"
			s.Sites[i].Nodes = append(s.Sites[i].Nodes, more)
		}
	}
	for i := range s.Jobs {
		if i%6 == 0 && s.Jobs[i].GPUs > 0 {
			gpus := 1 + i/6%2
			s.Jobs[i] = s.Jobs[i].WithPods([]protocol.Component{
				{Role: "worker", Pods: most / gpus, GPUs: gpus, Share: 1000, CPU: 2000, Memory: 8 << 10}})
		}
	}
	return s
}

// No policy beats the bound of a day with gangs that need several nodes, and all of them run.
func TestNoPolicyBeatsTheBoundOfADayWithGangs(t *testing.T) {
	for _, most := range []int{4, 6, 8} {
		s := gangDay(60, most)
		jobs, all := certify(t, s, false), certify(t, s, true)
		for _, policy := range []string{scenarios.PolicyAuction, "home-fifo", "k8s-least-allocated"} {
			res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
			if err != nil {
				t.Fatal(err)
			}
			gangs, wide := 0, 0
			for _, r := range scenarios.CompletedJobs(res.History, jobs.Weights) {
				if j, ok := res.History.LatestJob(r.Job); ok && j.Job.IsGang() {
					if gangs++; len(j.Run.NodeNames()) > 1 {
						wide++
					}
				}
			}
			of, with := busy(res, jobs.Weights), res.Totals.ObjectiveUSD
			if gangs < 9 || most > 4 && wide != gangs {
				t.Errorf("%s, gangs of %d: %d ended, %d on several nodes", policy, most, gangs, wide)
			}
			if of < jobs.BoundUSD || with < all.BoundUSD {
				t.Errorf("%s, gangs of %d: $%.4f, with idle nodes $%.4f; the bounds are $%.4f and $%.4f", policy, most, of, with, jobs.BoundUSD, all.BoundUSD)
			}
			t.Logf("%-20s gangs of %d  $%.3f against $%.3f; with idle $%.3f against $%.3f", policy, most, of, jobs.BoundUSD, with, all.BoundUSD)
		}
	}
}

// A schedule holds one node for a job. Of a day with a gang that no node holds whole there is none, and
// not one without the gang, which would look cheaper than any that does all jobs.
func TestNoScheduleIsKnownOfADayWithAGangOfSeveralNodes(t *testing.T) {
	s := gangDay(40, 6)
	_, err := SearchBestKnown(s, certify(t, s, false), SearchConfig{Steps: 20})
	var wide *WideGangError
	if !errors.As(err, &wide) || wide.Job != "job-0000" || wide.GPUs != 6 || !strings.Contains(err.Error(), "job-0000 takes 6 GPUs") {
		t.Errorf("SearchBestKnown = %v; want a WideGangError about job-0000", err)
	}
	if _, err := ComputeCertificate(s, Config{Steps: 5, Rounds: 5}); !errors.As(err, &wide) {
		t.Errorf("ComputeCertificate with a schedule = %v; want a WideGangError", err)
	}

	// Gangs of four GPUs may be on one node.
	s = gangDay(40, 4)
	c := certify(t, s, false)
	usd, _, run := replayed(t, s, scenarios.PolicyAuction)
	k, err := SearchBestKnown(s, c, SearchConfig{Steps: 200, Runs: [][]JobPlacement{run}})
	if err != nil || k.Unplaced != 1 || k.TotalUSD() < c.BoundUSD-1e-3 {
		t.Errorf("SearchBestKnown = %+v, %v; the bound is $%.4f, a run cost $%.4f", k, err, c.BoundUSD, usd)
	}

	// A gang that no site holds is refused by every policy, and stands in no schedule's way.
	s.Jobs[0] = s.Jobs[0].WithPods([]protocol.Component{{Role: "worker", Pods: 40, GPUs: 4, Share: 1000, CPU: 1000}})
	s.Jobs[0].Deadline = s.Jobs[0].Arrival.Add(s.Jobs[0].Run + 8*time.Hour)
	s.Hash += " and one of 160"
	if k, err = SearchBestKnown(s, certify(t, s, false), SearchConfig{Steps: 20}); err != nil || k.Unplaced != 2 {
		t.Errorf("SearchBestKnown = %+v, %v; want two jobs without a place", k, err)
	}
}
