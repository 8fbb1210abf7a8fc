// Package scenarios builds the testbed of a scenario under a policy, replays it and
// returns its totals. Here, and only here, coordinator and agents are wired to a
// simulated environment.
//
// Neighbours: spec reads scenarios; sim/loop runs simulated time; sim has executor,
// signal publisher and submitter; baseline has the rules that the auction is compared
// with; report writes tables and charts.
package scenarios

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Testbed is the testbed of a scenario: its parties, ready to be replayed.
type Testbed struct {
	Parties      map[protocol.Party]bus.Machine
	Market       *market.Market
	Start        protocol.Time // first instant of the replay
	MeteredUntil protocol.Time // until when the sites are metered at least

	scenario  spec.Scenario
	submitter *sim.Submitter
	executors []*sim.SimExecutor
	runTimes  map[protocol.JobID]runTimePair // nil: stated run times are real
	closesAt  protocol.Time                  // when the last signal of the metered hours is published; 0: not known yet
	fleets    []*capacity.Fleet
}

// MeteredUntil returns until when the sites of a scenario are metered at least.
func MeteredUntil(s spec.Scenario) protocol.Time {
	return s.End.Add(spec.MeteredAfterEnd).Ceil(time.Hour)
}

// truePowerSpread is how far, in thousandths, a job's real power may differ from its model's
// power: five per cent either way, depending on the job's id.
const truePowerSpread = 50

// BuildTestbed builds the testbed of a scenario under a policy.
func BuildTestbed(s spec.Scenario, policy string) (*Testbed, error) {
	return buildTestbed(s, policy, Options{})
}

// buildTestbed builds the testbed. It rejects duplicate job ids, because a run is identified by
// its job's id.
func buildTestbed(s spec.Scenario, policy string, o Options) (*Testbed, error) {
	policy, signals, err := parsePolicyName(policy)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	rule, strategy, body := policyConfig(policy, s.Seed)
	body.NoBackfill = o.NoBackfill
	if o.Rule != nil {
		rule = o.Rule()
	}
	if rule == nil {
		return nil, fmt.Errorf("scenarios: the policy %s needs a program that decides: replay it by `gridbid replay --policy outside --outside CMD`", policy)
	}
	seen := make(map[protocol.JobID]bool, len(s.Jobs))
	for _, j := range s.Jobs {
		if seen[j.ID] {
			return nil, fmt.Errorf("scenarios: duplicate job id %q: give each job its own id", j.ID)
		}
		seen[j.ID] = true
	}
	jobs := s.Jobs
	var runTimes map[protocol.JobID]runTimePair
	if signals == SignalWrongRunTimes {
		jobs, runTimes = misstateRunTimes(s.Seed, s.Jobs)
	}
	w := MarketWeights(s)
	st := &Testbed{
		Parties: make(map[protocol.Party]bus.Machine), scenario: s, Start: s.Start,
		MeteredUntil: MeteredUntil(s),
		Market:       market.New(market.Config{Terms: w, Pay: accounts.PaymentRule{Pay: o.Pay, Margin: 100}, Advice: o.Advice, MostSites: o.MostSites}, rule),
		submitter:    sim.NewSubmitter(jobs),
		runTimes:     runTimes,
	}
	if o.Policy.Version == 0 && len(s.Quotas)+len(s.Classes) > 0 {
		o.Policy = protocol.Policy{Version: 1, By: "scenario", Quotas: s.Quotas, Classes: s.Classes}
	}
	st.Market.SetPolicy(o.Policy)
	st.Parties[protocol.Coordinator] = st.Market
	if o.Around != nil {
		st.Parties[protocol.Coordinator] = o.Around(st.Market)
	}
	st.Parties[protocol.Submitter] = st.submitter
	if o.Judge != nil {
		st.Parties[protocol.Judge] = o.Judge
	}
	if op := newOperator(s); op != nil {
		st.Parties[protocol.OperatorAPI] = op
	}
	if signals == SignalLearned && o.Learned == nil {
		o.Learned, _ = forecast.ShippedLearned() // nil if it is refused, which `gridbid learn check` says
	}
	for _, site := range s.Sites {
		bids := agents.BidStrategy(strategy)
		if o.Strategy != nil {
			bids = o.Strategy(site.Name)
		}
		if err := st.addSite(site, bids, body, signals, o); err != nil {
			return nil, fmt.Errorf("scenarios: site %s: %w", site.Name, err)
		}
	}
	return st, nil
}

