package tables

import (
	"iter"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// JobFigures are a job with what it cost.
type JobFigures struct {
	*history.JobRecord
	Last  *history.Run           // the current or last run; nil: none
	Begin protocol.Time          // of its first run; 0: none
	Bill  protocol.Usage         // of all runs that are over
	Terms protocol.CostBreakdown // transfer, delay and lateness
	Paid  protocol.Microdollars
	meta  history.Meta
	state history.State // at the end of the record
}

// Cost returns what the job adds to the objective.
func (j JobFigures) Cost() protocol.Microdollars {
	all := j.Terms
	all.Money, all.Carbon = j.Bill.Money, j.meta.Weights.CarbonCost(j.Bill.Carbon)
	return all.Total()
}

// ended returns a value of a run that is over, or nil.
func (j JobFigures) ended(value any) any {
	if !j.HasEnded() {
		return nil
	}
	return value
}

// ofRun returns a value of the job's run, or nil.
func (j JobFigures) ofRun(value func(*history.Run) any) any {
	if j.Last == nil {
		return nil
	}
	return value(j.Last)
}

// seconds returns a duration that may be unknown.
func seconds(d time.Duration, known bool) any {
	if !known {
		return nil
	}
	return d.Seconds()
}

// jobsTable has one row for each job, and for each of several that one id was given to.
func jobsTable() Table {
	return newTable("jobs", []field[JobFigures]{
		{"job_id", Text, func(j JobFigures) any { return text(j.Job.ID) }},
		{"instance", Integer, func(j JobFigures) any { return integer(j.Before + 1) }},
		{"tenant", Text, func(j JobFigures) any { return text(j.Job.Tenant) }},
		{"home_site", Text, func(j JobFigures) any { return text(j.Job.Home) }},
		{"urgency", Text, func(j JobFigures) any { return text(j.Job.Urgency.String()) }},
		{"priority", Integer, func(j JobFigures) any { return integer(j.Job.Priority) }},
		{"gpus", Integer, func(j JobFigures) any { return integer(j.Job.GPUs) }},
		{"gpu_share", Number, func(j JobFigures) any { return thousandths(j.Job.Share) }},
		{"gpu_memory_gib", Number, func(j JobFigures) any { return gib(j.Job.GPUMemory) }},
		{"cpu_cores", Number, func(j JobFigures) any { return thousandths(j.Job.CPU) }},
		{"memory_gib", Number, func(j JobFigures) any { return gib(j.Job.Memory) }},
		{"models", Text, func(j JobFigures) any { return list(j.Job.Models) }},
		{"regions", Text, func(j JobFigures) any { return list(j.Job.Regions) }},
		{"input_gib", Number, func(j JobFigures) any { return gib(j.Job.Input) }},
		{"arrival_time", Instant, func(j JobFigures) any { return instant(j.Job.Arrival) }},
		{"deadline_time", Instant, func(j JobFigures) any { return instant(j.Job.Deadline) }},
		{"reference_run_s", Number, func(j JobFigures) any { return seconds(j.Job.Run, j.Job.Run > 0) }},
		{"state", Text, func(j JobFigures) any { return text(j.state) }},
		{"refusal", Text, func(j JobFigures) any {
			if j.Refusal == nil {
				return nil
			}
			return text(j.Refusal.Why.Code)
		}},
		{"site", Text, func(j JobFigures) any { return j.ofRun(func(r *history.Run) any { return text(r.Site) }) }},
		{"node", Text, func(j JobFigures) any { return j.ofRun(func(r *history.Run) any { return text(r.Node) }) }},
		{"gpu_model", Text, func(j JobFigures) any { return j.ofRun(func(r *history.Run) any { return text(r.Model) }) }},
		{"gpu_cap_w", Number, func(j JobFigures) any { return j.ofRun(func(r *history.Run) any { return watts(r.Cap) }) }},
		{"start_time", Instant, func(j JobFigures) any { return instant(j.Begin) }},
		{"end_time", Instant, func(j JobFigures) any { return j.ended(j.ofRun(func(r *history.Run) any { return instant(r.Ended) })) }},
		{"wait_s", Number, func(j JobFigures) any { return seconds(j.WaitTime()) }},
		{"completion_s", Number, func(j JobFigures) any { return seconds(j.CompletionTime()) }},
		{"is_late", Flag, func(j JobFigures) any { return j.ended(j.EndedLate()) }},
		{"rounds", Integer, func(j JobFigures) any { return integer(j.Called) }},
		{"awards", Integer, func(j JobFigures) any { return integer(len(j.Awards)) }},
		{"pauses", Integer, func(j JobFigures) any { return integer(j.Pauses()) }},
		{"lost_runs", Integer, func(j JobFigures) any { return integer(len(j.Lost) + len(j.Parts) - j.Pauses()) }},
		{"energy_kwh", Number, func(j JobFigures) any { return kwh(j.Bill.Energy) }},
		{"carbon_kg", Number, func(j JobFigures) any { return kilograms(j.Bill.Carbon) }},
		{"energy_usd", Number, func(j JobFigures) any { return dollars(j.Bill.Money) }},
		{"carbon_usd", Number, func(j JobFigures) any { return dollars(j.meta.Weights.CarbonCost(j.Bill.Carbon)) }},
		{"transfer_usd", Number, func(j JobFigures) any { return dollars(j.Terms.Transfer) }},
		{"delay_usd", Number, func(j JobFigures) any { return dollars(j.Terms.Delay) }},
		{"late_usd", Number, func(j JobFigures) any { return dollars(j.Terms.Late) }},
		{"paid_usd", Number, func(j JobFigures) any { return dollars(j.Paid) }},
	}, Jobs)
}

// Jobs returns the jobs of a run with their figures, in the order in which they began.
func Jobs(run Run) iter.Seq[JobFigures] {
	return func(yield func(JobFigures) bool) {
		for rec := range run.History.AllInstances() {
			j := JobFigures{JobRecord: rec, Last: rec.Run, meta: run.Meta, Terms: rec.NonEnergyCost(run.Meta), state: run.History.JobStateNow(rec, run.History.Coverage().Last).State}
			for _, s := range rec.RunSegments() {
				if j.Last = s.Run; j.Begin == 0 {
					j.Begin = s.Run.Started
				}
				j.Paid += s.Run.Settled.Paid
				if s.Over { // the bill of a run that goes on is none yet
					j.Bill = j.Bill.Plus(s.Run.Cost)
				}
			}
			if !yield(j) {
				return
			}
		}
	}
}
