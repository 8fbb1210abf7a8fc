package seat

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// judge replays a day with a program at the seat, which has so long for an answer.
func judge(t *testing.T, s spec.Scenario, command string, within time.Duration) (history.Totals, LearnerRecord) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	l, err := StartLearner(ctx, s, "mine", command, "test")
	if err != nil {
		t.Fatal(err)
	}
	if within > 0 {
		l.within = within
	}
	res, err := scenarios.Replay(ctx, s, "outside:mine", new(membus.Bus), l.Seat(ctx, s, "outside:mine", scenarios.Options{NoBids: true}))
	l.Close(ctx, &res.Totals)
	if err != nil {
		t.Fatal(err)
	}
	return res.Totals, l.Record()
}

// withoutName returns totals without what differs between a run and the same run under another name.
func withoutName(t history.Totals) history.Totals {
	t.Policy, t.WallS, t.LateAnswers = "", 0, 0
	return t
}

// What was trained is what is judged: the same policy comes to the same figures whether it steps
// through a day by itself or a replay asks it, and it is told the same row.
func TestAPolicyIsJudgedByTheLinesItWasTrainedOn(t *testing.T) {
	for _, replan := range []bool{false, true} {
		judgedAsTrained(t, replan)
	}
}

func judgedAsTrained(t *testing.T, replan bool) {
	const jobs = 60
	s, habit := begin(t, Config{}), ""
	if replan {
		habit = "replan"
		s.say(`{"open":1,"seat":"rule","replan":true}`)
	}
	answers := s.play(s.say(`{"reset":{"seed":7,"jobs":%d}}`, jobs), cheapest)
	trained := *answers[len(answers)-1].Info.Totals
	told := filepath.Join(t.TempDir(), "told")
	judged, r := judge(t, smallDay(t, 7, jobs), programCommand(t, "last", told, habit), time.Minute)
	if !reflect.DeepEqual(withoutName(judged), withoutName(trained)) {
		t.Errorf("judged\n%+v\ntrained\n%+v", judged, trained)
	}
	if r.Asked != len(answers) || r.Late+r.Refused != 0 || r.Left != "" {
		t.Errorf("the program answered as %+v, want %d decisions and nothing late", r, len(answers))
	}
	if judged.Policy != "outside:mine" {
		t.Errorf("the row is of %q", judged.Policy)
	}
	if text, err := os.ReadFile(told); err != nil || !strings.HasSuffix(string(text), " "+itoa(len(answers))) {
		t.Errorf("the program was told %q, %v, after %d decisions", text, err, len(answers))
	}
}

// Whatever a program does, the replay goes on to its end, and what it did not decide went to the option
// that costs least, so that the day comes to the figures of a program that always takes that.
func TestAProgramCannotEndOrBendAReplay(t *testing.T) {
	s := smallDay(t, 7, 30)
	usual, _ := judge(t, s, programCommand(t, "good"), time.Minute)
	for _, tc := range []struct {
		kind   string
		within time.Duration
		late   bool   // answers are late
		left   string // part of why it is asked no more
	}{
		{kind: "crash", within: time.Minute, late: true, left: "it ended"},
		{kind: "closed", within: time.Minute, late: true, left: "it ended"},
		{kind: "leaves", within: time.Minute, late: true, left: "it ended"},
		{kind: "hang", within: 20 * time.Millisecond, late: true, left: "20 times in a row"},
		{kind: "blind", within: 20 * time.Millisecond, late: true, left: "20 times in a row"},
		{kind: "garbage", within: 20 * time.Millisecond, late: true, left: "20 times in a row"},
		{kind: "endless", within: 20 * time.Millisecond, late: true, left: "20 times in a row"},
		{kind: "noise", within: time.Minute},
		{kind: "wrong", within: time.Minute},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			t.Parallel()
			got, r := judge(t, s, programCommand(t, tc.kind), tc.within)
			if !reflect.DeepEqual(withoutName(got), withoutName(usual)) {
				t.Errorf("the day came to\n%+v\nwant\n%+v", got, usual)
			}
			if (r.Late > 0) != tc.late || (tc.left == "") != (r.Left == "") || !strings.Contains(r.Left, tc.left) || r.Asked < goodUntil+1 {
				t.Errorf("the program is recorded as %+v: %v", r, r)
			}
			if (tc.kind == "wrong") != (r.Refused > 0) && tc.kind != "garbage" && tc.kind != "endless" {
				t.Errorf("%d lines were refused", r.Refused)
			}
		})
	}
}