// MarketWeights returns the scenario's weights in the market's units: carbon per kilogram
// instead of per tonne.
func MarketWeights(s spec.Scenario) protocol.Weights {
	w := s.Weights
	return protocol.Weights{
		Carbon: w.Kappa / 1000, WaitNow: w.WaitNow, WaitStandard: w.WaitStandard, WaitFlexible: w.WaitFlexible,
		Late: w.Late, LateMost: w.LateMost, WaitLimit: w.WaitLimit, WaitLimitRuns: w.WaitLimitRuns,
	}
}

// addSite adds the parties of a site: its agent, executor and signal source.
func (st *Testbed) addSite(site spec.Site, strategy agents.BidStrategy, body capacity.Config, signals SignalKnowledge, o Options) error {
	p, err := buildSimulatedSite(st.scenario, site, body, signals, o.Learned, st.Start, st.MeteredUntil.Add(MaxReplayOverrun))
	if err != nil {
		return err
	}
	if st.runTimes != nil {
		p.Executor.SetRunTime(realRunTime(site.Name, st.runTimes))
	}
	st.fleets, st.executors = append(st.fleets, p.Fleet), append(st.executors, p.Executor)
	var agent bus.Machine = agents.New(agents.Config{Site: site.Name, Strategy: strategy, Terms: site.Terms, Location: site.Location, Services: true}, p.Fleet, p.Grid)
	if o.Misreport != nil {
		agent = misreportingAgent{agent, func() spec.Misreport { return o.Misreport(site.Name) }}
	} else if !site.Bids.IsHonest() {
		agent = misreportingAgent{agent, func() spec.Misreport { return site.Bids }}
	}
	st.Parties[protocol.AgentParty(site.Name)] = withSilences(agent, st.scenario, site.Name)
	st.Parties[protocol.ExecutorParty(site.Name)] = p.Executor
	st.Parties[protocol.SignalParty(site.Name)] = p.SignalPublisher
	return nil
}

// A place is what a site of a replay is made of: what its agent owns, and the
// machines that simulate its cluster and its grid.
type place struct {
	simulation
	Fleet *capacity.Fleet
	Grid  *forecast.GridState
}

// ShiftScenario returns a scenario with its period, grid signals, forecasts, events and outages
// shifted by a duration.
func ShiftScenario(s spec.Scenario, by time.Duration) spec.Scenario {
	s.Start, s.End = s.Start.Add(by), s.End.Add(by)
	s.Events = slices.Clone(s.Events)
	for i, e := range s.Events {
		if s.Events[i].At = e.At.Add(by); e.Until != 0 {
			s.Events[i].Until = e.Until.Add(by)
		}
	}
	s.Services = slices.Clone(s.Services)
	for i := range s.Services {
		s.Services[i].At = s.Services[i].At.Add(by)
	}
	s.Sites = slices.Clone(s.Sites)
	for i, site := range s.Sites {
		signals := make(map[protocol.Quantity][]protocol.Point, len(site.Signals))
		for what, points := range site.Signals {
			signals[what] = shiftPoints(points, by)
		}
		forecasts := make(map[protocol.Quantity][]forecast.Bulletin, len(site.Forecasts))
		for what, said := range site.Forecasts {
			for _, b := range said {
				forecasts[what] = append(forecasts[what], forecast.Bulletin{Issued: b.Issued.Add(by), Points: shiftPoints(b.Points, by)})
			}
		}
		s.Sites[i].Signals, s.Sites[i].Forecasts = signals, forecasts
		s.Sites[i].Outages = slices.Clone(site.Outages)
		for k := range s.Sites[i].Outages {
			s.Sites[i].Outages[k].From = s.Sites[i].Outages[k].From.Add(by)
			s.Sites[i].Outages[k].To = s.Sites[i].Outages[k].To.Add(by)
		}
	}
	return s
}

