package history

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Schema is the version of Totals as JSON: docs/replay-json.md says what each
// key means. Keys are added under the same version; a changed or removed one
// makes a new version.
const Schema = 1

// A Meta is what a run's messages do not say about it. A replay writes it beside its ledgers.
type Meta struct {
	Scenario string           `json:"scenario"`
	Policy   string           `json:"policy"`
	Seed     uint64           `json:"seed"`
	Start    protocol.Time    `json:"start"` // jobs arrive in [Start, End)
	End      protocol.Time    `json:"end"`
	GPUs     protocol.Milli   `json:"gpus"`    // of all fleets
	CPU      protocol.Milli   `json:"cpu"`     // of all fleets
	Memory   protocol.MiB     `json:"memory"`  // of all fleets
	Weights  protocol.Weights `json:"weights"` // of the objective
	Frag     float64          `json:"frag"`    // mean over time of the fleets' fragmentation ratio, 0..1
	Wall     time.Duration    `json:"wall"`    // that the replay took

	// RunTimes are the real run times of jobs, at the reference clock, where the submitted ones
	// were wrong; nil if those are real.
	RunTimes map[protocol.JobID]time.Duration `json:"run_times,omitempty"`

	// MeteredUntil is until when every run of the scenario is metered: see MeteredSites. 0: the run
	// is not compared, and all that was metered counts.
	MeteredUntil protocol.Time                  `json:"metered_until"`
	SleepDraw    map[string]protocol.Milliwatts `json:"sleep_draw,omitempty"` // of each site's nodes, if all sleep
}

