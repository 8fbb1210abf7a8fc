package query

import (
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
)

// answerRound says who answered one round and what it decided.
func (l *Dataset) answerRound(q ask.Query) (r Result) {
	rounds := l.history.RoundRecords()
	i := slices.IndexFunc(rounds, func(x history.RoundRecord) bool { return int64(x.Round) == q.Number })
	if i < 0 {
		r.Kind = "not-found"
		r.addSentence("No round %s is in this record.", valueOf("question", "round", int(q.Number)))
		if n := len(rounds); n > 0 {
			r.addSentence("They go from %s to %s.", valueOf("run", "first-round", rounds[0].Round), valueOf("run", "last-round", rounds[n-1].Round))
		}
		return r
	}
	x, subject := rounds[i], "round"
	r.addSentence("Round %s was called at %s, for %s. %s answered in time: %s.", valueOf(subject, "round", x.Round), valueOf(subject, "called", x.Called.At), countedPart(valueOf(subject, "jobs", x.Jobs), "job", "jobs"),
		countedPart(valueOf(subject, "answered", len(x.Offered)), "site", "sites"), namesOf(x.Offered...))
	if len(x.Silent) > 0 {
		r.addSentence("No answer in time: %s.", namesOf(x.Silent...))
	}
	r.addSentence("It decided %s and %s.", countedPart(valueOf(subject, "awards", x.Awards), "award", "awards"), countedPart(valueOf(subject, "holds", x.Holds), "hold", "holds"))
	var all []history.DecisionRef
	for _, d := range l.history.AllDecisions() {
		if d.Round == x.Round {
			all = append(all, d)
			r.citeDecision(d.Number)
		}
	}
	r.listDecisions(all)
	return r
}

// answerRounds counts the rounds of a window, with the means of what they had and the largest of them.
func (l *Dataset) answerRounds(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "rounds called in that time; UTC")
	var n, jobs, answers, awards, holds int
	var most history.RoundRecord
	for _, x := range l.history.RoundRecords() {
		if !inWindow(q, x.Called.At) {
			continue
		}
		n, jobs, answers, awards, holds = n+1, jobs+x.Jobs, answers+len(x.Offered), awards+x.Awards, holds+x.Holds
		if x.Jobs > most.Jobs {
			most = x
		}
	}
	r.addSentence("%s.", countedPart(valueOf("run", "rounds", n), "round", "rounds"))
	if n == 0 {
		return r
	}
	mean := func(name string, sum int) Figure {
		return Figure{"run", name + "-per-round", int64(sum) * 1000 / int64(n), "thousandths", nil}
	}
	r.addSentence("On average a round was called for %s jobs, was answered by %s sites, and decided %s awards and %s holds.", mean("jobs", jobs), mean("answers", answers), mean("awards", awards), mean("holds", holds))
	r.addSentence("The most jobs: %s, in round %s at %s.", valueOf("run", "most-jobs", most.Jobs), valueOf("run", "round-of-most-jobs", most.Round), valueOf("run", "at", most.Called.At))
	return r
}
