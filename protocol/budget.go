package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "time"

type (
	// A MonthUsage is the part of a run's usage that is of one month.
	MonthUsage struct {
		_msgpack struct{} `msgpack:",as_array"`
		Month    Time     // see MonthOf
		Carbon   Milligrams
		Money    Microdollars // for energy
	}

	// A BudgetCharge is what a settlement takes from the budgets of a quota for a month. In a Snapshot
	// it is the sum of all that are not kept.
	BudgetCharge struct {
		_msgpack     struct{} `msgpack:",as_array"`
		Quota        string
		Month        Time // of the energy: see MonthOf
		Money        Microdollars
		Carbon       Milligrams
		Budget       Microdollars // in force then; 0: none
		CarbonBudget Milligrams
		Version      uint64 // of the policy that they are of; 0: that month was over
	}
)

// Why a job waits that has options: its tenant, or a group of it, has no budget left for these.
const (
	BudgetSpent       Code = "budget"
	CarbonBudgetSpent Code = "carbon-budget"
)

// maxMonths bounds the months of one run: MaxRun touches two or three.
const maxMonths = 4

// MonthOf returns the begin of the month, in UTC, in which an instant is.
func MonthOf(t Time) Time {
	at := t.StdTime().UTC()
	return FromStdTime(time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC))
}

// NextMonth returns the begin of the month after that of an instant.
func NextMonth(t Time) Time {
	at := t.StdTime().UTC()
	return FromStdTime(time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC))
}

// DivideByMonth returns the months of a time, oldest first, and of how many of its milliseconds each
// holds: at least one month, also of no time at all. What is before the longest run's begin is left out.
func DivideByMonth(from, to Time) (months []Time, spans []time.Duration) {
	from = max(from, to.Add(-MaxRun))
	for to = max(to, from); ; {
		end := min(NextMonth(from), to)
		months, spans = append(months, MonthOf(from)), append(spans, end.Sub(from))
		if from = end; from >= to {
			return months, spans
		}
	}
}
