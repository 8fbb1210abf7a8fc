package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// includes reports whether a query counts what a tenant has at a site.
func includes(q ask.Query, tenant, site string) bool {
	return (q.Tenant == "" || tenant == q.Tenant) && (q.Site == "" || site == q.Site) &&
		!slices.Contains(q.ExceptSites, site) && !slices.Contains(q.ExceptTenants, tenant)
}

// meetsBound reports whether a value is on the right side of a query's bound; without one, all are.
func meetsBound(q ask.Query, value int64) bool {
	limit, _, _ := ask.ParseAmount(q.Amount) // Check has read it
	switch q.Bound {
	case "more":
		return value > limit
	case "less":
		return value < limit
	case "at-least":
		return value >= limit
	case "at-most":
		return value <= limit
	case "exactly":
		return value == limit
	}
	return true
}

// boundText words the bound of a query, "more than 2 h", whose amount is a figure of the question.
func boundText(q ask.Query) Part {
	value, kind, _ := ask.ParseAmount(q.Amount)
	f := Figure{"question", "bound", value, amountUnits[kind], nil}
	amount := Part(f)
	switch kind {
	case "power":
		amount = asKilowatts(f)
	case "share":
		amount = asPercent(f)
	case "jobs":
		amount = countedPart(f, "job", "jobs")
	case "times":
		amount = countedPart(f, "time", "times")
	case "gpus":
		amount = newSentence("%s GPUs", f)
	}
	return newSentence("%s %s", plainText(q.BoundName()), amount)
}

// amountUnits are the units of figures, by what an amount measures.
var amountUnits = map[string]string{"time": "ms", "carbon": "milligrams", "energy": "millijoules", "cost": "microdollars", "intensity": "milligrams-per-kwh",
	"price": "microdollars-per-kwh", "power": "millijoules", "share": "thousandths", "gpus": "thousandths", "jobs": "count", "times": "count"}

// boundedQuantity returns the quantity of a job that a query bounds; false if the job has none
// yet, as the wait of one that has not started, unless it is one that waits.
func (l *Dataset) boundedQuantity(q ask.Query, r history.JobRecord) (Figure, bool) {
	subject, id := jobSubject(r.Job.ID), decisionLabel(l.currentDecision(r))
	ended := r.HasEnded()
	switch q.Bounded {
	case "wait":
		if q.Ask == "pending" {
			return valueOf(subject, "wait", cmp.Or(q.At, l.lastTime()).Sub(r.Job.Arrival), id), true
		}
		wait, ok := r.WaitTime()
		return valueOf(subject, "wait", wait, id), ok
	case "run":
		var sum time.Duration
		for _, x := range r.RunSegments() {
			if x.Over {
				sum += x.Run.Ended.Sub(x.Run.Started)
			}
		}
		return valueOf(subject, "run", sum, id), ended
	case "slowdown": // docs/glossary.md
		ran, _ := l.boundedQuantity(ask.Query{Bounded: "run"}, r)
		return valueOf(subject, "slowdown", protocol.Milli(int64(lastEnd(r)-r.Job.Arrival)*1000/max(1, ran.Value)), id), ended && ran.Value > 0
	case "late", "lateness":
		if !ended || !r.EndedLate() {
			return Figure{}, false
		}
		return valueOf(subject, "late-by", r.Run.Ended.Sub(r.Job.Deadline), id), true
	case "gpus":
		return valueOf(subject, "gpus", r.Job.TotalGPUMilli(), id), true
	case "holds", "times-held":
		return valueOf(subject, "holds", len(l.holdsOf(r)), id), true
	case "slack":
		return Figure{subject, "slack", int64(r.Job.Deadline.Sub(lastEnd(r)) / time.Millisecond), "ms", []string{id}}, ended
	case "arrival":
		return valueOf(subject, "arrival", r.Job.Arrival, id), true
	case "start":
		first, ok := firstSegment(r)
		return valueOf(subject, "started", first.Run.Started, id), ok
	case "end":
		return valueOf(subject, "ended", lastEnd(r), id), ended
	case "gpu-hours":
		return valueOf(subject, "gpu-hours", gpuMilliseconds(usageOf(r).held/1000), id), ended
	}
	f := usageOf(r).figureOf(subject, q.Bounded)
	f.From = []string{id}
	return f, ended
}

// withinBound reports whether a query counts a job by what it bounds of each.
func (l *Dataset) withinBound(q ask.Query, r history.JobRecord) bool {
	return !slices.ContainsFunc(q.Bounds(), func(b ask.Query) bool {
		f, ok := l.boundedQuantity(b, r)
		return !ok || !meetsBound(b, f.Value) || b.Bounded == "slack" && f.Value < 0 // who is late has none
	})
}

// stateAt returns how a job stood at the instant of a query; by all that is known, without one.
func (l *Dataset) stateAt(q ask.Query, r history.JobRecord) history.JobState {
	if q.At == 0 || q.At == l.lastTime() {
		return l.history.JobStateNow(&r, l.lastTime())
	}
	return l.history.JobStateAt(&r, q.At)
}

