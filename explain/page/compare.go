package page

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/chart"
)

// Rivals are the other policies that were replayed over the same jobs, and whose ledgers can be read.
type Rivals struct {
	Policies []string
	// Open begins to read the ledger of a policy. The run outlives the request.
	Open func(policy string) *tail.Run
}

// A rivalCache keeps the run that was compared with last: one, as each needs as much memory as
// the page's own.
type rivalCache struct {
	mu     sync.Mutex
	policy string
	run    *tail.Run
}

// rivalRun returns the run of another policy, read to its end; nil if there is none of that name.
func (s *pageServer) rivalRun(ctx context.Context, policy string) (*tail.Run, error) {
	if policy == "" || !slices.Contains(s.opts.Rivals.Policies, policy) {
		return nil, nil
	}
	s.rival.mu.Lock()
	if s.rival.policy != policy {
		s.rival.policy, s.rival.run = policy, s.opts.Rivals.Open(policy)
	}
	run := s.rival.run
	s.rival.mu.Unlock()
	select {
	case <-run.ReadingDone():
		return run, run.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A comparison is two policies side by side at one instant.
type comparison struct {
	Own, Other string
	Rows       []comparedFigure
	Charts     [2][]pageChart // of either
}

// A comparedFigure is one figure under both policies.
type comparedFigure struct {
	Name, Unit, Own, Other string
	Difference             string        // of the other from the own: "+54 %"
	Bar                    template.HTML // of the difference
}

// compareWith returns both policies at the instant of a view; nil without another.
func (s *pageServer) compareWith(r *http.Request, v *pageView) (*comparison, error) {
	run, err := s.rivalRun(r.Context(), v.Versus)
	if run == nil || err != nil {
		return nil, err
	}
	c := &comparison{Own: v.Opts.Policy, Other: v.Versus}
	beside := []timeline.Drawing{{Chart: "gantt", At: v.Now.At}, {Chart: "queue", At: v.Now.At}}
	err = s.run.ViewTimeline(r.Context(), func(d *timeline.Timeline) { c.Charts[0] = chartsOf(d, "", 560, beside...) })
	var other timeline.Instant
	if err == nil {
		err = run.ViewTimeline(r.Context(), func(d *timeline.Timeline) {
			other, c.Charts[1] = d.InstantAt(v.Now.At), chartsOf(d, v.Versus, 560, beside...)
		})
	}
	c.Rows = compareInstants(v.Now, other)
	return c, err
}

// compareInstants returns the figures of two runs at one instant, each with its difference. A bar
// shows the difference in percent of the own figure, so no figure hides another.
func compareInstants(own, other timeline.Instant) (rows []comparedFigure) {
	held := func(now timeline.Instant) (sum float64) {
		for _, s := range now.Sites {
			sum += float64(s.Held) / 1000
		}
		return sum
	}
	for _, f := range []struct {
		name, unit string
		decimals   int
		of         func(timeline.Instant) float64
	}{
		{"carbon", "kg CO₂e", 1, func(x timeline.Instant) float64 { return x.Carbon.InKilograms() }},
		{"energy", "kWh", 1, func(x timeline.Instant) float64 { return x.Energy.InKWh() }},
		{"cost of energy", "$", 2, func(x timeline.Instant) float64 { return x.Money.InDollars() }},
		{"GPUs held", "", 0, held},
		{"jobs running", "", 0, func(x timeline.Instant) float64 { return float64(x.Running) }},
		{"jobs planned", "", 0, func(x timeline.Instant) float64 { return float64(x.Planned) }},
		{"jobs pending", "", 0, func(x timeline.Instant) float64 { return float64(x.Pending) }},
		{"jobs done", "", 0, func(x timeline.Instant) float64 { return float64(x.Done) }},
		{"of them late", "", 0, func(x timeline.Instant) float64 { return float64(x.Late) }},
	} {
		a, b := f.of(own), f.of(other)
		row := comparedFigure{Name: f.name, Unit: f.unit, Own: chart.FormatNumber(a, f.decimals), Other: chart.FormatNumber(b, f.decimals), Difference: "–"}
		if a != 0 {
			share := 100 * (b/a - 1)
			row.Difference, row.Bar = fmt.Sprintf("%+.0f %%", share), drawDifference(share)
		}
		rows = append(rows, row)
	}
	return rows
}

// drawDifference draws a difference in percent as a bar from the middle, of at most 100 % to either
// side; what is more has an open end.
func drawDifference(share float64) template.HTML {
	w := min(max(share, -100), 100) * 0.6
	more := ""
	if share > 100 {
		more = `<path class="f-paper" d="M114 0l4 0l-4 12l-4 0z"/>`
	}
	return template.HTML(fmt.Sprintf(`<svg class="difference chart" viewBox="0 0 124 12" aria-hidden="true"><rect class="f-p2" x="%.1f" y="1" width="%.1f" height="10"/>%s<rect class="f-muted" x="61.5" width="1" height="12"/></svg>`,
		62+min(w, 0), max(w, -w), more))
}

// serveComparison serves two policies side by side.
func (s *pageServer) serveComparison(w http.ResponseWriter, r *http.Request) {
	v, err := s.buildView(r, nil)
	if err == nil {
		v.Comparison, err = s.compareWith(r, &v)
	}
	if err != nil {
		http.Error(w, "page: the other policy cannot be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.renderTemplate(w, "versus", v)
}