// shiftPoints returns points shifted by a duration.
func shiftPoints(points []protocol.Point, by time.Duration) []protocol.Point {
	points = slices.Clone(points)
	for k := range points {
		points[k].At = points[k].At.Add(by)
	}
	return points
}

// buildSimulatedSite builds a site's fleet and its agent's view of the grid, and the machines
// that play its cluster and grid from start until a time.
func buildSimulatedSite(s spec.Scenario, site spec.Site, body capacity.Config, signals SignalKnowledge, l *forecast.Learned, start, until protocol.Time) (p place, err error) {
	body.Nodes, body.Power = NodesOfSite(site), power.DefaultTable()
	if p.Fleet, err = capacity.New(body); err != nil {
		return p, err
	}
	p.Grid = forecast.New(signals.forecastConfig(site, l))
	p.simulation, err = simulateSite(s, site, signals, start, until)
	return p, err
}

// A simulation plays the cluster and the grid of a site.
type simulation struct {
	Executor        *sim.SimExecutor
	SignalPublisher *sim.SignalPublisher
}

// simulateSite makes the machines that play the cluster and the grid of a site of a scenario from
// start. The grid repeats its last day until a time.
func simulateSite(s spec.Scenario, site spec.Site, signals SignalKnowledge, start, until protocol.Time) (p simulation, err error) {
	seed, nodes := s.Seed, NodesOfSite(site)
	p.Executor = sim.NewSimExecutor(site.Name, nodes, power.DefaultTable(), start, TruePower(seed))
	p.Executor.SetFailures(s.FailsAfter)
	for _, e := range s.EventsOf(spec.NodeDown) {
		if slices.ContainsFunc(nodes, func(n capacity.Node) bool { return n.Name == e.Name }) {
			p.Executor.ScheduleOutage(e.At, e.Until, "node down", e.Name)
		}
	}
	for _, o := range site.Outages {
		p.Executor.ScheduleOutage(o.From, o.To, "no power")
	}
	p.SignalPublisher = sim.NewSignalPublisher(site.Name, start)
	for _, what := range []protocol.Quantity{protocol.GridCarbon, protocol.GridPrice, protocol.GridPUE} {
		points := site.Signals[what]
		if len(points) == 0 {
			continue
		}
		if len(points) == 1 { // sites discard values older than forecast.MaxAge, and a constant may date from the begin of a year
			points = []protocol.Point{{At: max(points[0].At, start.Add(-forecast.MaxAge).Ceil(time.Hour)), Value: points[0].Value}}
		}
		lines, err := signals.signalSeries(seed, site, what, RepeatLastDay(points, until))
		if err != nil {
			return p, fmt.Errorf("%s: %w", what, err)
		}
		// Forecasts come before measured values: see AddServiceForecasts.
		if said := site.Forecasts[what]; signals.receivesServices() && len(said) > 0 {
			p.SignalPublisher.AddServiceForecasts(what, said)
		}
		for _, l := range lines {
			p.SignalPublisher.AddSeries(what, l.series, l.market)
		}
	}
	return p, nil
}

// MaxReplayOverrun is how long a replay may last after the metered time.
const MaxReplayOverrun = 14 * 24 * time.Hour

