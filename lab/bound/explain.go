package bound

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// CostBreakdown splits the difference between the cost of a run's jobs and a bound, in
// dollars, by cause, at the bound's prices of capacity. The parts add up: at these
// prices the bound is what jobs pay for their best choice, capacity included, minus
// the value of all capacity. So the excess of a run is what its jobs pay beyond their
// best choice, plus the value of capacity left idle.
type CostBreakdown struct {
	JobsUSD  float64        `json:"jobs_usd"`  // cost of the run's jobs
	BoundUSD float64        `json:"bound_usd"` //
	Groups   []JobGroup     `json:"groups"`    // by size, deferrability and length
	Idle     []IdleCapacity `json:"idle"`      // by site, in the order of the scenario
	RestUSD  float64        `json:"rest_usd"`  // interrupted runs, jobs that never ran, and rounding
}

// A JobGroup is the jobs of one size, deferrability and length (under two hours, or
// longer), and what they paid, capacity included, beyond their best choice.
type JobGroup struct {
	GPUs     int     `json:"gpus"` // 0: none, or a share of one GPU
	Waits    bool    `json:"can_wait"`
	Long     bool    `json:"long"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"` // held by the jobs
	SiteUSD  float64 `json:"site_usd"`  // best choice at their site minus best choice of all sites
	WayUSD   float64 `json:"way_usd"`   // best start for their way minus best choice at their site
	HourUSD  float64 `json:"hour_usd"`  // their start minus the best start for their way, without delay and lateness
	DelayUSD float64 `json:"delay_usd"` // of jobs that cannot be deferred
	LateUSD  float64 `json:"late_usd"`  //

	// PartsUSD concerns jobs that can be paused. For one that ran whole it is the
	// best whole run minus the best run in segments; for one that was paused, all
	// that it paid beyond the best except lateness, which is not split.
	PartsUSD float64 `json:"parts_usd"`
}

// TotalUSD returns all that the jobs of g paid beyond their best choices.
func (g JobGroup) TotalUSD() float64 {
	return g.SiteUSD + g.WayUSD + g.HourUSD + g.DelayUSD + g.LateUSD + g.PartsUSD
}

// An IdleCapacity is the capacity of a site that had a price and was left idle.
type IdleCapacity struct {
	Site     string  `json:"site"`
	GPUHours float64 `json:"gpu_hours"`
	USD      float64 `json:"usd"`
}

// longRunHours is the run time at the reference clock, in hours, from which a job counts as long.
const longRunHours = 2

// ExplainGap splits what a run of a scenario cost above the bound of a certificate:
// jobsUSD in total, with ran as the completed jobs. The certificate must bound the
// jobs alone, without idle power.
func ExplainGap(s spec.Scenario, c Certificate, ran []scenarios.CompletedJob, jobsUSD float64) (CostBreakdown, error) {
	s = s.WithPartsAsJobs()
	e, err := newGapExplainer(s, c)
	if err != nil {
		return CostBreakdown{}, err
	}
	out := CostBreakdown{JobsUSD: jobsUSD, BoundUSD: c.BoundUSD}
	for _, r := range ran {
		i, ok := e.index[r.Job]
		if !ok {
			return CostBreakdown{}, fmt.Errorf("bound: job %s is not in scenario %.12s: explain a run of the same scenario", r.Job, s.Hash)
		}
		e.attributeJob(s.Jobs[i], &e.p.jobs[i], r)
	}
	// What no group or site explains remains in RestUSD.
	out.RestUSD = out.JobsUSD - out.BoundUSD
	for _, gpus := range e.bookedSizes() {
		for _, key := range []JobGroup{{GPUs: gpus}, {GPUs: gpus, Long: true}, {GPUs: gpus, Waits: true}, {GPUs: gpus, Waits: true, Long: true}} {
			if g := e.groups[key]; g != nil {
				out.Groups = append(out.Groups, *g)
				out.RestUSD -= g.TotalUSD()
			}
		}
	}
	for _, site := range s.Sites {
		x := e.idleCapacityOf(site.Name)
		out.Idle = append(out.Idle, x)
		out.RestUSD -= x.USD
	}
	return out, nil
}

