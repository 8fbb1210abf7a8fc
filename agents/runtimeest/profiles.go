// Package runtimeest estimates run times of jobs from earlier runs at a site: how
// long jobs of a tenant, an image and a shape took, and what power they drew. A
// site bids by it for a job that states no run time.
//
// What it promises:
//   - an estimate depends only on the runs learned before it;
//   - quantiles ascend with their rank, and are within 2 % of the observed ones
//     where all runs are alike;
//   - memory is bounded, whatever is learned: [Config.Most] kinds of jobs, each of
//     at most 2,048 numbers;
//   - the same runs in the same order give the same estimates.
//
// The executor measures runs; package agents uses the estimates.
package runtimeest

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"

	"github.com/gridbid/gridbid/protocol"
)

// Config bounds the memory of profiles.
type Config struct {
	Most int // kinds of jobs; default 4096; the least recently used are evicted first
}

// Profiles hold what a site has learned from its runs.
type Profiles struct {
	cfg   Config
	kinds map[jobKind]*kindStats
	clock uint64 // counts runs, to find the least recently used kinds
}

// A jobKind is a kind of job. An empty field matches all jobs.
type jobKind struct{ tenant, image, shape string }

// kindStats is what was learned of one kind.
type kindStats struct {
	lasted, power *ddsketch.DDSketch // seconds at the reference clock; watts
	runs          int
	used          uint64
	use           useMeans
}

// useMeans accumulates the mean resource use over the runs that measured it.
type useMeans struct {
	sum protocol.Utilization
	n   [7]int
}

// useFields returns pointers to the fields of a use in a fixed order. The last is
// the temperature, which addUse bounds by itself.
func useFields(u *protocol.Utilization) [7]*int64 {
	return [7]*int64{(*int64)(&u.GPU), (*int64)(&u.GPUMemory), (*int64)(&u.CPU), (*int64)(&u.Memory), (*int64)(&u.Received), (*int64)(&u.Sent), nil}
}

func (m *useMeans) addUse(u protocol.Utilization) {
	sums := useFields(&m.sum)
	for i, v := range useFields(&u) {
		if v != nil && *v > 0 {
			*sums[i] += min(*v, maxFigure)
			m.n[i]++
		}
	}
	if u.Temperature > 0 {
		m.sum.Temperature += min(u.Temperature, 200)
		m.n[6]++
	}
}

// maxFigure bounds one figure of a use, far above any real one, so that sums of runs
// fit into an int64.
const maxFigure = 1 << 40

func (m useMeans) meanUse() protocol.Utilization {
	for i, v := range useFields(&m.sum) {
		if v != nil && m.n[i] > 0 {
			*v /= int64(m.n[i])
		}
	}
	if m.n[6] > 0 {
		m.sum.Temperature /= m.n[6]
	}
	return m.sum
}

// Sketches are exact to 2 % of a value; from a second to a month they need some
// 370 bins. The limit on bins bounds the memory that hostile values can take.
const (
	accuracy = 0.02
	bins     = 1024
)

// New returns profiles that have learned nothing yet.
func New(cfg Config) *Profiles {
	if cfg.Most == 0 {
		cfg.Most = 4096
	}
	return &Profiles{cfg: cfg, kinds: make(map[jobKind]*kindStats)}
}

// ShapeOf returns the size class of a job: its number of GPUs, or its share in
// quarters of a GPU, or its cores rounded up to a power of two.
func ShapeOf(j protocol.Job) string {
	switch {
	case j.GPUs == 0:
		return fmt.Sprintf("cpu<=%d", 1<<bits.Len64(uint64(max(j.CPU-1, 0))/1000))
	case j.GPUs == 1 && j.Share < 1000:
		return fmt.Sprintf("gpu<=%d%%", (j.Share+249)/250*25)
	}
	return fmt.Sprintf("gpu=%d", j.GPUs)
}

// kindsOf returns the kinds that j belongs to, from all jobs to the most specific.
func kindsOf(j protocol.Job) []jobKind {
	shape := ShapeOf(j)
	out := []jobKind{{}, {shape: shape}}
	if j.Tenant != "" {
		out = append(out, jobKind{tenant: j.Tenant}, jobKind{tenant: j.Tenant, shape: shape})
	}
	if j.Image != "" {
		out = append(out, jobKind{image: j.Image}, jobKind{tenant: j.Tenant, image: j.Image, shape: shape})
	}
	return out
}

// LearnRun adds a run: its duration at the reference clock, its mean power (0 if it
// was not measured) and its resource use. It ignores values out of range.
func (p *Profiles) LearnRun(j protocol.Job, lasted time.Duration, power protocol.Milliwatts, use protocol.Utilization) {
	if lasted <= 0 || lasted > protocol.MaxRun || power < 0 {
		return
	}
	p.clock++
	for _, k := range kindsOf(j) {
		x := p.kinds[k]
		if x == nil {
			p.evictOldest()
			x = &kindStats{lasted: newSketch(), power: newSketch()}
			p.kinds[k] = x
		}
		x.used = p.clock
		x.runs++
		x.use.addUse(use)
		// The sketch reports an error only for values that it cannot hold; the
		// checks above exclude them.
		_ = x.lasted.Add(max(lasted.Seconds(), 1))
		if power > 0 {
			_ = x.power.Add(float64(power) / 1000)
		}
		x.fadeOldRuns()
	}
}