// publicationSchedule returns when values of a quantity become known: prices of a day-ahead
// market by that market's schedule; carbon and other prices as late as the site's sources are;
// PUE, which the site measures itself, in its own hour.
func publicationSchedule(site spec.Site, what protocol.Quantity) forecast.Market {
	switch {
	case what == protocol.GridPUE:
		return forecast.Market{}
	case what != protocol.GridPrice || !site.DayAhead:
		return forecast.Market{Lag: site.Lag}
	}
	if m, ok := forecast.MarketOf(site.Zone); ok {
		return m
	}
	return forecast.DayAheadMarket()
}

// NodesOfSite returns the nodes of a site in the form of package capacity.
func NodesOfSite(site spec.Site) []capacity.Node {
	nodes := make([]capacity.Node, len(site.Nodes))
	for i, n := range site.Nodes {
		nodes[i] = capacity.Node{
			Node: fgd.Node{Name: n.Name, CPU: int64(n.CPU), Memory: int64(n.Memory), GPUs: n.GPUs, Model: n.Model, GPUMemory: int64(n.GPUMemory)},
			Host: hostPower(site, n.GPUs), Topology: n.Topology,
		}
	}
	return nodes
}

// hostPower returns a node's host power and sleep, with the scenario's overrides.
func hostPower(site spec.Site, gpus int) power.Host {
	h := power.SleepingHost(gpus)
	if site.Host.Idle != 0 {
		h.Awake = site.Host.Idle
	}
	if site.Host.Asleep != 0 {
		h.Asleep = site.Host.Asleep
	}
	if site.Host.Core != 0 {
		h.Core = site.Host.Core
	}
	if site.Host.Linger != 0 {
		h.Linger = site.Host.Linger
	}
	if site.Host.WakeTime != 0 {
		h.WakeTime = site.Host.WakeTime
	}
	return h
}

// TruePower returns a function that maps a job's planned power to its real power. It
// depends on the seed and the job's id alone.
func TruePower(seed uint64) func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts {
	return func(id protocol.JobID, plan protocol.Milliwatts) protocol.Milliwatts {
		h := fnv.New64a()
		h.Write(binary.LittleEndian.AppendUint64([]byte(id), seed)) // hash.Hash never returns an error
		return plan * protocol.Milliwatts(1000-truePowerSpread+int64(h.Sum64()%(2*truePowerSpread+1))) / 1000
	}
}

// RepeatLastDay repeats the last day of an hourly series until a time: jobs may outlast the
// recorded data.
func RepeatLastDay(points []protocol.Point, until protocol.Time) []protocol.Point {
	out := slices.Clone(points)
	day := 24
	if len(points) == 1 {
		return out // a constant
	}
	day = min(day, len(points))
	for out[len(out)-1].At < until {
		at := out[len(out)-1].At.Add(time.Hour)
		out = append(out, protocol.Point{At: at, Value: out[len(out)-day].Value})
	}
	return out
}

// AllDone reports whether the replay is complete: every job was settled or rejected, the sites
// were metered up to MeteredUntil and to the end of an hour, and all signals of these hours were
// published.
func (st *Testbed) AllDone(now protocol.Time) bool {
	if st.closesAt == 0 {
		if st.submitter.PendingJobs() > 0 || st.submitter.EndedJobs() < len(st.scenario.Jobs) ||
			now < st.MeteredUntil || now != now.Floor(time.Hour) {
			return false
		}
		// The last hours are billed for good when their signals come. The value of the hour
		// that ends now comes now if its lag is an hour, and this long after now otherwise.
		st.closesAt = now
		for i, site := range st.scenario.Sites {
			st.executors[i].StopMetering()
			st.closesAt = max(st.closesAt, now.Add(site.Lag-time.Hour))
		}
	}
	return now >= st.closesAt
}

// MeanFragmentation returns the mean, over the sites, of the share of idle GPUs that the usual
// jobs cannot use, in thousandths.
func (st *Testbed) MeanFragmentation() float64 {
	sum := 0.0
	for _, f := range st.fleets {
		sum += float64(f.FragmentedShare())
	}
	return sum / float64(max(len(st.fleets), 1))
}
