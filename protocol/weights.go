package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import (
	"math"
	"time"
)

// Weights convert all costs of an option into money. Each federation chooses them, and
// every CallForBids contains them, so that a site ranks its options as the market will.
//
// The price of waiting depends on the job's [Urgency]. That of a standard job falls with the root of
// its run: an hour's wait is a nuisance before a run of minutes, and next to nothing before one of a
// day (decision 0252).
type Weights struct {
	_msgpack      struct{}      `msgpack:",as_array"`
	Carbon        Microdollars  // per kilogram; 100,000 is 100 dollars per tonne
	WaitNow       Microdollars  // per GPU-hour that a job of UrgencyNow waits
	WaitStandard  Microdollars  // per GPU-hour that a standard job waits whose run is an hour; times the root of (1 h / run) for others
	WaitFlexible  Microdollars  // per GPU-hour that a flexible job waits
	Late          Microdollars  // per GPU-hour past the deadline
	LateMost      Microdollars  // the most that lateness costs, per GPU-hour of the job's run; 0: no limit
	WaitLimit     time.Duration // sites offer a standard job no start later than this and WaitLimitRuns after its arrival, unless they have none sooner; 0: no limit
	WaitLimitRuns Milli         // in thousandths of the job's run

	leastLate time.Duration // for ranking: a late job counts as late by so much at least; not sent
}

// DefaultWeights returns the default weights: $190 per tonne of CO2e, the US EPA's social
// cost of a tonne emitted in 2020 (Report on the Social Cost of Greenhouse Gases, 2023,
// discount rate 2 %); waiting and lateness as decisions 0252 and 0253 derive them.
func DefaultWeights() Weights {
	return Weights{
		Carbon: 190_000, WaitNow: 2_000_000, WaitStandard: 5_000, WaitFlexible: 1_000,
		Late: 2_000_000, LateMost: 2_000_000, WaitLimit: 2 * time.Hour, WaitLimitRuns: 1000,
	}
}

// FreeWaitingWeights returns the weights that were the default before waiting had a price for every
// job: $1 per GPU-hour that a job of UrgencyNow waits, nothing for others, and $10 per GPU-hour of
// lateness without limit. They reproduce older tables.
func FreeWaitingWeights() Weights {
	return Weights{Carbon: 190_000, WaitNow: 1_000_000, Late: 10_000_000}
}

// How lateness counts where options are compared: a GPU-hour of it some 600 times what its energy and
// carbon cost, and a second of it like a quarter of an hour, since a deadline missed by a second is
// missed.
const (
	rankingLatePrice = 10_000_000
	rankingLeastLate = 15 * time.Minute
)

// ForRanking returns the weights by which sites and the market compare options: w, except that
// lateness counts at least rankingLatePrice, for rankingLeastLate at least and without limit, so that
// deadlines are kept wherever an option does, whatever lateness costs its owner (decision 0253).
func (w Weights) ForRanking() Weights {
	w.Late, w.LateMost, w.leastLate = max(w.Late, rankingLatePrice), 0, rankingLeastLate
	return w
}

// WaitPrice returns what a GPU-hour of waiting of j costs.
func (w Weights) WaitPrice(j *Job) Microdollars {
	switch j.Urgency {
	case UrgencyNow:
		return w.WaitNow
	case UrgencyFlexible:
		return w.WaitFlexible
	}
	if w.WaitStandard == 0 {
		return 0
	}
	// Quotient, root and product are each rounded correctly, so every processor finds the same.
	return Microdollars(math.Round(float64(w.WaitStandard) * math.Sqrt(time.Hour.Seconds()/j.declaredRun().Seconds())))
}

// MostLateCost returns the most that lateness of j costs: LateMost for each GPU-hour of its run.
func (w Weights) MostLateCost(j *Job) Microdollars {
	return GPUHoursCost(j.PricedGPUs(), j.declaredRun(), w.LateMost)
}

// LatestWorthBidding returns the last start that sites offer j of their own choice: a standard job
// waits no longer than WaitLimit and WaitLimitRuns of its run. Other jobs have no such limit.
func (w Weights) LatestWorthBidding(j *Job) Time {
	if w.WaitLimit == 0 || j.Urgency != UrgencyStandard {
		return math.MaxInt64
	}
	return j.Arrival.Add(w.WaitLimit + time.Duration(mulDivTruncated(int64(j.declaredRun()), int64(w.WaitLimitRuns), 1000)))
}

// declaredRun returns the run time by which waiting and lateness are priced: an hour where the job
// names none.
func (j *Job) declaredRun() time.Duration {
	if j.Run <= 0 {
		return time.Hour
	}
	return max(j.Run, time.Second)
}

// Presets of the weights, as files name them.
const (
	PresetDefault     = "default"
	PresetFreeWaiting = "free-waiting"
)

// WeightSettings are the weights of a file, in dollars and hours. Absent ones are those of the
// preset; absent too, the default's. Files are checked by their schema first.
type WeightSettings struct {
	Preset         string   `yaml:"preset"`
	Kappa          *float64 `yaml:"kappa"` // per tonne of CO2-equivalent
	WaitNow        *float64 `yaml:"wait_now"`
	WaitStandard   *float64 `yaml:"wait_standard"`
	WaitFlexible   *float64 `yaml:"wait_flexible"`
	WaitLimitHours *float64 `yaml:"wait_limit_hours"`
	WaitLimitRuns  *float64 `yaml:"wait_limit_runs"`
	Late           *float64 `yaml:"late"`
	LateMost       *float64 `yaml:"late_most"`
}

// Weights returns the weights that s sets.
func (s WeightSettings) Weights() Weights {
	w := DefaultWeights()
	if s.Preset == PresetFreeWaiting {
		w = FreeWaitingWeights()
	}
	w.Carbon = DollarsToMicrodollars(s.Kappa, 1000*w.Carbon) / 1000
	w.WaitNow = DollarsToMicrodollars(s.WaitNow, w.WaitNow)
	w.WaitStandard = DollarsToMicrodollars(s.WaitStandard, w.WaitStandard)
	w.WaitFlexible = DollarsToMicrodollars(s.WaitFlexible, w.WaitFlexible)
	w.Late = DollarsToMicrodollars(s.Late, w.Late)
	w.LateMost = DollarsToMicrodollars(s.LateMost, w.LateMost)
	if s.WaitLimitHours != nil {
		w.WaitLimit = time.Duration(math.Round(3600**s.WaitLimitHours)) * time.Second
	}
	if s.WaitLimitRuns != nil {
		w.WaitLimitRuns = Milli(math.Round(1000 * *s.WaitLimitRuns))
	}
	return w
}
