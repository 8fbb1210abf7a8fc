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

// VerifyCertificate recomputes the bound of a certificate from its prices and the scenario alone,
// and returns it in dollars. It is independent of the search: it counts in
// milliseconds, tries all starts of all ways, and buys the segments of paused jobs
// one by one. An error says why the certificate proves nothing: it is of another
// scenario, or claims more than its prices give.
func VerifyCertificate(s spec.Scenario, c Certificate) (float64, error) {
	s = s.WithPartsAsJobs()
	switch {
	case c.Schema != 1:
		return 0, fmt.Errorf("bound: the certificate has schema %d, this version reads schema 1: compute it anew", c.Schema)
	case c.Hash != s.Hash:
		return 0, fmt.Errorf("bound: the certificate is of scenario %.12s, not %.12s: load the same scenario with the same options", c.Hash, s.Hash)
	case c.Weights != scenarios.MarketWeights(s):
		return 0, fmt.Errorf("bound: the certificate's weights differ from the scenario's: compute it anew")
	case c.Slot != slotLength || c.From != int64(s.Start.Floor(time.Hour)):
		return 0, fmt.Errorf("bound: the certificate has slots of %v from %v: want %v from %v", c.Slot, protocol.Time(c.From), slotLength, s.Start.Floor(time.Hour))
	}
	k := certificateChecker{s: s, c: c, weights: c.Weights, network: agents.DefaultNetwork(), truth: scenarios.TruePower(s.Seed)}
	sum, err := k.loadScenario()
	if err != nil {
		return 0, err
	}
	for _, j := range s.Jobs {
		sum += k.leastCostOfJob(j)
	}
	got := sum / 1e6
	// The tolerance covers the different order of additions, not a different result, and that here
	// each job's delay and lateness are whole microdollars, cut as the record cuts them.
	if c.BoundUSD > got+1e-6*math.Abs(got)+2e-6*float64(len(s.Jobs)) {
		return got, fmt.Errorf("bound: the certificate is invalid: it claims $%.4f, but its prices give $%.4f", c.BoundUSD, got)
	}
	return got, nil
}

// A certificateChecker recomputes the bound of one certificate.
type certificateChecker struct {
	s       spec.Scenario
	c       Certificate
	weights protocol.Weights
	network agents.Network
	truth   func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts
	grids   []siteTariff
	fleets  []*capacity.Fleet
	nodes   [][]capacity.Node
	end     protocol.Time // end of all replays of the scenario
}

// A siteTariff is the hourly cost of a kilowatt from the scenario's first hour on.
type siteTariff struct {
	from  protocol.Time
	hours []float64 // microdollars per kilowatt-hour of IT energy: money and carbon, times PUE
	least float64   // of hours
}

// loadScenario loads the sites and returns the part of the bound that does not depend on
// jobs: minus the value of all capacity and, with Idle, the energy of sleeping nodes.
func (k *certificateChecker) loadScenario() (sum float64, err error) {
	// Sites first: their tariffs, and with Idle the power of nodes that no job uses.
	meters := scenarios.MeteredUntil(k.s)
	k.end = meters.Add(scenarios.MaxReplayOverrun)
	for _, site := range k.s.Sites {
		nodes := scenarios.NodesOfSite(site)
		f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable()})
		if err != nil {
			return 0, fmt.Errorf("bound: site %s: %w", site.Name, err)
		}
		k.fleets, k.nodes = append(k.fleets, f), append(k.nodes, nodes)
		t := k.tariffOf(site)
		k.grids = append(k.grids, t)
		// Without idle power nodes cost nothing by themselves.
		if !k.c.Idle {
			continue
		}
		asleep, more, full := 0.0, 0.0, 0.0
		for _, n := range nodes {
			least, most, _ := k.nodePower(n)
			asleep += least
			more += most
			full += maxNodePower(n)
		}
		// In hours with negative cost, at most all nodes are awake and earn money.
		sum += more * t.integrateTariff(t.from, k.end, func(v float64) float64 { return min(v, 0) })
		sum += asleep * t.integrateTariff(k.s.Start, meters, func(v float64) float64 { return v })
		for _, o := range site.Outages {
			if from, to := max(o.From, k.s.Start), min(o.To, meters); from < to {
				sum -= asleep * t.integrateTariff(from, to, func(v float64) float64 { return v })
			}
		}
		if n := len(site.Outages); n > 0 { // outages are ordered; jobs that the last one interrupts may have earned money before
			sum += full * t.integrateTariff(k.s.Start, max(k.s.Start, site.Outages[n-1].From), func(v float64) float64 { return min(v, 0) })
		}
		sum -= float64(len(t.hours)+1) * hourlyRoundingBound(k.weights)
	}
	// Then the capacity: each pool's GPUs over all priced slots.
	if err := k.checkPoolsComplete(); err != nil {
		return 0, err
	}
	for _, q := range k.c.Pools {
		for _, v := range q.Values {
			// Multipliers of capacity limits are not negative; with a negative one the sum would be
			// no lower bound.
			if v < 0 {
				return 0, fmt.Errorf("bound: the certificate is invalid: %s %s has a price below zero", q.Site, q.Model)
			}
			sum -= float64(v) * float64(k.countPoolGPUs(q)) * k.c.Slot.Hours()
		}
	}
	return sum, nil
}

