package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// A pageChart is a chart on the page.
type pageChart struct {
	Name  string
	Query template.URL  // of the chart's address: what it shows
	SVG   template.HTML // trusted: chart.Layout escapes all texts
}

// newPageChart draws a chart; on the chart of the day it marks the instant.
func newPageChart(d *timeline.Timeline, w timeline.Drawing, width float64) (pageChart, error) {
	c, err := d.DrawChart(w)
	if err != nil {
		return pageChart{}, err
	}
	if l, ok := c.(chart.LineChart); ok && w.Chart == "day" && w.At != 0 {
		l.Rules = append(l.Rules, chart.TimeMarker{At: w.At, Name: w.At.StdTime().Format("15:04")})
		c = l
	}
	return pageChart{w.Chart, drawingAddress(w), template.HTML(c.ComputeLayout(width).InlineSVG())}, nil
}

// drawingAddress returns the query of a chart's address.
func drawingAddress(w timeline.Drawing) template.URL {
	q := make(url.Values)
	if w.Decision != "" {
		q.Set("d", w.Decision)
	}
	if w.Job != "" {
		q.Set("j", string(w.Job))
	}
	if w.Question != "" {
		q.Set("q", w.Question)
	}
	if w.At != 0 {
		q.Set("t", strconv.FormatInt(int64(w.At), 10))
	}
	return template.URL(q.Encode())
}

// chartsOfCard returns the charts of a decision. One that cannot be drawn is left out: a refusal
// without a round has no offers.
func chartsOfCard(d *timeline.Timeline, c timeline.Card, width float64) (all []pageChart) {
	for _, w := range []timeline.Drawing{{Chart: "offers", Decision: c.ID}, {Chart: "job", Job: c.Job, Decision: c.ID}} {
		if f, err := newPageChart(d, w, width); err == nil {
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
	at, _ := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	ask := timeline.Drawing{Chart: name, Decision: r.URL.Query().Get("d"), Job: protocol.JobID(r.URL.Query().Get("j")), At: protocol.Time(at), Question: questionOf(r)}
	var c chart.Chart
	var f pageChart
	var wrong error
	// Read the run inside ViewTimeline only; encode and send after it, as others wait for the turn.
	err := s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
		if form == "html" {
			f, wrong = newPageChart(d, ask, requestedWidth(r, 560))
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
	switch form {
	case "html":
		s.renderTemplate(w, "figure", f)
	case "svg":
		// Opened alone, the SVG needs its own inline style, and still no script.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
		_, _ = w.Write(c.ComputeLayout(requestedWidth(r, 720)).EncodeSVG())
	case "png":
		raw, err := c.ComputeLayout(requestedWidth(r, 720)).EncodePNG()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(raw)
	case "txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		var b bytes.Buffer
		c.FigureTable().WriteText(&b)
		_, _ = w.Write(b.Bytes())
	default:
		http.Error(w, fmt.Sprintf("page: unknown chart format %q: want .svg, .png or .txt", form), http.StatusNotFound)
	}
}