// newGapExplainer returns an explainer of runs of a scenario at the prices of a certificate.
func newGapExplainer(s spec.Scenario, c Certificate) (*gapExplainer, error) {
	s = s.WithPartsAsJobs()
	if c.Idle || c.Hash != s.Hash {
		return nil, fmt.Errorf("bound: the certificate is of another scenario or includes idle power: want one of the jobs of scenario %.12s", s.Hash)
	}
	p, err := modelScenario(s, false)
	if err != nil {
		return nil, err
	}
	if err := p.loadPrices(c.Pools); err != nil {
		return nil, err
	}
	e := &gapExplainer{
		p: p, from: protocol.Time(c.From), weights: c.Weights, sites: s.Sites,
		sizes: make(map[[2]string]int), groups: make(map[JobGroup]*JobGroup), index: make(map[protocol.JobID]int, len(s.Jobs)), used: p.newSlotSeries(),
	}
	for _, site := range s.Sites {
		for _, n := range site.Nodes {
			// Node sizes tell pools of one model apart.
			e.sizes[[2]string{site.Name, n.Name}] = n.GPUs
		}
	}
	// p.jobs has the order of the scenario's jobs.
	for i, j := range s.Jobs {
		e.index[j.ID] = i
	}
	return e, nil
}

// loadPrices sets the prices of p to those of a certificate, after checking that its pools
// match.
func (p *boundProblem) loadPrices(pools []PricedPool) error {
	if len(pools) != len(p.pools) {
		return fmt.Errorf("bound: the certificate prices %d kinds of node, the scenario has %d", len(pools), len(p.pools))
	}
	for i, x := range pools {
		q := &p.pools[i]
		if x.Site != q.Site || x.Model != q.Model || x.Size != q.Size || len(x.Values) > len(q.price) {
			return fmt.Errorf("bound: the certificate prices %s %s of %d where the scenario has %s %s of %d", x.Site, x.Model, x.Size, q.Site, q.Model, q.Size)
		}
		clear(q.price)
		for t, v := range x.Values {
			q.price[t] = float64(v) * slotHours
		}
		q.prefixSumPrices()
	}
	return nil
}

// A gapExplainer compares a run with the prices of a bound.
type gapExplainer struct {
	p       *boundProblem
	from    protocol.Time
	weights protocol.Weights
	sites   []spec.Site
	sizes   map[[2]string]int // GPUs of a site's node
	used    [][]float64       // GPU-slots held, by pool
	groups  map[JobGroup]*JobGroup
	index   map[protocol.JobID]int // of the scenario's jobs
}

// slotOf converts a time to slots from the certificate's start.
func (e *gapExplainer) slotOf(t protocol.Time) float64 {
	return float64(t-e.from) / float64(slotLength.Milliseconds())
}

// attributeJob adds what one job paid beyond its best choice to its group.
func (e *gapExplainer) attributeJob(j protocol.Job, w *jobModel, run scenarios.CompletedJob) {
	g := e.groupOf(j)
	g.Jobs++
	started := run.Started
	if len(run.PausedSegments) > 0 {
		started = run.PausedSegments[0].Started
	}
	delay, late := e.weights.DelayAndLateCost(j, started, run.Ended)
	g.DelayUSD += float64(delay) / 1e6
	g.LateUSD += float64(late) / 1e6
	paid := 0.0
	var kinds []poolUse
	// A paused job paid for each of its segments.
	for _, r := range append(slices.Clone(run.PausedSegments), run) {
		var v float64
		v, kinds = e.attributeRun(j, w, r)
		paid += v
		gpus := w.gpus
		if j.IsElastic() {
			gpus = 0
			for _, k := range kinds {
				gpus += k.gpus
			}
		}
		g.GPUHours += gpus * (e.slotOf(r.Ended) - e.slotOf(r.Started)) * slotHours
	}
	// From the best of all to what was paid: in segments, whole, at its site, in its way, its hour.
	_, _, whole := e.p.bestAtPrices(w)
	all, _, _ := e.p.leastPausedCost(w, whole)
	if len(run.PausedSegments) > 0 {
		g.PartsUSD += (paid - all) / 1e6
		return
	}
	here, thus := e.p.leastPricedCost(w, e.siteIndex(run.Site), kinds, e.slotOf(run.Ended)-e.slotOf(run.Started), whole)
	g.PartsUSD += (whole - all) / 1e6
	g.SiteUSD += (here - whole) / 1e6
	g.WayUSD += (thus - here) / 1e6
	g.HourUSD += (paid - thus) / 1e6
}

// A poolUse is GPUs that a run held of a kind of node.
type poolUse struct {
	pool int
	gpus float64
}

