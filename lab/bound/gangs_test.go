package bound

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// gangDayOfTwoKinds is a day with gangs at sites with nodes of two and of four GPUs of one model.
func gangDayOfTwoKinds(most int) spec.Scenario {
	s := gangDay(60, most)
	for i := range s.Sites {
		for k := range s.Sites[i].Nodes {
			n := &s.Sites[i].Nodes[k]
			n.Model, n.GPUs = "T4", 2+2*(k%2)
		}
	}
	for i := range s.Jobs {
		s.Jobs[i].Models = nil
	}
	s.Hash += " of one model"
	return s
}

func TestThePartsOfAGapOfAGangOverKindsOfNodeAddUp(t *testing.T) {
	addUp(t, gangDayOfTwoKinds(8))
}

// A gang on nodes of two kinds holds of each what its pods there hold: capacity that another kind's price
// would count is neither used nor free.
func TestAGangIsCountedOnEachKindOfItsNodes(t *testing.T) {
	s := gangDayOfTwoKinds(4)
	c := certify(t, s, false)
	const dear, cheap = 3_000_000, 1_000_000 // microdollars for a GPU-hour, on nodes of four and of two
	slots := 0
	for i := range c.Pools {
		q := &c.Pools[i]
		q.Values = make([]protocol.Microdollars, 8)
		slots = len(q.Values)
		for t := range q.Values {
			q.Values[t] = map[int]protocol.Microdollars{2: cheap, 4: dear}[q.Size]
		}
	}
	site, j := s.Sites[0], s.Jobs[0]
	var node [5]string
	worth := 0.0
	for _, n := range site.Nodes {
		node[n.GPUs] = n.Name
		worth += float64(n.GPUs*slots) * slotHours * map[int]float64{2: cheap, 4: dear}[n.GPUs] / 1e6
	}
	started := protocol.Time(c.From)
	pods := j.Pods[0].Pods
	ran := []scenarios.CompletedJob{{
		Job: j.ID, Site: site.Name, Node: node[2], Model: "T4", Started: started, Ended: started.Add(time.Hour),
		Places: []protocol.Place{{Pods: 1, Node: node[2]}, {Pods: pods - 1, Node: node[4]}},
	}}
	got, err := ExplainGap(s, c, ran, 0)
	if err != nil {
		t.Fatal(err)
	}
	small, large := float64(j.Pods[0].GPUs), float64((pods-1)*j.Pods[0].GPUs)
	if want := worth - (small*cheap+large*dear)/1e6; math.Abs(got.Idle[0].USD-want) > 1e-6 {
		t.Errorf("the site left capacity of $%.6f idle; want $%.6f: %g GPUs at $1 and %g at $3 are held for an hour", got.Idle[0].USD, want, small, large)
	}
	if len(got.Groups) != 1 || got.Groups[0].GPUs != j.GPUs || got.Groups[0].HourUSD < 0 || got.Groups[0].WayUSD < 0 {
		t.Errorf("groups = %+v; want the gang's alone", got.Groups)
	}
}

// The largest gangs have groups of their own: what they pay is not hidden in the rest.
func TestGangsOfAThousandGPUsAreAGroup(t *testing.T) {
	e := gapExplainer{groups: map[JobGroup]*JobGroup{{GPUs: 1024}: {}, {GPUs: 8, Long: true}: {}, {GPUs: 8}: {}}}
	if got := e.bookedSizes(); !slices.Equal(got, []int{8, 1024}) {
		t.Errorf("bookedSizes() = %v; want 8 and 1024", got)
	}
}

// exactOnNodes returns the least cost of all schedules of whole nodes, which start at half slots, by trying
// every one: each pod of one GPU has a node, all pods of a job start at once, and a job may be on nodes of
// all sizes.
func exactOnNodes(p *boundProblem, sizes []float64) float64 {
	const half, horizon = 2, 20
	held := make([][]float64, len(sizes))
	for i := range held {
		held[i] = make([]float64, 4*horizon*half)
	}
	least := make([]float64, len(p.jobs)+1) // of a job and all after it, wherever they are
	for i := len(p.jobs) - 1; i >= 0; i-- {
		j := &p.jobs[i]
		cheapest := math.Inf(1)
		for c := int(math.Ceil(j.arrival * half)); c < horizon*half; c++ {
			cheapest = min(cheapest, p.costWithoutRoom(j, &j.configs[0], float64(c)/half))
		}
		least[i] = least[i+1] + cheapest
	}
	best := math.Inf(1)
	var try func(i int, soFar float64)
	var place func(i, node int, pods float64, c int, soFar float64)
	// place puts what is left of a job's pods on nodes from node on, in every way.
	place = func(i, node int, pods float64, c int, soFar float64) {
		if pods == 0 {
			try(i+1, soFar)
		}
		if pods == 0 || node == len(sizes) {
			return
		}
		for k := 0.0; k <= pods; k++ {
			line := held[node][c : c+int(p.jobs[i].configs[0].length*half)]
			if slices.ContainsFunc(line, func(h float64) bool { return h+k > sizes[node] }) {
				break
			}
			for x := range line {
				line[x] += k
			}
			place(i, node+1, pods-k, c, soFar)
			for x := range line {
				line[x] -= k
			}
		}
	}
	try = func(i int, soFar float64) {
		if i == len(p.jobs) {
			best = min(best, soFar)
			return
		}
		j := &p.jobs[i]
		for c := int(math.Ceil(j.arrival * half)); c < horizon*half; c++ {
			if cost := soFar + p.costWithoutRoom(j, &j.configs[0], float64(c)/half); cost+least[i+1] < best {
				place(i, 0, j.gpus, c, cost)
			}
		}
	}
	try(0, 0)
	return best
}

// The bound is below the best schedule of gangs on whole nodes, of two kinds at a site, found by trying all.
func TestTheBoundIsABoundOfGangsOnSmallClusters(t *testing.T) {
	spread := 0
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		p.pools = p.pools[:1]
		p.pools[0].GPUs = 2
		second := p.pools[0]
		second.Size, second.GPUs = 1, float64(rapid.IntRange(0, 2).Draw(t, "small nodes"))
		second.price, second.sums = make([]float64, p.slots), make([]float64, p.end+1)
		p.pools = append(p.pools, second)
		p.jobs = p.jobs[:min(len(p.jobs), 3)]
		for i := range p.jobs {
			j := &p.jobs[i]
			j.gpus = float64(rapid.IntRange(1, int(2+second.GPUs)).Draw(t, "pods"))
			if j.gpus > 2 {
				spread++
			}
			j.configs = j.configs[:1]
			j.configs = append(j.configs, j.configs[0])
			j.configs[0].pool, j.configs[1].pool = 0, 1
			j.configs[1].site = j.configs[0].site
			j.blocks, j.otherCost, j.droppedBlocks = nil, 0, 0
			p.splitIntoBlocks(j, 3)
		}
		sizes := []float64{2, 1, 1}[:1+int(second.GPUs)]
		bound, best := p.subgradientSearch(60), exactOnNodes(p, sizes)
		if bound > best+1e-6 {
			t.Fatalf("bound %v; a schedule on nodes costs %v", bound, best)
		}
	})
	if spread == 0 {
		t.Error("no gang needs two nodes: the test shows nothing")
	}
}