// A program that writes answers without reading questions answers blindly, and no more than it is asked.
func TestAFloodOfAnswersIsReadOneByOne(t *testing.T) {
	got, r := judge(t, smallDay(t, 7, 30), programCommand(t, "deaf"), 200*time.Millisecond)
	if got.Jobs != 30 || got.Placed+got.Refused != 30 {
		t.Errorf("of 30 jobs %d were placed and %d refused", got.Placed, got.Refused)
	}
	if r.Asked < goodUntil || r.Asked > 5000 {
		t.Errorf("the program is recorded as %+v", r)
	}
}

// A program that answers too late is told so, is asked on, and its late answers are void: the day is
// that of the option that costs least.
func TestALateAnswerIsVoidAndCounted(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	s := smallDay(t, 7, 12)
	usual, _ := judge(t, s, programCommand(t, "good"), time.Minute)
	got, r := judge(t, s, programCommand(t, "late", told), 100*time.Millisecond)
	if !reflect.DeepEqual(withoutName(got), withoutName(usual)) {
		t.Errorf("the day came to\n%+v\nwant\n%+v", got, usual)
	}
	if r.Late == 0 || r.Left != "" && !strings.Contains(r.Left, "in a row") {
		t.Errorf("the program is recorded as %+v", r)
	}
	if text, err := os.ReadFile(told); err != nil || string(text) != "told that it was late" {
		t.Errorf("the program was told %q, %v", text, err)
	}
}

// A program that never takes its seat is an error before the replay, with what it wrote last.
func TestAProgramThatTakesNoSeatIsAnError(t *testing.T) {
	for kind, want := range map[string]string{"dead": "it ended; it wrote: no such weights"} {
		_, err := StartLearner(t.Context(), smallDay(t, 7, 3), "mine", programCommand(t, kind), "test")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
	if _, err := StartLearner(t.Context(), smallDay(t, 7, 3), "mine", "/nowhere/learner", "test"); err == nil || !strings.Contains(err.Error(), "/nowhere/learner") {
		t.Errorf("a program that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := StartLearner(ctx, smallDay(t, 7, 3), "mine", programCommand(t, "mute"), "test"); err == nil {
		t.Error("a program that says nothing took a seat")
	}
}

// A program sees no variable of ours but the few that it needs.
func TestAProgramSeesNoKeys(t *testing.T) {
	for _, name := range []string{"GRIDBID_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD_KEY", "PATH_KEY"} {
		t.Setenv(name, "secret-"+name)
	}
	file := filepath.Join(t.TempDir(), "environment")
	judge(t, smallDay(t, 7, 3), programCommand(t, "environment", file), time.Minute)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret-") {
		t.Errorf("the program sees\n%s", text)
	}
	allowed := map[string]bool{"GRIDBID_SEAT": true, "PATH": true, "HOME": true, "LANG": true, "LC_ALL": true, "LC_CTYPE": true, "TZ": true, "TMPDIR": true,
		"PWD": true, "SHLVL": true, "OLDPWD": true, "_": true} // of the shell itself
	for _, v := range strings.Split(string(text), "\n") {
		if name, _, _ := strings.Cut(v, "="); !allowed[name] {
			t.Errorf("the program sees %s", name)
		}
	}
}

// What a program has started ends with it.
func TestNothingOfAProgramOutlivesItsDay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	judge(t, smallDay(t, 7, 3), programCommand(t, "parent", file), time.Minute)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := atoi(t, string(text))
	for range 1000 { // the kernel takes a moment to bury it
		if stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d still runs", pid)
}
