package baseline

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

const midnight protocol.Time = 1_649_808_000_000 // 2022-04-13T00:00:00Z

// at is an hour of that day.
func at(h float64) protocol.Time { return midnight.Add(time.Duration(h * float64(time.Hour))) }

// called calls one job to sites that answer with room now.
func called(now protocol.Time, j protocol.Job, sites ...auction.Site) auction.Round {
	l := auction.Lot{Job: j}
	for _, s := range sites {
		o := protocol.BidOption{Start: now, Finish: now.Add(j.Run), Energy: protocol.Millijoules(s.Trust)}
		l.Bids = append(l.Bids, auction.SiteBids{Site: s.Name, Options: []protocol.BidOption{o}})
	}
	return auction.Round{Now: now, Next: now.Add(time.Hour), Lots: []auction.Lot{l}, Sites: sites, Weights: protocol.Weights{Carbon: 100_000}}
}

// site has carbon by hour, in grams, and a flat price in dollars per MWh.
// Trust stands in for the energy that it asks for the job.
func site(name string, energy protocol.Milli, price int64, grams ...int64) auction.Site {
	s := auction.Site{Name: name, Trust: energy, Forecast: protocol.GridForecast{From: midnight}}
	s.Capacity = []protocol.CapacityProfile{{Free: []protocol.Milli{8000}}}
	for _, g := range grams {
		s.Forecast.Carbon = append(s.Forecast.Carbon, protocol.Milligrams(g*1000))
		s.Forecast.Price = append(s.Forecast.Price, protocol.Microdollars(price*1000))
		s.Forecast.PUE = append(s.Forecast.PUE, 1000)
	}
	return s
}

func job(run time.Duration, slack time.Duration) protocol.Job {
	return protocol.Job{ID: "a", Home: "b", GPUs: 1, Share: 1000, Arrival: midnight, Run: run, Deadline: midnight.Add(run + slack), Urgency: protocol.UrgencyStandard}
}

// The day of package published's own example: 8 8 3 2 4 6 6 6.
func TestEachRuleWaitsForTheHourOfItsSource(t *testing.T) {
	home := site("b", 1, 50, 8, 8, 3, 2, 4, 6, 6, 6)
	away := site("a", 1, 50, 1, 1, 1, 1, 1, 1, 1, 1)
	strict := job(time.Hour, 6*time.Hour)
	strict.Urgency = protocol.UrgencyNow
	tests := []struct {
		name string
		rule string
		job  protocol.Job
		want float64 // hour of the start
	}{
		{"wait-awhile runs an hour's job in the least hour", "wait-awhile", job(time.Hour, 6*time.Hour), 3},
		{"and two hours' work where both together are least", "wait-awhile", job(2*time.Hour, 6*time.Hour), 2},
		{"it never waits past the last start in time", "wait-awhile", job(time.Hour, 90*time.Minute), 1.5},
		{"gaia saves most for the hour waited one hour earlier", "gaia", job(time.Hour, 6*time.Hour), 2},
		{"a job that may not be deferred starts at once", "wait-awhile", strict, 0},
		{"so it does under gaia", "gaia", strict, 0},
	}
	for _, tc := range tests {
		rule, _ := New(tc.rule, 1)
		d := rule.Clear(called(midnight, tc.job, away, home)).Decisions[0]
		if d.Site != "b" {
			t.Errorf("%s: sold to %q; want its home", tc.name, d.Site)
		}
		if tc.want == 0 {
			if d.Verdict != auction.Award {
				t.Errorf("%s: %+v; want an award", tc.name, d)
			}
			continue
		}
		if d.Verdict != auction.Defer || d.Until != at(tc.want) {
			t.Errorf("%s: until %v; want %v", tc.name, d.Until, at(tc.want))
		}
		// At the planned time the job is awarded, whatever the forecast is by then.
		if d := rule.Clear(called(at(tc.want), tc.job, away, site("b", 1, 50, 9, 9, 9, 9, 9, 1, 1, 1))).Decisions[0]; d.Verdict != auction.Award || !d.MayQueue {
			t.Errorf("%s: at its hour %+v; want an award", tc.name, d)
		}
	}
}

// GAIA takes the mean of the queue for the job's own length: after a job of an
// hour and a half and one of half an hour it thinks both run for an hour.
func TestGAIAKnowsOnlyTheMeanOfItsQueue(t *testing.T) {
	home := site("b", 1, 50, 8, 8, 3, 9, 9, 9, 1, 1)
	long, short := job(90*time.Minute, 7*time.Hour), job(30*time.Minute, 7*time.Hour)
	short.ID = "later"
	rule, _ := New("gaia", 1)
	rule.Clear(called(midnight, long, home))
	// An hour's run at 2 saves 5 in 3 hours, at 6 it saves 7 in 7.
	if d := rule.Clear(called(midnight, short, home)).Decisions[0]; d.Until != at(2) {
		t.Errorf("gaia waits until %v; want %v", d.Until, at(2))
	}
}

func TestEachRuleOfPlaceChoosesByItsOwnMeasure(t *testing.T) {
	sites := []auction.Site{
		site("a", 900, 80, 100), // 90 dollars per MWh with carbon
		site("b", 700, 50, 500), // 100
		site("c", 800, 60, 200), // 80
	}
	for rule, want := range map[string]string{"priority-order": "a", "energy-aware": "b", "geo-greedy": "c"} {
		r, _ := New(rule, 1)
		if d := r.Clear(called(midnight, job(time.Hour, time.Hour), sites...)).Decisions[0]; d.Site != want || d.Verdict != auction.Award {
			t.Errorf("%s sells to %q; want %q", rule, d.Site, want)
		}
	}
	full := called(midnight, job(time.Hour, time.Hour), sites...)
	for i := range 2 { // a and c have no room now
		full.Lots[0].Bids[2*i].Options[0].Start = at(1)
	}
	for _, rule := range []string{"priority-order", "energy-aware", "geo-greedy"} {
		r, _ := New(rule, 1)
		if d := r.Clear(full).Decisions[0]; d.Site != "b" {
			t.Errorf("%s sells to %q; only b has room", rule, d.Site)
		}
	}
}
