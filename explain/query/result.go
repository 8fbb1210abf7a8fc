package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/protocol"
)

// A Result is what a query comes to, before any of it is words: sentences and rows
// whose figures are [Figure] values. It is rendered in one place as text, table and
// figures, from which page, tools and JSON are made; so a figure that is shown is one
// that is given, and a test of an answer is a check of data.
type Result struct {
	Kind     string     // of the answer; "" is "answer"
	Command  string     // that says the same again; "" is the question's own
	Readings []string   // questions to ask instead
	Assumed  []Sentence // what was taken for granted
	Said     []Sentence
	Head     []string
	Rows     [][]Part
	Also     []Figure // given, and not shown
	Chart    *Chart
	Cites    []string // decisions that it comes from
}

// A Sentence is a form with a %s for each of its parts. The form holds no figure, but may
// name the 95th percentile, or CO2e.
type Sentence struct {
	Form  string
	Parts []Part
}

// A Part is what stands in a sentence or in a cell: a figure, or words that are none.
type Part interface {
	words() string
	figures() []Figure
}

// words returns a figure as people read it, by its unit.
func (f Figure) words() string {
	switch f.Unit {
	case "thousandths":
		return format.FormatThousandths(protocol.Milli(f.Value))
	case "microdollars":
		return format.FormatDollars(protocol.Microdollars(f.Value))
	case "microdollars-per-kwh":
		return perMWh(protocol.Microdollars(f.Value))
	case "microdollars-per-kg":
		return perTonne(protocol.Microdollars(f.Value))
	case "microdollars-per-gpu-hour":
		return format.FormatDollars(protocol.Microdollars(f.Value))
	case "milligrams":
		return kg(protocol.Milligrams(f.Value))
	case "milligrams-per-kwh":
		return grams(protocol.Milligrams(f.Value))
	case "millijoules":
		return kWh(protocol.Millijoules(f.Value))
	case "ms":
		return format.FormatDuration(time.Duration(f.Value) * time.Millisecond)
	case "gpu-ms":
		return strconv.FormatFloat(float64(f.Value)/3.6e6, 'f', 1, 64)
	case "instant":
		return format.FormatInstant(protocol.Time(f.Value))
	}
	return strconv.FormatInt(f.Value, 10)
}

func (f Figure) figures() []Figure { return []Figure{f} }

// A quantity is a value whose type says its unit; one that is a number of things counts.
type quantity interface {
	int | uint64 | time.Duration | protocol.Time | protocol.Milli | protocol.Microdollars | protocol.Milligrams | protocol.Millijoules
}

// valueOf returns a figure in the unit of its type; decisions without an id are left out.
func valueOf[Q quantity](subject, what string, value Q, from ...string) Figure {
	f := Figure{subject, what, int64(value), "count", slices.DeleteFunc(slices.Clone(from), func(id string) bool { return id == "" })}
	switch v := any(value).(type) {
	case time.Duration:
		f.Value, f.Unit = v.Milliseconds(), "ms"
	case protocol.Time:
		f.Unit = "instant"
	case protocol.Milli:
		f.Unit = "thousandths"
	case protocol.Microdollars:
		f.Unit = "microdollars"
	case protocol.Milligrams:
		f.Unit = "milligrams"
	case protocol.Millijoules:
		f.Unit = "millijoules"
	}
	return f
}

// jobValue returns a figure of the job that a question is about.
func jobValue[Q quantity](m matter, what string, value Q) Figure {
	return valueOf(ofJob(m.rec.Job.ID), what, value, m.cited()...)
}

// siteValue returns a figure of a site in the decision that a question is about.
func siteValue[Q quantity](m matter, site, what string, value Q) Figure {
	return valueOf("site/"+site, what, value, m.cited()...)
}

// A called is the name of a site, a tenant, a job or a model.
type called string

func (n called) words() string   { return name(n) }
func (called) figures() []Figure { return nil }

// A phrase is words of this program that a sentence chooses among: "is", "is at most".
type phrase string

func (p phrase) words() string   { return string(p) }
func (phrase) figures() []Figure { return nil }

// A recorded is text as the record has it: a state, a reason.
type recorded string

func (x recorded) words() string   { return format.CleanText(string(x)) }
func (recorded) figures() []Figure { return nil }

// A because is a reason as the record has it.
type because protocol.Reason

func (b because) words() string   { return narrate.ReasonWithNote(protocol.Reason(b)) }
func (because) figures() []Figure { return nil }

