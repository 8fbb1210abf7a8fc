package bound

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Parts are what the jobs of a run cost above a bound, in dollars, by cause, at
// the bound's prices of room. They add up: at these prices the bound is what the
// jobs pay, room included, each in its best place, less the worth of all room;
// so what a run costs more is what its jobs pay more, and room that it left idle.
type Parts struct {
	JobsUSD  float64 `json:"jobs_usd"`  // what the run's jobs cost
	BoundUSD float64 `json:"bound_usd"` //
	Groups   []Group `json:"groups"`    // by size, by whether they can wait, and by length
	Idle     []Idle  `json:"idle"`      // by site, in the order of the scenario
	RestUSD  float64 `json:"rest_usd"`  // of runs that were lost, of jobs that never ran, and rounding
}

// A Group is jobs of one size, that can wait or not, of under two hours or more,
// and what they paid, room included, over what their best place would have cost.
type Group struct {
	GPUs     int     `json:"gpus"` // 0 without any or for a share of one
	Waits    bool    `json:"can_wait"`
	Long     bool    `json:"long"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"` // that they held
	SiteUSD  float64 `json:"site_usd"`  // the best place at their site over the best of all
	WayUSD   float64 `json:"way_usd"`   // the best hour for the way they ran over the best at their site
	HourUSD  float64 `json:"hour_usd"`  // their hour over the best for the way they ran, delay and lateness aside
	DelayUSD float64 `json:"delay_usd"` // of jobs that cannot wait
	LateUSD  float64 `json:"late_usd"`  //

	// PartsUSD is of jobs that can be paused: of one that ran whole, what the best
	// place for that costs over the best in parts; of one that was paused, all
	// that it paid over the best but lateness, which is not split.
	PartsUSD float64 `json:"parts_usd"`
}

// Sum returns all that the jobs of g paid over their best places.
func (g Group) Sum() float64 {
	return g.SiteUSD + g.WayUSD + g.HourUSD + g.DelayUSD + g.LateUSD + g.PartsUSD
}

// An Idle is room of a site that had a price and was left idle.
type Idle struct {
	Site     string  `json:"site"`
	GPUHours float64 `json:"gpu_hours"`
	USD      float64 `json:"usd"`
}

// long is from which run at the reference clock on a job counts as long, in hours.
const long = 2

// Explain says what a run of a scenario cost above the bound of a certificate,
// and for what: jobsUSD for its jobs in all, of which these ran. The certificate
// must be of the jobs, without idle draw.
func Explain(s spec.Scenario, c Certificate, ran []scenarios.Ran, jobsUSD float64) (Parts, error) {
	if c.Idle || c.Hash != s.Hash {
		return Parts{}, fmt.Errorf("bound: want a certificate of the jobs of scenario %.12s", s.Hash)
	}
	p, err := model(s, false)
	if err != nil {
		return Parts{}, err
	}
	if err := p.take(c.Pools); err != nil {
		return Parts{}, err
	}
	e := explainer{p: p, from: protocol.Time(c.From), weights: c.Weights, sites: s.Sites, sizes: make(map[[2]string]int), groups: make(map[Group]*Group)}
	e.used = p.lines()
	for _, site := range s.Sites {
		for _, n := range site.Nodes {
			e.sizes[[2]string{site.Name, n.Name}] = n.GPUs
		}
	}
	out := Parts{JobsUSD: jobsUSD, BoundUSD: c.BoundUSD}
	index := make(map[protocol.JobID]int, len(s.Jobs))
	for i, j := range s.Jobs {
		index[j.ID] = i
	}
	for _, r := range ran {
		i, ok := index[r.Job]
		if !ok {
			return Parts{}, fmt.Errorf("bound: job %s ran and is not of scenario %.12s: explain a run of the same scenario", r.Job, s.Hash)
		}
		e.job(s.Jobs[i], &p.jobs[i], r)
	}
	out.RestUSD = out.JobsUSD - out.BoundUSD
	for _, gpus := range e.gpus() {
		for _, key := range []Group{{GPUs: gpus}, {GPUs: gpus, Long: true}, {GPUs: gpus, Waits: true}, {GPUs: gpus, Waits: true, Long: true}} {
			if g := e.groups[key]; g != nil {
				out.Groups = append(out.Groups, *g)
				out.RestUSD -= g.Sum()
			}
		}
	}
	for _, site := range s.Sites {
		x := e.idle(site.Name)
		out.Idle = append(out.Idle, x)
		out.RestUSD -= x.USD
	}
	return out, nil
}

