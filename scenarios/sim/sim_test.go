package sim

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// series is hourly from a day before noon on, valued by its hour.
func series(t *testing.T, hours int) forecast.Series {
	var points []protocol.Point
	for h := range hours {
		points = append(points, protocol.Point{At: noon.Add(time.Duration(h-24) * time.Hour), Value: int64(100 + h)})
	}
	s, err := forecast.NewSeries(points)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A feed of carbon in real time and of prices a day ahead, for three days.
func TestAFeedSaysNothingEarlyAndAllOnce(t *testing.T) {
	f := NewSignalPublisher("oslo", noon)
	f.AddSeries(protocol.GridCarbon, series(t, 96), forecast.Market{})
	f.AddSeries(protocol.GridPrice, series(t, 96), forecast.DayAheadMarket())
	if f.Due() != noon {
		t.Fatalf("due at %v, want %v", f.Due(), noon)
	}
	told := map[protocol.Quantity]map[protocol.Time]bool{protocol.GridCarbon: {}, protocol.GridPrice: {}}
	for f.Due() != 0 {
		now := f.Due()
		for _, m := range f.Tick(now) {
			s := m.Body.(protocol.Signal)
			if m.From != "feed/oslo" || m.To != "agent/oslo" || m.At != now {
				t.Fatalf("said %+v", m)
			}
			for _, p := range s.Points {
				known := p.At <= now
				if s.What == protocol.GridPrice {
					// Published at noon, until the end of tomorrow.
					known = p.At < now.Floor(24*time.Hour).Add(48*time.Hour)
				}
				if !known {
					t.Errorf("%s of %v was told at %v", s.What, p.At, now)
				}
				if told[s.What][p.At] {
					t.Errorf("%s of %v was told twice", s.What, p.At)
				}
				told[s.What][p.At] = true
			}
		}
		if due := f.Due(); due != 0 && due <= now {
			t.Fatalf("due at %v after a tick at %v", due, now)
		}
	}
	for what, all := range told {
		if len(all) != 96 {
			t.Errorf("%s: %d of 96 hours told", what, len(all))
		}
	}
}

// A service's bulletin arrives at its issue time, marked as a forecast, and before the
// hour's measured value: otherwise a site could not compute the forecast's error.
func TestAFeedForetellsWhatAServiceSaidWhenItSaidIt(t *testing.T) {
	f, actual := NewSignalPublisher("oslo", noon), series(t, 96)
	at := func(h int) protocol.Time { return noon.Add(time.Duration(h) * time.Hour) }
	f.AddServiceForecasts(protocol.GridCarbon, []forecast.Bulletin{
		{Issued: at(-20), Points: []protocol.Point{{At: at(-20), Value: 1}, {At: at(1), Value: 2}}},
		{Issued: at(-2), Points: []protocol.Point{{At: at(0), Value: 3}, {At: at(1), Value: 3}}},
		{Issued: at(2), Points: []protocol.Point{{At: at(2), Value: 4}, {At: at(3), Value: 5}}},
	})
	f.AddSeries(protocol.GridCarbon, actual, forecast.Market{})
	known, said := forecast.New(forecast.Config{}), map[protocol.Time]int{}
	for h := range 4 {
		for _, m := range f.Tick(at(h)) {
			s := m.Body.(protocol.Signal)
			known.RecordSignal(m.At, s)
			if s.Guess {
				said[m.At]++
			}
		}
		if got := known.ForecastFrom(at(h), 2).Carbon[1]; h == 0 && got <= 3 {
			t.Errorf("foretold as 3 at %v, and thought to be %d: what was missed is not counted", at(1), got)
		}
	}
	if len(said) != 2 || said[at(0)] != 2 || said[at(2)] != 1 {
		t.Errorf("bulletins were told %v; want two at %v and one at %v", said, at(0), at(2))
	}
}

func TestAFeedListensToNobodyAndWithoutLinesSaysNothing(t *testing.T) {
	f := NewSignalPublisher("oslo", noon)
	m := protocol.Sender{Party: "agent/oslo"}
	if f.Due() != 0 || f.Step(noon, m.NewMessage(noon, "feed/oslo", protocol.Signal{})) != nil || f.Tick(noon) != nil {
		t.Error("a feed without lines speaks")
	}
}

func TestASubmitterSubmitsEachJobWhenItArrives(t *testing.T) {
	jobs := []protocol.Job{{ID: "a", Arrival: noon}, {ID: "b", Arrival: noon}, {ID: "c", Arrival: noon + 1}}
	s := NewSubmitter(jobs)
	var got []protocol.JobID
	for s.Due() != 0 {
		now := s.Due()
		for _, m := range s.Tick(now) {
			j := m.Body.(protocol.Submit).Job
			if m.To != protocol.Coordinator || m.At != now || j.Arrival != now {
				t.Errorf("said %+v", m)
			}
			got = append(got, j.ID)
		}
	}
	if len(got) != 3 || s.PendingJobs() != 0 || s.EndedJobs() != 0 {
		t.Errorf("submitted %v, %d left, %d ended", got, s.PendingJobs(), s.EndedJobs())
	}
}

func TestASubmitterCountsEachEndOnce(t *testing.T) {
	s := NewSubmitter(nil)
	market := protocol.Sender{Party: protocol.Coordinator}
	for _, b := range []protocol.Body{
		protocol.Settlement{Job: "a"}, protocol.Settlement{Job: "a"}, protocol.Reject{Job: "b"}, protocol.Defer{Job: "c"},
		protocol.Reject{Job: "d", Why: protocol.Reason{Code: protocol.Duplicate}},
	} {
		s.Step(noon, market.NewMessage(noon, "", b))
	}
	if s.EndedJobs() != 2 {
		t.Errorf("%d ended, want 2", s.EndedJobs())
	}
}