// A citation is the id of a decision; 0 is none.
type citation uint64

func (c citation) words() string   { return cite(uint64(c)) }
func (citation) figures() []Figure { return nil }

// A shownAs is a figure in other words than those of its unit.
type shownAs struct {
	Figure
	as func(value int64) string
}

func (s shownAs) words() string { return s.as(s.Value) }

// withoutSign shows a figure of which the sentence says whether it is more or less.
func withoutSign(f Figure) Part {
	return shownAs{f, func(v int64) string { f.Value = max(v, -v); return f.words() }}
}

// toTheMinute shows an instant without its seconds.
func toTheMinute(f Figure) Part {
	return shownAs{f, func(v int64) string { return format.FormatInstant(protocol.Time(v).Floor(time.Minute)) }}
}

// counted returns a number with its noun: "8 GPUs".
func counted(f Figure, one, many string) Part {
	return shownAs{f, func(n int64) string { return format.CountWithNoun(int(n), one, many) }}
}

// asPercent shows thousandths of a whole.
func asPercent(f Figure) Part {
	return shownAs{f, func(n int64) string { return strconv.FormatFloat(float64(n)/10, 'f', 1, 64) + " %" }}
}

// asKilowatts shows the energy of an hour as the mean draw in it.
func asKilowatts(f Figure) Part {
	return shownAs{f, func(n int64) string { return strconv.FormatFloat(protocol.Millijoules(n).InKWh(), 'f', 3, 64) }}
}

// A listed is several parts as people list them: "oslo, lyon and bern".
type listed []Part

func (l listed) words() string {
	var all []string
	for _, p := range l {
		all = append(all, p.words())
	}
	return format.JoinWithAnd(all)
}

func (l listed) figures() (all []Figure) {
	for _, p := range l {
		all = append(all, p.figures()...)
	}
	return all
}

// sentence returns a part that is worded as a sentence is.
func sentence(form string, parts ...Part) Sentence { return Sentence{form, parts} }

func (s Sentence) words() string {
	var words []any
	for _, p := range s.Parts {
		words = append(words, p.words())
	}
	return fmt.Sprintf(s.Form, words...)
}

func (s Sentence) figures() []Figure { return listed(s.Parts).figures() }

func (r *Result) say(form string, parts ...Part) { r.Said = append(r.Said, Sentence{form, parts}) }
func (r *Result) assume(form string, parts ...Part) {
	r.Assumed = append(r.Assumed, Sentence{form, parts})
}
func (r *Result) row(cells ...Part)  { r.Rows = append(r.Rows, cells) }
func (r *Result) also(all ...Figure) { r.Also = append(r.Also, all...) }

// cite adds a decision that is not cited yet; zero is none.
func (r *Result) cite(id uint64) {
	if name := cite(id); id != 0 && (len(r.Cites) == 0 || r.Cites[len(r.Cites)-1] != name) {
		r.Cites = append(r.Cites, name)
	}
}

// citeNamed adds decisions by name that are not cited yet.
func (r *Result) citeNamed(names ...string) {
	for _, n := range names {
		if n != "" && !slices.Contains(r.Cites, n) {
			r.Cites = append(r.Cites, n)
		}
	}
}

// whole says which time counts where none was named, and what of it is on record.
func (r *Result) whole(l *Log, q ask.Query, counts string) {
	if q.To == 0 {
		r.assume("no time was named, so the whole record, %s to %s UTC", begin(l), end(l))
	} else {
		r.assume(counts)
	}
	r.partial(l, q)
}

// partial says of a time that reaches back before its coordinator began that not all of
// it is on record.
func (r *Result) partial(l *Log, q ask.Query) {
	if l.book.Coverage().Since > l.first() && (q.To == 0 || q.From < l.book.Coverage().Since) {
		r.assume("its coordinator began at %s; of before this record has the jobs that the books kept, and neither idle draw nor rounds",
			Figure{"run", "coordinator-began", int64(l.book.Coverage().Since), "instant", nil})
	}
}

// moment returns the instant that a query is about; its default is the end.
func (r *Result) moment(l *Log, q ask.Query) protocol.Time {
	if q.At != 0 {
		return q.At
	}
	r.assume("no time was named, so now, the end of the record: %s UTC", end(l))
	return l.last()
}

// ofRun returns a figure of the whole run.
func ofRun(what string, value int64, unit string, from ...string) Figure {
	return Figure{"run", what, value, unit, from}
}

// plural chooses a word by a number.
func plural(n int, one, many string) phrase { return phrase(format.PluralForm(n, one, many)) }

