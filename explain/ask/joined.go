package ask

import (
	"reflect"
	"slices"
	"strings"
)

// Things of one kind that a question joins ("carbon and cost of team-a", "mornings against evenings") are asked
// for one by one: each takes the place of all. The queries have to be alike in what is not joined. These are the bounds.
const (
	maxJoined        = 5 // words of one of the things
	maxJoints        = 3 // within one another
	maxJoinedQueries = 6
	maxJoinedTries   = 120 // questions that are read
)

// A joinReader reads questions of what is left of one in which things are joined.
type joinReader struct {
	*Conversation
	l    *Parser
	read map[string][]Query // what was tried
}

// peek parses a question and leaves the conversation as it is.
func (j joinReader) peek(question string) []Query {
	c := *j.Conversation
	if q, _, back := c.ParseQuestion(j.l, question); back == nil {
		return []Query{q}
	}
	return nil
}

// after reads what goes on from a query.
func (j joinReader) after(q Query, question string) []Query {
	c := *j.Conversation
	c.ContinueFrom(q)
	return joinReader{&c, j.l, nil}.peek(question)
}

// ParseJoined returns the queries of a question that asks for several things of one kind, or goes on from one
// that did; nil if it does not.
func (t *Conversation) ParseJoined(l *Parser, question string) []Query {
	exact := *l
	exact.exact = true
	j := joinReader{t, &exact, make(map[string][]Query)}
	if tooLong(question) != nil || strings.Contains(question, `"`) || containsAnyWord(question, listed("weighty-words")) {
		return nil
	}
	var each []Query
	for _, before := range t.joined { // "carbon and cost of team-a", "and of team-b"
		each = append(each, j.after(before, question)...)
	}
	if n := len(each); n > 1 && n == len(t.joined) {
		if all := joinQueries(each[:1], each[1:]); all != nil {
			return all
		}
	}
	text := form("comparative").ReplaceAllString(form("joint-marks").ReplaceAllString(l.plainWords(question), " $1 "), " $1$2 against ")
	words := strings.Fields(form("joint-words").ReplaceAllString(text, " "))
	if j.peek(question) != nil {
		return nil
	}
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

// readWords returns the query of some words, or those of the things that they join.
func (j joinReader) readWords(words []string, joints int) (all []Query) {
	text := strings.Join(words, " ")
	if all, ok := j.read[text]; ok || len(j.read) == maxJoinedTries {
		return all
	}
	all = j.peek(text)
	for i := 1; i < len(words)-1 && joints > 0 && all == nil; i++ {
		j.read[text] = nil
		n := len(strings.Fields(form("joint").FindString(strings.Join(words[i:], " "))))
		if n == 0 || i+n >= len(words) || slices.Contains(words[max(0, i-3):i], "between") { // "between 2 and 4"
			continue
		}
		most := maxJoined
		if words[i] == "," && n == 1 { // of a list
			most = 2
		}
		first, second := make([][]Query, most), make([][]Query, most)
		for k := range most {
			if after := i + n + k + 1; after <= len(words) {
				first[k] = j.readWords(slices.Concat(words[:i], words[after:]), joints-1)
			}
			if before := i - k - 1; before >= 0 {
				second[k] = j.readWords(slices.Concat(words[:before], words[i+n:]), joints-1)
			}
		}
		for sum := range most * most { // of the fewest words first, and of as many words each
			if longer, k := sum/most, sum%most; k <= longer && all == nil {
				if all = joinQueries(first[longer], second[longer-k]); all == nil {
					all = joinQueries(first[longer-k], second[longer])
				}
			}
		}
		if q := j.peek(strings.Join(words[:i], " ")); q != nil && all == nil { // the rest goes on from it
			all = joinQueries(q, j.after(q[0], "and "+strings.Join(words[i+n:], " ")))
		}
	}
	j.read[text] = all
	return all
}

// joinQueries returns each of some queries once; nil if there are not several, or two of them are not alike.
func joinQueries(first, second []Query) (all []Query) {
	one := slices.Concat(first, second)
	apart := slices.ContainsFunc(one, func(q Query) bool { // "of A, B and C"
		return q.Against != one[0].Against || q.Against != "" && q.Site+q.Tenant != one[0].Site+one[0].Tenant
	})
	for i := 0; i < len(one); i++ {
		q := one[i]
		if apart && q.Against != "" {
			x := q
			if q.Against, x.Against = "", ""; q.Site != "" {
				x.Site = one[i].Against
			} else {
				x.Tenant = one[i].Against
			}
			one = append(one, x)
		}
		if slices.ContainsFunc(all, func(x Query) bool { return x.String() == q.String() }) {
			continue
		} else if len(first)*len(second) == 0 || slices.ContainsFunc(all, func(x Query) bool { return !x.isJoinedWith(q) }) {
			return nil
		}
		all = append(all, q)
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// Fields that things of one kind fill: what is asked for, and the slots that both have or have not.
var (
	joinedFields = strings.Fields("metric pick per state event statistic")
	joinedSlots  = strings.Fields("site tenant job decision model policies number by then long_ns within_ns")
)

// isJoinedWith reports whether two queries may be those of things that one question joins.
func (q Query) isJoinedWith(x Query) bool {
	for _, f := range queryFields {
		same := reflect.DeepEqual(f.valueIn(&q).Interface(), f.valueIn(&x).Interface())
		if !same && !slices.Contains(joinedFields, f.name) && !slices.Contains(f.parts, "time") && !(slices.Contains(joinedSlots, f.name) && f.isSet(&q) == f.isSet(&x)) {
			return false
		}
	}
	return (q.From == 0 || q.From != x.From || q.To == x.To) && (q.At == 0 && q.To == 0) == (x.At == 0 && x.To == 0)
}
