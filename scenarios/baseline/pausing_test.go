package baseline

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// The day of package published's own example: 8 8 3 2 4 6 6 6. Of five hours in which
// two hours' work may be done, the third and fourth are the cleanest; of the
// first four hours' worth, the first hour is not run through.
func TestRulesThatPauseRunInTheHoursOfTheirSource(t *testing.T) {
	tests := []struct {
		name  string
		rule  string
		run   time.Duration
		slack time.Duration
		from  float64 // hour of the call
		hours []int64
		hold  float64 // until; 0: sold
		pause float64 // 0: never
	}{
		{"it waits for the cleanest hours", RuleWaitInterrupting, 2 * time.Hour, 6 * time.Hour, 0, []int64{8, 8, 3, 2, 4, 6, 6, 6}, 2, 0},
		{"it runs in the clean ones around a dirty one", RuleWaitInterrupting, 2 * time.Hour, 6 * time.Hour, 0, []int64{2, 8, 8, 3, 8, 8, 8, 8}, 0, 1},
		{"it runs to its end in the last of them", RuleWaitInterrupting, time.Hour, 6 * time.Hour, 0, []int64{2, 8, 8, 3, 8, 8, 8, 8}, 0, 0},
		{"it does not pause without time for that", RuleWaitInterrupting, 2 * time.Hour, time.Minute, 0, []int64{2, 8, 8, 3, 8, 8, 8, 8}, 0, 0},
		{"suspended while it is dirty", RuleSuspendResume, 2 * time.Hour, 6 * time.Hour, 0, []int64{8, 8, 1, 9, 1, 6, 6, 6}, 2, 0},
		{"and again when it gets dirty", RuleSuspendResume, 2 * time.Hour, 6 * time.Hour, 0, []int64{1, 8, 8, 1, 8, 8, 8, 8}, 0, 1},
	}
	for _, tc := range tests {
		j := job(tc.run, tc.slack)
		j.Pause = 2 * time.Minute
		rule, _ := New(tc.rule, 1)
		d := rule.Clear(called(at(tc.from), j, site("a", 1, 50, 1, 1, 1, 1, 1, 1, 1, 1), site("b", 1, 50, tc.hours...))).Decisions[0]
		if held := d.Verdict == auction.Defer; d.Site != "b" || held != (tc.hold > 0) || held && d.Until != at(tc.hold) {
			t.Errorf("%s: %+v", tc.name, d)
		}
		want := protocol.Time(0)
		if tc.pause > 0 {
			want = at(tc.pause)
		}
		if d.PauseAt != want {
			t.Errorf("%s: paused at %v, want %v", tc.name, d.PauseAt, want)
		}
	}
}

func TestAJobThatCannotBePausedIsSoldByTheOtherRule(t *testing.T) {
	for rule, other := range map[string]string{RuleWaitInterrupting: RuleWaitAwhile, RuleSuspendResume: RuleCarbonThreshold} {
		round := called(midnight, job(2*time.Hour, 6*time.Hour), site("b", 1, 50, 8, 8, 3, 2, 4, 6, 6, 6))
		x, _ := New(rule, 1)
		y, _ := New(other, 1)
		if d, want := x.Clear(round).Decisions[0], y.Clear(round).Decisions[0]; d.Until != want.Until || d.Verdict != want.Verdict {
			t.Errorf("%s: %+v, want %+v", rule, d, want)
		}
	}
}

// scaled is an elastic job of two hours on one pod, which is 1.7 times as fast on two and takes twice the energy,
// and what one site bids for it. The worked example of package published, with its figures.
func scaled(hours float64, carbon ...int64) (l auction.Round) {
	j := job(time.Duration(hours*float64(time.Hour)), 0)
	j.Deadline = j.Arrival.Add(3*time.Hour + time.Second)
	j.Pause, j.Speed = time.Second, []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1700}}
	j = j.WithPods([]protocol.Component{{Pods: 1, GPUs: 1, Share: 1000, CPU: 1000}})
	r := called(midnight, j, site("b", 1, 50, carbon...))
	one := r.Lots[0].Bids[0].Options[0]
	one.Pods, one.Finish, one.Energy = 1, one.Start.Add(j.Run), protocol.Millijoules(j.Run.Milliseconds()*1000)
	two := one
	at := j.AtPods(2)
	two.Pods, two.Finish, two.Energy = 2, one.Start.Add(at.Run), 2*protocol.Millijoules(at.Run.Milliseconds()*1000)
	r.Lots[0].Bids[0].Options = []protocol.BidOption{one, two}
	return r
}

// G-E1 and G-E2: hours of 10, 100 and 20 g; 2 units of work are done on two pods in the first and one for 0.3 of
// the third; 3.4 on two in the first and the third, 4 with one in the second besides.
func TestCarbonScalerHasAJobScaleAsItsAuthorsDo(t *testing.T) {
	for _, tc := range []struct {
		units float64
		from  []int64
		pods  int
		hold  float64
		pause float64
	}{
		{2, []int64{10, 100, 20, 20}, 2, 0, 1},
		{3.4, []int64{10, 100, 20, 20}, 2, 0, 1},
		{4, []int64{10, 100, 20, 20}, 2, 0, 1},
		{0.3, []int64{100, 20, 100, 100}, 1, 1, 0}, // what is left of it, an hour before its cleanest
		{2.6, []int64{100, 20, 20, 20}, 2, 1, 0},
		{9, []int64{10, 100, 20, 20}, 2, 0, 0}, // cannot be in time
	} {
		rule, _ := New(RuleCarbonScaler, 1)
		d := rule.Clear(scaled(tc.units, tc.from...)).Decisions[0]
		if held := d.Verdict == auction.Defer; d.Option.Pods != tc.pods || held != (tc.hold > 0) || held && d.Until != at(tc.hold) {
			t.Errorf("%g units by %v: %v pods until %v: %+v", tc.units, tc.from, d.Option.Pods, d.Until, d)
		}
		want := protocol.Time(0)
		if tc.pause > 0 {
			want = at(tc.pause)
		}
		if d.PauseAt != want {
			t.Errorf("%g units by %v: paused at %v, want %v", tc.units, tc.from, d.PauseAt, want)
		}
	}
}