// inState reports whether a query counts a job by its state: at its instant, or, of an end, when
// the job came to it in the query's window.
func (l *Dataset) inState(q ask.Query, r history.JobRecord) bool {
	if q.State == "" {
		return q.At == 0 || r.Job.Arrival <= q.At
	}
	if string(l.stateAt(q, r).State) != q.State {
		return false
	}
	return q.To == 0 || r.Refusal != nil && inWindow(q, r.Refusal.Message.At) || r.Run != nil && inWindow(q, r.Run.Ended)
}

// siteInState returns the site that a job is, was or is to be at; "" of none.
func (l *Dataset) siteInState(q ask.Query, r history.JobRecord) string {
	return cmp.Or(l.stateAt(q, r).Site, siteOfRun(r))
}

// listedSites are the questions that list sites, with the column of what a bound is of.
var listedSites = map[string]int{"intensity": 1, "price": 1, "power": 1, "utilization": 3, "free": 3}

// boundSites applies the bound or the comparison of a query to the sites that a result lists.
func (r *Result) boundSites(q ask.Query) {
	sums, names := make(map[string]Figure), []string(nil)
	for _, cells := range r.Rows {
		site := cells[0].renderText()
		found := figuresIn(cells[listedSites[q.Ask]])
		if len(found) == 0 {
			continue // not known
		}
		f := found[0]
		if !slices.Contains(names, site) {
			names = append(names, site)
		} else {
			f.Value += sums[site].Value // of several GPU models
		}
		if q.Ask == "free" {
			f.Name = "free"
		}
		sums[site] = f
	}
	show := func(f Figure) Part {
		switch q.Ask {
		case "power":
			return asKilowatts(f)
		case "utilization":
			return asPercent(f)
		}
		return f
	}
	r.Sentences = nil
	keep := func(site string) bool { return site == q.Site || site == q.Against }
	if q.Against != "" {
		x, y := sums[q.Site], sums[q.Against]
		if x.Unit == "" || y.Unit == "" {
			r.addSentence("Of one of the two it is not known then.")
			return
		}
		more, less, by := differenceOf(namePart(q.Site), namePart(q.Against), x, y)
		r.addSentence("%s: %s. %s: %s. %s has %s more than %s.", namePart(q.Site), show(x), namePart(q.Against), show(y), more, show(by), less)
	} else {
		var all partList
		for _, site := range names {
			if meetsBound(q, sums[site].Value) {
				all = append(all, newSentence("%s (%s)", namePart(site), show(sums[site])))
			}
		}
		keep = func(site string) bool { return meetsBound(q, sums[site].Value) && sums[site].Unit != "" }
		none := plainText("")
		if len(all) > 0 {
			none = ": "
		}
		r.addSentence("%s of %s %s%s%s.", valueOf("run", "sites", len(all)), countedPart(valueOf("run", "sites-in-all", len(names)), "site", "sites"), newSentence("with %s", boundText(q)), none, all)
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(cells []Part) bool { return !keep(cells[0].renderText()) })
	r.Chart = nil
}

// evaluateWithOperators evaluates a query whose operators its plain evaluator does not know.
func (l *Dataset) evaluateWithOperators(plain evaluator, q ask.Query) Result {
	if q.Ask != "pending" {
		q, _ = q.AsMeasure()
	}
	switch {
	case q.Ask == "compare-jobs":
	case listedSites[q.Ask] > 0 && (q.Bound != "" || q.Against != ""):
		base := q
		if q.Against != "" {
			base.Site = ""
		}
		r := plain(l, base)
		r.boundSites(q)
		return r
	case q.Ask == "measure" && q.CountsAtOnce():
		return l.answerAtOnce(q)
	case needsTally(q):
		return l.answerTally(q)
	}
	return plain(l, q)
}

// modelNames returns the GPU models that sites have reported.
func (l *Dataset) modelNames() (all []string) {
	for _, site := range l.sitesIn(ask.Query{}) {
		for _, at := range site.Inventories {
			for _, p := range at.Pools {
				if p.GPUs > 0 && p.Model != "" {
					all = append(all, p.Model)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// answerDefinition says what a word of the glossary means.
func answerDefinition(_ *Dataset, q ask.Query) (r Result) {
	name, text, elsewhere, ok := ask.Definition(q.Term)
	if !ok {
		r.Kind = "not-found"
		r.addSentence("%s is no word of the glossary, docs/glossary.md.", namePart(q.Term))
		return r
	}
	r.addSentence("%s: %s.", namePart(strings.ToUpper(name[:1])+name[1:]), recordedText(strings.TrimSuffix(text, ".")))
	if elsewhere != "" {
		r.addSentence("Elsewhere it is called %s.", recordedText(elsewhere))
	}
	return r
}
