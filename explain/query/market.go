package query

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// answerWeights says by which weights options are scored.
func (l *Dataset) answerWeights(ask.Query) (r Result) {
	var newest history.JobRound
	for _, rec := range l.allInstances() {
		if n := len(rec.FullRounds); n > 0 && rec.FullRounds[n-1].Called.At >= newest.Called.At {
			newest = rec.FullRounds[n-1]
		}
	}
	if w := newest.Weights; newest.Called == (history.MessageRef{}) {
		r.addSentence("No round was called, so no prices are in the record.")
	} else {
		r.describeWeights(w)
	}
	r.addSentence("Beside these, a job's own limits bind: regions, GPU models, size.")
	r.describeRulesInForce(l)
	return r
}

// describeWeights says what carbon, waiting and lateness cost by w.
func (r *Result) describeWeights(w protocol.Weights) {
	price := func(name string, v protocol.Microdollars) Figure {
		return valueOf("run", name, microdollarsPerGPUHour(v))
	}
	r.addSentence("An option costs its energy, its transfer and its fragments, and: %s per tonne of CO2e; while a job waits, %s per GPU-hour if it is wanted now, %s per GPU-hour if it is standard and runs an hour, and %s per GPU-hour if it is flexible; and %s per GPU-hour past a deadline.",
		valueOf("run", "carbon-price", microdollarsPerKg(w.Carbon)), price("wait-now-price", w.WaitNow), price("wait-standard-price", w.WaitStandard),
		price("wait-flexible-price", w.WaitFlexible), price("late-price", w.Late))
	if w.LateMost > 0 {
		r.addSentence("Lateness costs a job at most %s per GPU-hour of its run.", price("late-most", w.LateMost))
	}
	r.addSentence("Options are compared at %s per GPU-hour past a deadline, for a quarter of an hour at least and without limit, so that deadlines are kept first.", price("ranking-late-price", w.ForRanking().Late))
}

// answerBidError compares what sites bid with what was measured.
func (l *Dataset) answerBidError(q ask.Query) (r Result) {
	r.addAssumption("energy bid against energy measured, of settled jobs; a difference above nothing is more than was bid")
	type sums struct {
		jobs, more, less int
		bid, used        protocol.Millijoules
	}
	by := make(map[string]*sums)
	for _, spent := range l.segmentsIn(ask.Query{Site: q.Site}) {
		s := spent.Run.Settled
		if spent.Run.Settlement.From == "" || s.BidFor.Energy == 0 {
			continue
		}
		x := entryOf(by, s.Site)
		x.jobs++
		x.bid += s.BidFor.Energy
		x.used += s.Counted.Energy
		switch {
		case s.Counted.Energy > s.BidFor.Energy:
			x.more++
		case s.Counted.Energy < s.BidFor.Energy:
			x.less++
		}
	}
	r.Head = []string{"site", "jobs", "bid", "measured", "difference", "took more", "took less"}
	for _, s := range sortedKeys(by) {
		x := by[s]
		r.addRow(namePart(s), valueOf("site/"+s, "jobs", x.jobs), valueOf("site/"+s, "energy-bid", x.bid), valueOf("site/"+s, "energy-measured", x.used),
			percentPart("site/"+s, "difference", int64(x.used-x.bid), int64(x.bid)), valueOf("site/"+s, "took-more", x.more), valueOf("site/"+s, "took-less", x.less))
	}
	if len(by) == 0 {
		r.addSentence("No job was settled.")
	} else {
		var all sums
		highest := sortedKeys(by)[0]
		over := func(x *sums) float64 { return float64(x.used) / float64(x.bid) }
		for _, s := range sortedKeys(by) {
			if all.bid, all.used, all.jobs = all.bid+by[s].bid, all.used+by[s].used, all.jobs+by[s].jobs; over(by[s]) > over(by[highest]) {
				highest = s
			}
		}
		r.addSentence("%s took %s against the %s that were bid. The most above its bids: %s, by %s.", countedPart(valueOf("run", "jobs", all.jobs), "job", "jobs"), valueOf("run", "energy-measured", all.used),
			valueOf("run", "energy-bid", all.bid), namePart(highest), percentPart("site/"+highest, "difference", int64(by[highest].used-by[highest].bid), int64(by[highest].bid)))
	}
	return r
}

