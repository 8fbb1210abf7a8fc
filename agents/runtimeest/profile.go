// Package runtimeest is what a site remembers of the jobs that it ran: how long jobs
// of a tenant, an image and a shape took, and what they drew. A job that does not
// say how long it runs is bid for by it.
//
// What it promises:
//   - an estimate is made of what was learned before, and of nothing else;
//   - quantiles rise with their part, and are within 2 % of those that were seen
//     where all runs are alike;
//   - what is kept is bounded, whatever is learned: [Config.Most] kinds of jobs,
//     each of at most 2,048 numbers;
//   - the same runs in the same order give the same estimates.
//
// Who measures a run is the caller's affair; so is what becomes of the estimate.
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

// Config bounds what is kept.
type Config struct {
	Most int // kinds of jobs; default 4096: those unheard of longest are forgotten first
}

// Profiles are what a site remembers.
type Profiles struct {
	cfg   Config
	kinds map[kind]*kept
	clock uint64 // counts runs, to know what is unheard of longest
}

// A kind of job. Parts that are empty are of all.
type kind struct{ tenant, image, shape string }

// kept is what is known of one kind.
type kept struct {
	lasted, power *ddsketch.DDSketch // seconds at the reference clock; watts
	runs          int
	used          uint64
	use           means
}

// means are the means of what was measured of a use.
type means struct {
	sum protocol.Use
	n   [7]int
}

// fields are those of a use, in an order of their own.
func fields(u *protocol.Use) [7]*int64 {
	return [7]*int64{(*int64)(&u.GPU), (*int64)(&u.GPUMemory), (*int64)(&u.CPU), (*int64)(&u.Memory), (*int64)(&u.Received), (*int64)(&u.Sent), nil}
}

func (m *means) add(u protocol.Use) {
	sums := fields(&m.sum)
	for i, v := range fields(&u) {
		if v != nil && *v > 0 {
			*sums[i] += min(*v, most)
			m.n[i]++
		}
	}
	if u.Temperature > 0 {
		m.sum.Temperature += min(u.Temperature, 200)
		m.n[6]++
	}
}

// most is more than any figure of a use, and few enough for their sum.
const most = 1 << 40

func (m means) mean() protocol.Use {
	for i, v := range fields(&m.sum) {
		if v != nil && m.n[i] > 0 {
			*v /= int64(m.n[i])
		}
	}
	if m.n[6] > 0 {
		m.sum.Temperature /= m.n[6]
	}
	return m.sum
}

// Sketches are exact to 2 % of a value, from a second to a month in some 370
// numbers; collapsing bounds what hostile values take.
const (
	accuracy = 0.02
	bins     = 1024
)

// New returns profiles of nothing.
func New(cfg Config) *Profiles {
	if cfg.Most == 0 {
		cfg.Most = 4096
	}
	return &Profiles{cfg: cfg, kinds: make(map[kind]*kept)}
}

// Shape names how large a job is: GPUs, or a share in quarters of one, or cores by
// powers of two.
func Shape(j protocol.Job) string {
	switch {
	case j.GPUs == 0:
		return fmt.Sprintf("cpu<=%d", 1<<bits.Len64(uint64(max(j.CPU-1, 0))/1000))
	case j.Share < 1000:
		return fmt.Sprintf("gpu<=%d%%", (j.Share+249)/250*25)
	}
	return fmt.Sprintf("gpu=%d", j.GPUs)
}

// levels are the kinds that a job is of, from all jobs to those most like it.
func levels(j protocol.Job) []kind {
	shape := Shape(j)
	out := []kind{{}, {shape: shape}}
	if j.Tenant != "" {
		out = append(out, kind{tenant: j.Tenant}, kind{tenant: j.Tenant, shape: shape})
	}
	if j.Image != "" {
		out = append(out, kind{image: j.Image}, kind{tenant: j.Tenant, image: j.Image, shape: shape})
	}
	return out
}

// Learn remembers a run: how long it took at the reference clock, what it drew in
// the mean, 0 if that was not measured, and what it used.
func (p *Profiles) Learn(j protocol.Job, lasted time.Duration, power protocol.Milliwatts, use protocol.Use) {
	if lasted <= 0 || lasted > protocol.MaxRun || power < 0 {
		return
	}
	p.clock++
	for _, k := range levels(j) {
		x := p.kinds[k]
		if x == nil {
			p.makeRoom()
			x = &kept{lasted: sketch(), power: sketch()}
			p.kinds[k] = x
		}
		x.used = p.clock
		x.runs++
		x.use.add(use)
		// Of values that the sketch can hold, which these are, it has no error.
		_ = x.lasted.Add(max(lasted.Seconds(), 1))
		if power > 0 {
			_ = x.power.Add(float64(power) / 1000)
		}
		x.fade()
	}
}

func sketch() *ddsketch.DDSketch {
	s, err := ddsketch.LogCollapsingLowestDenseDDSketch(accuracy, bins)
	if err != nil {
		panic(err) // accuracy and bins are ours
	}
	return s
}

