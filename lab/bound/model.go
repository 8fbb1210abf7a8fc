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
	slotLength  = 15 * time.Minute
	slotHours   = 0.25
	pricedSlots = 72 * 4 // slots with a price of capacity: three days
)

// jobRoundingError is subtracted from each job's cost, in microdollars: the record's rounding
// of transfer, delay and lateness to whole units can lower it by that much. Hourly
// bills are rounded, too: see hourlyRoundingBound.
const jobRoundingError = 4

// modelScenario builds the problem of a scenario.
func modelScenario(s spec.Scenario, idle bool) (*boundProblem, error) {
	m, err := newScenarioModel(s, idle)
	if err != nil {
		return nil, err
	}
	return m.p, nil
}

// newScenarioModel builds the problem of a scenario, and keeps what it was built from.
func newScenarioModel(s spec.Scenario, idle bool) (*scenarioModeller, error) {
	m, err := newUnsplitModel(s, idle)
	if err != nil {
		return nil, err
	}
	for i := range m.p.jobs {
		m.p.splitIntoBlocks(&m.p.jobs[i], maxBlocks)
	}
	return m, nil
}

// newUnsplitModel is newScenarioModel before the starts of jobs are split into blocks.
func newUnsplitModel(s spec.Scenario, idle bool) (*scenarioModeller, error) {
	if s.HasEvents() {
		return nil, fmt.Errorf("bound: %s has events, or jobs that fail, and no bound is known for what they change: remove them", s.Name)
	}
	if i := slices.IndexFunc(s.Jobs, func(j protocol.Job) bool { return j.MinPods > 0 }); i >= 0 {
		return nil, fmt.Errorf("bound: job %s of %s may start with fewer pods (min_available), and no bound is known for what that changes: remove it, or ask for no bound", s.Jobs[i].ID, s.Name)
	}
	m := &scenarioModeller{
		scenario: s, idle: idle, from: s.Start.Floor(time.Hour), weights: scenarios.MarketWeights(s),
		truth: scenarios.TruePower(s.Seed), network: agents.DefaultNetwork(),
	}
	// Jobs may run until the latest end of a replay, so the tariffs reach that far.
	latest := scenarios.MeteredUntil(s).Add(scenarios.MaxReplayOverrun)
	m.p = &boundProblem{slots: pricedSlots, end: int(latest.Sub(m.from) / slotLength)}
	for i, site := range s.Sites {
		if err := m.addSite(i, site); err != nil {
			return nil, fmt.Errorf("bound: site %s: %w", site.Name, err)
		}
	}
	for _, j := range s.Jobs {
		m.p.jobs = append(m.p.jobs, m.modelJob(j))
	}
	return m, nil
}

// A scenarioModeller builds the problem of a scenario.
type scenarioModeller struct {
	scenario spec.Scenario
	idle     bool
	from     protocol.Time
	weights  protocol.Weights
	truth    func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts
	network  agents.Network
	p        *boundProblem
	fleets   []*capacity.Fleet
	pools    []map[string][]int // by site: pools of a GPU model
	awake    []float64          // by pool: additional kilowatts of an awake node
}

// slotOf converts a time to slots from the start.
func (m *scenarioModeller) slotOf(t protocol.Time) float64 {
	return float64(t-m.from) / float64(slotLength.Milliseconds())
}

