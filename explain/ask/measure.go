package ask

import (
	"fmt"
	"slices"
	"strings"
)

// A measure is a query about many jobs: a statistic of a metric, conditions, an event, a split. Its words are the
// values of its fields.

// What a measure may hold: its fields in words are these, each in one field alone.
var (
	measureMetrics    = strings.Fields("carbon energy cost paid wait run slowdown slack lateness gpus gpu-hours times-held arrival start end")
	timeMetrics       = strings.Fields("arrival start end")
	measureStatistics = strings.Fields("mean median p95 total summary")
	measureEvents     = strings.Fields("arrived started ended ran awards holds refusals decisions")
	jobConditions     = strings.Fields("late on-time urgent standard at-home away capped unfinished cpu-only at-once waited held never-held near-miss")
	measureSplits     = strings.Fields("site tenant hour model urgency home gpus late at-home held at-once")
)

// decisionEvents are events that are decisions on jobs: what is counted and listed then is the decisions.
var decisionEvents = strings.Fields("awards holds refusals decisions")

// IsOfDecisions reports whether a query about jobs counts the decisions on them.
func (q Query) IsOfDecisions() bool { return slices.Contains(decisionEvents, q.Event) }

// measureWords words what a query about jobs measures: the values of its fields, of which each has one.
func (q Query) measureWords() string {
	words := slices.Concat([]string{q.Pick, q.Statistic, q.Metric, q.Event}, q.Where)
	for _, by := range []string{q.By, q.Then} {
		words = append(words, wordsIf(by != "", "by-", by))
	}
	words = append(words, wordsIf(q.Number != 0, fmt.Sprint(q.Number)), wordsIf(q.Per != "", "per-", q.Per))
	return `"` + strings.Join(strings.Fields(strings.Join(words, " ")), " ") + `"`
}

// readMeasure sets the fields that the words of a measure name; false if one names none.
func (q *Query) readMeasure(words string) bool {
	for _, w := range strings.Fields(words) {
		by, split := strings.CutPrefix(w, "by-")
		n, number := parseNumber(w)
		switch {
		case split && q.By == "":
			q.By = by
		case split:
			q.Then = by
		case strings.HasPrefix(w, "per-"):
			q.Per = w[4:]
		case slices.Contains(measureMetrics, w):
			q.Metric = w
		case slices.Contains(measureStatistics, w):
			q.Statistic = w
		case slices.Contains(measureEvents, w):
			q.Event = w
		case slices.Contains(jobConditions, w):
			q.Where = append(q.Where, w)
		case slices.Contains([]string{"most", "least", "share"}, w):
			q.Pick = w
		case number:
			q.Number = n
		default:
			return false
		}
	}
	return true
}

// withMeasureDefaults fills in what a question about jobs leaves out: of what its time is, and how values
// are taken together.
func (q Query) withMeasureDefaults() Query {
	slices.Sort(q.Where)
	if q.Statistic == "" && q.Metric != "" && (q.By != "" || q.Pick == "" || q.Pick == "share") {
		q.Statistic = "mean"
		if slices.Contains([]string{"carbon", "energy", "cost", "paid", "gpu-hours", "gpus", "times-held"}, q.Metric) {
			q.Statistic = "total"
		}
	}
	if q.To != 0 && q.Event == "" && q.State == "" {
		q.Event = "ended"
		if q.Metric == "" && !slices.Contains(q.Where, "late") || q.Metric == "arrival" {
			q.Event = "arrived"
		} else if q.Metric == "wait" || q.Metric == "start" {
			q.Event = "started"
		}
	}
	return q
}

// splitsOfJobs are those that only jobs have, and no decisions.
var splitsOfJobs = strings.Fields("model urgency home gpus late at-home held at-once")

// OppositeOf are the conditions that split jobs in two, each with its opposite.
var OppositeOf = map[string]string{"late": "on-time", "at-home": "away", "held": "never-held", "at-once": "waited"}

// CountsAtOnce reports whether a query asks for each hour how many jobs were in a state at one time.
func (q Query) CountsAtOnce() bool {
	return q.By == "hour" && q.At == 0 && (q.State == "running" || q.State == "pending")
}

