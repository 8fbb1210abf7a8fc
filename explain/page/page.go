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

// shown is how many decisions the feed shows at first, and how many more each
// time.
const shown = 60

// A view is what the templates are given.
type view struct {
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
	Reply       *reply
	Hints       []string
	Figures     []figure
	Missing     string // what was asked for and is not there
}

// look reads what the page shows at the instant that a request names.
func (s *server) look(r *http.Request, more func(*view, *timeline.Diary)) (view, error) {
	v := view{Opts: s.opts, Tag: s.tag, Over: s.isOver(), Broken: s.run.Err() != nil}
	t, err := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	err = s.run.Look(r.Context(), func(d *timeline.Diary) {
		v.First, v.Last = d.Span()
		v.Read = d.Read()
		at := v.Last
		if err == nil {
			at, v.Pinned = min(max(protocol.Time(t), v.First), v.Last), true
		}
		v.Now = d.At(at)
		v.Entries = d.Until(at, 0, shown)
		v.Against = against(d, s.opts.Policy)
		if more != nil {
			more(&v, d)
		}
	})
	return v, err
}

// page is the whole page, as far as it needs no script.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	id, text := r.URL.Query().Get("d"), asked(r)
	v, err := s.look(r, func(v *view, d *timeline.Diary) {
		v.Hints = hints(v.Entries)
		for _, name := range []string{"day", "carbon", "price", "site-carbon", "site-energy", "site-cost", "policies"} {
			if f, err := newFigure(d, timeline.Drawing{Chart: name, At: v.Now.At}, 560); err == nil {
				v.Figures = append(v.Figures, f)
			}
		}
		if text != "" {
			v.Question, v.Reply = text, newReply(d, text, r.URL.Query().Get("on"), 720)
		}
		s.open(v, d, id)
	})
	if err != nil {
		return // who asked has gone
	}
	s.render(w, "page", v)
}

// open lays a decision's card on a view: of an id, or of the newest award.
func (s *server) open(v *view, d *timeline.Diary, id string) {
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
		v.Figures = append(v.Figures, ofCard(d, c, 560)...)
	} else if id != "" {
		v.Missing = id
	}
}

// at is what changes with time: figures, sites and feed.
func (s *server) at(w http.ResponseWriter, r *http.Request) {
	if v, err := s.look(r, nil); err == nil {
		s.render(w, "now", v)
	}
}

// feed is more of the feed: what was decided before a position.
func (s *server) feed(w http.ResponseWriter, r *http.Request) {
	before, err := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	if err != nil || before == 0 {
		http.Error(w, "web: feed: before: want a position in the run, above 0", http.StatusBadRequest)
		return
	}
	var v view
	err = s.run.Look(r.Context(), func(d *timeline.Diary) {
		_, last := d.Span()
		v.Entries = d.Until(last, before, shown)
	})
	if err == nil {
		s.render(w, "entries", v)
	}
}

// decision is the card of one decision.
func (s *server) decision(w http.ResponseWriter, r *http.Request) {
	v := view{Opts: s.opts, Tag: s.tag, Missing: r.URL.Query().Get("d")}
	err := s.run.Look(r.Context(), func(d *timeline.Diary) {
		if c, ok := d.Card(v.Missing); ok {
			v.Card = &c
			v.Figures = ofCard(d, c, width(r, 560))
		}
	})
	if err != nil {
		return
	}
	if v.Card == nil {
		w.WriteHeader(http.StatusNotFound)
	}
	s.render(w, "card", v)
}

// patience bounds an answer: some replay the whole run.
const patience = time.Minute

// asked returns the question whole: one that was cut would be another one.
func asked(r *http.Request) string { return r.URL.Query().Get("q") }

// ask answers a question.
func (s *server) ask(w http.ResponseWriter, r *http.Request) {
	v := view{Question: asked(r)}
	ctx, stop := context.WithTimeout(r.Context(), patience)
	defer stop()
	err := s.run.Look(ctx, func(d *timeline.Diary) { v.Reply = newReply(d, v.Question, r.URL.Query().Get("on"), width(r, 720)) })
	if err != nil && r.Context().Err() == nil {
		http.Error(w, "web: that takes too long; ask it with gridbid ask", http.StatusGatewayTimeout)
		return
	}
	if err == nil {
		s.render(w, "reply", v)
	}
}

// render writes a template. It is made whole first, so that a page is never
// half of one.
func (s *server) render(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "web: the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// hints are questions that can be asked of what is on the page.
func hints(entries []timeline.Entry) []string {
	all := []string{"summary", "carbon by site", "what did waiting save", "late jobs"}
	for _, e := range entries {
		if e.Kind == "award" {
			return append([]string{ask.Query{Ask: "why", Job: e.Job}.String()}, all...)
		}
	}
	return all
}
