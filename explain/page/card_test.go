package page

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A job need not say how long it runs; that is no run of no time.
func TestACardOfAJobThatSaysNoTimeSaysNone(t *testing.T) {
	for run, want := range map[time.Duration]string{0: "for a time that it does not say", time.Hour: "for 1 h"} {
		var b bytes.Buffer
		card := &timeline.Card{Record: history.JobRecord{Job: protocol.Job{ID: "a", GPUs: 1, Share: 1000, Run: run}}}
		if err := pageTemplates.ExecuteTemplate(&b, "card", pageView{Card: card}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "0 s") {
			t.Errorf("a run of %v: %s; want %q", run, &b, want)
		}
	}
}

// A fixed rule clears nothing, so of its rounds no cost and no bound is shown.
func TestACardShowsNoBoundThatNobodyComputed(t *testing.T) {
	for jobs, want := range map[int]bool{0: false, 3: true} {
		var b bytes.Buffer
		h := history.JobRound{Decision: history.Decision{Kind: "award", Proof: protocol.Certificate{Primal: 5, Bound: 4, Jobs: jobs}}}
		card := &timeline.Card{Entry: timeline.Entry{DecisionRef: history.DecisionRef{Kind: "award"}}, JobRound: &h}
		if err := pageTemplates.ExecuteTemplate(&b, "card", pageView{Card: card}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "no assignment costs less") != want {
			t.Errorf("a proof over %d jobs: %s", jobs, &b)
		}
	}
}

// A time of day belongs to the shown day; a time of another day includes its date.
func TestATimeOfAnotherDayIsToldWithIt(t *testing.T) {
	now := protocol.FromStdTime(time.Date(2026, 3, 11, 14, 6, 0, 0, time.UTC))
	var b bytes.Buffer
	silent := func(since protocol.Time) history.SiteCondition {
		return history.SiteCondition{State: protocol.SiteSilent, Since: since, Why: protocol.Reason{Code: protocol.NoHeartbeat}}
	}
	v := pageView{Now: timeline.Instant{At: now, Sites: []timeline.Site{{Name: "oslo", Condition: silent(now.Add(-25 * time.Hour))}, {Name: "lyon", Condition: silent(now.Add(-time.Minute))}}}}
	v.Entries = []timeline.Entry{
		{ID: "D-1", DecisionRef: history.DecisionRef{Kind: "award", At: now.Add(-24 * time.Hour), Start: now.Add(-23 * time.Hour)}},
		{ID: "D-2", DecisionRef: history.DecisionRef{Kind: "award", At: now, Start: now.Add(13 * time.Hour)}},
	}
	if err := pageTemplates.ExecuteTemplate(&b, "now", v); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">10 Mar 13:06<", ">14:05<", "silent since", "</time></span><small>", "hears nothing from its agent", "<span>10 Mar</span> 14:06:00", "D-1 · from 15:06", "<span>11 Mar</span> 14:06:00", "D-2 · from 12 Mar 03:06"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %s", want, &b)
		}
	}
}

// The page counts preempted jobs where there are any.
func TestThePageCountsPreemptedJobs(t *testing.T) {
	for n, want := range map[int]bool{0: false, 2: true} {
		var b bytes.Buffer
		if err := pageTemplates.ExecuteTemplate(&b, "now", pageView{Now: timeline.Instant{Preempted: n}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "2 preempted") != want {
			t.Errorf("%d preempted jobs: %s", n, &b)
		}
	}
}