// checkMeasure returns which fields of a query about jobs do not go together.
func (q Query) checkMeasure() error {
	ranks := q.Pick == "most" || q.Pick == "least"
	additive := slices.Contains([]string{"", "carbon", "energy", "cost", "paid", "gpu-hours", "gpus", "times-held"}, q.Metric)
	switch {
	case !slices.IsSorted(q.Where) || slices.ContainsFunc(q.Where, func(w string) bool { return !slices.Contains(jobConditions, w) }):
		return fmt.Errorf("ask measure: where: want some of %s, in order", strings.Join(jobConditions, ", "))
	case len(slices.Compact(slices.Clone(q.Where))) < len(q.Where):
		return fmt.Errorf("ask measure: where: name each once")
	case slices.Contains(timeMetrics, q.Metric) && (!ranks || q.By != ""):
		return fmt.Errorf("ask measure: metric %s: of jobs that are ranked", q.Metric)
	case q.Statistic == "summary" && (q.Metric+q.Pick+q.By != "" || q.At != 0):
		return fmt.Errorf("ask measure: statistic summary: without metric, split, pick and instant")
	case q.Statistic != "" && q.Statistic != "summary" && q.Metric == "" || q.Metric != "" && q.Statistic == "" && !(ranks && q.By == ""):
		return fmt.Errorf("ask measure: statistic: of a metric, unless jobs are ranked by it")
	case q.IsOfDecisions() && (q.Metric+q.State != "" || q.Pick == "share" || slices.Contains(splitsOfJobs, q.By) || slices.Contains(splitsOfJobs, q.Then)):
		return fmt.Errorf("ask measure: event %s: decisions are counted, without metric, state and share, by site, tenant or hour", q.Event)
	case q.CountsAtOnce() && (q.Metric+q.Event+q.Then != "" || q.Pick == "share"):
		return fmt.Errorf("ask measure: state %s by hour: how many there were at one time is told without metric, event, share and second split", q.State)
	case ranks && q.By == "" && (q.Metric == "" && !q.IsOfDecisions() || q.Statistic != "" || q.Number == 0):
		return fmt.Errorf("ask measure: pick: rank groups of a split, or a number of jobs by a metric")
	case q.Number != 0 && !ranks:
		return fmt.Errorf("ask measure: number: of jobs that are ranked")
	case q.Pick == "share" && (!additive || q.Statistic == "mean"):
		return fmt.Errorf("ask measure: pick share: of a count or a sum")
	case q.Per != "" && q.Statistic != "total":
		return fmt.Errorf("ask measure: per: of a total")
	case q.Bound != "" && q.Bounded == "":
		return fmt.Errorf("ask measure: bounded: say which quantity of each job")
	case q.At != 0 && q.State == "" && !slices.Equal(q.Where, []string{"unfinished"}):
		return fmt.Errorf("ask measure: at: at an instant jobs are in a state, or unfinished")
	case q.Event != "" && q.At != 0:
		return fmt.Errorf("ask measure: event: it is in a window")
	}
	return nil
}

// AsMeasure returns a query about many jobs as the measure that it is; false if it is about something else.
func (q Query) AsMeasure() (Query, bool) {
	m := q
	m.Ask = "measure"
	switch q.Ask {
	case "measure":
		return q, true
	case "jobs":
	case "late":
		m.Where, m.Event = []string{"late"}, "ended"
	case "waits":
		m.Metric, m.Statistic, m.Pick = "wait", q.Pick, ""
	case "top":
		m.Pick, m.Event = "most", "ended"
	case "pending":
		if q.At != 0 {
			return q, false
		}
		m.State = "pending"
	default:
		return q, false
	}
	return m.WithDefaults(), true
}

// asOlder returns a measure that an older question asks, too, as that one: one question has one query.
func (q Query) asOlder() Query {
	x, bare := q, len(q.Where) == 0 && q.State+q.Model == ""
	x.Where, x.Event, x.Statistic, x.Metric = nil, "", "", ""
	switch {
	case q.Metric == "" && q.Statistic == "" && slices.Equal(q.Where, []string{"late"}) && (q.Event == "" || q.Event == "ended"):
		x.Ask = "late"
	case q.Metric == "" && q.Statistic == "" && len(q.Where) == 0 && (q.Event == "" || q.Event == "arrived" && q.To != 0 || q.Event == "ran" && q.To == 0):
		x.Ask = "jobs"
	case bare && q.Metric == "wait" && q.Statistic != "" && (q.Event == "" || q.Event == "started"):
		x.Ask, x.Pick = "waits", strings.TrimPrefix(q.Statistic, "mean")
	case bare && q.Pick == "most" && q.By == "" && (q.Event == "" || q.Event == "ended"):
		x.Ask, x.Metric, x.Pick = "top", q.Metric, ""
	default:
		return q
	}
	if again, same := x.AsMeasure(); x.Check() != nil || !same || q.Pick != again.Pick {
		return q
	}
	return x
}