// recent runs count as much as all that was before them: what a tenant runs
// changes.
const recent = 512

func (x *kept) fade() {
	for _, s := range []*ddsketch.DDSketch{x.lasted, x.power} {
		if s.GetCount() >= 2*recent {
			_ = s.Reweight(0.5) // a positive weight is no error
		}
	}
}

// makeRoom forgets what is unheard of longest, a sixteenth at a time.
func (p *Profiles) makeRoom() {
	if len(p.kinds) < p.cfg.Most {
		return
	}
	all := slices.SortedFunc(maps.Keys(p.kinds), func(x, y kind) int {
		return cmp.Or(cmp.Compare(p.kinds[x].used, p.kinds[y].used), byName(x, y))
	})
	for _, k := range all[:max(1, len(all)/16)] {
		if k != (kind{}) {
			delete(p.kinds, k)
		}
	}
}

func byName(x, y kind) int {
	return cmp.Or(cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.image, y.image), cmp.Compare(x.shape, y.shape))
}

// prior is how many runs a more general kind counts for, beside those of the kind
// itself.
const prior = 12

// An Estimate is how long a job may run at the reference clock, and what it may
// draw.
type Estimate struct {
	protocol.Estimate
	Power protocol.Milliwatts // half of such jobs drew less; 0: never measured
	all   *ddsketch.DDSketch
}

// Estimate returns what is known of jobs like j: of those most like it, and where
// they are few, of the more general kinds that they belong to. Without any it is an
// hour, and a day for the longest in ten.
func (p *Profiles) Estimate(j protocol.Job) Estimate {
	lasted, power := sketch(), sketch()
	e := Estimate{Estimate: protocol.Estimate{Mean: time.Hour, P50: time.Hour, P90: 24 * time.Hour}}
	for _, k := range levels(j) {
		x := p.kinds[k]
		if x == nil {
			continue
		}
		e.Runs = x.runs
		lasted, power = mixed(lasted, x.lasted), mixed(power, x.power)
	}
	if lasted.IsEmpty() {
		return e
	}
	e.all = lasted
	e.Mean = seconds(lasted.GetSum() / lasted.GetCount())
	e.P50, e.P90 = e.Quantile(500), e.Quantile(900)
	if !power.IsEmpty() {
		watts, _ := power.GetValueAtQuantile(0.5) // it is not empty
		e.Power = protocol.Milliwatts(watts * 1000)
	}
	return e
}

// mixed returns what a kind shows, with its general kinds counted as a few runs.
func mixed(general, special *ddsketch.DDSketch) *ddsketch.DDSketch {
	out := special.Copy()
	if n := general.GetCount(); n > 0 {
		_ = general.Reweight(min(1, prior/n))
		_ = out.MergeWith(general) // of one mapping
	}
	return out
}

// Quantile returns what so many thousandths of such jobs took at most.
func (e Estimate) Quantile(part protocol.Milli) time.Duration {
	if e.all == nil {
		if part > 500 {
			return e.P90
		}
		return e.P50
	}
	s, _ := e.all.GetValueAtQuantile(float64(part) / 1000) // it is not empty
	return seconds(s)
}

func seconds(s float64) time.Duration {
	return min(max(time.Duration(s*1000)*time.Millisecond, time.Second), protocol.MaxRun)
}

// A Row is one kind of job as people read it.
type Row struct {
	Tenant string              `json:"tenant"` // "" is all
	Image  string              `json:"image"`
	Shape  string              `json:"shape"`
	Runs   int                 `json:"runs"`
	Mean   time.Duration       `json:"mean_ns"`
	P50    time.Duration       `json:"p50_ns"`
	P90    time.Duration       `json:"p90_ns"`
	P95    time.Duration       `json:"p95_ns"`
	Watts  protocol.Milliwatts `json:"power_p50_mw"`
	Most   protocol.Milliwatts `json:"power_p95_mw"`
	Use    protocol.Use        `json:"use"` // means of what was measured
}

// Rows returns all kinds, by name, those of all jobs first.
func (p *Profiles) Rows() []Row {
	var out []Row
	for _, k := range slices.SortedFunc(maps.Keys(p.kinds), byName) {
		x := p.kinds[k]
		e := Estimate{all: x.lasted}
		r := Row{Tenant: k.tenant, Image: k.image, Shape: k.shape, Runs: x.runs, Mean: seconds(x.lasted.GetSum() / x.lasted.GetCount()),
			P50: e.Quantile(500), P90: e.Quantile(900), P95: e.Quantile(950), Use: x.use.mean()}
		if w, err := x.power.GetValuesAtQuantiles([]float64{0.5, 0.95}); err == nil {
			r.Watts, r.Most = protocol.Milliwatts(w[0]*1000), protocol.Milliwatts(w[1]*1000)
		}
		out = append(out, r)
	}
	return out
}
