package narrate

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

const midnight protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// Each state of a job has words, with where, when and why as far as they are known.
func TestAStateHasWords(t *testing.T) {
	start := midnight.Add(27*time.Hour + 45*time.Minute)
	for _, c := range []struct {
		state  history.JobState
		saving protocol.Microdollars
		want   string
	}{
		{history.JobState{State: history.Pending}, 0, "no round has decided on it yet"},
		{history.JobState{State: history.Pending, Why: protocol.Reason{Code: protocol.NoBids}}, 0, "no place is planned: no site has an option for it"},
		{history.JobState{State: history.Planned, Site: "hydro-north", Start: start, Why: protocol.Reason{Code: protocol.CheaperLater}}, 20_000, "held: the plan starts it at 12 Mar 03:45 at hydro-north, $0.0200 less than now"},
		{history.JobState{State: history.Planned, Site: "hydro-north", Start: start, Why: protocol.Reason{Code: protocol.CheaperLater}}, 0, "held: the plan starts it at 12 Mar 03:45 at hydro-north, a better hour than now"},
		{history.JobState{State: history.Planned, Site: "oslo", Start: start, Why: protocol.Reason{Code: protocol.Waiting}}, 0, "held: the plan starts it at 12 Mar 03:45 at oslo, as no site that may run it has room now"},
		{history.JobState{State: history.Planned, Awarded: true, Site: "oslo", Start: start, Why: protocol.Reason{Code: protocol.Cheapest}}, 0, "oslo has it, to start at 12 Mar 03:45: it costs least, all jobs of the round taken together"},
		{history.JobState{State: history.Running, Awarded: true, Stopping: true, Site: "oslo", Start: start}, 0, "runs at oslo since 12 Mar 03:45; its site was asked to stop it"},
		{history.JobState{State: history.Preempted, Why: protocol.Reason{Code: protocol.Reclaimed}}, 0, "its run was taken down: the owner of the site took the devices back"},
		{history.JobState{State: history.Done, Site: "oslo", Start: start, Since: start.Add(time.Hour)}, 0, "ran at oslo from 12 Mar 03:45 to 12 Mar 04:45"},
		{history.JobState{State: history.Failed, Site: "oslo", Why: protocol.Reason{Note: "exit\x1b code 3"}}, 0, "its program failed: exit"},
		{history.JobState{State: history.Cancelled, Stopping: true, Why: protocol.Reason{Code: protocol.Cancelled}}, 0, "its submitter or an operator cancelled it"},
		{history.JobState{State: history.Refused, Why: protocol.Reason{Code: protocol.Malformed, Note: "gpus: 9"}}, 0, "the job makes no sense (gpus: 9)"},
	} {
		got := JobStateText(c.state, c.saving)
		if !strings.HasPrefix(got, c.want) || c.state.State != history.Failed && got != c.want || strings.Contains(got, "\x1b") {
			t.Errorf("%+v: %q; want %q", c.state, got, c.want)
		}
	}
}

// No kind of event is without words, and no reason is without words in them.
func TestEachEventOfAJobHasWords(t *testing.T) {
	for _, k := range []history.JobEventKind{
		history.EventSubmitted, history.EventHeld, history.EventAwarded, history.EventAccepted, history.EventDeclined, history.EventExpired, history.EventDecommissioned, history.EventStarted,
		history.EventPreempted, history.EventInterrupted, history.EventPaused, history.EventCancelRequested, history.EventEnded, history.EventFailed, history.EventSettled, history.EventCancelled, history.EventRefused,
	} {
		got := JobEventText(history.JobEvent{Kind: k, Site: "oslo", Start: midnight, Until: midnight, Why: protocol.Reason{Code: protocol.CheaperLater}})
		if got == "" || got == string(k) || strings.Contains(got, string(protocol.CheaperLater)) {
			t.Errorf("%s: %q", k, got)
		}
	}
}

// What people cancelled was not refused.
func TestACancelledJobWasNotRefused(t *testing.T) {
	for code, want := range map[protocol.Code]string{protocol.Cancelled: "cancelled", protocol.SiteDecommissioned: "cancelled", protocol.NoSuchGPU: "refused", protocol.ImpossibleBid: "ended"} {
		if got := RefusalWord(code); got != want {
			t.Errorf("%s: %s; want %s", code, got, want)
		}
	}
}
