package bound

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A SearchConfig sets the effort of SearchBestKnown and what it starts from.
type SearchConfig struct {
	Steps int              // of local search; the same number gives the same schedule
	Runs  [][]JobPlacement // schedules of runs of the same scenario, to start from; may be empty
	Stop  func() error     // polled during the search; a non-nil error ends it; nil: never
}

// A JobPlacement is where and when a run had a job: its last run, if it had several.
type JobPlacement struct {
	Job     protocol.JobID `json:"job"`
	Site    string         `json:"site"`
	Node    string         `json:"node,omitempty"`  // "" if it held no GPUs
	Model   string         `json:"model,omitempty"` // of the GPUs
	Started protocol.Time  `json:"started_ms"`
	Ended   protocol.Time  `json:"ended_ms"`
}

// A BestKnown is the best schedule that a search found for a scenario, by V plus lateness:
// V is energy, carbon and transfer of the jobs plus the price of their waiting.
type BestKnown struct {
	ValueUSD  float64 `json:"value_usd"`  // V of the schedule
	LateUSD   float64 `json:"late_usd"`   // lateness of the schedule, at its price in force
	StartUSD  float64 `json:"start_usd"`  // V plus lateness of the cheapest run to start from; 0: none
	GreedyUSD float64 `json:"greedy_usd"` // V plus lateness of the best greedy schedule, after some steps
	BoundUSD  float64 `json:"bound_usd"`  // lower bound of V plus lateness, of any schedule
	Steps     int     `json:"steps"`      // that the search took
	Improved  int     `json:"improved"`   // steps that lowered V plus lateness
	Unplaced  int     `json:"unplaced"`   // jobs without a place in the schedule
	Replaced  int     `json:"replaced"`   // jobs of the run whose runs a schedule cannot represent, so the search placed them

	CostUSD   float64 `json:"cost_usd"`    // of the jobs' energy
	CarbonKg  float64 `json:"carbon_kg"`   // of the jobs' energy
	WaitMeanS float64 `json:"wait_mean_s"` // of the jobs with a place
	WaitP50S  float64 `json:"wait_p50_s"`  // the least wait that half of them do not exceed
}

// TotalUSD returns V plus lateness of the schedule.
func (k BestKnown) TotalUSD() float64 { return k.ValueUSD + k.LateUSD }

// A WideGangError says that no schedule is known of a day: schedules hold one node for each job, and
// a gang of the day has no place in them.
type WideGangError struct {
	Job  protocol.JobID
	GPUs float64 // of all its pods
}

// Error says which gang it is, and what can be had without a schedule.
func (e *WideGangError) Error() string {
	return fmt.Sprintf("no schedule can be searched for: job %s takes %g GPUs, more than any node that may run it has, and a schedule holds one node for each job; the bound alone counts it", e.Job, e.GPUs)
}

// firstWideGang returns an error about the first gang that runs at some site, but on no single node;
// nil if there is none. To leave it out would make a schedule look cheaper than any that does all jobs.
func (m *scenarioModeller) firstWideGang() error {
	for i := range m.p.jobs {
		j := &m.p.jobs[i]
		fits := func(w runConfig) bool { return w.pool < 0 || float64(m.p.pools[w.pool].Size) >= j.gpusOf(&w) }
		if m.scenario.Jobs[i].IsGang() && len(j.configs) > 0 && !slices.ContainsFunc(j.configs, fits) {
			return &WideGangError{Job: m.scenario.Jobs[i].ID, GPUs: j.gpus}
		}
	}
	return nil
}

// errOtherScenario says that a certificate cannot guide a search.
var errOtherScenario = errors.New("the certificate is of another scenario, of other weights, or includes idle power")

