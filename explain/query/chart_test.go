package query

import (
	"testing"
)

// What is drawn is what is said: every point of a chart of bars is a figure of
// its answer, or sums up to one.
func TestChartsShowTheFigures(t *testing.T) {
	l := day().buildDataset()
	for _, tc := range []struct{ question, kind, figure, prefix string }{
		{"list the bids for train-1", "bids", "total-cost", "site/"},
		{"carbon by site", "sites", "carbon", "site/"},
		{"cost by tenant", "sites", "cost", "tenant/"},
		{"top 5 jobs by energy", "jobs", "energy", "job/"},
		{"carbon intensity by site at 12:00", "sites", "carbon-intensity", "site/"},
	} {
		a := l.AnswerQuestion(tc.question)
		if a.Chart == nil || a.Chart.Kind != tc.kind {
			t.Errorf("%q draws %+v; want a chart of kind %q", tc.question, a.Chart, tc.kind)
			continue
		}
		bars := make(map[string]int64)
		for _, s := range a.Chart.Series {
			for _, p := range s.Points {
				bars[tc.prefix+p.Label] += p.Value
			}
		}
		n := 0
		for _, f := range a.Figures {
			if f.Name != tc.figure {
				continue
			}
			if got, ok := bars[f.Subject]; ok {
				n++
				if got != f.Value || f.Unit != a.Chart.Unit {
					t.Errorf("%q draws %d %s for %s; its figure is %d %s", tc.question, got, a.Chart.Unit, f.Subject, f.Value, f.Unit)
				}
			}
		}
		if n == 0 || n != len(bars) {
			t.Errorf("%q draws %d bars, of which %d are figures: %v", tc.question, len(bars), n, bars)
		}
	}
	day := l.AnswerQuestion("carbon used")
	if day.Chart == nil || day.Chart.Kind != "day" {
		t.Fatalf("the bill of a run draws %+v; want its day", day.Chart)
	}
	var sum, want int64
	for _, p := range day.Chart.Series[0].Points {
		sum += p.Value
	}
	for _, f := range day.Figures {
		if f.Name == "carbon" && f.Subject == "run" {
			want = f.Value
		}
	}
	if sum != want {
		t.Errorf("the hours of the day add up to %d mg; want the run's %d", sum, want)
	}
}
