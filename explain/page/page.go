package page

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// shownEntries is the number of decisions that the list shows at first, and adds each time.
const shownEntries = 60

// A pageView is the data of the templates.
type pageView struct {
	Opts        Options
	Tag         string
	Over        bool // whether the run has been read to its end
	Broken      bool // whether reading the run failed
	First, Last protocol.Time
	Read        uint64 // number of messages read so far
	Shown       shownInstant
	Now         timeline.Instant
	Entries     []timeline.Entry
	Against     string // comparison of the run's carbon
	Jobs        jobsView
	Versus      string // policy to compare with
	Comparison  *comparison
	Card        *timeline.Card
	Question    string
	Reply       *answerView
	Hints       []string
	Figures     []pageChart
	Missing     string // id that was requested and does not exist
	MayQuote    bool
}

// buildView returns the page's content at the requested instant (parameter t). It calls more, if
// any, in the same turn, so that all parts of the page show the same state.
func (s *pageServer) buildView(r *http.Request, more func(*pageView, *timeline.Timeline)) (pageView, error) {
	v := pageView{Opts: s.opts, Tag: s.tag, Over: s.run.HasEnded(), Broken: s.run.Err() != nil, Versus: r.URL.Query().Get("vs"), MayQuote: s.mayQuote(r)}
	err := s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		v.First, v.Last = d.TimeSpan()
		v.Read = d.MessageCount()
		v.Shown = instantToShow(d, r.URL.Query().Get("t"), s.opts.Live)
		v.Now = d.InstantAt(v.Shown.At)
		v.Entries = d.DecisionsUntil(v.Shown.At, 0, shownEntries)
		v.Against = comparedWithBaseline(d, s.opts.Policy)
		if more != nil {
			more(&v, d)
		}
	})
	return v, err
}

// pageCharts are the charts of the page: those around the instant, which share their hours, and
// those below them.
var pageCharts = []string{"gantt", "queue", "carbon", "price", "site-carbon", "site-energy", "site-cost", "day", "policies"}

// servePage serves the whole page, usable without a script. A question is answered before the
// view is built, as its answer may take long and must not hold the run meanwhile.
func (s *pageServer) servePage(w http.ResponseWriter, r *http.Request) {
	text := questionOf(r)
	var a query.Answer
	if text != "" {
		var ok bool
		if a, ok = s.answerQuestion(w, r); !ok {
			return
		}
	}
	v, err := s.buildView(r, func(v *pageView, d *timeline.Timeline) {
		v.Hints = questionHints(v.Entries)
		v.Jobs = s.jobsViewOf(d, r, v.Now)
		for i, name := range pageCharts {
			width := 560.0
			if i < 4 { // as wide as the page
				width = 1200
			}
			v.Figures = append(v.Figures, chartsOf(d, "", width, timeline.Drawing{Chart: name, At: v.Now.At, Site: r.URL.Query().Get("site")})...)
		}
		if text != "" {
			v.Question, v.Reply = text, answerViewOf(d, a, 720)
		}
		v.attachCard(d, r.URL.Query().Get("d"), 560)
	})
	if err != nil {
		return // the client is gone
	}
	if v.Comparison, err = s.compareWith(r, &v); err != nil {
		v.Shown.Notice = "The other policy cannot be read: " + err.Error()
	}
	s.renderTemplate(w, "page", v)
}

// attachCard adds the card and the charts of the requested decision to a view.
func (v *pageView) attachCard(d *timeline.Timeline, id string, width float64) {
	c, ok := d.DecisionCard(id)
	if !ok {
		v.Missing = id
		return
	}
	v.Card = &c
	v.Figures = append(v.Figures, chartsOf(d, "", width, timeline.Drawing{Chart: "offers", Decision: c.ID}, timeline.Drawing{Chart: "job", Job: c.Job, Decision: c.ID})...)
}

// serveInstant serves the parts that depend on the instant: figures, sites and decisions.
func (s *pageServer) serveInstant(w http.ResponseWriter, r *http.Request) {
	if v, err := s.buildView(r, nil); err == nil {
		s.renderTemplate(w, "now", v)
	}
}

