package ask

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Things of one kind that a question joins ("carbon and cost of team-a", "mornings against evenings") are asked
// for one by one: each takes the place of all. The queries have to be alike in what is not joined.

const (
	maxJoined        = 5 // words of one of the things that are joined
	maxJoinedWords   = 40
	maxJoinedQueries = 6
	maxJoinedTries   = 120 // questions that are tried
	maxJoints        = 3   // within one another
)

var (
	// joint begins what is joined to something before it.
	joint = regexp.MustCompile(`(?i)^(?:, )?(?:and|or|plus|&|\+|vs\.?|versus|against|as well as|(?:as )?compared (?:to|with)|in comparison (?:to|with)) |^, `)
	// jointMarks are written apart, so that each is a word.
	jointMarks = regexp.MustCompile(`([,&+]|\?)( |$)`)
	// jointWords say no more than that several things are asked for.
	jointWords = regexp.MustCompile(`(?i)^(?:please )?compare |^(?:what is )?(?:the )?(?:difference|comparison) (?:in|of) |\b(?:both|respectively)\b|[?]|: `)
)

// ParseJoined returns the queries of a question that asks for several things of one kind; nil if it does not.
func (t *Conversation) ParseJoined(l *Parser, question string) []Query {
	exact := *l
	exact.exact = true
	if tooLong(question) != nil || strings.Contains(question, `"`) || containsAnyWord(question, listed("weighty-words")) {
		return nil
	}
	var each []Query
	for _, before := range t.joined { // "carbon and cost of team-a", "and of team-b"
		c := *t
		c.last = before
		if q, ok := c.peek(&exact, question); ok {
			each = append(each, q)
		}
	}
	if n := len(each); n > 1 && n == len(t.joined) {
		if all, ok := joinQueries(each[:1], each[1:]); ok {
			return all
		}
	}
	words := strings.Fields(jointWords.ReplaceAllString(jointMarks.ReplaceAllString(l.plainWords(question), " $1 "), " "))
	if _, ok := t.peek(&exact, question); ok || len(words) > maxJoinedWords {
		return nil
	}
	j := joinReader{t: t, l: &exact, read: make(map[string][]Query)}
	if all := j.readWords(words, maxJoints); len(all) > 1 && len(all) <= maxJoinedQueries {
		return all
	}
	return nil
}

// ContinueFromJoined makes each of some queries one that the next question may refer to.
func (t *Conversation) ContinueFromJoined(all []Query) {
	t.ContinueFrom(all[0])
	t.joined = all
}

// peek parses a question and leaves the conversation as it is.
func (t Conversation) peek(l *Parser, question string) (Query, bool) {
	q, _, back := t.ParseQuestion(l, question)
	return q, back == nil
}

// A joinReader reads questions of what is left of one in which things are joined.
type joinReader struct {
	t    *Conversation
	l    *Parser
	read map[string][]Query // what was tried
}

// readWords returns the query of some words, or those of the things that they join.
func (j *joinReader) readWords(words []string, joints int) (all []Query) {
	text := strings.Join(words, " ")
	if all, ok := j.read[text]; ok || len(j.read) == maxJoinedTries {
		return all
	}
	j.read[text] = nil
	defer func() { j.read[text] = all }()
	if q, ok := j.t.peek(j.l, text); ok {
		return []Query{q}
	}
	for i := 1; i < len(words)-1 && joints > 0; i++ {
		n := len(strings.Fields(joint.FindString(strings.Join(words[i:], " "))))
		if n == 0 || i+n >= len(words) || slices.Contains(words[max(0, i-3):i], "between") { // "between 2 and 4"
			continue
		}
		most := maxJoined
		if words[i] == "," && n == 1 { // of a list
			most = 2
		}
		first, second := make([][]Query, maxJoined), make([][]Query, maxJoined)
		for k := range most {
			if after := i + n + k + 1; after <= len(words) {
				first[k] = j.readWords(slices.Concat(words[:i], words[after:]), joints-1)
			}
			if before := i - k - 1; before >= 0 {
				second[k] = j.readWords(slices.Concat(words[:before], words[i+n:]), joints-1)
			}
		}
		for longer := range most { // of the fewest words first, and of as many words each
			for k := longer; k >= 0; k-- {
				if all, ok := joinQueries(first[longer], second[k]); ok {
					return all
				}
				if all, ok := joinQueries(first[k], second[longer]); ok {
					return all
				}
			}
		}
		if q, ok := j.t.peek(j.l, strings.Join(words[:i], " ")); ok { // the rest goes on from it
			c := *j.t
			c.ContinueFrom(q)
			if more, ok := c.peek(j.l, "and "+strings.Join(words[i+n:], " ")); ok {
				if all, ok := joinQueries([]Query{q}, []Query{more}); ok {
					return all
				}
			}
		}
	}
	return nil
}

// joinQueries returns each of some queries once; false if there are not several, or two of them differ in more
// than one slot that is not set in both.
func joinQueries(first, second []Query) (all []Query, ok bool) {
	one := slices.Concat(first, second)
	if slices.ContainsFunc(one, func(q Query) bool { // "of A, B and C"
		return q.Against != one[0].Against || q.Against != "" && q.Site+q.Tenant != one[0].Site+one[0].Tenant
	}) {
		one = nil
		for _, q := range slices.Concat(first, second) {
			one = append(one, q.apart()...)
		}
	}
	for _, q := range one {
		if slices.ContainsFunc(all, func(x Query) bool { return x.String() == q.String() }) {
			continue
		}
		if slices.ContainsFunc(all, func(x Query) bool { return !x.isJoinedWith(q) }) {
			return nil, false
		}
		all = append(all, q)
	}
	return all, len(first)*len(second) > 0 && len(all) > 1
}

// apart returns the queries of the two things that a query compares.
func (q Query) apart() []Query {
	x, name := q, q.Against
	q.Against, x.Against = "", ""
	switch {
	case name == "":
		return []Query{q}
	case q.Site != "":
		x.Site = name
	default:
		x.Tenant = name
	}
	return []Query{q, x}
}

// joinedSlots are the fields that things of one kind fill; the first are what is asked for.
var joinedSlots = []string{"metric pick per state event statistic", "site", "tenant", "job decision", "model", "policies", "number", "by then", "long_ns within_ns", "at from to"}

// isJoinedWith reports whether two queries may be those of things that one question joins: they differ in
// slots that both have.
func (q Query) isJoinedWith(x Query) bool {
	differ := make(map[string]bool)
	if q.Ask != x.Ask {
		differ[joinedSlots[0]] = true
	}
	for _, f := range queryFields {
		if reflect.DeepEqual(f.valueIn(&q).Interface(), f.valueIn(&x).Interface()) {
			continue
		}
		i := slices.IndexFunc(joinedSlots, func(s string) bool { return slices.Contains(strings.Fields(s), f.name) })
		switch has := f.isSet(&q) == f.isSet(&x); {
		case i < 0, !has && i > 0 && f.name != "at" && f.name != "from" && f.name != "to":
			return false
		}
		differ[joinedSlots[i]] = true
	}
	return len(differ) > 0 && (q.From == 0 || q.From != x.From || q.To == x.To) && (q.At == 0 && q.To == 0) == (x.At == 0 && x.To == 0)
}