// SearchBestKnown searches for a schedule of a scenario with little V plus lateness: it
// starts from greedy schedules and from those of runs, and improves the best of them by
// local search at the capacity prices of a certificate. The result is never above any of
// its starts.
//
// A schedule runs each job once, from start to end. So a run's job that was paused has no
// place in it, and the search gives it one; of a job that ran several times, as an outage
// or a preemption ended its first run, the last run counts, without the energy of the others.
//
// A day with a gang that no node holds whole has no such schedule: the error is a WideGangError.
func SearchBestKnown(s spec.Scenario, c Certificate, cfg SearchConfig) (BestKnown, error) {
	s = s.WithPartsAsJobs()
	if c.Idle || c.Hash != s.Hash || c.Weights != scenarios.MarketWeights(s) {
		return BestKnown{}, fmt.Errorf("bound: %w: want one of the jobs of scenario %.12s", errOtherScenario, s.Hash)
	}
	m, err := newScenarioModel(s, false)
	if err != nil {
		return BestKnown{}, err
	}
	if err := m.firstWideGang(); err != nil {
		return BestKnown{}, fmt.Errorf("bound: %w", err)
	}
	p := m.p
	p.stop = cfg.Stop
	if err := p.loadPrices(c.Pools); err != nil {
		return BestKnown{}, err
	}
	p.outages = m.outagesByPool()
	out := BestKnown{BoundUSD: c.BoundUSD}
	search := p.newKnownSearch()
	search.tryGreedyStarts(cfg.Steps / 16)
	out.GreedyUSD = search.least / 1e6
	start, replaced, err := m.leastSchedule(cfg.Runs)
	if err != nil {
		return BestKnown{}, err
	}
	if start != nil {
		v, _ := start.totalCost()
		out.StartUSD, out.Replaced = v/1e6, replaced
		search.tryStart(start, cfg.Steps/16)
	}
	search.improveBest(cfg.Steps - search.steps)
	if p.isStopped() {
		return BestKnown{}, fmt.Errorf("bound: %w", p.stop())
	}
	out.Steps, out.Improved = search.steps, search.improved
	return out, m.fillFigures(&out, search.best)
}

// leastSchedule returns the schedule of the run that costs the least, with the number of its
// jobs that were placed anew; nil if there are no runs.
func (m *scenarioModeller) leastSchedule(runs [][]JobPlacement) (best *clairvoyantSchedule, replaced int, err error) {
	least := math.Inf(1)
	for _, run := range runs {
		s, n, err := m.scheduleOfRun(run)
		if err != nil {
			return nil, 0, err
		}
		if v, _ := s.totalCost(); v < least {
			best, least, replaced = s, v, n
		}
	}
	return best, replaced, nil
}

// fillFigures adds the figures of a schedule to k.
func (m *scenarioModeller) fillFigures(k *BestKnown, s *clairvoyantSchedule) error {
	total, out := s.totalCost()
	late := s.latenessCost()
	k.ValueUSD, k.LateUSD, k.Unplaced = (total-late)/1e6, late/1e6, out
	money, err := m.ratesAt(0)
	if err != nil {
		return err
	}
	const kilogram = 1_000_000 // microdollars: a dollar a kilogram, so that dollars of carbon are kilograms
	both, err := m.ratesAt(kilogram)
	if err != nil {
		return err
	}
	var waits []float64
	for i, x := range s.placements {
		if x.config < 0 {
			continue
		}
		j := &m.p.jobs[i]
		w := &j.configs[x.config]
		energy := func(r cumulativeRates) float64 {
			return float64(w.power * (interpolateSum(r.prefixSums, x.start+w.length) - interpolateSum(r.prefixSums, x.start)))
		}
		paid := energy(money[w.site])
		k.CostUSD += paid / 1e6
		k.CarbonKg += (energy(both[w.site]) - paid) / 1e6
		waits = append(waits, (x.start-j.arrival)*slotLength.Seconds())
	}
	if n := len(waits); n > 0 {
		slices.Sort(waits)
		k.WaitP50S = waits[(n-1)/2]
		for _, v := range waits {
			k.WaitMeanS += v / float64(n)
		}
	}
	return nil
}

// ratesAt returns the costs of a kilowatt by site with carbon at another price per kilogram.
func (m *scenarioModeller) ratesAt(carbon protocol.Microdollars) ([]cumulativeRates, error) {
	x := *m
	x.weights.Carbon, x.p = carbon, &boundProblem{end: m.p.end}
	for _, site := range m.scenario.Sites {
		if err := x.addSiteRates(site); err != nil {
			return nil, err
		}
	}
	return x.p.sites, nil
}

// latenessCost returns what the lateness of a schedule costs, jobs without a place included.
func (s *clairvoyantSchedule) latenessCost() (sum float64) {
	for i, x := range s.placements {
		j := &s.p.jobs[i]
		if x.config < 0 {
			sum += j.neverRunCost // all of it: V has no work that was not done
			continue
		}
		sum += j.lateCost(x.start + j.configs[x.config].length - j.deadline)
	}
	return sum
}

