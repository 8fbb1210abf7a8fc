package web

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/diary"
	"github.com/gridbid/gridbid/coordinator/record"
	"github.com/gridbid/gridbid/protocol"
)

// A job need not say how long it runs; that is no run of no time.
func TestACardOfAJobThatSaysNoTimeSaysNone(t *testing.T) {
	for run, want := range map[time.Duration]string{0: "for a time that it does not say", time.Hour: "for 1 h"} {
		var b bytes.Buffer
		card := &diary.Card{Record: record.JobRecord{Job: protocol.Job{ID: "a", GPUs: 1, Share: 1000, Run: run}}}
		if err := pages.ExecuteTemplate(&b, "card", view{Card: card}); err != nil {
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
		h := record.Hearing{Decision: record.Decision{Kind: "award", Proof: protocol.Certificate{Primal: 5, Bound: 4, Jobs: jobs}}}
		card := &diary.Card{Entry: diary.Entry{Kind: "award"}, Hearing: &h}
		if err := pages.ExecuteTemplate(&b, "card", view{Card: card}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "no assignment costs less") != want {
			t.Errorf("a proof over %d jobs: %s", jobs, &b)
		}
	}
}
