package bound

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Slots of a certificate.
const (
	slot      = 15 * time.Minute
	slotHours = 0.25
	priced    = 72 * 4 // slots in which room has a price
)

// rounding is taken off each job, in microdollars: what the record's rounding
// to whole units may take off in transfer, delay and lateness. For each hour
// of a run its bill is rounded too: see perHour.
const rounding = 4

// model makes the problem of a scenario.
func model(s spec.Scenario, idle bool) (*problem, error) {
	m := modeller{
		script: s, idle: idle, from: s.Start.Floor(time.Hour), weights: scenarios.Weights(s),
		truth: scenarios.Truth(s.Seed), network: agents.DefaultNetwork(),
	}
	latest := scenarios.Metered(s).Add(scenarios.Longest)
	m.p = &problem{slots: priced, end: int(latest.Sub(m.from) / slot)}
	for i, site := range s.Sites {
		if err := m.site(i, site); err != nil {
			return nil, fmt.Errorf("bound: site %s: %w", site.Name, err)
		}
	}
	for _, j := range s.Jobs {
		m.p.jobs = append(m.p.jobs, m.job(j))
	}
	for i := range m.p.jobs {
		m.p.cut(&m.p.jobs[i], most)
	}
	return m.p, nil
}

// A modeller turns a scenario into numbers.
type modeller struct {
	script  spec.Scenario
	idle    bool
	from    protocol.Time
	weights protocol.Weights
	truth   func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts
	network agents.Network
	p       *problem
	fleets  []*capacity.Fleet
	pools   []map[string][]int // by site: pools of a model
	awake   []float64          // by pool: kilowatts that an awake node draws more than a sleeping one
}

func (m *modeller) slotOf(t protocol.Time) float64 {
	return float64(t-m.from) / float64(slot.Milliseconds())
}

// site adds a site: its rates, its pools and its sleeping nodes.
func (m *modeller) site(i int, site spec.Site) error {
	if err := m.rates(site); err != nil {
		return err
	}
	nodes, table := scenarios.Machines(site), power.Default()
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: table})
	if err != nil {
		return err
	}
	m.fleets = append(m.fleets, f)
	m.pools = append(m.pools, make(map[string][]int))
	asleep, awake, full := 0.0, 0.0, 0.0
	type kind struct {
		model string
		size  int
	}
	known := make(map[kind]int)
	for _, n := range nodes {
		gpu, _ := table.Lookup(n.Model)
		idle := n.Host.Idle(gpu, n.GPUs)
		least := min(n.Host.Asleep, idle) // a scenario may say that a node draws less awake
		asleep += kilowatts(least)
		more := kilowatts(idle - least)
		awake += kilowatts(max(n.Host.Asleep, idle) - least)
		full += busiest(n)
		if n.GPUs == 0 {
			continue
		}
		k, ok := known[kind{n.Model, n.GPUs}]
		if !ok {
			k = len(m.p.pools)
			known[kind{n.Model, n.GPUs}] = k
			m.pools[i][n.Model] = append(m.pools[i][n.Model], k)
			m.p.pools = append(m.p.pools, pool{
				Site: site.Name, Model: n.Model, Size: n.GPUs,
				price: make([]float64, m.p.slots), sums: make([]float64, m.p.end+1),
			})
			m.awake = append(m.awake, more)
		}
		m.p.pools[k].GPUs += float64(n.GPUs)
	}
	if m.idle {
		r := m.p.sites[i]
		start, until := m.slotOf(m.script.Start), m.slotOf(scenarios.Metered(m.script))
		lost := start
		m.p.constant += float64(asleep * (at(r.all, until) - at(r.all, start)))
		for _, o := range site.Outages { // in which no machine draws anything
			if from, to := max(m.slotOf(o.From), start), min(m.slotOf(o.To), until); from < to {
				m.p.constant -= float64(asleep * (at(r.all, to) - at(r.all, from)))
			}
			lost = max(lost, m.slotOf(o.From))
		}
		// What an outage takes with it may have earned until then.
		m.p.constant += float64(full * (at(r.less, lost) - at(r.less, start)))
		// A replay may go on; hours in which sleeping earns may or may not be in it.
		m.p.constant += float64(asleep * (r.less[len(r.less)-1] - at(r.less, until)))
		m.p.constant -= float64(len(r.all)) / 4 * perHour(m.weights)
		// In hours in which power earns, no more earn by being awake than all nodes.
		m.p.constant += float64(awake * r.less[m.p.end])
	}
	return nil
}

func kilowatts(p protocol.Milliwatts) float64 { return float64(p) / 1e6 }

