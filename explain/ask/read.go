package ask

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/protocol"
)

// mostAsked bounds a question, in bytes.
const mostAsked = 2000

// tooLong refuses a text before any of it is read; nil if it is short enough.
func tooLong(question string) *Back {
	if len(question) <= mostAsked {
		return nil
	}
	return unclear(fmt.Sprintf("A question has at most %d bytes; this one has %d.", mostAsked, len(question)))
}

// asking are words that a sentence has only if it is a question.
var asking = []string{"what", "why", "which", "when", "where", "who", "how", "would", "could", "did", "does", "was", "were"}

// inverted are words that make a question of what they begin; the first modals of
// them also before a "not".
var inverted = []string{"should", "must", "may", "might", "can", "will", "shall", "is", "are", "has", "have", "had", "was", "were", "do"}

const modals = 4

// A reading is a question on its way to a query.
type reading struct {
	said     said
	when     when
	slots    Query
	rejected string // the site after a "not"
	numbers  []int64
	unknown  []string
	asks     bool   // it has a word of questions
	joined   bool   // it has an "and"
	verb     string // before the first site, and after it
	next     string

	whole map[int]int // by the token that they begin at: how many words phrases have
	cut   map[int]int // phrases begin here that are to have fewer words than that
}

// Read reads a question. If it cannot, it returns what to say instead: that a
// word or a name is not known, or which readings there are. It says which words
// it took for slips of the fingers, too.
func (l *Listener) Read(question string) (Query, []Slip, *Back) {
	q, slips, back := l.understand(question)
	if back != nil {
		if back.Kind == "unclear" && len(back.offered) == 0 {
			l.offerNearest(question, back)
		}
		back.Readings = l.askable(back.offered)
		if len(back.Readings) > 0 && back.leads != "" {
			back.Text = append(back.Text, back.leads)
		}
	}
	return q, slips, back
}

func (l *Listener) understand(question string) (Query, []Slip, *Back) {
	r := &reading{}
	q, back := l.into(question, r)
	switch {
	case back == nil || back.Kind != "unclear" && !back.apart:
	case len(r.unknown) > 0:
		if len(r.whole) > 0 { // a phrase may have taken a word from another
			if q, other := l.apart(question, r, back); other != back {
				return q, nil, other
			}
		}
		return l.slip(question, r.unknown, back)
	default:
		q, back = l.apart(question, r, back)
	}
	return q, nil, back
}

// into reads a question into r.
func (l *Listener) into(question string, r *reading) (Query, *Back) {
	if back := tooLong(question); back != nil {
		return Query{}, back
	}
	r.joined = strings.Contains(question, ",")
	if back := r.read(l, l.index.split(question)); back != nil {
		r.unknown = nil
		return Query{}, back
	}
	if first := r.imperative(); first != "" {
		back := l.refuse(first)
		if first == "!legislate" {
			back.Text = []string{governs(question)}
		}
		return Query{}, back
	}
	if len(r.unknown) > 0 {
		for _, why := range []string{"unrecorded", "beyond"} {
			if r.said.has(why) {
				return Query{}, l.refuse("!" + why)
			}
		}
		return Query{}, l.unknownWords(r.unknown)
	}
	at, from, to, ok := r.when.window(l)
	if !ok || r.when.loose(question) {
		return Query{}, unclear("The times in the question do not make one time or one window. Say \"at 13:45\", \"on 2026-03-11\", or \"from 12:00 to 14:00\".")
	}
	r.slots.At, r.slots.From, r.slots.To = at, from, to
	if at != 0 {
		r.said = append(r.said, []string{"AT"})
	} else if to != 0 {
		r.said = append(r.said, []string{"WIN"})
	}
	q, back := l.choose(r)
	if back == nil {
		back = l.dangling(question, q)
	}
	return q, back
}

// choose returns the one query that the grammar reads.
func (l *Listener) choose(r *reading) (Query, *Back) {
	found := best(r.said)
	if i := slices.IndexFunc(found, func(f rule) bool { return strings.HasPrefix(f.ask, "!") && f.may == "" }); len(found) > 1 && (i >= 0 || found[0].may == "*") {
		found = found[max(i, 0):][:1]
	}
	if r.slots.Job != "" && r.slots.Decision != 0 {
		return Query{}, unclear("One question is about a job or about a decision: name one of the two.")
	}
	switch {
	case len(found) == 1 && strings.HasPrefix(found[0].ask, "!"):
		if q, back := l.hasty(r, found[0]); back != nil || q.Ask != "" {
			return q, back
		}
		return Query{}, l.refuse(found[0].ask)
	case len(found) == 1 && english.is(Query{Ask: found[0].ask}, "supposition") && (slices.Contains(facts, r.verb) || r.bare()) && !r.said.has("if"):
		return r.there()
	case len(found) == 1:
		q := r.query(found[0])
		if lost := r.lost(found[0], q); len(lost) > 0 {
			return Query{}, left(lost, q)
		}
		return q, nil
	case len(found) > 1:
		back := &Back{Kind: "ambiguous", Text: []string{"This can be read in several ways. Which is meant?"}}
		for _, f := range found {
			if !strings.HasPrefix(f.ask, "!") {
				back.offer("", r.query(f))
			}
		}
		return Query{}, back
	}
	back := l.missing(r)
	back.apart = back.lacks == ""
	return Query{}, back
}