// answerSilentSites lists the sites that did not answer rounds.
func (l *Dataset) answerSilentSites(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "rounds called in that time; UTC")
	missed := make(map[string]int)
	var over []history.RoundRecord
	for _, x := range l.history.RoundRecords() {
		if !inWindow(q, x.Called.At) || l.isRoundOpen(x) {
			continue
		}
		over = append(over, x)
		for _, s := range x.Silent {
			missed[s]++
		}
	}
	rounds := valueOf("run", "rounds", len(over))
	r.addFigures(rounds)
	gone := r.listOutages(l, q)
	if len(over) == 0 {
		r.addSentence("No round was called in that time.")
	} else {
		r.describeLastRound(over[len(over)-1], gone)
		if len(missed) == 0 {
			r.addSentence("Every site answered all of %s in time.", countedPart(rounds, "round", "rounds"))
		}
	}
	r.Head = []string{"site", "state", "since", "rounds missed", "last message"}
	for s, site := range l.sitesIn(ask.Query{}) {
		n := valueOf("site/"+s, "rounds-missed", missed[s])
		if n.Value > 0 {
			r.addSentence("%s missed %s of %s.", namePart(s), n, countedPart(rounds, "round", "rounds"))
		}
		state, since := l.conditionParts(s, l.lastTime())
		r.addRow(namePart(s), state, since, n, valueOf("site/"+s, "last-heard", site.LastMessage()))
	}
	return r
}

// answerReneges lists for each site the awards of a window, those that it declined and
// those whose lease it let end. After eight of either for one job the market passes over
// the site's bids for that job (decision 0019).
func (l *Dataset) answerReneges(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "awards made in that time; UTC")
	by, all := l.awardsBySite(q), awardTally{}
	r.Head = []string{"site", "awards", "declined", "lapsed"}
	for _, site := range sortedKeys(by) {
		t := by[site]
		all.awards, all.declined, all.lapsed = all.awards+t.awards, all.declined+t.declined, all.lapsed+t.lapsed
		r.addRow(namePart(site), valueOf("site/"+site, "awards", t.awards), valueOf("site/"+site, "declined", t.declined), valueOf("site/"+site, "lapsed", t.lapsed))
	}
	r.addSentence("Of %s, %s declined and %s lapsed without an answer.", countedPart(valueOf("run", "awards", all.awards), "award", "awards"),
		valueOf("run", "declined", all.declined), valueOf("run", "lapsed", all.lapsed))
	return r
}

// An awardTally counts awards, those that the site declined and those whose lease it let end.
type awardTally struct{ awards, declined, lapsed int }

// awardsBySite counts the awards of a query's window for each site that had any.
func (l *Dataset) awardsBySite(q ask.Query) map[string]*awardTally {
	by := make(map[string]*awardTally)
	for _, rec := range l.allInstances() {
		for _, a := range rec.Awards {
			if !inWindow(q, a.Message.At) || q.Site != "" && q.Site != a.Site {
				continue
			}
			t := entryOf(by, a.Site)
			t.awards++
			switch {
			case a.Expired:
				t.lapsed++
			case a.Answer == "decline":
				t.declined++
			}
		}
	}
	return by
}

// isRoundOpen reports whether sites may still answer a round at the end of the record: it closes
// later and nothing was decided in it. An open round counts as missed by no site.
func (l *Dataset) isRoundOpen(r history.RoundRecord) bool {
	return r.Closes > l.lastTime() && r.Awards+r.Holds == 0
}

// describeLastRound names the sites that did not answer the newest round of a window. gone is
// the number of sites that were declared decommissioned in it.
func (r *Result) describeLastRound(last history.RoundRecord, gone int) {
	at := valueOf("run", "last-round", last.Called.At)
	switch {
	case len(last.Silent) > 0:
		r.addSentence("The last round, called at %s, was not answered by %s.", at, namesOf(last.Silent...))
	case gone > 0: // a site that was declared gone is not silent
		r.addSentence("All other sites answered the last round, called at %s.", at)
	default:
		r.addSentence("None: all sites answered the last round, called at %s.", at)
	}
}

// instantMargin is how far "what happened at 13:45" reaches before and after the instant.
const instantMargin = 5 * time.Minute

