package page

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
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
	Pinned      bool   // whether the request names an instant; otherwise the page follows the end
	Now         timeline.Instant
	Entries     []timeline.Entry
	Against     string // comparison of the run's carbon
	Card        *timeline.Card
	Question    string
	Reply       *answerView
	Hints       []string
	Figures     []pageChart
	Missing     string // id that was requested and does not exist
}

// buildView returns the page's content at the requested instant (parameter t, milliseconds since
// 1970), limited to the span of the run; without one, at its end. It calls more, if any, in
// the same turn, so that all parts of the page show the same state.
func (s *pageServer) buildView(r *http.Request, more func(*pageView, *timeline.Timeline)) (pageView, error) {
	v := pageView{Opts: s.opts, Tag: s.tag, Over: s.runEnded(), Broken: s.run.Err() != nil}
	t, err := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	err = s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		v.First, v.Last = d.TimeSpan()
		v.Read = d.MessageCount()
		// err is that of the parameter: without a valid instant the page follows the end.
		at := v.Last
		if err == nil {
			at, v.Pinned = min(max(protocol.Time(t), v.First), v.Last), true
		}
		v.Now = d.InstantAt(at)
		v.Entries = d.DecisionsUntil(at, 0, shownEntries)
		v.Against = comparedWithBaseline(d, s.opts.Policy)
		if more != nil {
			more(&v, d)
		}
	})
	return v, err
}

// servePage serves the whole page, usable without a script. A question is answered before the
// view is built, as its answer may take long and must not hold the run meanwhile.
func (s *pageServer) servePage(w http.ResponseWriter, r *http.Request) {
	id, text := r.URL.Query().Get("d"), questionOf(r)
	var a query.Answer
	if text != "" {
		ctx, stop := context.WithTimeout(r.Context(), answerTimeout)
		defer stop()
		var err error
		if a, err = s.answerQuestion(ctx, text, r.URL.Query().Get("on")); err != nil {
			s.refuseLateAnswer(w, r)
			return
		}
	}
	v, err := s.buildView(r, func(v *pageView, d *timeline.Timeline) {
		v.Hints = questionHints(v.Entries)
		// A chart without data is left out: a run without other policies has no "policies".
		for _, name := range []string{"day", "carbon", "price", "site-carbon", "site-energy", "site-cost", "policies"} {
			if f, err := newPageChart(d, timeline.Drawing{Chart: name, At: v.Now.At}, 560); err == nil {
				v.Figures = append(v.Figures, f)
			}
		}
		if text != "" {
			v.Question, v.Reply = text, answerViewOf(d, a, 720)
		}
		s.attachCard(v, d, id)
	})
	if err != nil {
		return // the client is gone
	}
	s.renderTemplate(w, "page", v)
}

// attachCard adds a decision's card to a view: that of an id, or of the newest award.
func (s *pageServer) attachCard(v *pageView, d *timeline.Timeline, id string) {
	if id == "" {
		for _, e := range v.Entries {
			if e.Kind == "award" {
				id = e.ID
				break
			}
		}
	}
	if c, ok := d.DecisionCard(id); ok {
		v.Card = &c
		v.Figures = append(v.Figures, chartsOfCard(d, c, 560)...)
	} else if id != "" {
		v.Missing = id
	}
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
		_, last := d.TimeSpan()
		v.Entries = d.DecisionsUntil(last, before, shownEntries)
	})
	if err == nil {
		s.renderTemplate(w, "entries", v)
	}
}

// serveDecision serves the card of one decision.
func (s *pageServer) serveDecision(w http.ResponseWriter, r *http.Request) {
	v := pageView{Opts: s.opts, Tag: s.tag, Missing: r.URL.Query().Get("d")}
	err := s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		if c, ok := d.DecisionCard(v.Missing); ok {
			v.Card = &c
			v.Figures = chartsOfCard(d, c, requestedWidth(r, 560))
		}
	})
	if err != nil {
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

// serveAnswer serves the answer to a question.
func (s *pageServer) serveAnswer(w http.ResponseWriter, r *http.Request) {
	v := pageView{Question: questionOf(r)}
	ctx, stop := context.WithTimeout(r.Context(), answerTimeout)
	defer stop()
	a, err := s.answerQuestion(ctx, v.Question, r.URL.Query().Get("on"))
	if err == nil {
		err = s.run.ViewTimeline(ctx, func(d *timeline.Timeline) { v.Reply = answerViewOf(d, a, requestedWidth(r, 720)) })
	}
	if err != nil {
		s.refuseLateAnswer(w, r)
		return
	}
	s.renderTemplate(w, "reply", v)
}

// refuseLateAnswer reports that a question took too long, unless the client itself has left: then
// no one reads the response.
func (s *pageServer) refuseLateAnswer(w http.ResponseWriter, r *http.Request) {
	if r.Context().Err() == nil {
		http.Error(w, "web: that takes too long; ask it with gridbid ask", http.StatusGatewayTimeout)
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