// read goes through the tokens: names first, then times and numbers, then the
// longest phrase that is known.
func (r *reading) read(l *Listener, tokens []token) *Back {
	var low []string
	for _, t := range tokens {
		low = append(low, fold.Replace(t.low))
		r.asks = r.asks || slices.Contains(asking, t.low)
		r.joined = r.joined || slices.Contains([]string{"and", "plus", "&", "both"}, t.low)
		if len(t.names) > 0 {
			low[len(low)-1] = "\x00"
		}
	}
	r.asks = r.asks || len(low) > 1 && slices.Contains(inverted, low[0]) && low[1] != "not" || len(low) > 1 && slices.Contains(inverted[:modals], low[0])
	negated := false
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if len(t.names) > 0 {
			if t.names[0].kind == ofSite && r.slots.Site == "" {
				r.verb, r.next = beside(tokens, i)
			}
			if back := r.name(t, negated); back != nil {
				return back
			}
			negated = false
			i++
			continue
		}
		if r.filters(tokens, i) {
			i++
			continue
		}
		n, concepts := r.word(l, low[i:], t, i)
		if n == 0 {
			if back := l.unknownName(tokens, i); back != nil {
				return back
			}
			r.unknown = append(r.unknown, t.text)
			i++
			continue
		}
		if len(concepts) > 0 {
			r.said = append(r.said, concepts)
		}
		if slices.Contains(concepts, "not") || slices.Contains(concepts, "instead") && !slices.Contains(concepts, "_") {
			negated = true
		}
		i += n
	}
	return nil
}

// beside returns the words before and after a name; a noun that says what it is, is
// a part of it.
func beside(tokens []token, i int) (before, after string) {
	if i+1 < len(tokens) {
		after = tokens[i+1].low
	}
	for i--; i >= 0; i-- {
		if low := tokens[i].low; nouns[low] == "" && low != "the" {
			return low, after
		}
	}
	return "", after
}

// facts are words before a site that make a question of what they begin, and not a
// supposition: "is oslo down", but "were oslo down".
var facts = strings.Fields("is was has did does")

// bare reports whether a question says of a site that it is down, and nothing else:
// "oslo down?"
func (r *reading) bare() bool {
	return r.verb == "" && r.slots.To == 0 && !slices.ContainsFunc(r.said, func(word []string) bool {
		return !slices.ContainsFunc(word, func(c string) bool { return c == "SITE" || c == "sites" || c == "without" })
	})
}

// there reads a question whether a site is there: when it was last heard tells.
func (r *reading) there() (Query, *Back) {
	q := Query{Ask: "report", Site: r.slots.Site}
	if r.verb == "did" || r.verb == "does" || r.verb == "" { // "what did oslo lose", "oslo down?"
		a := &Back{Kind: "ambiguous"}
		a.say("That is not answered as it stands.")
		return Query{}, a.offer("Perhaps one of these is meant:", q, Query{Ask: "day-without", Site: q.Site})
	}
	if lost := r.lost(rule{}, q); len(lost) > 0 {
		return Query{}, left(lost, q)
	}
	return q, nil
}

// filters reports whether a word is the "only" of "only at oslo" or "oslo only" in
// what is no question of yes or no: the name alone says as much.
func (r *reading) filters(tokens []token, i int) bool {
	named := func(k int) bool { return k >= 0 && k < len(tokens) && len(tokens[k].names) > 0 }
	first := tokens[0].low
	if tokens[i].low != "only" || tokens[i].quoted || slices.Contains(inverted, first) || slices.Contains([]string{"why", "did", "does", "would", "could"}, first) || i > 0 && tokens[i-1].low == "not" {
		return false
	}
	for k := i + 1; k < len(tokens) && slices.Contains([]string{"at", "of", "for", "on", "site", "tenant"}, tokens[k].low) && !named(k); k++ {
		if named(k + 1) {
			return true
		}
	}
	return named(i+1) || i == len(tokens)-1 && named(i-1)
}