// begin is when the record begins.
func begin(l *Log) Figure { return Figure{"run", "begin", int64(l.first()), "instant", nil} }

// end is when the record ends.
func end(l *Log) Figure { return Figure{"run", "end", int64(l.last()), "instant", nil} }

// give adds the figures of parts that are not given yet.
func (a *Answer) give(parts ...Part) {
	for _, p := range parts {
		for _, f := range p.figures() {
			if !slices.ContainsFunc(a.Figures, func(x Figure) bool {
				return x.Subject == f.Subject && x.Name == f.Name && x.Value == f.Value && x.Unit == f.Unit
			}) {
				a.Figures = append(a.Figures, f)
			}
		}
	}
}

// fill renders a result into an answer: the one place where figures become words.
func (r *Result) fill(a *Answer) {
	for _, f := range r.Also {
		a.give(f)
	}
	for _, s := range r.Assumed {
		a.assume(s.words())
		a.give(s.Parts...)
	}
	if r.Head != nil {
		a.Table = &Table{Head: r.Head}
	}
	for _, cells := range r.Rows {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.words())
		}
		a.Table.Rows = append(a.Table.Rows, texts)
		a.give(cells...)
	}
	for _, s := range r.Said {
		a.Text = append(a.Text, s.words())
		a.give(s.Parts...)
	}
	a.Chart, a.Cites, a.Readings = r.Chart, r.Cites, r.Readings
	a.Kind, a.Command = cmp.Or(r.Kind, a.Kind), cmp.Or(r.Command, a.Command)
	if len(r.Readings) > 0 {
		a.Command = ""
	}
	a.result = r
}

// withDigits are words that hold digits and are no figures.
var withDigits = strings.NewReplacer("95th percentile", "", "CO2e", "")

func hasFigure(words string) bool {
	return strings.ContainsAny(withDigits.Replace(words), "0123456789")
}

// Grounded checks an answer that came of a result as data: each figure that a sentence or
// a cell shows is among the answer's figures, and nothing else in them is a figure; what is
// no answer gives none. typed is false where nothing was computed: of help, and of a
// question that is given back.
func (a Answer) Grounded() (claims int, loose []string, typed bool) {
	if a.result == nil {
		return 0, nil, false
	}
	var check func(parts []Part)
	form := func(s Sentence) {
		if hasFigure(s.Form) || strings.Count(s.Form, "%s") != len(s.Parts) {
			loose = append(loose, fmt.Sprintf("the form %q holds a figure, or has not a %%s for each part", s.Form))
		}
		check(s.Parts)
	}
	check = func(parts []Part) {
		for _, p := range parts {
			switch x := p.(type) {
			case Sentence:
				form(x)
				continue
			case listed:
				check(x)
				continue
			}
			if w, ok := p.(phrase); ok && hasFigure(string(w)) {
				loose = append(loose, fmt.Sprintf("%q is a figure in words", string(w)))
			}
			for _, f := range p.figures() {
				claims++
				if a.Kind == "answer" && !slices.ContainsFunc(a.Figures, func(x Figure) bool {
					return x.Subject == f.Subject && x.Name == f.Name && x.Value == f.Value && x.Unit == f.Unit
				}) {
					loose = append(loose, fmt.Sprintf("%s of %s is shown and not given", f.Name, f.Subject))
				}
			}
		}
	}
	for _, s := range slices.Concat(a.result.Assumed, a.result.Said) {
		form(s)
	}
	for i, s := range a.result.Said {
		if i >= len(a.Text) || a.Text[i] != s.words() {
			loose = append(loose, fmt.Sprintf("sentence %d says otherwise than it was computed", i))
		}
	}
	for _, s := range a.result.Assumed {
		if !strings.Contains(a.Read, s.words()) {
			loose = append(loose, "what was taken for granted is told otherwise: "+s.words())
		}
	}
	if len(a.Text) != len(a.result.Said) || a.Table != nil && len(a.Table.Rows) != len(a.result.Rows) {
		loose = append(loose, "it says more or less than it was computed")
	}
	for i, cells := range a.result.Rows {
		check(cells)
		for k, c := range cells {
			if a.Table == nil || i >= len(a.Table.Rows) || k >= len(a.Table.Rows[i]) || a.Table.Rows[i][k] != c.words() {
				loose = append(loose, fmt.Sprintf("row %d is shown otherwise than it was computed", i))
			}
		}
	}
	return claims, loose, true
}
