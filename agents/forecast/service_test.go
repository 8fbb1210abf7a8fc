package forecast

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// carbonCast reads a zone's published forecasts, and what came.
func carbonCast(t *testing.T, file string) (days []Bulletin, actual Series) {
	rows := recorded(t, file)
	instant := func(text string) protocol.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return protocol.FromStdTime(at)
	}
	value := func(text string) int64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(math.Round(1000 * v))
	}
	guess, came := slices.Index(rows[0], "ci_lifecycle_forecast_gco2_per_kwh"), slices.Index(rows[0], "ci_lifecycle_actual_gco2_per_kwh")
	facts := map[protocol.Time]int64{}
	for _, row := range rows[1:] {
		issued, at := instant(row[0]), instant(row[1])
		if n := len(days); n == 0 || days[n-1].Issued != issued {
			days = append(days, Bulletin{Issued: issued})
		}
		d := &days[len(days)-1]
		d.Points = append(d.Points, protocol.Point{At: at, Value: value(row[guess])})
		facts[at] = value(row[came])
	}
	var points []protocol.Point
	for at := days[0].Issued; ; at = at.Add(time.Hour) {
		v, ok := facts[at]
		if !ok {
			break
		}
		points = append(points, protocol.Point{At: at, Value: v})
	}
	actual, err := NewSeries(points)
	if err != nil {
		t.Fatal(err)
	}
	return days, actual
}

// A published neural forecaster forecast each midnight nine grids for four
// days; the test receives them as an agent does. The figures are those of
// docs/signals-and-power.md: run with -year -v for all zones and the whole half-year, of
// which the first four weeks are for Regression to learn from.
func TestWhatServicesForecastIsAmendedByWhatTheyMissed(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/carbon/forecast_carboncast/*.csv.gz")
	if len(files) == 0 {
		t.Skip("published forecasts are not here (../shared/data/carbon/forecast_carboncast)")
	}
	weeks := 26
	if !*wholeYear {
		files, weeks = []string{files[0], files[len(files)-1]}, 8
	}
	kinds := []string{"as said", "amended", "regression"}
	all := map[string][]errorTally{}
	for _, kind := range kinds {
		all[kind] = make([]errorTally, len(leads))
	}
	for _, file := range files {
		days, actual := carbonCast(t, file)
		ours, theirs, service := New(Config{}), New(Config{}), NewService(days)
		said := map[protocol.Time]int64{}
		begin, end := actual.Start().Add(28*day*time.Hour), min(actual.End(), actual.Start().Add(time.Duration(weeks)*7*day*time.Hour))
		for now := actual.Start(); now < end; now = now.Add(time.Hour) {
			v, _ := actual.ValueAt(now)
			for points := service.Publish(now); len(points) > 0; points = service.Publish(now) {
				theirs.RecordSignal(now, protocol.Signal{What: protocol.GridCarbon, Points: points, Guess: true})
				for _, p := range points {
					said[p.At] = p.Value
				}
			}
			for _, k := range []*GridState{ours, theirs} {
				k.RecordSignal(now, protocol.Signal{What: protocol.GridCarbon, Points: []protocol.Point{{At: now, Value: v}}})
			}
			if now < begin {
				continue
			}
			amended, regression := theirs.ForecastFrom(now, leads[len(leads)-1]), ours.ForecastFrom(now, leads[len(leads)-1])
			row := 0
			for lead := 1; lead < len(amended.Carbon); lead++ {
				if lead >= leads[row] {
					row++
				}
				at := now.Add(time.Duration(lead) * time.Hour)
				came, ok := actual.ValueAt(at)
				guess, told := said[at]
				if !ok || !told {
					continue
				}
				all["as said"][row].addError(guess, came, 0)
				all["amended"][row].addError(int64(amended.Carbon[lead]), came, int64(amended.CarbonOff[lead]))
				all["regression"][row].addError(int64(regression.Carbon[lead]), came, int64(regression.CarbonOff[lead]))
			}
		}
	}
	off := map[string][]float64{}
	for _, kind := range kinds {
		for row, x := range all[kind] {
			var e LeadError
			x.fillRow(&e)
			if e.N < 1000 {
				t.Fatalf("%s: %d forecasts; too few to say anything", kind, e.N)
			}
			off[kind] = append(off[kind], float64(e.MAE)/float64(e.Mean))
			t.Logf("%-10s to %2d h: %6d, mean error %.2f %%, MAPE %.2f %%, %.1f %% within", kind, leads[row], e.N, 100*off[kind][row], float64(e.MAPE)/10, float64(e.Within)/10)
		}
	}
	for row, lead := range leads {
		if off["amended"][row] >= off["as said"][row] {
			t.Errorf("up to %d hours ahead what is amended is off by %.4f, as said by %.4f", lead, off["amended"][row], off["as said"][row])
		}
		if row > 0 && off["amended"][row] >= off["regression"][row] {
			t.Errorf("up to %d hours ahead what is amended is off by %.4f, our own by %.4f", lead, off["amended"][row], off["regression"][row])
		}
	}
}