// word reads what is no name, and returns how many words it took.
func (r *reading) word(l *Listener, low []string, t token, at int) (int, []string) {
	if t.quoted {
		return 0, nil
	}
	if low[0] == "next" && len(low) > 1 && units[low[1]] > 0 {
		r.slots.Within = units[low[1]]
		return 2, []string{"next"}
	}
	most := english.longest
	if r.cut[at] > 0 {
		most = r.cut[at] - 1
	}
	n, concepts := longestPhrase(low, most)
	if n > 1 {
		if r.whole == nil {
			r.whole = make(map[int]int)
		}
		r.whole[at] = n
		return n, concepts
	}
	spans := len(r.when.spans)
	if used := r.when.time(l, low); used > 0 {
		if len(r.when.spans) > spans {
			r.span()
			if slices.ContainsFunc(low[:used], func(w string) bool { return slices.Contains(extra, w) }) {
				r.said = append(r.said, []string{"extra"})
			}
			if r.slots.Long == 0 {
				return used, []string{"next"}
			}
			return used, []string{"DUR"}
		}
		return used, nil
	}
	if seq, ok := record.ParseDecisionID(low[0], l.Decided); ok {
		if r.slots.Decision != 0 {
			return 0, nil
		}
		r.slots.Decision = seq
		return 1, []string{"DEC"}
	}
	if id, ok := strings.CutPrefix(low[0], "r-"); ok && isNumber(id) {
		return 1, []string{"ruleid"}
	}
	if v, ok := small[low[0]]; ok && n == 0 {
		r.numbers = append(r.numbers, v)
		return 1, []string{"NUM"}
	}
	digits, unit, cut := strings.Cut(low[0], "-")
	if !cut {
		digits = strings.TrimRightFunc(low[0], unicode.IsLetter)
		unit = low[0][len(digits):]
	}
	if v, ok := number(digits); ok && n == 0 {
		switch unit {
		case "":
			r.numbers = append(r.numbers, v)
			return 1, []string{"NUM"}
		case "gpu", "gpus", "x":
			r.numbers = append(r.numbers, v)
			r.said = append(r.said, []string{"NUM"})
			return 1, []string{"gpus"}
		}
	}
	return n, concepts
}

// span takes a length of time: of a run, or within which.
func (r *reading) span() {
	d := r.when.spans[len(r.when.spans)-1]
	n := len(r.said)
	if n > 0 && (slices.Contains(r.said[n-1], "next") || slices.Contains(r.said[n-1], "canwait")) || r.slots.Long != 0 {
		r.slots.Within = d
		return
	}
	r.slots.Long = d
}

// longestPhrase returns the longest phrase at the start of words, of so many at
// most.
func longestPhrase(words []string, most int) (int, []string) {
	for n := min(most, len(words)); n > 0; n-- {
		text := strings.Join(words[:n], " ")
		if concepts, ok := english.phrases[text]; ok {
			return n, concepts
		}
	}
	if parts := strings.Split(words[0], "-"); len(parts) > 1 {
		if n, concepts := longestPhrase(parts, english.longest); n == len(parts) {
			return 1, concepts
		}
	}
	return 0, nil
}

// name takes a name that is known.
func (r *reading) name(t token, negated bool) *Back {
	if len(t.names) > 1 {
		back := &Back{Kind: "ambiguous", Text: []string{fmt.Sprintf("%q is more than one thing here. Say which is meant:", format.CleanText(t.text))}}
		for _, n := range t.names {
			back.Text = append(back.Text, strings.ToLower(n.kind)+" "+format.CleanText(Quote(n.name)))
		}
		return back
	}
	n := t.names[0]
	switch {
	case n.kind == ofAJob && r.slots.Job == "":
		r.slots.Job = protocol.JobID(n.name)
	case n.kind == ofTenant && r.slots.Tenant == "":
		r.slots.Tenant = n.name
	case n.kind == ofPolicy:
		r.slots.Policies = append(r.slots.Policies, n.name)
	case n.kind == ofSite && r.slots.Site == "":
		r.slots.Site = n.name
	case n.kind == ofSite && r.slots.Other == "" && r.slots.Site != n.name:
		r.slots.Other = n.name
		r.said = append(r.said, []string{"SITE2"})
		if negated {
			r.rejected = n.name
		}
		return nil
	default:
		return unclear(fmt.Sprintf("One question can be about one %s, or about two sites.", strings.ToLower(n.kind)))
	}
	r.said = append(r.said, []string{n.kind})
	if negated && n.kind == ofSite {
		r.rejected = n.name
	}
	return nil
}

// imperative returns why a sentence that wants something done is refused.
func (r *reading) imperative() string {
	if r.asks {
		return ""
	}
	if r.said.has("modal") {
		return "!legislate"
	}
	for i, word := range r.said {
		switch {
		case slices.Contains(word, "command") && i+1 < len(r.said) && slices.ContainsFunc(r.said[i+1], func(c string) bool { return c == "JOB" || c == "DEC" || c == "TENANT" }):
			return "!act" // "put JOB on hold"
		case slices.Contains(word, "legislate") || slices.Contains(word, "never"):
			return "!legislate"
		case slices.Contains(word, "act"):
			return "!act"
		case !slices.Contains(word, "_"):
			return ""
		}
	}
	return ""
}
