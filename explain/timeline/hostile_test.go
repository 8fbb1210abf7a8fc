package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// A site may make up when its outlook begins. Charts of its jobs are drawn.
func TestAnOutlookOfAnotherTimeSpoilsNoChart(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	for i, m := range day {
		if o, ok := m.Body.(protocol.Bids); ok {
			o.Grid.From += 9_223_372_036_856 // the span to it overflows
			day[i].Body = o
		}
	}
	d := read(day)
	drawn := 0
	for _, m := range day {
		if s, ok := m.Body.(protocol.Submit); ok {
			if _, err := d.DrawChart(timeline.Drawing{Chart: "job", Job: s.Job.ID}); err != nil {
				t.Error(err)
			}
			drawn++
		}
	}
	if drawn == 0 {
		t.Error("the day has no jobs")
	}
}
