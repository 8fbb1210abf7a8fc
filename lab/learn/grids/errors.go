package grids

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// Leads are the upper ends of the ranges of leads that errors are reported by, in hours.
var Leads = []int{1, 6, 12, 24, 48}

// Histories that sites have listened for in reports, in hours: as on recorded days, and four weeks.
var histories = []int{36, longHistory}

// reportStride is the distance of the forecasts that are reported, in hours; prime to 24.
const reportStride = 13

// A ZoneError is the error of forecasts of one zone, with and without correction.
type ZoneError struct {
	Kind    string `json:"kind"` // of series
	Zone    string `json:"zone"` // with its folder
	Seen    bool   `json:"seen"` // the weights are trained on other weeks of it
	History int    `json:"history_h"`
	// By range of leads: the mean absolute error in per cent of the series' mean absolute value.
	Default   []float64 `json:"default_percent"`
	Corrected []float64 `json:"corrected_percent"`
	N         []int     `json:"forecasts"`
}

// Measure measures the errors of forecasts of all grids over the weeks that are for reports.
func Measure(ctx context.Context, l *forecast.Learned, data string) ([]ZoneError, error) {
	c, err := newCalendar()
	if err != nil {
		return nil, err
	}
	var out []ZoneError
	for _, g := range grids() {
		points, err := g.read(data)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		for _, history := range histories {
			out = append(out, measureGrid(g, points, l, c, history))
		}
	}
	return out, nil
}

// measureGrid measures the errors of one grid.
func measureGrid(g grid, points []protocol.Point, l *forecast.Learned, c calendar, history int) ZoneError {
	e := ZoneError{
		Kind: g.kind(), Zone: g.folder + "/" + g.zone, Seen: g.role == taught, History: history,
		Default: make([]float64, len(Leads)), Corrected: make([]float64, len(Leads)), N: make([]int, len(Leads)),
	}
	t, m := forecast.NewTeacher(g.quantity, g.market(), points), g.market()
	stride := reportStride * time.Hour
	if m.Ahead {
		stride = 24 * time.Hour
	}
	values := make([]float64, len(Leads))
	for now := points[0].At.Add(longHistory * time.Hour); now < points[len(points)-1].At; now = now.Add(stride) {
		if c.useOf(m.KnownUntil(now)) != reports {
			continue
		}
		for _, x := range t.Examine(l, now, history, Leads[len(Leads)-1]) {
			i, _ := slices.BinarySearch(Leads, int(x.Lead))
			e.Default[i] += abs(x.Default - x.Actual)
			e.Corrected[i] += abs(x.Corrected - x.Actual)
			values[i] += abs(x.Actual)
			e.N[i]++
		}
	}
	for i, v := range values {
		e.Default[i], e.Corrected[i] = 100*e.Default[i]/max(v, 1), 100*e.Corrected[i]/max(v, 1)
	}
	return e
}

// abs returns the absolute value of v.
func abs(v int64) float64 { return float64(max(v, -v)) }

// Conditions under which corrections may be the usual rule of a kind of series, by errors alone.
const (
	leadsBetter = 4   // of those of Leads, at least
	zonesBetter = 75  // per cent of the unseen zones where so many leads are better, at least
	mostWorse   = 0.2 // points of error by which no zone is worse at any lead
)

// A Verdict says of a kind of series whether corrections may be its usual rule by errors alone.
type Verdict struct {
	Kind          string
	Zones, Better int    // unseen zones, with each history; and those that are better at enough leads
	Worst         string // the zone, history and lead that lost most
	WorstPoints   float64
	Holds         bool
}

// String says the verdict in a sentence.
func (v Verdict) String() string {
	holds := "the conditions of a usual rule do not hold"
	if v.Holds {
		holds = "the conditions of a usual rule hold"
	}
	return fmt.Sprintf("%s: better at %d of %d leads or more in %d of %d unseen zones and histories; the worst is %s, %+.2f points: by errors, %s.",
		v.Kind, leadsBetter, len(Leads), v.Better, v.Zones, v.Worst, v.WorstPoints, holds)
}

// Judge judges the errors of unseen zones, kind by kind, in their order.
func Judge(errs []ZoneError) (all []Verdict) {
	for _, e := range errs {
		if e.Seen {
			continue
		}
		at := slices.IndexFunc(all, func(v Verdict) bool { return v.Kind == e.Kind })
		if at < 0 {
			at, all = len(all), append(all, Verdict{Kind: e.Kind, WorstPoints: math.Inf(-1)})
		}
		v, better := &all[at], 0
		for i := range e.Default {
			points := e.Corrected[i] - e.Default[i]
			if points < 0 {
				better++
			}
			if points > v.WorstPoints {
				v.WorstPoints, v.Worst = points, fmt.Sprintf("%s after %d h of history up to %d h ahead", e.Zone, e.History, Leads[i])
			}
		}
		v.Zones++
		if better >= leadsBetter {
			v.Better++
		}
	}
	for i := range all {
		all[i].Holds = 100*all[i].Better >= zonesBetter*all[i].Zones && all[i].WorstPoints <= mostWorse
	}
	return all
}