// outagesByPool returns the slots in which the nodes of each pool have no power.
func (m *scenarioModeller) outagesByPool() [][][2]float64 {
	out := make([][][2]float64, len(m.p.pools))
	for k, q := range m.p.pools {
		for _, site := range m.scenario.Sites {
			if site.Name != q.Site {
				continue
			}
			for _, o := range site.Outages {
				out[k] = append(out[k], [2]float64{m.slotOf(o.From), m.slotOf(o.To)})
			}
		}
	}
	return out
}

// sameLength is how far, in slots, the length of a run may be from that of its configuration:
// two seconds, as messages take time and the record is in whole seconds.
const sameLength = 2.0 / 900

// scheduleOfRun returns the schedule of a run: every job on the node and at the instant of the
// run. Jobs that ran in a way that no configuration has are placed anew: replaced counts them.
func (m *scenarioModeller) scheduleOfRun(run []JobPlacement) (s *clairvoyantSchedule, replaced int, err error) {
	p := m.p
	index := make(map[protocol.JobID]int, len(m.scenario.Jobs))
	for i, j := range m.scenario.Jobs {
		index[j.ID] = i
	}
	nodes := m.nodesInPools()
	s = newSchedule(p)
	for _, r := range run {
		i, ok := index[r.Job]
		if !ok {
			return nil, 0, fmt.Errorf("bound: job %s is not in scenario %.12s: start from a run of the same scenario", r.Job, m.scenario.Hash)
		}
		if m.scenario.Jobs[i].IsGang() {
			continue // it may have run on several nodes: it gets one
		}
		at := poolNode{-1, -1}
		if r.Node != "" && p.jobs[i].gpus > 0 {
			if at, ok = nodes[[2]string{r.Site, r.Node}]; !ok {
				continue
			}
		}
		if x, ok := m.placementOfRun(i, r, at); ok {
			s.placements[i] = x
			s.occupyPlacement(i, 1)
		}
	}
	for _, i := range p.orderJobs(func(j *jobModel) float64 { return j.gpus }) {
		if s.placements[i].config < 0 {
			s.placeJob(i, true)
			replaced++
		}
	}
	return s, replaced, nil
}

// A poolNode is a node as schedules name it: by its pool and its place there; -1: none.
type poolNode struct{ pool, node int }

// nodesInPools returns the nodes with GPUs of all sites, by site and name.
func (m *scenarioModeller) nodesInPools() map[[2]string]poolNode {
	out := make(map[[2]string]poolNode)
	used := make([]int, len(m.p.pools))
	for _, site := range m.scenario.Sites {
		for _, n := range site.Nodes {
			k := slices.IndexFunc(m.p.pools, func(q gpuPool) bool { return q.Site == site.Name && q.Model == n.Model && q.Size == n.GPUs })
			if k >= 0 {
				out[[2]string{site.Name, n.Name}] = poolNode{k, used[k]}
				used[k]++
			}
		}
	}
	return out
}

// placementOfRun returns the placement of job i by a run: the configuration of its site and
// pool whose length is nearest to the run's. False means that none is near.
func (m *scenarioModeller) placementOfRun(i int, r JobPlacement, at poolNode) (placement, bool) {
	j := &m.p.jobs[i]
	start, length := m.slotOf(r.Started), float64(r.Ended-r.Started)/float64(slotLength.Milliseconds())
	best, off := -1, sameLength
	for k := range j.configs {
		w := &j.configs[k]
		if m.scenario.Sites[w.site].Name != r.Site || w.pool != at.pool {
			continue
		}
		if d := math.Abs(w.length - length); d <= off {
			best, off = k, d
		}
	}
	if best < 0 || start < j.arrival {
		return placement{}, false
	}
	// A run may hold cells of time together with its neighbours, as cells are coarser than seconds;
	// no new placement is ever put there.
	return placement{best, at.node, start, m.p.costWithoutRoom(j, &j.configs[best], start)}, true
}

// PlacementsOf returns the schedule of a run from its completed jobs. It leaves out jobs that
// were paused, as a schedule cannot represent them.
func PlacementsOf(ran []scenarios.CompletedJob) (out []JobPlacement) {
	for _, r := range ran {
		if len(r.PausedSegments) == 0 {
			out = append(out, JobPlacement{Job: r.Job, Site: r.Site, Node: r.Node, Model: r.Model, Started: r.Started, Ended: r.Ended})
		}
	}
	return out
}
