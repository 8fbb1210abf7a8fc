package ask

import (
	"slices"
	"strings"
	"time"
)

// mostNearest bounds how many questions are offered to one that is not understood.
const mostNearest = 4

// offerNearest offers readings of a question that is not understood: the questions whose
// rules need the most of the concepts that its known words stand for, filled with the names
// and times of the question. It offers nothing if no known word stands for a needed concept,
// or if a word turns the question into its opposite.
func (l *Parser) offerNearest(question string, back *Clarification) {
	if tooLong(question) != nil {
		return
	}
	r := &reading{}
	if other := r.readTokens(l, l.index.splitTokens(question)); other != nil || slices.ContainsFunc(r.concepts, reversesQuestion) {
		return
	}
	if at, from, to, ok := r.times.timeWindow(l); ok {
		r.query.At, r.query.From, r.query.To = at, from, to
	}
	// A scored rule counts which of its needs the known words meet.
	type scored struct {
		rule
		met, missed int
	}
	var best []scored
	for _, p := range english.rules {
		s := scored{rule: p}
		for _, any := range p.needs {
			if slices.ContainsFunc(any, r.concepts.hasConcept) {
				s.met++
			} else {
				s.missed++
			}
		}
		if s.met == 0 || p.allowsAll() || strings.HasPrefix(p.ask, "!") {
			continue
		}
		// Keep the best rule of each question.
		k := slices.IndexFunc(best, func(x scored) bool { return x.ask == s.ask })
		switch {
		case k < 0:
			best = append(best, s)
		case s.met-s.missed > best[k].met-best[k].missed:
			best[k] = s
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return (b.met - b.missed) - (a.met - a.missed) })
	for _, s := range best[:min(len(best), mostNearest)] {
		back.offerQueries("What can be asked, nearest first:", l.withExampleFields(r.buildQuery(s.rule)))
	}
}

// withExampleFields fills the fields that a query needs and the question does not name with
// examples from the run, so that the offered question can be asked as it is.
func (l *Parser) withExampleFields(q Query) Query {
	has := func(slot string) bool { return strings.Contains(english.questions[q.Ask].text, slot) }
	if has("{target}") && q.Job == "" && q.Decision == 0 && len(l.Jobs) > 0 {
		q.Job = l.Jobs[0]
		if l.Notable != nil {
			q.Job = append(l.Notable(), q.Job)[0]
		}
	}
	if (has("{site}") || english.isOfKind(q, "of-a-site")) && q.Site == "" && len(l.Sites) > 0 {
		q.Site = l.Sites[0]
	}
	if has("{other}") && q.Other == "" && len(l.Sites) > 1 {
		q.Other = l.Sites[slices.IndexFunc(l.Sites, func(s string) bool { return s != q.Site })]
	}
	if has("{number}") && q.Number == 0 {
		q.Number = 8
	}
	if has("{long}") && q.Long == 0 {
		q.Long = 8 * time.Hour
	}
	return q.WithDefaults()
}