// serveEarlierDecisions serves decisions before a position, for a reader who scrolls on.
func (s *pageServer) serveEarlierDecisions(w http.ResponseWriter, r *http.Request) {
	before, err := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before == 0 {
		http.Error(w, "page: feed: before: want a position in the run, above 0", http.StatusBadRequest)
		return
	}
	var v pageView
	err = s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		v.Entries = d.DecisionsUntil(instantToShow(d, cmp.Or(r.URL.Query().Get("t"), "end"), s.opts.Live).At, before, shownEntries)
	})
	if err == nil {
		s.renderTemplate(w, "entries", v)
	}
}

// serveDecision serves the card of one decision.
func (s *pageServer) serveDecision(w http.ResponseWriter, r *http.Request) {
	v := pageView{Opts: s.opts, Tag: s.tag}
	if err := s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) { v.attachCard(d, r.URL.Query().Get("d"), requestedWidth(r, 560)) }); err != nil {
		return
	}
	if v.Card == nil {
		w.WriteHeader(http.StatusNotFound)
	}
	s.renderTemplate(w, "card", v)
}

// answerTimeout limits the time of an answer: some replay the whole run.
const answerTimeout = time.Minute

// questionOf returns the question in full: a shortened one would be another question.
func questionOf(r *http.Request) string { return r.URL.Query().Get("q") }

// answerQuestion answers the question of a request; an empty one as a request for help. If that
// takes too long it reports so and returns false, unless the client itself has left: then no one
// reads the response.
func (s *pageServer) answerQuestion(w http.ResponseWriter, r *http.Request) (query.Answer, bool) {
	ctx, stop := context.WithTimeout(r.Context(), answerTimeout)
	defer stop()
	a, err := s.run.AnswerQuestion(ctx, s.opts.Reads, cmp.Or(strings.TrimSpace(questionOf(r)), "help"), r.URL.Query().Get("on"))
	if err != nil && r.Context().Err() == nil {
		http.Error(w, "page: that takes too long; ask it with gridbid ask", http.StatusGatewayTimeout)
	}
	return a, err == nil
}

// serveAnswer serves the answer to a question.
func (s *pageServer) serveAnswer(w http.ResponseWriter, r *http.Request) {
	a, ok := s.answerQuestion(w, r)
	if !ok {
		return
	}
	v := pageView{Question: questionOf(r)}
	if err := s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) { v.Reply = answerViewOf(d, a, requestedWidth(r, 720)) }); err == nil {
		s.renderTemplate(w, "reply", v)
	}
}

// renderTemplate writes a template. It executes into a buffer first, so that an error does
// not leave half a page.
func (s *pageServer) renderTemplate(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "page: render: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// questionHints returns questions to try: why the newest award on the page was made, then some
// about the whole run.
func questionHints(entries []timeline.Entry) []string {
	all := []string{"summary", "carbon by site", "what did waiting save", "late jobs"}
	for _, e := range entries {
		if e.Kind == "award" {
			return append([]string{ask.Query{Ask: "why", Job: e.Job}.String()}, all...)
		}
	}
	return all
}

// parseInstant reads an instant of an address: RFC 3339, less precise or its date alone, or
// milliseconds since 1970.
func parseInstant(text string) (protocol.Time, bool) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return protocol.Time(ms), true
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(form, text); err == nil {
			return protocol.FromStdTime(t), true
		}
	}
	return 0, false
}

// A shownInstant is the instant that the page shows.
type shownInstant struct {
	At     protocol.Time
	Pinned bool   // whether it stays; otherwise the page follows the end of a live run
	Notice string // why it is not the requested one
}

// instantToShow returns the requested instant, limited to the span of the run: RFC 3339, milliseconds
// or "end". Without one a live page follows the end, and that of a recording shows its busiest hour:
// at the end of a recording nothing runs.
func instantToShow(d *timeline.Timeline, asked string, live bool) (s shownInstant) {
	first, last := d.TimeSpan()
	s = shownInstant{At: last}
	if !live {
		s = shownInstant{At: d.BusiestHour(), Pinned: last != 0}
	}
	otherwise := "the end"
	if s.Pinned {
		otherwise = "the busiest hour"
	}
	t, ok := parseInstant(asked)
	switch {
	case asked == "":
	case asked == "end":
		s.At, s.Pinned = last, !live
	case !ok:
		s.Notice = fmt.Sprintf("%q is no instant, so this is %s. Write one as %s, or as milliseconds since 1970.", format.CleanText(asked), otherwise, last.String())
	default:
		s.At, s.Pinned = min(max(t, first), last), true
		if t < first || t > last {
			s.Notice = fmt.Sprintf("The run goes from %s to %s, and %s is not in it: this is the nearest instant.", first, last, t)
		}
	}
	return s
}

