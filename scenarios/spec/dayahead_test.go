package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// writeSeries writes an hourly series of prices to a scenario's folder, without its hour 30 if gap
// is set.
func writeSeries(t *testing.T, dir string, start protocol.Time, hours int, gap bool) {
	t.Helper()
	var b strings.Builder
	b.WriteString("time_utc,usd\n")
	for h := range hours {
		if gap && h == 30 {
			continue
		}
		fmt.Fprintf(&b, "%v,%d\n", start.Add(time.Duration(h)*time.Hour), h)
	}
	if err := os.WriteFile(filepath.Join(dir, "da.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withForecasts is the smallest scenario with forecasts of its price.
func withForecasts(keys string) string {
	return strings.Replace(smallest, "    fleet:", "    forecasts: {price: {file: da.csv, column: usd"+keys+"}}\n    fleet:", 1)
}

func TestADayAheadSeriesIsPublishedAtItsHour(t *testing.T) {
	for _, tc := range []struct {
		keys string
		// for each bulletin: the end of its hours, after its issue
		end func(issued protocol.Time) protocol.Time
	}{
		// As PJM: at six in the evening until five in the morning after the next day.
		{", published: 18, ends: 5", func(issued protocol.Time) protocol.Time { return issued.Add(35 * time.Hour) }},
		{", published: 12", func(issued protocol.Time) protocol.Time { return issued.Add(36 * time.Hour) }},
		{", lead_hours: 30", func(issued protocol.Time) protocol.Time { return issued.Add(31 * time.Hour) }},
	} {
		dir := file(t, withForecasts(tc.keys))
		first := theDay.Add(-96 * time.Hour)
		writeSeries(t, dir, first, 24*8, false)
		s, err := spec.LoadScenario(dir, spec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		facts, all := s.Sites[0].Signals[protocol.GridPrice], s.Sites[0].Forecasts[protocol.GridPrice]
		hour := protocol.Time(0)
		for i, b := range all {
			for _, p := range b.Points {
				if hour != 0 && p.At != hour.Add(time.Hour) {
					t.Errorf("%s: bulletin %d goes on with %v after %v", tc.keys, i, p.At, hour)
				}
				hour = p.At
				if want := int64(p.At.Sub(first)/time.Hour) * 1000; p.Value != want {
					t.Errorf("%s: %v is %d; the file has %d", tc.keys, p.At, p.Value, want)
				}
			}
			if strings.Contains(tc.keys, "published") && b.Issued.StdTime().Hour() != map[bool]int{true: 18, false: 12}[strings.Contains(tc.keys, "18")] {
				t.Errorf("%s: bulletin %d is issued at %v", tc.keys, i, b.Issued)
			}
			if end := hour.Add(time.Hour); end != tc.end(b.Issued) && i < len(all)-1 {
				t.Errorf("%s: bulletin %d of %v ends at %v; want %v", tc.keys, i, b.Issued, end, tc.end(b.Issued))
			}
		}
		if last := facts[len(facts)-1].At; hour != last || len(all) < 3 {
			t.Errorf("%s: %d bulletins until %v; the signals end at %v", tc.keys, len(all), hour, last)
		}
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "here: price is forecast by a series, published") {
			t.Errorf("%s: no note of it in:\n%s", tc.keys, notes)
		}
	}
}

func TestADayAheadSeriesThatCannotBeIsRefused(t *testing.T) {
	for _, tc := range []struct {
		keys, want string
		gap        bool
	}{
		{", published: 12, lead_hours: 3", "scenario.yaml:6: sites/0/forecasts/price: both published and lead_hours: drop one", false},
		{", ends: 5", "scenario.yaml:6: sites/0/forecasts/price: ends without published", false},
		{", ends: 5, lead_hours: 3", "ends without published", false},
		{", published: 24", "scenario.yaml:6: sites/0/forecasts/price/published: is too large: want at most 23", false},
		{", published: 17.5", "scenario.yaml:6: sites/0/forecasts/price/published: is number: want integer", false},
		{", lead_hours: 400", "sites/0/forecasts/price/lead_hours: is too large: want at most 336", false},
		{"", `da.csv:1: missing column "issue_time_utc"`, false},
		{", published: 12", "da.csv:32: usd: 1 hours are missing before", true},
	} {
		dir := file(t, withForecasts(tc.keys))
		writeSeries(t, dir, theDay.Add(-96*time.Hour), 24*8, tc.gap)
		if _, err := spec.LoadScenario(dir, spec.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v; want %q", tc.keys, err, tc.want)
		}
	}
	// CheckSyntax finds what needs no data.
	if err := spec.CheckSyntax(file(t, withForecasts(", ends: 5"))); err == nil || !strings.Contains(err.Error(), "ends without published") {
		t.Errorf("CheckSyntax: %v", err)
	}
}