// attributeRun returns what a run paid, capacity included, and what it held of each kind of node. It also
// adds the held capacity to used.
func (e *gapExplainer) attributeRun(j protocol.Job, w *jobModel, r scenarios.CompletedJob) (paid float64, kinds []poolUse) {
	start, end := e.slotOf(r.Started), e.slotOf(r.Ended)
	paid, kinds = float64(r.Cost), e.poolsOfRun(j, w, r)
	for _, k := range kinds {
		q := &e.p.pools[k.pool]
		paid += float64(k.gpus * (interpolateSum(q.sums, end) - interpolateSum(q.sums, start)))
		addToSlots(e.used[k.pool], start, end, k.gpus)
	}
	return paid, kinds
}

// siteIndex returns the index of a site.
func (e *gapExplainer) siteIndex(name string) int {
	return slices.IndexFunc(e.sites, func(s spec.Site) bool { return s.Name == name })
}

// poolsOfRun returns what a run held of each kind of node: of one, unless it is a gang over several.
func (e *gapExplainer) poolsOfRun(j protocol.Job, w *jobModel, r scenarios.CompletedJob) (kinds []poolUse) {
	add := func(node string, gpus float64) {
		pool := slices.IndexFunc(e.p.pools, func(q gpuPool) bool {
			return q.Site == r.Site && q.Model == r.Model && q.Size == e.sizes[[2]string{r.Site, node}]
		})
		if at := slices.IndexFunc(kinds, func(k poolUse) bool { return k.pool == pool }); at >= 0 {
			kinds[at].gpus += gpus
		} else if pool >= 0 && gpus > 0 {
			kinds = append(kinds, poolUse{pool, gpus})
		}
	}
	if !j.IsGang() {
		add(r.Node, w.gpus)
		return kinds
	}
	for _, p := range r.Places {
		c := &j.Pods[p.Component]
		add(p.Node, float64(p.Pods*c.GPUs)*float64(c.Share)/1000)
	}
	return kinds
}

// leastPricedCost returns the lowest cost of a job that is not paused, capacity included: at a
// site, and with the way that it ran there, which is identified by what it held and length. A gang over
// several kinds of node has the mean of them. Neither is below all, the lowest cost of all sites.
func (p *boundProblem) leastPricedCost(j *jobModel, site int, kinds []poolUse, length, all float64) (here, thus float64) {
	if len(kinds) == 0 {
		kinds = []poolUse{{pool: -1, gpus: 1}}
	}
	here = math.Inf(1)
	way, off, total := make([]float64, len(kinds)), make([]float64, len(kinds)), 0.0
	for i, k := range kinds {
		way[i], off[i] = math.Inf(1), math.Inf(1)
		total += k.gpus
	}
	for k := range j.configs {
		w := &j.configs[k]
		if w.site != site {
			continue
		}
		v, _ := p.cheapestStart(j, w, j.arrival, max(j.arrival, j.deadline-w.length)+pastDueSlots)
		here = min(here, v)
		for i, k := range kinds {
			if d := math.Abs(w.length - length); w.pool == k.pool && d < off[i] {
				off[i], way[i] = d, v
			}
		}
	}
	for i, k := range kinds {
		thus += float64(way[i] * k.gpus / total)
	}
	here = max(here, all) // the scan ends some hours past the deadline and may miss later starts
	return here, max(thus, here)
}

// groupOf returns the group of a job and creates it if necessary.
func (e *gapExplainer) groupOf(j protocol.Job) *JobGroup {
	key := JobGroup{GPUs: j.GPUs, Waits: j.MayWait(), Long: j.Run.Hours() >= longRunHours}
	if j.TotalGPUMilli() < 1000 {
		key.GPUs = 0
	}
	g := e.groups[key]
	if g == nil {
		x := key
		g = &x
		e.groups[key] = g
	}
	return g
}

// bookedSizes returns the GPU counts of all groups, in ascending order.
func (e *gapExplainer) bookedSizes() []int {
	sizes := make(map[int]bool, len(e.groups))
	for key := range e.groups {
		sizes[key.GPUs] = true
	}
	return slices.Sorted(maps.Keys(sizes))
}

// idleCapacityOf returns the value of a site's capacity that no job held.
func (e *gapExplainer) idleCapacityOf(site string) IdleCapacity {
	x := IdleCapacity{Site: site}
	for i := range e.p.pools {
		q := &e.p.pools[i]
		if q.Site != site {
			continue
		}
		for t, price := range q.price {
			if price > 0 {
				x.GPUHours += (q.GPUs - e.used[i][t]) * slotHours
				x.USD += float64(price*(q.GPUs-e.used[i][t])) / 1e6
			}
		}
	}
	return x
}