// take sets the prices of p to those of a certificate.
func (p *problem) take(pools []PricedPool) error {
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
		q.accumulate()
	}
	return nil
}

// An explainer holds a run against the prices of a bound.
type explainer struct {
	p       *problem
	from    protocol.Time
	weights protocol.Weights
	sites   []spec.Site
	sizes   map[[2]string]int // GPUs of a site's node
	used    [][]float64       // GPU-slots that were held, by pool
	groups  map[Group]*Group
}

func (e *explainer) slotOf(t protocol.Time) float64 {
	return float64(t-e.from) / float64(slot.Milliseconds())
}

// job books what one job paid over its best place.
func (e *explainer) job(j protocol.Job, w *work, run scenarios.Ran) {
	g := e.group(j)
	g.Jobs++
	delay, late := e.weights.Waiting(j, run.Started, run.Ended)
	g.DelayUSD += float64(delay) / 1e6
	g.LateUSD += float64(late) / 1e6
	paid, pool := 0.0, -1
	for _, r := range append(slices.Clone(run.Parts), run) {
		var v float64
		v, pool = e.paid(j, w, r)
		paid += v
		g.GPUHours += w.gpus * (e.slotOf(r.Ended) - e.slotOf(r.Started)) * slotHours
	}
	_, _, whole := e.p.favourite(w)
	all, _, _ := e.p.inParts(w, whole)
	if len(run.Parts) > 0 {
		g.PartsUSD += (paid - all) / 1e6
		return
	}
	here, thus := e.p.best(w, e.site(run.Site), pool, e.slotOf(run.Ended)-e.slotOf(run.Started), whole)
	g.PartsUSD += (whole - all) / 1e6
	g.SiteUSD += (here - whole) / 1e6
	g.WayUSD += (thus - here) / 1e6
	g.HourUSD += (paid - thus) / 1e6
}

// paid returns what a run paid, room included, and the pool that it was in; it
// books the room.
func (e *explainer) paid(j protocol.Job, w *work, r scenarios.Ran) (paid float64, pool int) {
	start, end := e.slotOf(r.Started), e.slotOf(r.Ended)
	paid, pool = float64(r.Cost), e.pool(j, r)
	if pool >= 0 {
		q := &e.p.pools[pool]
		paid += float64(w.gpus * (at(q.sums, end) - at(q.sums, start)))
		spread(e.used[pool], start, end, w.gpus)
	}
	return paid, pool
}

func (e *explainer) site(name string) int {
	return slices.IndexFunc(e.sites, func(s spec.Site) bool { return s.Name == name })
}

// pool returns the pool that a run held room of, or -1.
func (e *explainer) pool(j protocol.Job, r scenarios.Ran) int {
	if j.GPUs == 0 {
		return -1
	}
	for i, q := range e.p.pools {
		if q.Site == r.Site && q.Model == r.Model && q.Size == e.sizes[[2]string{r.Site, r.Node}] {
			return i
		}
	}
	return -1
}

// best returns the least that a job pays that is not paused, room included: at a
// site, and in the way that it ran there, which is told by its pool and its
// length. Neither is below all, the least anywhere.
func (p *problem) best(j *work, site, pool int, length, all float64) (here, thus float64) {
	here, thus = math.Inf(1), math.Inf(1)
	off := math.Inf(1)
	for k := range j.ways {
		w := &j.ways[k]
		if w.site != site {
			continue
		}
		v, _ := p.scan(j, w, j.arrival, max(j.arrival, j.deadline-w.length)+pastDue)
		here = min(here, v)
		if d := math.Abs(w.length - length); w.pool == pool && d < off {
			off, thus = d, v
		}
	}
	here = max(here, all) // the walk over starts ends some hours past the deadline
	return here, max(thus, here)
}

func (e *explainer) group(j protocol.Job) *Group {
	key := Group{GPUs: j.GPUs, Waits: j.Deferrable, Long: j.Run.Hours() >= long}
	if j.GPU() < 1000 {
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

// gpus returns the sizes of jobs that were booked, smallest first.
func (e *explainer) gpus() (out []int) {
	for n := range 64 {
		for _, waits := range []bool{false, true} {
			if e.groups[Group{GPUs: n, Waits: waits}] != nil || e.groups[Group{GPUs: n, Waits: waits, Long: true}] != nil {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// idle returns what room of a site was worth that nobody held.
func (e *explainer) idle(site string) Idle {
	x := Idle{Site: site}
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
