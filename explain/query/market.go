package query

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutMarket are the questions about how rounds went.
var aboutMarket = map[string]evaluator{
	"weights": (*Dataset).answerWeights, "bid-error": (*Dataset).answerBidError, "silent": (*Dataset).answerSilentSites, "activity": (*Dataset).answerActivity,
	"reneges": (*Dataset).answerReneges,
}

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
		r.addSentence("An option costs its energy, its transfer and its fragments, and: %s per tonne of CO2e, %s per GPU-hour that a job waits which may not be deferred, and %s per GPU-hour past a deadline.",
			runFigure("carbon-price", int64(w.Carbon), "microdollars-per-kg"), runFigure("delay-price", int64(w.Delay), "microdollars-per-gpu-hour"), runFigure("late-price", int64(w.Late), "microdollars-per-gpu-hour"))
	}
	r.describeRulesInForce(l)
	return r
}

// answerBidError compares what sites bid with what was measured.
func (l *Dataset) answerBidError(q ask.Query) (r Result) {
	r.addAssumption("energy bid against energy measured, of settled jobs; a difference above nothing is more than was bid")
	type sums struct{ jobs, bid, used, more, less int64 }
	by := make(map[string]*sums)
	for _, spent := range l.segmentsIn(ask.Query{Site: q.Site}) {
		s := spent.Run.Settled
		if spent.Run.Settlement.From == "" || s.BidFor.Energy == 0 {
			continue
		}
		if by[s.Site] == nil {
			by[s.Site] = new(sums)
		}
		x := by[s.Site]
		x.jobs++
		x.bid += int64(s.BidFor.Energy)
		x.used += int64(s.Counted.Energy)
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
		r.addRow(namePart(s), siteFigure(s, "jobs", x.jobs, "count"), siteFigure(s, "energy-bid", x.bid, "millijoules"), siteFigure(s, "energy-measured", x.used, "millijoules"),
			percentPart("site/"+s, "difference", x.used-x.bid, x.bid), siteFigure(s, "took-more", x.more, "count"), siteFigure(s, "took-less", x.less, "count"))
	}
	if len(by) == 0 {
		r.addSentence("No job was settled.")
	} else {
		r.addSentence("By site:")
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
	r.Head = []string{"site", "rounds missed", "last heard"}
	for _, s := range l.history.ReportingSiteNames() {
		n := valueOf("site/"+s, "rounds-missed", missed[s])
		if n.Value > 0 {
			r.addSentence("%s missed %s of %s.", namePart(s), n, countedPart(rounds, "round", "rounds"))
		}
		r.addRow(namePart(s), n, valueOf("site/"+s, "last-heard", l.history.ReportingSite(s).LastMessage()))
	}
	return r
}

// answerReneges lists for each site the awards of a window, those that it declined and
// those whose lease it let end. After eight of either for one job the market passes over
// the site's bids for that job (decision 0019).
func (l *Dataset) answerReneges(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "awards made in that time; UTC")
	type tally struct{ awards, declined, lapsed int }
	bySite := make(map[string]tally)
	var all tally
	for _, rec := range l.allInstances() {
		for _, a := range rec.Awards {
			if !inWindow(q, a.Message.At) || q.Site != "" && q.Site != a.Site {
				continue
			}
			t := bySite[a.Site]
			t.awards, all.awards = t.awards+1, all.awards+1
			switch {
			case a.Expired:
				t.lapsed, all.lapsed = t.lapsed+1, all.lapsed+1
			case a.Answer == "decline":
				t.declined, all.declined = t.declined+1, all.declined+1
			}
			bySite[a.Site] = t
		}
	}
	r.addSentence("Of %s, %s declined and %s lapsed without an answer.", countedPart(valueOf("run", "awards", all.awards), "award", "awards"),
		valueOf("run", "declined", all.declined), valueOf("run", "lapsed", all.lapsed))
	r.Head = []string{"site", "awards", "declined", "lapsed"}
	for _, site := range slices.Sorted(maps.Keys(bySite)) {
		t := bySite[site]
		r.addRow(namePart(site), valueOf("site/"+site, "awards", t.awards), valueOf("site/"+site, "declined", t.declined), valueOf("site/"+site, "lapsed", t.lapsed))
	}
	return r
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
		var names partList
		for _, s := range last.Silent {
			names = append(names, namePart(s))
		}
		r.addSentence("The last round, called at %s, was not answered by %s.", at, names)
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
	kinds, reasons := make(map[string]int), make(map[string]int)
	var all []history.DecisionRef
	for _, d := range l.history.AllDecisions() {
		if inWindow(q, d.At) && (q.Site == "" || d.Site == q.Site) {
			all = append(all, d)
			kinds[d.Kind]++
			reasons[d.Kind+": "+narrate.ReasonWithNote(protocol.Reason{Code: d.Why.Code})]++
			r.citeDecision(d.Number)
		}
	}
	counts := decisionCounts(kinds, r.Cites...)
	started, ended, planned := l.startsAndEnds(q)
	r.addSentence("From %s to %s the coordinator said %s: %s, %s, %s. %s started and %s ended.", slices.Concat(
		[]Part{runFigure("from", int64(q.From), "instant"), runFigure("to", int64(q.To), "instant")}, counts,
		[]Part{countedPart(runFigure("started", started, "count"), "job", "jobs"), runFigure("ended", ended, "count")})...)
	r.describePolicyChanges(l, q)
	if len(all) == 0 {
		r.describeLastDecision(l, q)
	}
	if planned > 0 {
		r.addAssumption("%s of the starts as planned: a site says when a job started when it is over", runFigure("started-as-planned", planned, "count"))
	}
	for _, reason := range sortedKeys(reasons) {
		r.addSentence("%s × %s.", runFigure(reason, int64(reasons[reason]), "count"), recordedText(reason))
	}
	r.Chart = decisionsOver(q, all)
	r.Head = []string{"decision", "time", "job", "why"}
	for _, d := range all[max(0, len(all)-mostListed):] {
		why := decisionInWords(d)
		if d.Kind == "hold" {
			why = "held: " + why
		}
		r.addRow(decisionCitation(d.Number), jobFigure(d.Job, "decided", int64(d.At), "instant", decisionLabel(d.Number)), namePart(d.Job), recordedText(why))
	}
	if len(all) > mostListed {
		r.addSentence("The last %s are shown.", runFigure("shown", mostListed, "count"))
	}
	return r
}

// startsAndEnds counts the runs that started in a window, those of them of which only the
// planned start is known, and those that ended in it.
func (l *Dataset) startsAndEnds(q ask.Query) (started, ended, planned int64) {
	for _, rec := range l.allInstances() {
		for _, x := range segmentsOf(rec) {
			if q.Site != "" && x.Run.Site != q.Site {
				continue
			}
			if inWindow(q, x.Run.Started) {
				started++
				if x.Run.Planned {
					planned++
				}
			}
			if x.Over && inWindow(q, x.Run.Ended) {
				ended++
			}
		}
	}
	return started, ended, planned
}

// describePolicyChanges says when a window changed the rules in force.
func (r *Result) describePolicyChanges(l *Dataset, q ask.Query) {
	before := len(r.Sentences)
	for _, p := range l.history.PolicyVersions() {
		if inWindow(q, p.At) {
			r.addSentence("The policy in force changed at %s, to version %s.", runFigure("policy-changed", int64(p.At), "instant"), runFigure("policy-version", int64(p.Version), "count"))
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
			r.addSentence("The last decision before that was %s, at %s.", decisionCitation(d.Number), runFigure("last-decision", int64(d.At), "instant", decisionLabel(d.Number)))
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