// Totals is a run in figures, as its JSON has them.
type Totals struct {
	Schema   int    `json:"schema"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Policy   string `json:"policy"` // and, after a slash, what sites knew ahead, unless that was the usual

	Jobs     int `json:"jobs"`     // submitted
	Placed   int `json:"placed"`   // launched
	Late     int `json:"late"`     // ended after their deadline
	Unplaced int `json:"unplaced"` // refused, or never launched
	Refused  int `json:"refused"`

	EnergyKWh    float64 `json:"energy_kwh"` // of jobs and idle, facility's share included
	CarbonKg     float64 `json:"carbon_kg"`
	AverageKg    float64 `json:"carbon_average_kg"`  // of the same energy, by average intensity; 0 if not told
	MarginalKg   float64 `json:"carbon_marginal_kg"` // by marginal intensity, where a site has a series of it
	CostUSD      float64 `json:"cost_usd"`           // of that energy
	ObjectiveUSD float64 `json:"objective_usd"`

	// Of the jobs alone, without the idle draw of the sites: what a scheduler
	// decides directly. Bound is what no scheduler could have gone below, all
	// arrivals, prices and intensities known (lab/bound); 0 where it was not
	// computed. GapToBound is JobsUSD / BoundUSD - 1.
	JobsUSD    float64 `json:"jobs_usd"`
	BoundUSD   float64 `json:"bound_usd"`
	GapToBound float64 `json:"gap_to_bound"`

	// Energy and carbon of the jobs alone and of idle machines, apart: with transfer, delay and
	// lateness below, the terms of the objective.
	JobsEnergyUSD float64 `json:"jobs_energy_usd"`
	JobsCarbonUSD float64 `json:"jobs_carbon_usd"`
	IdleCarbonUSD float64 `json:"idle_carbon_usd"`

	IdleKWh     float64 `json:"idle_kwh"`
	IdleKg      float64 `json:"idle_kg"`
	IdleUSD     float64 `json:"idle_usd"`
	CarbonUSD   float64 `json:"carbon_usd"` // terms of the objective beside cost_usd
	TransferUSD float64 `json:"transfer_usd"`
	DelayUSD    float64 `json:"delay_usd"`
	LateUSD     float64 `json:"late_usd"`
	WorstJobUSD float64 `json:"worst_job_usd"` // delay and lateness of the job with the most of both
	PaidUSD     float64 `json:"paid_usd"`      // to the sites, by the rule of payment

	DeadlinesKept float64 `json:"deadlines_kept"` // share of the submitted jobs that ended by their deadline

	WaitS           Spread `json:"wait_s"`
	WaitDeferrableS Spread `json:"wait_deferrable_s"` // of jobs that may wait
	WaitUrgentS     Spread `json:"wait_urgent_s"`     // of jobs that may not

	JCTS     Spread `json:"jct_s"`
	Slowdown Spread `json:"slowdown"`

	ThroughputPerH float64 `json:"throughput_per_h"` // jobs that ended from the scenario's start to its end

	GPUUse    Use `json:"gpu_use"`
	CPUUse    Use `json:"cpu_use"`
	MemoryUse Use `json:"memory_use"`

	GPUUtil   float64 `json:"gpu_util"` // GPUUse.Mean
	FragRatio float64 `json:"frag_ratio"`

	Decisions int     `json:"decisions"`
	Awards    int     `json:"awards"`
	Holds     int     `json:"holds"`
	Declines  int     `json:"declines"`
	Rounds    int     `json:"rounds"`
	Gap       float64 `json:"clearing_gap"` // sum of Primal over sum of Bound, less one
	Messages  int     `json:"messages"`
	WallS     float64 `json:"wall_s"`

	LateAnswers int `json:"late_answers,omitempty"` // of the program of an outside policy: decisions that it did not make in time

	// Warnings say why these figures mean less than they seem to, such as a load above
	// what the fleets can do. They concern the scenario and all policies run on it.
	Warnings []string `json:"warnings,omitempty"`
}

// HasDefaultKnowledge reports whether the sites of the run knew of their grids what sites know.
// Where they knew more, or less, the run is there to compare with, and no rival.
func (t Totals) HasDefaultKnowledge() bool { return !strings.Contains(t.Policy, "/") }

// PolicyChance is the name of the policy that shows how far two runs of one policy differ by
// chance.
const PolicyChance = "chance"

// IsRival reports whether the run competes with others for the best figure. A run whose sites
// knew more or less than the usual does not, nor does the row that shows what chance is.
func (t Totals) IsRival() bool { return t.HasDefaultKnowledge() && t.Policy != PolicyChance }

// A Spread says how a figure is spread over jobs. Percentiles are the smallest
// value that so large a part of the jobs does not pass. Without jobs all are 0.
type Spread struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	Max  float64 `json:"max"`
}

// ComputeTotals sums the run up. All of it but Meta's own figures is computed from
// integers of the record, so the same record gives the same figures.
func (b *History) ComputeTotals(m Meta) Totals {
	t := Totals{
		Schema: Schema, Scenario: m.Scenario, Seed: m.Seed, Policy: m.Policy,
		FragRatio: m.Frag, WallS: m.Wall.Seconds(),
		Holds: b.holds, Declines: b.declines, Rounds: len(b.rounds), Messages: b.messages,
	}
	var terms protocol.CostBreakdown
	var worst protocol.Microdollars
	var waits, deferrable, urgent, completions, slowdowns []int64
	kept := 0
	// Sum over jobs: what they cost beside energy, and how long they took, in milliseconds.
	for _, e := range b.allEntries() {
		r := e.rec
		if run, ok := m.RunTimes[r.Job.ID]; ok {
			r.Job.Run = run
		}
		t.countJob(r)
		c := r.NonEnergyCost(m)
		terms.Transfer += c.Transfer
		terms.Delay += c.Delay
		terms.Late += c.Late
		worst = max(worst, c.Delay+c.Late)
		if wait, ok := r.WaitTime(); ok {
			waits = append(waits, wait.Milliseconds())
			if r.Job.MayWait() {
				deferrable = append(deferrable, wait.Milliseconds())
			} else {
				urgent = append(urgent, wait.Milliseconds())
			}
		}
		if r.phase == phaseEnded && !r.EndedLate() {
			kept++
		}
		if jct, ok := r.CompletionTime(); ok {
			completions = append(completions, jct.Milliseconds())
			slowdowns = append(slowdowns, boundedSlowdown(r.Job, jct))
		}
	}
	t.WorstJobUSD = worst.InDollars()
	t.WaitS, t.JCTS, t.Slowdown = spreadOf(waits), spreadOf(completions), spreadOf(slowdowns)
	t.WaitDeferrableS, t.WaitUrgentS = spreadOf(deferrable), spreadOf(urgent)
	t.DeadlinesKept = float64(kept) / float64(max(t.Jobs, 1))
	t.ThroughputPerH = b.throughput(m)
	t.Decisions = t.Awards + t.Holds + t.Refused
	t.GPUUse, t.CPUUse, t.MemoryUse = b.resourceUse(m)
	t.GPUUtil = t.GPUUse.Mean
	t.Gap = b.clearingGap()
	b.fillCosts(&t, b.MeteredSites(m), terms, m.Weights)
	return t
}

// countJob adds one job to the counts. A job that waits or was awarded without a run at the
// end of the record counts as unplaced, like a refused one.
func (t *Totals) countJob(r JobRecord) {
	t.Jobs++
	t.Awards += len(r.Awards)
	switch {
	case r.Run != nil:
		t.Placed++
	case r.phase == phaseRefused:
		t.Refused++
		t.Unplaced++
	default:
		t.Unplaced++
	}
	if r.EndedLate() {
		t.Late++
	}
}

// fillCosts adds what the sites drew to what the jobs cost otherwise.
//
// METHOD, section 1: objective = energy + carbon + transfer + delay +
// lateness, all measured, idle draw included: the whole bill.
func (b *History) fillCosts(t *Totals, sites []SiteRecord, terms protocol.CostBreakdown, w protocol.Weights) {
	var idle, all protocol.Usage
	var paid protocol.Microdollars
	for _, s := range sites {
		idle = idle.Plus(s.Idle)
		all = all.Plus(s.Idle).Plus(s.Jobs)
		paid += s.Paid
	}
	// Energy and carbon are those of the sites: the bills of jobs, and the metered idle draw.
	terms.Money, terms.Carbon = all.Money, w.CarbonCost(all.Carbon)
	t.EnergyKWh, t.CarbonKg, t.CostUSD = all.Energy.InKWh(), all.Carbon.InKilograms(), all.Money.InDollars()
	t.IdleKWh, t.IdleKg, t.IdleUSD = idle.Energy.InKWh(), idle.Carbon.InKilograms(), idle.Money.InDollars()
	idleCarbon := w.CarbonCost(idle.Carbon)
	t.JobsEnergyUSD, t.JobsCarbonUSD, t.IdleCarbonUSD = (all.Money - idle.Money).InDollars(), (terms.Carbon - idleCarbon).InDollars(), idleCarbon.InDollars()
	t.CarbonUSD, t.TransferUSD = terms.Carbon.InDollars(), terms.Transfer.InDollars()
	t.DelayUSD, t.LateUSD = terms.Delay.InDollars(), terms.Late.InDollars()
	t.PaidUSD = paid.InDollars()
	t.ObjectiveUSD = terms.Total().InDollars()
	// Without idle draw the objective compares with the bound, which is of the jobs alone.
	t.JobsUSD = (terms.Total() - idle.Money - idleCarbon).InDollars()
}

// WithBound returns t held against a bound of its jobs' objective. A bound of
// nothing or less, as negative prices give, has no ratio to it.
func (t Totals) WithBound(usd float64) Totals {
	t.BoundUSD = usd
	if usd > 0 {
		t.GapToBound = t.JobsUSD/usd - 1
	}
	return t
}

// NonEnergyCost returns what a job cost beside its energy: transfer, delay and lateness. A job
// that did not end is taken to start when arrivals end, or at its deadline if that is later,
// and to run its whole time from there: leaving work undone is never cheaper than doing it then.
func (r JobRecord) NonEnergyCost(m Meta) (t protocol.CostBreakdown) {
	if a := r.CurrentAward(); a != nil && r.Run != nil {
		t.Transfer = a.Option.Transfer
	}
	for _, p := range r.Parts {
		t.Transfer += p.Transfer
	}
	// The planned duration of a run that goes on stands in for its end.
	start := max(m.End, r.Job.Deadline)
	finish := start.Add(r.Job.Run)
	if r.Run != nil {
		start, finish = r.Run.Started, r.Run.Started.Add(r.Run.Plan)
	}
	if r.phase == phaseEnded {
		finish = r.Run.Ended
	}
	if len(r.Parts) > 0 { // a pause is no delay: the job had started
		start = r.Parts[0].Started
	}
	t.Delay, t.Late = m.Weights.DelayAndLateCost(r.Asked(), start, finish)
	return t
}

// boundedSlowdown returns the bounded slowdown in thousandths: completion time over
// run time at the reference clock, which no policy can change; runs under ten
// seconds count as ten, and nothing is below one.
func boundedSlowdown(j protocol.Job, jct time.Duration) int64 {
	return max(1000, jct.Milliseconds()*1000/max(j.Run, 10*time.Second).Milliseconds())
}

// clearingGap returns the sum of the rounds' costs over the sum of their lower bounds, less
// one; 0 without a positive bound, as a ratio to it would mean nothing.
func (b *History) clearingGap() float64 {
	var primal, bound protocol.Microdollars
	for _, c := range b.rounds {
		primal += c.proof.Primal
		bound += c.proof.Bound
	}
	if bound <= 0 {
		return 0
	}
	return float64(primal)/float64(bound) - 1
}

// spreadOf returns the spread of values in thousandths, in units. It sorts values in place.
// A percentile is the smallest value at or above that share of the values (nearest rank).
func spreadOf(values []int64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(values)
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	rank := func(part float64) float64 {
		return float64(values[max(0, int(math.Ceil(part*float64(n)))-1)]) / 1000
	}
	return Spread{Mean: sum / float64(n) / 1000, P50: rank(0.50), P95: rank(0.95), Max: rank(1)}
}