// nodePower returns the kilowatts that a node with power draws at least, the additional
// ones at most, and the additional ones awake.
func (k *certificateChecker) nodePower(n capacity.Node) (least, most, awake float64) {
	gpu, _ := power.DefaultTable().LookupModel(n.Model)
	idle := n.Host.IdlePower(gpu, n.GPUs)
	low := min(n.Host.Asleep, idle)
	return float64(low) / 1e6, float64(max(n.Host.Asleep, idle)-low) / 1e6, float64(idle-low) / 1e6
}

// checkPoolsComplete checks that the certificate prices each kind of node exactly once. A
// missing kind would have no ways, and the minimum over the others would be too high
// for a bound.
func (k *certificateChecker) checkPoolsComplete() error {
	type kind struct {
		site, model string
		size        int
	}
	open := make(map[kind]bool)
	for i, site := range k.s.Sites {
		for _, n := range k.nodes[i] {
			if n.GPUs > 0 {
				open[kind{site.Name, n.Model, n.GPUs}] = true
			}
		}
	}
	for _, q := range k.c.Pools {
		x := kind{q.Site, q.Model, q.Size}
		if !open[x] {
			return fmt.Errorf("bound: the certificate prices %s %s of %d twice, or the scenario has none", q.Site, q.Model, q.Size)
		}
		delete(open, x)
	}
	if len(open) > 0 {
		return fmt.Errorf("bound: the certificate is invalid: %d kinds of node of the scenario have no price", len(open))
	}
	return nil
}

// countPoolGPUs counts the GPUs of a pool in the scenario; the certificate's own count is not
// trusted.
func (k *certificateChecker) countPoolGPUs(q PricedPool) (n int) {
	for i, site := range k.s.Sites {
		if site.Name != q.Site {
			continue
		}
		for _, x := range k.nodes[i] {
			if x.Model == q.Model && x.GPUs == q.Size {
				n += x.GPUs
			}
		}
	}
	return n
}

// tariffOf computes the cost of a kilowatt-hour for each hour until the end.
func (k *certificateChecker) tariffOf(site spec.Site) siteTariff {
	t := siteTariff{from: k.s.Start.Floor(time.Hour), least: math.Inf(1)}
	var values [3]float64
	var points [3][]protocol.Point
	for i, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		points[i] = scenarios.RepeatLastDay(site.Signals[q], k.end)
	}
	for at := t.from; at < k.end; at = at.Add(time.Hour) {
		// Series are step functions: a value holds from its instant until the next.
		for i := range points {
			for len(points[i]) > 0 && points[i][0].At <= at {
				values[i] = float64(points[i][0].Value)
				points[i] = points[i][1:]
			}
		}
		v := (values[0] + values[1]*float64(k.weights.Carbon)/1e6) * values[2] / 1000
		t.hours = append(t.hours, v)
		t.least = min(t.least, v)
	}
	return t
}

// integrateTariff integrates a function of the tariff over [a, b), in hours.
func (t siteTariff) integrateTariff(a, b protocol.Time, f func(float64) float64) (sum float64) {
	for i := int((a - t.from) / msHour); i < len(t.hours); i++ {
		start := t.from + protocol.Time(i)*msHour
		if start >= b {
			break
		}
		sum += f(t.hours[i]) * float64(min(b, start+msHour)-max(a, start)) / msHour
	}
	return sum
}

const msHour = 3_600_000

// leastCostOfJob returns the lowest cost of a job at the prices.
func (k *certificateChecker) leastCostOfJob(j protocol.Job) float64 {
	start := max(k.s.End, j.Deadline)
	// The record charges a job that never runs as if it had waited until then.
	delay, late := k.weights.DelayAndLateCost(j, start, start.Add(j.Run))
	never := float64(delay + late)
	best := never
	var all []runOption
	// Run in one part: every way at every site that the job's regions and the site's terms allow.
	for i, site := range k.s.Sites {
		if len(j.Regions) > 0 && !slices.Contains(j.Regions, site.Name) || site.Terms.Refusal(&j) != "" {
			continue
		}
		for pods, most := j.PodRange(); pods <= most; pods++ { // of an elastic job; of any other, its own
			sized := j.AtPods(pods)
			ways, _ := k.fleets[i].RunConfigs(sized)
			for _, w := range ways {
				for _, r := range k.runsOfConfig(i, site, sized, w) {
					r.j = j // waiting and lateness are priced by the job as submitted
					best = min(best, r.cheapestStart(best))
					all = append(all, r)
				}
			}
		}
	}
	// Run in parts: only jobs that may pause have these ways besides.
	if j.Pause > 0 && j.Run > 0 && len(all) > 0 {
		best = min(best, k.leastCostInParts(j, all, never, best))
	}
	return best
}

