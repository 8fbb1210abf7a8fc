package chat

import (
	"fmt"
	"slices"
	"strings"
)

// A pointer is a word of a question that stands for what was spoken of before.
type pointer struct {
	word   string
	before string // the question up to it
	after  string // and from there on
}

// personal are pointers wherever they stand; demonstrative ones are also words that
// go before a noun or join clauses, so their neighbours tell.
var (
	personal      = strings.Fields("it its them they their")
	demonstrative = strings.Fields("that this those these")
	many          = strings.Fields("those these them they their")
)

// leads and follows are what stands before and after a demonstrative word that is
// no part of a name of something; doers ask what it does.
var (
	leads   = strings.Fields("of for about from by with behind was is were are")
	follows = strings.Fields("was were is are did do does had have has ran waited in please pls then too altogether")
	doers   = strings.Fields("did does do has have had will would")
	deeds   = strings.Fields("cost emit use take consume cause produce need save wait run")
)

// points finds the first word of a question that stands for something said
// before.
func points(question string) (p pointer, ok bool) {
	all := strings.Fields(question)
	word := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return strings.ToLower(strings.Trim(all[i], "?.,!;:"))
	}
	for i := range all {
		w, prev, next := word(i), word(i-1), word(i+1)
		p = pointer{w, strings.Join(all[:i], " "), strings.Join(all[i+1:], " ")}
		ends := next == "" || strings.ContainsAny(all[i][len(all[i])-1:], "?.,!;:")
		switch {
		case next == "all" || next == "in" && (word(i+2) == "total" || word(i+2) == "all"), w == "it" && (prev == "make" || prev == "made"):
			// "how much is that in total", "who did not make it"
		case slices.Contains(personal, w):
			return p, true
		case !slices.Contains(demonstrative, w):
		case slices.Contains(leads, prev) && (ends || slices.Contains(follows, next)),
			slices.Contains(doers, prev) && slices.Contains(deeds, next),
			i == 0 && slices.Contains(follows, next):
			return p, true
		}
	}
	return p, false
}

// sumsOfSome are asks in which "it" stands for something. In others it may stand
// for nothing: when is it greenest?
var sumsOfSome = []string{"bill", "top", "late", "waits", "jobs", "pending", "mix", "saved"}

// dangling asks what a word of a question stands for, if nothing that the
// question names can be meant. Without that word it would be another question.
func (l *Log) dangling(question string, q Query) *Answer {
	p, ok := points(question)
	if !ok || q.Job != "" || q.Decision != 0 {
		return nil
	}
	if (p.word == "it" || p.word == "its") && !strings.HasSuffix(strings.ToLower(p.before), " of") && !slices.Contains(sumsOfSome, q.Ask) {
		return nil
	}
	r := &reading{}
	tokens := l.names().split(p.before)
	if r.read(l, tokens) != nil || slices.ContainsFunc(tokens, func(t token) bool { return len(t.names) > 0 }) {
		return nil
	}
	if slices.Contains(personal[1:], p.word) {
		for _, noun := range []string{"jobs", "sites", "tenants", "bids", "policy", "who"} {
			if r.said.has(noun) || strings.Contains(p.before, "anything") || q.Tenant != "" {
				return nil // "jobs that missed their deadline"
			}
		}
	}
	return &Answer{Kind: "ambiguous", Text: []string{fmt.Sprintf("What does %q stand for? Name a job, a decision, a site or a tenant.", p.word)}}
}

// subjects are what a pointer may stand for in a talk, the likeliest first, as
// words of a question: of several things only a set that was just counted.
func (s *Session) subjects(p pointer) (all []string) {
	q := s.last
	if slices.Contains(many, p.word) {
		if q.Ask == "jobs" {
			all = append(all, "jobs"+q.part("site")+q.part("tenant"))
		}
		return all
	}
	switch {
	case q.Job != "" || q.Decision != 0:
		all = append(all, q.target())
	case q.Site != "" && q.Tenant == "" && q.Other == "":
		all = append(all, "site "+quote(q.Site))
	case q.Tenant != "" && q.Site == "":
		all = append(all, "tenant "+quote(q.Tenant))
	}
	if s.target.Job != "" || s.target.Decision != 0 {
		all = append(all, s.target.target())
	}
	return all
}

// meant reads a question with what its pointer stands for in the pointer's place,
// in the time that was spoken of.
func (s *Session) meant(question string) (Query, bool) {
	p, ok := points(question)
	if !ok {
		return Query{}, false
	}
	for _, subject := range s.subjects(p) {
		text := strings.TrimSpace(p.before + " " + subject + " " + p.after)
		q, back := s.log.Parse(text)
		if back != nil {
			continue
		}
		if q.To == 0 && q.At == 0 && s.last.To != 0 && p.word != "it" && p.word != "its" && timed(q) {
			q.From, q.To = s.last.From, s.last.To
		}
		return q, true
	}
	return Query{}, false
}

// euros are words for a currency that no figure is in.
var euros = strings.Fields("euro euros eur")

// inDollars has an answer to a question in euros say that its figures are in
// dollars: no exchange rate is on the record.
func inDollars(question string, a Answer) Answer {
	said := strings.Contains(question, "€") || slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(question), func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", c) }),
		func(w string) bool { return slices.Contains(euros, w) })
	money := slices.ContainsFunc(a.Figures, func(f Figure) bool { return f.Unit == "microdollars" || f.Unit == "dollars-per-tonne" })
	if said && money {
		a.assume("euros were asked for; figures are in dollars, and no exchange rate is known")
	}
	return a
}
