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
