package query

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A Result is the result of a query as data: sentences and rows whose figures are [Figure]
// values. fillAnswer alone renders it as text, table and figures, from which page, tools
// and JSON are made. So every figure shown is also in the data, and a test of an answer
// compares data.
type Result struct {
	Kind         string     // of the answer; "" is "answer"
	Command      string     // that repeats the answer; "" is the question's own
	Readings     []string   // questions to ask instead
	Assumptions  []Sentence // defaults and assumptions
	Sentences    []Sentence
	Head         []string
	Rows         [][]Part
	ExtraFigures []Figure // in the data, but not shown
	Chart        *Chart
	Cites        []string // decisions that it comes from
}

// A Sentence is a form with a %s for each of its parts. The form holds no figure, but may
// name the 95th percentile, or CO2e.
type Sentence struct {
	Form  string
	Parts []Part
}

// A Part is a figure or a piece of text in a sentence or in a cell.
type Part interface{ renderText() string }

// eachPart goes through parts, and through those that they are made of.
func eachPart(parts ...Part) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for _, p := range parts {
			if !yield(p) {
				return
			}
			inner, _ := p.(partList)
			if s, ok := p.(Sentence); ok {
				inner = s.Parts
			}
			for p := range eachPart(inner...) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// figuresIn returns the figures of parts.
func figuresIn(parts ...Part) (all []Figure) {
	for p := range eachPart(parts...) {
		switch x := p.(type) {
		case Figure:
			all = append(all, x)
		case formattedFigure:
			all = append(all, x.Figure)
		}
	}
	return all
}

// renderText returns a figure as people read it, by its unit.
func (f Figure) renderText() string { return format.FormatValue(f.Value, f.Unit) }

// Units of figures that have no type elsewhere.
type (
	milliseconds           int64 // where a sum of durations would overflow one
	gpuMilliseconds        int64
	milligramsPerKWh       int64
	microdollarsPerKWh     int64
	microdollarsPerKg      int64
	microdollarsPerGPUHour int64
	dollarsPerTonne        int64
)

// A quantity is a value whose Go type determines the unit of its figure; int and uint64 are
// counts. There is no int64, which may hold any unit.
type quantity interface {
	int | uint64 | time.Duration | protocol.Time | protocol.Milli | protocol.Microdollars | protocol.Milligrams | protocol.Millijoules |
		milliseconds | gpuMilliseconds | milligramsPerKWh | microdollarsPerKWh | microdollarsPerKg | microdollarsPerGPUHour | dollarsPerTonne
}

// unitNames are the units of the types of quantities; those of other types are counts.
var unitNames = map[reflect.Type]string{
	reflect.TypeFor[time.Duration](): "ms", reflect.TypeFor[milliseconds](): "ms", reflect.TypeFor[gpuMilliseconds](): "gpu-ms",
	reflect.TypeFor[protocol.Time](): "instant", reflect.TypeFor[protocol.Milli](): "thousandths", reflect.TypeFor[dollarsPerTonne](): "dollars-per-tonne",
	reflect.TypeFor[protocol.Microdollars](): "microdollars", reflect.TypeFor[microdollarsPerKWh](): "microdollars-per-kwh",
	reflect.TypeFor[microdollarsPerKg](): "microdollars-per-kg", reflect.TypeFor[microdollarsPerGPUHour](): "microdollars-per-gpu-hour",
	reflect.TypeFor[protocol.Milligrams](): "milligrams", reflect.TypeFor[milligramsPerKWh](): "milligrams-per-kwh", reflect.TypeFor[protocol.Millijoules](): "millijoules",
}

// valueOf returns a figure of a subject ("run", "site/NAME", jobSubject) in the unit of its type;
// decisions without an id are left out.
func valueOf[Q quantity](subject, what string, value Q, from ...string) Figure {
	if slices.Contains(from, "") { // a copy only then: a bill may cite every decision of a run
		from = slices.DeleteFunc(slices.Clone(from), func(id string) bool { return id == "" })
	}
	f := Figure{subject, what, int64(value), cmp.Or(unitNames[reflect.TypeFor[Q]()], "count"), from}
	if d, ok := any(value).(time.Duration); ok {
		f.Value = d.Milliseconds()
	}
	return f
}

// jobValue returns a figure of the job that a question is about.
func jobValue[Q quantity](m jobCase, what string, value Q) Figure {
	return valueOf(jobSubject(m.job.Job.ID), what, value, m.citedDecisions()...)
}

// siteValue returns a figure of a site in the decision that a question is about.
func siteValue[Q quantity](m jobCase, site, what string, value Q) Figure {
	return valueOf("site/"+site, what, value, m.citedDecisions()...)
}

// A namePart is the name of a site, a tenant, a job or a model.
type namePart string

func (n namePart) renderText() string { return cleanName(n) }

// A plainText is words of this program that a sentence chooses among: "is", "is at most".
type plainText string

func (p plainText) renderText() string { return string(p) }

// A recordedText is text as the record has it: a state, a reason.
type recordedText string

func (x recordedText) renderText() string { return format.CleanText(string(x)) }

// A reasonText is a reason as the record has it.
type reasonText protocol.Reason

func (b reasonText) renderText() string { return narrate.ReasonWithNote(protocol.Reason(b)) }

// A decisionCitation is the id of a decision; 0 is none.
type decisionCitation uint64

func (c decisionCitation) renderText() string { return decisionLabel(uint64(c)) }

// A formattedFigure is a figure with a format other than that of its unit.
type formattedFigure struct {
	Figure
	as func(value int64) string
}

func (s formattedFigure) renderText() string { return s.as(s.Value) }

// withoutSign shows the absolute value of a figure, for sentences that word its sign.
func withoutSign(f Figure) Part {
	return formattedFigure{f, func(v int64) string { f.Value = max(v, -v); return f.renderText() }}
}

// toTheMinute shows an instant without its seconds.
func toTheMinute(f Figure) Part {
	return formattedFigure{f, func(v int64) string { return format.FormatInstant(protocol.Time(v).Floor(time.Minute)) }}
}

// countedPart returns a number with its noun: "8 GPUs".
func countedPart(f Figure, one, many string) Part {
	return formattedFigure{f, func(n int64) string { return format.CountWithNoun(int(n), one, many) }}
}

// asPercent shows thousandths of a whole.
func asPercent(f Figure) Part {
	return formattedFigure{f, func(n int64) string { return strconv.FormatFloat(float64(n)/10, 'f', 1, 64) + " %" }}
}

// asKilowatts shows the energy of an hour as the mean draw in it.
func asKilowatts(f Figure) Part {
	return withDecimals(f, 3.6e9, 3)
}

// A partList is several parts as people list them: "oslo, lyon and bern".
type partList []Part

// namesOf lists names.
func namesOf[S ~string](names ...S) (all partList) {
	for _, n := range names {
		all = append(all, namePart(n))
	}
	return all
}

func (l partList) renderText() string {
	var all []string
	for _, p := range l {
		all = append(all, p.renderText())
	}
	return format.JoinWithAnd(all)
}

// newSentence returns a part that is worded as a sentence is.
func newSentence(form string, parts ...Part) Sentence { return Sentence{form, parts} }

func (s Sentence) renderText() string {
	var words []any
	for _, p := range s.Parts {
		words = append(words, p.renderText())
	}
	return fmt.Sprintf(s.Form, words...)
}

// addSentence adds a sentence to the text; form has a %s for each part.
func (r *Result) addSentence(form string, parts ...Part) {
	r.Sentences = append(r.Sentences, Sentence{form, parts})
}

// addAssumption adds a sentence to the line that says how the question was read.
func (r *Result) addAssumption(form string, parts ...Part) {
	r.Assumptions = append(r.Assumptions, Sentence{form, parts})
}

// addRow adds a row to the table; it has a cell for each of Head.
func (r *Result) addRow(cells ...Part) { r.Rows = append(r.Rows, cells) }

// addListed adds a row of a list of which people see the first mostListed. The figures of all are in
// the data.
func (r *Result) addListed(cells ...Part) {
	if len(r.Rows) < mostListed {
		r.addRow(cells...)
	} else {
		r.addFigures(figuresIn(cells...)...)
	}
}

// noteShown says of a list of n that people see the first mostListed; form says which those are.
func (r *Result) noteShown(n int, form string) {
	if n > mostListed {
		r.addSentence(form, valueOf("run", "shown", mostListed))
	}
}

// addFigures adds figures to the data of the answer without showing them.
func (r *Result) addFigures(all ...Figure) { r.ExtraFigures = append(r.ExtraFigures, all...) }

// citeDecision adds a decision that is not cited yet; zero is none.
func (r *Result) citeDecision(id uint64) {
	if name := decisionLabel(id); id != 0 && (len(r.Cites) == 0 || r.Cites[len(r.Cites)-1] != name) {
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

// namesOfJobs lists the first of some jobs by name, and how many more there are; it cites the decisions on all.
func (r *Result) namesOfJobs(l *Dataset, jobs []history.JobRecord, most int, more Figure) (names partList) {
	for i, rec := range jobs {
		if r.citeDecision(l.currentDecision(rec)); i < most {
			names = append(names, namePart(rec.Job.ID))
		}
	}
	if len(jobs) > most {
		names = append(names, newSentence("%s more", more))
	}
	return names
}

// assumeWindow adds the window that counts if the question names none, and how much of it is
// on record.
func (r *Result) assumeWindow(l *Dataset, q ask.Query, counts string) {
	if q.To == 0 {
		r.addAssumption("no time was named, so the whole record, %s to %s UTC", firstTimeFigure(l), lastTimeFigure(l))
	} else {
		r.addAssumption(counts)
	}
	r.assumeSince(l, q)
}

// assumeSince adds that the record is incomplete for a window that begins before the
// coordinator's record does.
func (r *Result) assumeSince(l *Dataset, q ask.Query) {
	if l.history.Coverage().Since > l.firstTime() && (q.To == 0 || q.From < l.history.Coverage().Since) {
		r.addAssumption("its coordinator began at %s; of before this record has the jobs that the books kept, and neither idle draw nor rounds",
			valueOf("run", "coordinator-began", l.history.Coverage().Since))
	}
}

// instantOf returns the instant that a query is about; its default is the end.
func (r *Result) instantOf(l *Dataset, q ask.Query) protocol.Time {
	if q.At != 0 {
		return q.At
	}
	r.addAssumption("no time was named, so now, the end of the record: %s UTC", lastTimeFigure(l))
	return l.lastTime()
}

// pluralForm chooses a word by a number.
func pluralForm(n int, one, many string) plainText { return plainText(format.PluralForm(n, one, many)) }

// firstTimeFigure is when the record begins.
func firstTimeFigure(l *Dataset) Figure {
	return valueOf("run", "begin", l.firstTime())
}

// lastTimeFigure is when the record ends.
func lastTimeFigure(l *Dataset) Figure {
	return valueOf("run", "end", l.lastTime())
}

// hasFigure reports whether an answer gives a figure.
func (a *Answer) hasFigure(f Figure) bool {
	return slices.ContainsFunc(a.Figures, func(x Figure) bool {
		return x.Subject == f.Subject && x.Name == f.Name && x.Value == f.Value && x.Unit == f.Unit
	})
}

// addFigures adds the figures of parts that the answer does not have yet.
func (a *Answer) addFigures(parts ...Part) {
	for _, f := range figuresIn(parts...) {
		if !a.hasFigure(f) {
			a.Figures = append(a.Figures, f)
		}
	}
}

// fillAnswer renders a result into an answer: the one place where figures become words.
func (r *Result) fillAnswer(a *Answer) {
	for _, f := range r.ExtraFigures {
		a.addFigures(f)
	}
	for _, s := range r.Assumptions {
		a.addAssumption(s.renderText())
		a.addFigures(s.Parts...)
	}
	if r.Head != nil {
		a.Table = &Table{Head: r.Head}
	}
	for _, cells := range r.Rows {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.renderText())
		}
		a.Table.Rows = append(a.Table.Rows, texts)
		a.addFigures(cells...)
	}
	for _, s := range r.Sentences {
		a.Text = append(a.Text, s.renderText())
		a.addFigures(s.Parts...)
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

// holdsFigure reports whether a text holds a digit outside the names that have one.
func holdsFigure(words string) bool {
	return strings.ContainsAny(withDigits.Replace(words), "0123456789")
}

// CheckGrounding checks a rendered answer against its data: each figure that a sentence or a
// cell shows must be among the answer's figures, and no other text may hold a digit. It
// returns the number of figures checked and the violations. typed is false if nothing was
// computed, as for help or a clarification.
func (a Answer) CheckGrounding() (claims int, loose []string, typed bool) {
	if a.result == nil {
		return 0, nil, false
	}
	var again Answer
	a.result.fillAnswer(&again)
	if !slices.Equal(a.Text, again.Text) || !strings.Contains(a.Read, strings.TrimSpace(again.Read)) || !reflect.DeepEqual(a.Table, again.Table) {
		loose = append(loose, "it says otherwise than it was computed")
	}
	var shown []Part
	for _, s := range slices.Concat(a.result.Assumptions, a.result.Sentences) {
		shown = append(shown, s)
	}
	for p := range eachPart(append(shown, slices.Concat(a.result.Rows...)...)...) {
		switch x := p.(type) {
		case Sentence:
			if holdsFigure(x.Form) || strings.Count(x.Form, "%s") != len(x.Parts) {
				loose = append(loose, fmt.Sprintf("the form %q holds a figure, or has not a %%s for each part", x.Form))
			}
		case plainText:
			if holdsFigure(string(x)) {
				loose = append(loose, fmt.Sprintf("%q is a figure in words", string(x)))
			}
		case Figure, formattedFigure:
			f := figuresIn(x)[0]
			if claims++; a.Kind == "answer" && !a.hasFigure(f) {
				loose = append(loose, fmt.Sprintf("%s of %s is shown and not given", f.Name, f.Subject))
			}
		}
	}
	return claims, loose, true
}
