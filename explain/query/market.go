package query

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// weights tells by what options are judged.
func (l *Log) weights(q ask.Query, a *Answer) {
	var newest history.JobRound
	for _, r := range l.records() {
		if n := len(r.FullRounds); n > 0 && r.FullRounds[n-1].Called.At >= newest.Called.At {
			newest = r.FullRounds[n-1]
		}
	}
	if w := newest.Weights; newest.Called == (history.MessageRef{}) {
		a.say("No round was called, so no prices are in the record.")
	} else {
		a.say("An option costs its energy, its transfer and its fragments, and: %s per tonne of CO2e, %s per GPU-hour that a job waits which may not be deferred, and %s per GPU-hour past a deadline.",
			perTonne(w.Carbon), format.FormatDollars(w.Delay), format.FormatDollars(w.Late))
		a.figure("run", "carbon-price", int64(w.Carbon), "microdollars-per-kg")
		a.figure("run", "delay-price", int64(w.Delay), "microdollars-per-gpu-hour")
		a.figure("run", "late-price", int64(w.Late), "microdollars-per-gpu-hour")
	}
	l.rulesTold(a)
}

// bidError compares what sites bid with what was measured.
func (l *Log) bidError(q ask.Query, a *Answer) {
	a.assume("energy bid against energy measured, of settled jobs; a difference above nothing is more than was bid")
	type sums struct {
		n           int
		bid, used   protocol.Millijoules
		under, over int
	}
	by := make(map[string]*sums)
	for _, spent := range l.over(ask.Query{}) {
		s := spent.Run.Settled
		if spent.Run.Settlement.From == "" || s.BidFor.Energy == 0 {
			continue
		}
		if by[s.Site] == nil {
			by[s.Site] = new(sums)
		}
		x := by[s.Site]
		x.n++
		x.bid += s.BidFor.Energy
		x.used += s.Counted.Energy
		switch {
		case s.Counted.Energy > s.BidFor.Energy:
			x.under++
		case s.Counted.Energy < s.BidFor.Energy:
			x.over++
		}
	}
	a.Table = &Table{Head: []string{"site", "jobs", "bid", "measured", "difference", "took more", "took less"}}
	for _, s := range sorted(by) {
		if q.Site != "" && q.Site != s {
			continue
		}
		x := by[s]
		a.row(name(s), fmt.Sprint(x.n), kWh(x.bid), kWh(x.used), a.percent("site/"+s, "difference", int64(x.used-x.bid), int64(x.bid)), fmt.Sprint(x.under), fmt.Sprint(x.over))
		a.figure("site/"+s, "energy-bid", int64(x.bid), "millijoules")
		a.figure("site/"+s, "energy-measured", int64(x.used), "millijoules")
		a.figure("site/"+s, "jobs", int64(x.n), "count")
		a.figure("site/"+s, "took-more", int64(x.under), "count")
		a.figure("site/"+s, "took-less", int64(x.over), "count")
	}
	if len(a.Table.Rows) == 0 {
		a.say("No job was settled.")
	} else {
		a.say("By site:")
	}
}

// silent lists the sites that did not answer rounds.
func (l *Log) silent(q ask.Query, a *Answer) {
	l.whole(q, a, "rounds called in that time; UTC")
	missed := make(map[string]int)
	rounds := 0
	for _, r := range l.book.RoundRecords() {
		if !within(q, r.Called.At) || l.open(r) {
			continue
		}
		rounds++
		for _, s := range r.Silent {
			missed[s]++
		}
	}
	a.figure("run", "rounds", int64(rounds), "count")
	l.sayOutages(q, a)
	l.lastRound(q, a)
	switch {
	case rounds == 0:
		a.say("No round was called in that time.")
	case len(missed) == 0:
		a.say("Every site answered all of %s in time.", format.CountWithNoun(rounds, "round", "rounds"))
	}
	a.Table = &Table{Head: []string{"site", "rounds missed", "last heard"}}
	for _, s := range l.book.ReportingSiteNames() {
		if n := missed[s]; n > 0 {
			a.say("%s missed %d of %s.", name(s), n, format.CountWithNoun(rounds, "round", "rounds"))
		}
		a.figure("site/"+s, "rounds-missed", int64(missed[s]), "count")
		a.figure("site/"+s, "last-heard", int64(l.book.ReportingSite(s).LastMessage()), "instant")
		a.row(name(s), fmt.Sprint(missed[s]), format.FormatInstant(l.book.ReportingSite(s).LastMessage()))
	}
}

// open reports whether a round may still be answered where the record ends.
func (l *Log) open(r history.RoundRecord) bool { return r.Closes > l.last() && r.Awards+r.Holds == 0 }

// allAnswered puts into words that no site was silent; one that was declared gone is no such site.
func (l *Log) allAnswered(q ask.Query) string {
	if len(l.outagesIn(q)) > 0 {
		return "All other sites answered"
	}
	return "None: all sites answered"
}

// lastRound says who did not answer the newest round of a window.
func (l *Log) lastRound(q ask.Query, a *Answer) {
	for _, r := range slices.Backward(l.book.RoundRecords()) {
		if !within(q, r.Called.At) || l.open(r) {
			continue
		}
		a.figure("run", "last-round", int64(r.Called.At), "instant")
		if len(r.Silent) == 0 {
			a.say("%s the last round, called at %s.", l.allAnswered(q), format.FormatInstant(r.Called.At))
			return
		}
		var names []string
		for _, s := range r.Silent {
			names = append(names, name(s))
		}
		a.say("The last round, called at %s, was not answered by %s.", format.FormatInstant(r.Called.At), format.JoinWithAnd(names))
		return
	}
}

