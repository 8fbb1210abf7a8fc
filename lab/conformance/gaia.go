package conformance

import (
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A TraceTask is a job of a published trace; times are in ticks.
type TraceTask struct{ Arrival, Length, CPUs int }

// A RuleResult is the result of one rule.
type RuleResult struct {
	Rule     string
	Carbon   float64 // in the unit of the case
	Relative float64 // to the rule that starts at once
	Wait     float64 // mean in hours, of rules that do not interrupt
}

// Time unit and queues of GAIA's simulator, as used for figure 8.
const (
	tickSeconds     = 5 // seconds
	ticksPerHour    = 3600 / tickSeconds
	shortQueueLimit = 2 * ticksPerHour // limit of the short queue
)

// queueMeans has the mean lengths of GAIA's two queues, in ticks. GAIA knows of a task
// only its queue's waiting time and mean length.
type queueMeans struct{ short, long int }

// limitsOf returns the allowed wait of a task and the length that GAIA assumes for it.
func (q queueMeans) limitsOf(t TraceTask) (wait, length int) {
	if t.Length < shortQueueLimit {
		return 6 * ticksPerHour, q.short
	}
	return 24 * ticksPerHour, q.long
}

// queueMeansOf returns the mean length of each queue, in ticks. As in the original, a task
// of exactly two hours counts in both means.
func queueMeansOf(lengths []float64) (q queueMeans) {
	mean := func(in func(float64) bool) int {
		sum, n := 0.0, 0
		for _, l := range lengths {
			if in(l) {
				sum += l
				n++
			}
		}
		return int(sum / float64(max(n, 1)))
	}
	return queueMeans{
		short: mean(func(l float64) bool { return l <= shortQueueLimit }),
		long:  mean(func(l float64) bool { return l >= shortQueueLimit }),
	}
}

// ReplayGAIA runs the tasks of figure 8 under each rule, with all intensities known in
// advance, as published. Arrivals and lengths are in seconds, intensities hourly in
// grams per kWh; a CPU draws one watt.
func ReplayGAIA(arrivals, lengths []float64, cpus []int, intensity []float64) []RuleResult {
	tasks, ticks := make([]TraceTask, len(lengths)), make([]float64, len(lengths))
	for i := range tasks {
		ticks[i] = lengths[i] / tickSeconds
		tasks[i] = TraceTask{Arrival: int(arrivals[i] / tickSeconds), Length: int(ticks[i]), CPUs: cpus[i]}
	}
	// Grams per kWh to grams per tick, for a draw of one watt.
	perTick := make([]float64, len(intensity))
	for i, v := range intensity {
		perTick[i] = v / 1000 / ticksPerHour
	}
	c, q := published.NewCurve(perTick, ticksPerHour), queueMeansOf(ticks)

	whole := func(start func(t TraceTask, wait, length int) int) func(TraceTask) []published.TickSpan {
		return func(t TraceTask) []published.TickSpan {
			wait, length := q.limitsOf(t)
			s := start(t, wait, length)
			return []published.TickSpan{{From: s, To: s + t.Length}}
		}
	}
	rules := []struct {
		name string
		runs func(TraceTask) []published.TickSpan
	}{
		{"no-wait", whole(func(t TraceTask, _, _ int) int { return t.Arrival })},
		{"lowest-slot", whole(func(t TraceTask, wait, _ int) int { return published.LowestSlot(c, t.Arrival, wait) })},
		{"lowest-window", whole(func(t TraceTask, wait, n int) int { return published.LowestWindow(c, t.Arrival, wait, n, ticksPerHour) })},
		{"carbon-time", whole(func(t TraceTask, wait, n int) int { return published.CarbonTime(c, t.Arrival, wait, n, ticksPerHour) })},
		{"ecovisor", func(t TraceTask) []published.TickSpan {
			wait, _ := q.limitsOf(t)
			return published.RunBelowThreshold(c, t.Arrival, wait, t.Length, c.QuantileThreshold(t.Arrival, 24*ticksPerHour, 0.3))
		}},
		{"interruptible-optimum", func(t TraceTask) []published.TickSpan {
			wait, _ := q.limitsOf(t)
			return published.CheapestSegments(c, t.Arrival, wait, t.Length)
		}},
		{"hourly-optimum", whole(func(t TraceTask, wait, _ int) int {
			return published.LowestWindow(c, t.Arrival, wait, t.Length, ticksPerHour)
		})},
		{"optimum", whole(func(t TraceTask, wait, _ int) int { return published.LowestWindow(c, t.Arrival, wait, t.Length, 1) })},
	}
	rows := make([]RuleResult, len(rules))
	for i, r := range rules {
		rows[i] = RuleResult{Rule: r.name}
		for _, t := range tasks {
			runs := r.runs(t)
			for _, s := range runs {
				rows[i].Carbon += float64(float64(t.CPUs) * c.SumOver(s.From, s.To))
			}
			rows[i].Wait += float64(runs[0].From-t.Arrival) / ticksPerHour / float64(len(tasks))
		}
		// The first rule starts at once.
		rows[i].Relative = rows[i].Carbon / rows[0].Carbon
	}
	return rows
}