// addSite adds a site: its rates, its pools and its sleeping nodes.
func (m *scenarioModeller) addSite(i int, site spec.Site) error {
	if err := m.addSiteRates(site); err != nil {
		return err
	}
	nodes, table := scenarios.NodesOfSite(site), power.DefaultTable()
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
	// Nodes of one model and size are alike to the bound and share one price of capacity.
	known := make(map[kind]int)
	for _, n := range nodes {
		gpu, _ := table.LookupModel(n.Model)
		idle := n.Host.IdlePower(gpu, n.GPUs)
		// Idle power splits into a part that every node draws at all times, which is a constant,
		// and a part that only awake nodes draw, which the jobs on them pay.
		least := min(n.Host.Asleep, idle) // a scenario may declare awake nodes cheaper than sleeping ones
		asleep += toKilowatts(least)
		more := toKilowatts(idle - least)
		awake += toKilowatts(max(n.Host.Asleep, idle) - least)
		full += maxNodePower(n)
		if n.GPUs == 0 {
			continue
		}
		k, ok := known[kind{n.Model, n.GPUs}]
		if !ok {
			k = len(m.p.pools)
			known[kind{n.Model, n.GPUs}] = k
			m.pools[i][n.Model] = append(m.pools[i][n.Model], k)
			m.p.pools = append(m.p.pools, gpuPool{
				Site: site.Name, Model: n.Model, Size: n.GPUs,
				price: make([]float64, m.p.slots), sums: make([]float64, m.p.end+1),
			})
			m.awake = append(m.awake, more)
		}
		m.p.pools[k].GPUs += float64(n.GPUs)
	}
	// The idle part is the same for every schedule, so it is added once, as a constant.
	if m.idle {
		// Every term below errs downwards: the sum must stay a lower bound.
		r := m.p.sites[i]
		start, until := m.slotOf(m.scenario.Start), m.slotOf(scenarios.MeteredUntil(m.scenario))
		lost := start
		m.p.constant += float64(asleep * (interpolateSum(r.prefixSums, until) - interpolateSum(r.prefixSums, start)))
		for _, o := range site.Outages { // no node draws power during an outage
			if from, to := max(m.slotOf(o.From), start), min(m.slotOf(o.To), until); from < to {
				m.p.constant -= float64(asleep * (interpolateSum(r.prefixSums, to) - interpolateSum(r.prefixSums, from)))
			}
			lost = max(lost, m.slotOf(o.From))
		}
		// Jobs that an outage interrupts may have earned money before.
		m.p.constant += float64(full * (interpolateSum(r.less, lost) - interpolateSum(r.less, start)))
		// Four slots are an hour, and every hour of a site's bill may be rounded down.
		m.p.constant -= float64(len(r.prefixSums)) / 4 * hourlyRoundingBound(m.weights)
		// In hours with negative cost, awake nodes earn money: at most all of them
		// are awake.
		m.p.constant += float64(awake * r.less[m.p.end])
	}
	return nil
}

// toKilowatts converts from milliwatts.
func toKilowatts(p protocol.Milliwatts) float64 { return float64(p) / 1e6 }

// maxNodePower returns an upper bound of the power that a node's jobs draw, in kilowatts,
// including the scatter of real power (a twentieth) and rounding.
func maxNodePower(n capacity.Node) float64 {
	gpu, _ := power.DefaultTable().LookupModel(n.Model)
	most := power.Choice{Draw: gpu.Idle}
	for _, c := range gpu.CapChoices() {
		most.Draw = max(most.Draw, c.Draw)
	}
	return 1.06 * toKilowatts(power.JobPower(gpu, most, n.Host, protocol.Milli(1000*n.GPUs), protocol.Milli(n.CPU)))
}

// addSiteRates adds the cost of a kilowatt at a site, by slot.
func (m *scenarioModeller) addSiteRates(site spec.Site) error {
	latest := m.from.Add(time.Duration(m.p.end) * slotLength)
	var price, carbon, pue stepFunction
	for q, to := range map[protocol.Quantity]*stepFunction{protocol.GridPrice: &price, protocol.GridCarbon: &carbon, protocol.GridPUE: &pue} {
		if len(site.Signals[q]) == 0 {
			return fmt.Errorf("no series of %s", q)
		}
		to.points = scenarios.RepeatLastDay(site.Signals[q], latest)
	}
	r := cumulativeRates{prefixSums: []float64{0}, plus: []float64{0}, less: []float64{0}, low: math.Inf(1)}
	for i := range m.p.end {
		// Energy costs what it does at the hour's beginning: the four slots of an hour cost the same.
		hour := m.from.Add(time.Duration(i) * slotLength).Floor(time.Hour)
		// In microdollars per kWh: the price, and carbon (mg/kWh) at its weight (microdollars per kg).
		// PUE is in thousandths.
		kwh := price.valueAt(hour) + float64(carbon.valueAt(hour)*float64(m.weights.Carbon)/1e6)
		v := kwh * pue.valueAt(hour) / 1000 * slotHours
		r.prefixSums = append(r.prefixSums, r.prefixSums[i]+v)
		// Costs and earnings have separate sums: where only one of them may count, a bound
		// takes the part that makes it lower.
		r.plus = append(r.plus, r.plus[i]+max(v, 0))
		r.less = append(r.less, r.less[i]+min(v, 0))
		r.low = min(r.low, v)
	}
	m.p.sites = append(m.p.sites, r)
	return nil
}