// around is how much time an instant stands for when it is asked what happened.
const around = 5 * time.Minute

// activity tells what was decided in a window.
func (l *Log) activity(q ask.Query, a *Answer) {
	switch {
	case q.At != 0:
		q.From, q.To = q.At.Add(-around), q.At.Add(around)
		a.assume("five minutes before and after; UTC")
	case q.To == 0:
		q.From, q.To = l.last().Add(-time.Hour), l.last()+1
		if all := l.book.AllDecisions(); len(all) > 0 {
			at := all[len(all)-1].At
			q.From, q.To = at.Add(-time.Hour), at+1
		}
		a.assume("no time was named, so the hour before the last decision")
	}
	l.partial(q, a)
	kinds := make(map[string]int)
	codes := make(map[string]int)
	var last []history.DecisionRef
	n := 0
	for _, d := range l.book.AllDecisions() {
		if !within(q, d.At) || q.Site != "" && d.Site != q.Site {
			continue
		}
		n++
		kinds[d.Kind]++
		codes[d.Kind+": "+narrate.ReasonWithNote(protocol.Reason{Code: d.Why.Code})]++
		last = append(last, d)
		a.cite(d.Number)
	}
	started, ended, planned := 0, 0, 0
	for _, r := range l.records() {
		for _, x := range stints(r) {
			if q.Site != "" && x.Run.Site != q.Site {
				continue
			}
			if within(q, x.Run.Started) {
				started++
				if x.Run.Planned {
					planned++
				}
			}
			if x.Over && within(q, x.Run.Ended) {
				ended++
			}
		}
	}
	a.say("From %s to %s the coordinator said %s: %s, %s, %s. %s started and %d ended.", format.FormatInstant(q.From), format.FormatInstant(q.To), format.CountWithNoun(n, "decision", "decisions"),
		format.CountWithNoun(kinds["award"], "award", "awards"), format.CountWithNoun(kinds["hold"], "hold", "holds"), format.CountWithNoun(kinds["refuse"], "refusal", "refusals"),
		format.CountWithNoun(started, "job", "jobs"), ended)
	l.changedIn(q, a)
	if n == 0 {
		l.lastBefore(q, a)
	}
	if planned > 0 {
		a.assume(fmt.Sprintf("%d of the starts as planned: a site says when a job started when it is over", planned))
	}
	a.figure("run", "from", int64(q.From), "instant")
	a.figure("run", "to", int64(q.To), "instant")
	for _, k := range []string{"award", "hold", "refuse"} {
		a.figure("run", k+"s", int64(kinds[k]), "count")
	}
	a.figure("run", "decisions", int64(n), "count", a.Cites...)
	a.figure("run", "started", int64(started), "count")
	a.figure("run", "ended", int64(ended), "count")
	for _, k := range sorted(codes) {
		a.say("%d × %s.", codes[k], k)
		a.figure("run", k, int64(codes[k]), "count")
	}
	a.Chart = decisionsOver(q, last)
	a.Table = &Table{Head: []string{"decision", "time", "job", "why"}}
	for _, d := range last[max(0, len(last)-mostListed):] {
		a.figure(ofJob(d.Job), "decided", int64(d.At), "instant", cite(d.Number))
		text := decisionInWords(d)
		if d.Kind == "hold" {
			text = "held: " + text
		}
		a.row(cite(d.Number), format.FormatInstant(d.At), name(d.Job), text)
	}
	if len(last) > mostListed {
		a.say("The last %d are shown.", mostListed)
		a.figure("run", "shown", mostListed, "count")
	}
}

// changedIn says what a window changed of the rules in force and of who takes part.
func (l *Log) changedIn(q ask.Query, a *Answer) {
	n := 0
	for _, p := range l.book.PolicyVersions() {
		if within(q, p.At) {
			n++
			a.say("The policy in force changed at %s, to version %d.", format.FormatInstant(p.At), p.Version)
			a.figure("run", "policy-changed", int64(p.At), "instant")
			a.figure("run", "policy-version", int64(p.Version), "count")
		}
	}
	if n == 0 {
		a.say("The policy in force did not change.")
	}
}

// lastBefore points from a window without decisions to the last one before it.
func (l *Log) lastBefore(q ask.Query, a *Answer) {
	for _, d := range slices.Backward(l.book.AllDecisions()) {
		if d.At < q.From {
			a.say("The last decision before that was %s, at %s.", cite(d.Number), format.FormatInstant(d.At))
			a.figure("run", "last-decision", int64(d.At), "instant", cite(d.Number))
			a.cite(d.Number)
			return
		}
	}
}

// decisionsOver draws how many decisions of each kind there were, in up to a dozen
// steps of a window.
func decisionsOver(q ask.Query, all []history.DecisionRef) *Chart {
	if len(all) == 0 {
		return nil
	}
	step := max(q.To.Sub(q.From)/12, time.Second)
	c := &Chart{Kind: "activity", Title: "decisions", Unit: "count"}
	for _, kind := range []string{"award", "hold", "refuse"} {
		for from := q.From; from < q.To; from = from.Add(step) {
			n := int64(0)
			for _, d := range all {
				if d.Kind == kind && d.At >= from && d.At < from.Add(step) {
					n++
				}
			}
			c.add(kind+"s", Point{Label: format.FormatInstant(from), Value: n})
		}
	}
	return c
}