// busiest returns the kilowatts that no jobs of a node draw more than, whatever a
// job's name adds to its plan: a twentieth, and rounding.
func busiest(n capacity.Node) float64 {
	gpu, _ := power.Default().Lookup(n.Model)
	most := power.Choice{Draw: gpu.Idle}
	for _, c := range gpu.Choices() {
		most.Draw = max(most.Draw, c.Draw)
	}
	return 1.06 * kilowatts(power.Job(gpu, most, n.Host, protocol.Milli(1000*n.GPUs), protocol.Milli(n.CPU)))
}

// rates adds what a kilowatt costs at a site, slot by slot.
func (m *modeller) rates(site spec.Site) error {
	latest := m.from.Add(time.Duration(m.p.end) * slot)
	var price, carbon, pue steps
	for q, to := range map[protocol.Quantity]*steps{protocol.GridPrice: &price, protocol.GridCarbon: &carbon, protocol.GridPUE: &pue} {
		if len(site.Signals[q]) == 0 {
			return fmt.Errorf("no series of %s", q)
		}
		to.points = scenarios.Lasting(site.Signals[q], latest)
	}
	r := rates{all: []float64{0}, plus: []float64{0}, less: []float64{0}, low: math.Inf(1)}
	for i := range m.p.end {
		hour := m.from.Add(time.Duration(i) * slot).Floor(time.Hour)
		kwh := price.until(hour) + float64(carbon.until(hour)*float64(m.weights.Carbon)/1e6)
		v := kwh * pue.until(hour) / 1000 * slotHours
		r.all = append(r.all, r.all[i]+v)
		r.plus = append(r.plus, r.plus[i]+max(v, 0))
		r.less = append(r.less, r.less[i]+min(v, 0))
		r.low = min(r.low, v)
	}
	m.p.sites = append(m.p.sites, r)
	return nil
}

// steps are points read in the order of time; each holds until the next.
type steps struct {
	points []protocol.Point
	value  float64
}

// until returns the value of the last point that is not after t.
func (s *steps) until(t protocol.Time) float64 {
	for len(s.points) > 0 && s.points[0].At <= t {
		s.value, s.points = float64(s.points[0].Value), s.points[1:]
	}
	return s.value
}

// perHour bounds what rounding an hour's bill may take off, in microdollars:
// half a unit of money, half a milligram, and a millijoule.
func perHour(w protocol.Weights) float64 { return 0.6 + float64(w.Carbon)/1e6 }

// job makes the work of a job. Its ways are those that a site's own fleet says.
func (m *modeller) job(j protocol.Job) work {
	size := j.GPU()
	if size == 0 {
		size = j.CPU / 16
	}
	perSlot := func(rate protocol.Microdollars) float64 { return float64(size) / 1000 * float64(rate) * slotHours }
	x := work{
		arrival: m.slotOf(j.Arrival), deadline: m.slotOf(j.Deadline),
		gpus: float64(j.GPU()) / 1000, late: perSlot(m.weights.Late),
	}
	if !j.Deferrable {
		x.delay = perSlot(m.weights.Delay)
	}
	start := max(m.script.End, j.Deadline)
	delay, late := m.weights.Waiting(j, start, start.Add(j.Run))
	x.never = float64(delay + late)
	for i, site := range m.script.Sites {
		if len(j.Regions) == 0 || slices.Contains(j.Regions, site.Name) {
			x.ways = append(x.ways, m.ways(i, j, x.gpus)...)
		}
	}
	if pausable(j) && j.Run > 0 { // without a run the market refuses it
		m.p.parted(&x, m.pausing(j, &x))
	}
	return x
}

// ways returns how a job may run at a site.
func (m *modeller) ways(site int, j protocol.Job, gpus float64) (out []way) {
	all, _ := m.fleets[site].Ways(j)
	move, paid, emitted := m.network.Move(j, m.script.Sites[site].Name)
	for _, a := range all {
		length := a.Run + move
		w := way{
			site: site, pool: -1, length: float64(length) / float64(slot), run: float64(j.Run) / speed(a.Choice) / float64(slot), hour: perHour(m.weights) * slotHours,
			power: kilowatts(m.truth(j.ID, a.Power)),
			fixed: float64(paid+m.weights.CarbonCost(emitted)) - rounding - (math.Ceil(length.Hours())+1)*perHour(m.weights),
		}
		if j.GPUs == 0 {
			out = append(out, w)
			continue
		}
		for _, k := range m.pools[site][a.Model] {
			if m.p.pools[k].Size < j.GPUs {
				continue
			}
			w.pool = k
			if m.idle {
				w.awake = m.awake[k] * gpus / float64(m.p.pools[k].Size)
			}
			out = append(out, w)
		}
	}
	return out
}

// speed returns how fast a choice is, the reference clock being one.
func speed(c power.Choice) float64 {
	if c.Speed <= 0 {
		return 1
	}
	return float64(c.Speed) / 1000
}