// stepFunction reads a step function in the order of time.
type stepFunction struct {
	points []protocol.Point
	value  float64
}

// valueAt returns the value at t: that of the last point not after t.
func (s *stepFunction) valueAt(t protocol.Time) float64 {
	for len(s.points) > 0 && s.points[0].At <= t {
		s.value, s.points = float64(s.points[0].Value), s.points[1:]
	}
	return s.value
}

// hourlyRoundingBound is an upper bound of the rounding of an hour's bill, in microdollars: half
// a unit of money, half a milligram of carbon, and a millijoule.
func hourlyRoundingBound(w protocol.Weights) float64 { return 0.6 + float64(w.Carbon)/1e6 }

// modelJob returns the work of a job. Its ways are those that each site's capacity model
// allows.
func (m *scenarioModeller) modelJob(j protocol.Job) jobModel {
	size := j.TotalGPUMilli()
	// Sixteen cores count as one GPU (METHOD, section 1).
	if size == 0 {
		size = j.CPU / 16
	}
	perSlot := func(rate protocol.Microdollars) float64 { return float64(size) / 1000 * float64(rate) * slotHours }
	x := jobModel{
		arrival: m.slotOf(j.Arrival), deadline: m.slotOf(j.Deadline),
		gpus: float64(j.TotalGPUMilli()) / 1000, late: perSlot(m.weights.Late),
		delay: perSlot(m.weights.WaitPrice(&j)),
	}
	if m.weights.LateMost > 0 {
		x.lateMost = float64(m.weights.MostLateCost(&j))
	}
	// A job that never runs is charged as if it had waited until the end of the scenario,
	// or until its deadline if that is later: as the record charges it.
	start := max(m.scenario.End, j.Deadline)
	delay, late := m.weights.DelayAndLateCost(j, start, start.Add(j.Run))
	x.neverRunCost = float64(delay + late)
	for i, site := range m.scenario.Sites {
		if (len(j.Regions) == 0 || slices.Contains(j.Regions, site.Name)) && site.Terms.Refusal(&j) == "" {
			// An elastic job is a gang of each number of pods of its range.
			for pods, most := j.PodRange(); pods <= most; pods++ {
				at := j.AtPods(pods)
				x.configs = append(x.configs, m.runConfigsAt(i, at, float64(at.TotalGPUMilli())/1000)...)
			}
		}
	}
	if canPause(j) && j.Run > 0 { // the market rejects a job without a run time
		m.p.addPausedRuns(&x, m.pauseRulesOf(j, &x))
	}
	return x
}

// runConfigsAt returns the ways to run a job at a site.
func (m *scenarioModeller) runConfigsAt(site int, j protocol.Job, gpus float64) (out []runConfig) {
	all, _ := m.fleets[site].RunConfigs(j)
	// Fleets are asked empty: what runs elsewhere is the business of the prices.
	move, paid, emitted := m.network.TransferNeeds(j, m.scenario.Sites[site].Name)
	for _, a := range all {
		length := a.Run + move
		w := runConfig{
			site: site, pool: -1, length: float64(length) / float64(slotLength), run: float64(j.Run) / choiceSpeed(a.Choice) / float64(slotLength), hour: hourlyRoundingBound(m.weights) * slotHours,
			power: toKilowatts(m.truth(j.ID, a.Power)),
			fixed: float64(paid+m.weights.CarbonCost(emitted)) - jobRoundingError - (math.Ceil(length.Hours())+1)*hourlyRoundingBound(m.weights),
		}
		if j.GPUs == 0 {
			out = append(out, w)
			continue
		}
		// A way on each kind of node with room: they share the model, but not the price.
		for _, k := range m.pools[site][a.Model] {
			// A gang over kinds of several sizes costs a mean of what it costs on each, so no less than on one.
			if m.p.pools[k].Size < j.LeastGPUsOnNode() {
				continue
			}
			w.pool = k
			if j.IsElastic() {
				w.gpus = gpus
			}
			if m.idle {
				w.awake = m.awake[k] * gpus / float64(m.p.pools[k].Size)
			}
			out = append(out, w)
		}
	}
	return out
}

// choiceSpeed returns the speed of a choice relative to the reference clock.
func choiceSpeed(c power.Choice) float64 {
	if c.Speed <= 0 {
		return 1
	}
	return float64(c.Speed) / 1000
}
