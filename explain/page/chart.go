package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/protocol"
)

// A pageChart is a chart on the page.
type pageChart struct {
	Name  string
	Query template.URL  // of the chart's address: what it shows
	SVG   template.HTML // trusted: chart.Layout escapes all texts
	Width float64       // of the SVG
}

// newPageChart draws a chart; on the chart of the day it marks the instant. Versus is the policy of
// another run, whose chart it is.
func newPageChart(d *timeline.Timeline, w timeline.Drawing, versus string, width float64) (pageChart, error) {
	c, err := d.DrawChart(w)
	if err != nil {
		return pageChart{}, err
	}
	if l, ok := c.(chart.LineChart); ok && w.Chart == "day" && w.At != 0 {
		l.Rules = append(l.Rules, chart.TimeMarker{At: w.At, Name: w.At.StdTime().Format("15:04")})
		c = l
	}
	return pageChart{w.Chart, drawingAddress(w, versus), template.HTML(c.ComputeLayout(width).InlineSVG()), width}, nil
}

// drawingAddress returns the query of a chart's address.
func drawingAddress(w timeline.Drawing, versus string) template.URL {
	q := make(url.Values)
	for name, value := range map[string]string{"vs": versus, "site": w.Site, "d": w.Decision, "j": string(w.Job), "q": w.Question} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if w.At != 0 {
		q.Set("t", strconv.FormatInt(int64(w.At), 10))
	}
	return template.URL(q.Encode())
}

// chartsOf returns charts of one width. One that cannot be drawn is left out: a refusal without a
// round has no offers, and a run without other policies no "policies".
func chartsOf(d *timeline.Timeline, versus string, width float64, drawings ...timeline.Drawing) (all []pageChart) {
	for _, w := range drawings {
		if f, err := newPageChart(d, w, versus, width); err == nil {
			all = append(all, f)
		}
	}
	return all
}

// requestedWidth returns the requested width of a chart within 240..1600 pixels, or otherwise.
func requestedWidth(r *http.Request, otherwise float64) float64 {
	if w, err := strconv.Atoi(r.URL.Query().Get("w")); err == nil && w > 0 {
		return float64(min(max(w, 240), 1600))
	}
	return otherwise
}

// serveChart serves one chart: as SVG, PNG, text or a fragment of the page.
func (s *pageServer) serveChart(w http.ResponseWriter, r *http.Request) {
	name, form, _ := strings.Cut(r.PathValue("name"), ".")
	q := r.URL.Query()
	at, ok := parseInstant(q.Get("t"))
	if q.Get("t") != "" && !ok {
		http.Error(w, fmt.Sprintf("page: chart: t: want an instant such as 2026-03-11T14:00:00Z, or milliseconds since 1970; got %q", q.Get("t")), http.StatusBadRequest)
		return
	}
	ask := timeline.Drawing{Chart: name, Decision: q.Get("d"), Job: protocol.JobID(q.Get("j")), Site: q.Get("site"), At: at, Question: questionOf(r)}
	run, err := s.rivalRun(r.Context(), q.Get("vs"))
	if err != nil {
		http.Error(w, "page: the other policy cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if run == nil {
		run = s.run
	}
	var c chart.Chart
	var f pageChart
	var wrong error
	// Read the run inside ViewTimeline only; encode and send after it, as others wait for the turn.
	err = run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		if form == "html" {
			f, wrong = newPageChart(d, ask, q.Get("vs"), requestedWidth(r, 560))
		} else {
			c, wrong = d.DrawChart(ask)
		}
	})
	switch {
	case err != nil:
		return
	case wrong != nil:
		http.Error(w, wrong.Error(), http.StatusNotFound)
		return
	}
	var raw bytes.Buffer
	kind := ""
	switch form {
	case "html":
		s.renderTemplate(w, "figure", f)
		return
	case "svg":
		// Opened alone, the SVG needs its own inline style, and still no script.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		kind = "image/svg+xml; charset=utf-8"
		raw.Write(c.ComputeLayout(requestedWidth(r, 720)).EncodeSVG())
	case "png":
		kind = "image/png"
		picture, err := c.ComputeLayout(requestedWidth(r, 720)).EncodePNG()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		raw.Write(picture)
	case "txt":
		kind = "text/plain; charset=utf-8"
		c.FigureTable().WriteText(&raw)
	default:
		http.Error(w, fmt.Sprintf("page: unknown chart format %q: want .svg, .png or .txt", form), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(raw.Bytes())
}
