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

// A figure is a chart on the page.
type figure struct {
	Name  string
	Query template.URL  // of its address: of what it is
	SVG   template.HTML // made of escaped text alone
}

func newFigure(d *timeline.Diary, w timeline.Drawing, width float64) (figure, error) {
	c, err := d.Draw(w)
	if err != nil {
		return figure{}, err
	}
	if l, ok := c.(chart.Lines); ok && w.Chart == "day" && w.At != 0 {
		l.Rules = append(l.Rules, chart.Rule{At: w.At, Name: w.At.Go().Format("15:04")})
		c = l
	}
	return figure{w.Chart, address(w), template.HTML(c.Draw(width).Inline())}, nil
}

func address(w timeline.Drawing) template.URL {
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

// ofCard returns the charts of a decision.
func ofCard(d *timeline.Diary, c timeline.Card, width float64) (all []figure) {
	for _, w := range []timeline.Drawing{{Chart: "offers", Decision: c.ID}, {Chart: "job", Job: c.Job, Decision: c.ID}} {
		if f, err := newFigure(d, w, width); err == nil {
			all = append(all, f)
		}
	}
	return all
}

// width returns how wide a chart is to be, if the request says it.
func width(r *http.Request, otherwise float64) float64 {
	if w, err := strconv.Atoi(r.URL.Query().Get("w")); err == nil && w > 0 {
		return float64(min(max(w, 240), 1600))
	}
	return otherwise
}

// chart is one chart: as SVG, as PNG, as figures, or as a piece of the page.
func (s *server) chart(w http.ResponseWriter, r *http.Request) {
	name, form, _ := strings.Cut(r.PathValue("name"), ".")
	at, _ := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	ask := timeline.Drawing{Chart: name, Decision: r.URL.Query().Get("d"), Job: protocol.JobID(r.URL.Query().Get("j")), At: protocol.Time(at), Question: asked(r)}
	var c chart.Chart
	var f figure
	var wrong error
	err := s.run.Look(r.Context(), func(d *timeline.Diary) {
		if form == "html" {
			f, wrong = newFigure(d, ask, width(r, 560))
		} else {
			c, wrong = d.Draw(ask)
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
		s.render(w, "figure", f)
	case "svg":
		// Alone in a window it has its own colours, and still no script.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
		_, _ = w.Write(c.Draw(width(r, 720)).SVG())
	case "png":
		raw, err := c.Draw(width(r, 720)).PNG()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(raw)
	case "txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		var b bytes.Buffer
		c.Figures().Write(&b)
		_, _ = w.Write(b.Bytes())
	default:
		http.Error(w, fmt.Sprintf("web: a chart is to be had as .svg, .png or .txt, not as %q", form), http.StatusNotFound)
	}
}