// answerActivity lists the decisions of a window.
func (l *Dataset) answerActivity(q ask.Query) (r Result) {
	switch {
	case q.At != 0:
		q.From, q.To = q.At.Add(-instantMargin), q.At.Add(instantMargin)
		r.addAssumption("five minutes before and after; UTC")
	case q.To == 0:
		q.From, q.To = l.lastTime().Add(-time.Hour), l.lastTime()+1
		if all := l.history.AllDecisions(); len(all) > 0 {
			at := all[len(all)-1].At
			q.From, q.To = at.Add(-time.Hour), at+1
		}
		r.addAssumption("no time was named, so the hour before the last decision")
	}
	r.assumeSince(l, q)
	all, kinds := l.decisionsIn(q)
	for _, d := range all {
		r.citeDecision(d.Number)
	}
	counts := decisionCounts(kinds, r.Cites...)
	runs := l.countRuns(q)
	r.addSentence("From %s to %s the coordinator said %s: %s, %s, %s. %s started and %s ended.", slices.Concat(
		[]Part{valueOf("run", "from", q.From), valueOf("run", "to", q.To)}, counts,
		[]Part{countedPart(valueOf("run", "started", runs.started), "job", "jobs"), valueOf("run", "ended", runs.ended)})...)
	r.describePolicyChanges(l, q)
	if len(all) == 0 {
		r.describeLastDecision(l, q)
	}
	if runs.planned > 0 {
		r.addAssumption("%s of the starts as planned: a site says when a job started when it is over", valueOf("run", "started-as-planned", runs.planned))
	}
	r.Chart = decisionsOver(q, all)
	r.listDecisions(all)
	return r
}

// listDecisions counts some decisions by their reasons, and lists the last of them.
func (r *Result) listDecisions(all []history.DecisionRef) {
	reasons := make(map[string]int)
	for _, d := range all {
		reasons[d.Kind+": "+narrate.ReasonText(d.Why.Code)]++
	}
	for _, reason := range sortedKeys(reasons) {
		r.addSentence("%s × %s.", valueOf("run", reason, reasons[reason]), recordedText(reason))
	}
	r.Head = []string{"decision", "time", "job", "why"}
	for _, d := range all[max(0, len(all)-mostListed):] {
		why := decisionInWords(d)
		if d.Kind == "hold" {
			why = "held: " + why
		}
		r.addRow(decisionCitation(d.Number), valueOf(jobSubject(d.Job), "decided", d.At, decisionLabel(d.Number)), namePart(d.Job), recordedText(why))
	}
	r.noteShown(len(all), "The last %s are shown.")
}

// A runCount counts the runs that started in a window, those of them of which only the planned start
// is known, and those that ended in it, in a pause or otherwise.
type runCount struct{ started, planned, ended, paused int }

// countRuns counts the runs of a query's window.
func (l *Dataset) countRuns(q ask.Query) (n runCount) {
	for _, rec := range l.allInstances() {
		for _, x := range rec.RunSegments() {
			if q.Site != "" && x.Run.Site != q.Site {
				continue
			}
			if inWindow(q, x.Run.Started) {
				n.started++
				if x.Run.Planned {
					n.planned++
				}
			}
			if x.Over && inWindow(q, x.Run.Ended) {
				n.ended++
				if x.Run.Paused {
					n.paused++
				}
			}
		}
	}
	return n
}

// describePolicyChanges says when a window changed the rules in force.
func (r *Result) describePolicyChanges(l *Dataset, q ask.Query) {
	before := len(r.Sentences)
	for _, p := range l.history.PolicyVersions() {
		if inWindow(q, p.At) {
			r.addSentence("The policy in force changed at %s, to version %s.", valueOf("run", "policy-changed", p.At), valueOf("run", "policy-version", p.Version))
		}
	}
	if len(r.Sentences) == before {
		r.addSentence("The policy in force did not change.")
	}
}

// describeLastDecision points from a window without decisions to the last one before it.
func (r *Result) describeLastDecision(l *Dataset, q ask.Query) {
	for _, d := range slices.Backward(l.history.AllDecisions()) {
		if d.At < q.From {
			r.addSentence("The last decision before that was %s, at %s.", decisionCitation(d.Number), valueOf("run", "last-decision", d.At, decisionLabel(d.Number)))
			r.citeDecision(d.Number)
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
			c.addPoint(kind+"s", Point{Label: format.FormatInstant(from), Value: n})
		}
	}
	return c
}
