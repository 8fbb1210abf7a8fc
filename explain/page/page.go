package page

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// shownEntries is how many decisions the feed shows at first, and how many more each
// time.
const shownEntries = 60

// A pageView is what the templates are given.
type pageView struct {
	Opts        Options
	Tag         string
	Over        bool // the run has been read to its end
	Broken      bool // it could not be read on
	First, Last protocol.Time
	Read        uint64 // messages so far
	Pinned      bool   // to an instant that was asked for; otherwise the end is followed
	Now         timeline.Instant
	Entries     []timeline.Entry
	Against     string // what the run's carbon is compared with
	Card        *timeline.Card
	Question    string
	Reply       *answerView
	Hints       []string
	Figures     []pageChart
	Missing     string // what was asked for and is not there
}

// buildView reads what the page shows at the instant that a request names.
func (s *pageServer) buildView(r *http.Request, more func(*pageView, *timeline.Diary)) (pageView, error) {
	v := pageView{Opts: s.opts, Tag: s.tag, Over: s.runEnded(), Broken: s.run.Err() != nil}
	t, err := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	err = s.run.Look(r.Context(), func(d *timeline.Diary) {
		v.First, v.Last = d.Span()
		v.Read = d.Read()
		at := v.Last
		if err == nil {
			at, v.Pinned = min(max(protocol.Time(t), v.First), v.Last), true
		}
		v.Now = d.At(at)
		v.Entries = d.Until(at, 0, shownEntries)
		v.Against = comparedWithBaseline(d, s.opts.Policy)
		if more != nil {
			more(&v, d)
		}
	})
	return v, err
}

// servePage is the whole page, as far as it needs no script.
func (s *pageServer) servePage(w http.ResponseWriter, r *http.Request) {
	id, text := r.URL.Query().Get("d"), questionOf(r)
	v, err := s.buildView(r, func(v *pageView, d *timeline.Diary) {
		v.Hints = questionHints(v.Entries)
		for _, name := range []string{"day", "carbon", "price", "site-carbon", "site-energy", "site-cost", "policies"} {
			if f, err := newPageChart(d, timeline.Drawing{Chart: name, At: v.Now.At}, 560); err == nil {
				v.Figures = append(v.Figures, f)
			}
		}
		if text != "" {
			v.Question, v.Reply = text, newAnswerView(d, text, r.URL.Query().Get("on"), 720)
		}
		s.attachCard(v, d, id)
	})
	if err != nil {
		return // who asked has gone
	}
	s.renderTemplate(w, "page", v)
}

// attachCard lays a decision's card on a view: of an id, or of the newest award.
func (s *pageServer) attachCard(v *pageView, d *timeline.Diary, id string) {
	if id == "" {
		for _, e := range v.Entries {
			if e.Kind == "award" {
				id = e.ID
				break
			}
		}
	}
	if c, ok := d.Card(id); ok {
		v.Card = &c
		v.Figures = append(v.Figures, chartsOfCard(d, c, 560)...)
	} else if id != "" {
		v.Missing = id
	}
}

// serveInstant is what changes with time: figures, sites and feed.
func (s *pageServer) serveInstant(w http.ResponseWriter, r *http.Request) {
	if v, err := s.buildView(r, nil); err == nil {
		s.renderTemplate(w, "now", v)
	}
}

// serveFeed is more of the feed: what was decided before a position.
func (s *pageServer) serveFeed(w http.ResponseWriter, r *http.Request) {
	before, err := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before == 0 {
		http.Error(w, "web: feed: before: want a position in the run, above 0", http.StatusBadRequest)
		return
	}
	var v pageView
	err = s.run.Look(r.Context(), func(d *timeline.Diary) {
		_, last := d.Span()
		v.Entries = d.Until(last, before, shownEntries)
	})
	if err == nil {
		s.renderTemplate(w, "entries", v)
	}
}

// serveDecision is the card of one decision.
func (s *pageServer) serveDecision(w http.ResponseWriter, r *http.Request) {
	v := pageView{Opts: s.opts, Tag: s.tag, Missing: r.URL.Query().Get("d")}
	err := s.run.Look(r.Context(), func(d *timeline.Diary) {
		if c, ok := d.Card(v.Missing); ok {
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

// answerTimeout bounds an answer: some replay the whole run.
const answerTimeout = time.Minute

// questionOf returns the question whole: one that was cut would be another one.
func questionOf(r *http.Request) string { return r.URL.Query().Get("q") }

// serveAnswer answers a question.
func (s *pageServer) serveAnswer(w http.ResponseWriter, r *http.Request) {
	v := pageView{Question: questionOf(r)}
	ctx, stop := context.WithTimeout(r.Context(), answerTimeout)
	defer stop()
	err := s.run.Look(ctx, func(d *timeline.Diary) {
		v.Reply = newAnswerView(d, v.Question, r.URL.Query().Get("on"), requestedWidth(r, 720))
	})
	if err != nil && r.Context().Err() == nil {
		http.Error(w, "web: that takes too long; ask it with gridbid ask", http.StatusGatewayTimeout)
		return
	}
	if err == nil {
		s.renderTemplate(w, "reply", v)
	}
}

// renderTemplate writes a template. It is made whole first, so that a page is never
// half of one.
func (s *pageServer) renderTemplate(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "web: the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// questionHints are questions that can be asked of what is on the page.
func questionHints(entries []timeline.Entry) []string {
	all := []string{"summary", "carbon by site", "what did waiting save", "late jobs"}
	for _, e := range entries {
		if e.Kind == "award" {
			return append([]string{ask.Query{Ask: "why", Job: e.Job}.String()}, all...)
		}
	}
	return all
}