// runsOfConfig returns the ways of a job at a site, each on every kind of node that has room
// for it.
func (k *certificateChecker) runsOfConfig(i int, site spec.Site, j protocol.Job, w capacity.RunConfig) (out []runOption) {
	move, paid, emitted := k.network.TransferNeeds(j, site.Name)
	r := runOption{k: k, j: j, gpus: j.TotalGPUMilli(), run: j.Run, site: i, grid: &k.grids[i], length: protocol.Time((w.Run + move).Milliseconds()), config: w}
	r.power = float64(k.truth(j.ID, w.Power)) / 1e6
	r.transferCost = float64(paid + k.weights.CarbonCost(emitted))
	// Rounding may lower the recorded cost of each hour that the run touches.
	r.fixed = r.transferCost - jobRoundingError - (math.Ceil((w.Run+move).Hours())+1)*hourlyRoundingBound(k.weights)
	if j.GPUs == 0 {
		return []runOption{r}
	}
	// GPU jobs run on one node, so only nodes with enough GPUs count.
	for _, q := range k.c.Pools {
		if q.Site != site.Name || q.Model != w.Model || q.Size < j.LeastGPUsOnNode() {
			continue
		}
		x := r
		x.room = q.Values
		if k.c.Idle {
			n := k.nodes[i][slices.IndexFunc(k.nodes[i], func(n capacity.Node) bool { return n.Model == q.Model && n.GPUs == q.Size })]
			_, _, awake := k.nodePower(n)
			x.part = awake * float64(j.TotalGPUMilli()) / 1000 / float64(q.Size)
		}
		out = append(out, x)
	}
	return out
}

// A runOption is one way of one job on one kind of node.
type runOption struct {
	k                   *certificateChecker
	j                   protocol.Job
	gpus                protocol.Milli // those of an elastic job on its pods
	run                 time.Duration  // at the reference clock, of the same
	config              capacity.RunConfig
	site                int
	grid                *siteTariff
	room                []protocol.Microdollars
	length              protocol.Time
	power, part         float64 // kilowatts: of the job, and of keeping its node awake
	fixed, transferCost float64 // cost independent of time; the part of it for moving the input
}

// cheapestStart tries all starts at which the piecewise linear cost can be minimal: the
// arrival, starts at which the run begins or ends with a slot, and the one that ends
// at the deadline; until lateness alone costs more than best.
func (r runOption) cheapestStart(best float64) float64 {
	step := protocol.Time(r.k.c.Slot.Milliseconds())
	best = min(best, r.costAt(r.j.Arrival))
	if t := r.j.Deadline - r.length; t > r.j.Arrival {
		best = min(best, r.costAt(t))
	}
	first := r.j.Arrival.Floor(r.k.c.Slot)
	shift := r.length % step
	for at := first; at+r.length < r.k.end; at += step {
		if at > r.j.Arrival {
			best = min(best, r.costAt(at))
		}
		if t := at + step - shift; t > r.j.Arrival {
			best = min(best, r.costAt(t))
		}
		// From here on no start can cost less: even energy at its lowest price cannot make up
		// for the lateness.
		_, late := r.waitingCost(at)
		if late > 0 && late+r.fixed+r.power*float64(r.length)/msHour*min(r.grid.least, 0) > best {
			break
		}
	}
	return best
}

// waitingCost returns the cost of delay and of lateness.
func (r runOption) waitingCost(start protocol.Time) (delay, late float64) {
	d, l := r.k.weights.DelayAndLateCost(r.j, start, start+r.length)
	return float64(d), float64(l)
}

// costAt returns the cost of a start, with capacity at the certificate's prices.
func (r runOption) costAt(start protocol.Time) float64 {
	finish := start + r.length
	delay, late := r.waitingCost(start)
	// An awake node's power counts only while it costs: see loadScenario for earnings.
	v := r.fixed + delay + late + r.grid.integrateTariff(start, finish, func(rate float64) float64 {
		return r.power*rate + r.part*max(rate, 0)
	})
	step := protocol.Time(r.k.c.Slot.Milliseconds())
	for i := int((start - protocol.Time(r.k.c.From)) / step); i < len(r.room); i++ {
		from := protocol.Time(r.k.c.From) + protocol.Time(i)*step
		if from >= finish {
			break
		}
		part := min(finish, from+step) - max(start, from)
		v += float64(r.room[i]) * float64(r.gpus) / 1000 * float64(part) / msHour
	}
	return v
}