// maxCited is the maximum number of decisions that an answer links.
const maxCited = 12

// An answerView is an answer with its presentation.
type answerView struct {
	query.Answer
	Asked  string   // the question in full, as it was understood
	Links  []string // to decisions
	More   int      // number of decisions without a link
	Figure *pageChart
	Others []*answerView // answers to further questions of the same text
}

// A textPart of a sentence is text, or the id of a decision.
type textPart struct{ Text, ID string }

var decisionID = regexp.MustCompile(`\bD-[0-9]{1,18}\b`)

// splitAtDecisionIDs splits a sentence at the ids of decisions.
func splitAtDecisionIDs(s string) (all []textPart) {
	at := 0
	for _, m := range decisionID.FindAllStringIndex(s, -1) {
		if m[0] > at {
			all = append(all, textPart{Text: s[at:m[0]]})
		}
		all = append(all, textPart{ID: s[m[0]:m[1]]})
		at = m[1]
	}
	if at < len(s) {
		all = append(all, textPart{Text: s[at:]})
	}
	return all
}

// answerViewOf adds links and a chart to an answer, and to those of further questions.
func answerViewOf(d *timeline.Timeline, a query.Answer, width float64) *answerView {
	p := &answerView{Answer: a}
	if p.Query != nil {
		p.Asked = p.Query.String()
	}
	p.Links = p.Cites[:min(len(p.Cites), maxCited)]
	p.More = len(p.Cites) - len(p.Links)
	if c, ok := d.ChartOfAnswer(p.Answer); ok {
		w := timeline.Drawing{Chart: "answer", Question: p.Asked}
		p.Figure = &pageChart{w.Chart, drawingAddress(w, ""), template.HTML(c.ComputeLayout(width).InlineSVG()), width}
	}
	for _, more := range a.More {
		p.Others = append(p.Others, answerViewOf(d, more, width))
	}
	return p
}

// shownJobs is the number of jobs that the list shows at first, and adds each time.
const shownJobs = 25

// A jobsView is the list of jobs, with its filter.
type jobsView struct {
	timeline.JobList
	Filter timeline.JobFilter
	Sites  []string
	At     protocol.Time
	Until  int    // how many rows are above, with these
	More   string // address of what follows; "" at the end
	Cancel bool   // the visitor may cancel jobs
	Log    bool   // the visitor may read what jobs wrote
}

// jobsViewOf returns the list that a request filters: jq, js, jsite and jt, from the jskip-th row on.
func (s *pageServer) jobsViewOf(d *timeline.Timeline, r *http.Request, now timeline.Instant) jobsView {
	q := r.URL.Query()
	v := jobsView{At: now.At, Cancel: s.mayCancel(r), Log: s.mayReadLogs(r), Filter: timeline.JobFilter{Find: q.Get("jq"), State: q.Get("js"), Site: q.Get("jsite"), Tenant: q.Get("jt")}}
	skip, _ := strconv.Atoi(q.Get("jskip"))
	v.JobList = d.JobsAt(now.At, v.Filter, max(skip, 0), shownJobs)
	for _, s := range now.Sites {
		v.Sites = append(v.Sites, s.Name)
	}
	if v.Until = max(skip, 0) + len(v.Jobs); v.Until < v.Matches {
		next := url.Values{"jskip": {strconv.Itoa(v.Until)}, "t": {strconv.FormatInt(int64(now.At), 10)}}
		for _, name := range []string{"jq", "js", "jsite", "jt"} {
			if q.Get(name) != "" {
				next.Set(name, q.Get(name))
			}
		}
		v.More = next.Encode()
	}
	return v
}

// serveJobs serves the list of jobs, or from the parameter jskip on only the rows that follow.
func (s *pageServer) serveJobs(w http.ResponseWriter, r *http.Request) {
	v, err := s.buildView(r, func(v *pageView, d *timeline.Timeline) { v.Jobs = s.jobsViewOf(d, r, v.Now) })
	if err != nil {
		return
	}
	name := "jobs"
	if r.URL.Query().Has("jskip") {
		name = "jobrows"
	}
	s.renderTemplate(w, name, v.Jobs)
}