func newSketch() *ddsketch.DDSketch {
	s, err := ddsketch.LogCollapsingLowestDenseDDSketch(accuracy, bins)
	if err != nil {
		panic(err) // Invariant: accuracy and bins are valid constants
	}
	return s
}

// fadeAfterRuns is the number of runs whose weight equals that of all earlier runs, so
// that estimates follow a tenant whose jobs change.
const fadeAfterRuns = 512

func (x *kindStats) fadeOldRuns() {
	for _, s := range []*ddsketch.DDSketch{x.lasted, x.power} {
		if s.GetCount() >= 2*fadeAfterRuns {
			_ = s.Reweight(0.5) // only a weight <= 0 is an error
		}
	}
}

// evictOldest evicts the least recently used kinds, a sixteenth at a time, but never
// the kind of all jobs.
func (p *Profiles) evictOldest() {
	if len(p.kinds) < p.cfg.Most {
		return
	}
	all := slices.SortedFunc(maps.Keys(p.kinds), func(x, y jobKind) int {
		return cmp.Or(cmp.Compare(p.kinds[x].used, p.kinds[y].used), compareKinds(x, y))
	})
	for _, k := range all[:max(1, len(all)/16)] {
		if k != (jobKind{}) {
			delete(p.kinds, k)
		}
	}
}

func compareKinds(x, y jobKind) int {
	return cmp.Or(cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.image, y.image), cmp.Compare(x.shape, y.shape))
}

// priorRuns is the number of runs that the more general kinds count for, beside the
// runs of the kind itself.
const priorRuns = 12

// An Estimate is a distribution of a job's run time at the reference clock, and
// its power.
type Estimate struct {
	protocol.Estimate
	Power protocol.Milliwatts // median of such jobs; 0: never measured
	all   *ddsketch.DDSketch
}

// EstimateRun returns what jobs like j took: those most like it, weighted with the
// more general kinds where these runs are few. Without any run learned it is an
// hour, and a day for the 90th percentile.
func (p *Profiles) EstimateRun(j protocol.Job) Estimate {
	lasted, power := newSketch(), newSketch()
	e := Estimate{Estimate: protocol.Estimate{Mean: time.Hour, P50: time.Hour, P90: 24 * time.Hour}}
	for _, k := range kindsOf(j) {
		x := p.kinds[k]
		if x == nil {
			continue
		}
		e.Runs = x.runs
		lasted, power = mixSketches(lasted, x.lasted), mixSketches(power, x.power)
	}
	if lasted.IsEmpty() {
		return e
	}
	e.all = lasted
	e.Mean = secondsToDuration(lasted.GetSum() / lasted.GetCount())
	e.P50, e.P90 = e.RunQuantile(500), e.RunQuantile(900)
	if !power.IsEmpty() {
		watts, _ := power.GetValueAtQuantile(0.5) // an error only for an empty sketch
		e.Power = protocol.Milliwatts(watts * 1000)
	}
	return e
}

// mixSketches returns the sketch of a kind merged with its general kinds, which together
// count as at most priorRuns runs.
func mixSketches(general, special *ddsketch.DDSketch) *ddsketch.DDSketch {
	out := special.Copy()
	if n := general.GetCount(); n > 0 {
		_ = general.Reweight(min(1, priorRuns/n))
		_ = out.MergeWith(general) // an error only for sketches of different accuracy
	}
	return out
}

// RunQuantile returns the run time that part thousandths of such jobs do not exceed.
func (e Estimate) RunQuantile(part protocol.Milli) time.Duration {
	if e.all == nil {
		if part > 500 {
			return e.P90
		}
		return e.P50
	}
	s, _ := e.all.GetValueAtQuantile(float64(part) / 1000) // an error only for an empty sketch
	return secondsToDuration(s)
}

func secondsToDuration(s float64) time.Duration {
	return min(max(time.Duration(s*1000)*time.Millisecond, time.Second), protocol.MaxRun)
}

// A ProfileRow is one kind of job, for display.
type ProfileRow struct {
	Tenant string               `json:"tenant"` // "": all tenants
	Image  string               `json:"image"`
	Shape  string               `json:"shape"`
	Runs   int                  `json:"runs"`
	Mean   time.Duration        `json:"mean_ns"`
	P50    time.Duration        `json:"p50_ns"`
	P90    time.Duration        `json:"p90_ns"`
	P95    time.Duration        `json:"p95_ns"`
	Watts  protocol.Milliwatts  `json:"power_p50_mw"`
	Most   protocol.Milliwatts  `json:"power_p95_mw"`
	Use    protocol.Utilization `json:"use"` // means of what was measured
}

// ProfileRows returns all kinds, sorted by name; the kind of all jobs comes first.
func (p *Profiles) ProfileRows() []ProfileRow {
	var out []ProfileRow
	for _, k := range slices.SortedFunc(maps.Keys(p.kinds), compareKinds) {
		x := p.kinds[k]
		e := Estimate{all: x.lasted}
		r := ProfileRow{Tenant: k.tenant, Image: k.image, Shape: k.shape, Runs: x.runs, Mean: secondsToDuration(x.lasted.GetSum() / x.lasted.GetCount()),
			P50: e.RunQuantile(500), P90: e.RunQuantile(900), P95: e.RunQuantile(950), Use: x.use.meanUse()}
		if w, err := x.power.GetValuesAtQuantiles([]float64{0.5, 0.95}); err == nil {
			r.Watts, r.Most = protocol.Milliwatts(w[0]*1000), protocol.Milliwatts(w[1]*1000)
		}
		out = append(out, r)
	}
	return out
}
