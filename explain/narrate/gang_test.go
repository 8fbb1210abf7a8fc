package narrate

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Why a gang waits is said by its pods: what it needs, how much of it the largest site had, and what the site that
// has it keeps idle until then.
func TestWhatAGangWaitsForIsSaid(t *testing.T) {
	noon := protocol.FromStdTime(time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC))
	job := protocol.Job{ID: "gang"}.WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 1000}})
	option := protocol.BidOption{Start: noon.Add(3 * time.Hour), Finish: noon.Add(4 * time.Hour), Model: "V100"}
	later := option
	later.Start = noon.Add(5 * time.Hour)
	answer := func(site string, o protocol.BidOption, hole *protocol.Hole) history.Answer {
		return history.Answer{Site: site, Message: history.MessageRef{At: noon}, Options: []history.PricedOption{{BidOption: o, Hole: hole}}}
	}
	small := answer("lyon", later, &protocol.Hole{Fit: 1, From: noon, GPUHours: 80_000})
	large := answer("oslo", option, &protocol.Hole{Fit: 3, From: noon.Add(time.Hour), GPUHours: 48_500, Cost: 96_000})
	award := history.Decision{Kind: "award", Site: "oslo", Option: history.PricedOption{BidOption: option}}
	needs, keeps := "It needs room for 4 pods of 8 GPUs at once, and the largest site, oslo, had room for 3.", "oslo keeps nodes for it from 11 Mar 13:00 on, as they become free: 48.5 GPU-hours until it starts, which count $0.0960 under awake."
	for _, tc := range []struct {
		name    string
		answers []history.Answer
		d       history.Decision
		want    []string
	}{
		{"an award for later", []history.Answer{small, large}, award, []string{needs, keeps}},
		{"held for the next round", []history.Answer{small, large}, history.Decision{Kind: "hold"}, []string{needs}},
		{"some site had room at once", []history.Answer{answer("bern", protocol.BidOption{Start: noon}, nil), large}, award, []string{keeps}},
		{"an answer that came too late", []history.Answer{{Site: "oslo", Late: true, Options: large.Options}}, award, nil},
		{"a site that says nothing of it", []history.Answer{answer("oslo", option, nil)}, award, nil},
	} {
		got := gangRoomSentences(history.JobRecord{Job: job}, history.JobRound{Answers: tc.answers, Decision: tc.d})
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q; want %q", tc.name, got, tc.want)
			continue
		}
		for i, w := range tc.want {
			if !strings.HasPrefix(got[i], w) {
				t.Errorf("%s: %q; want %q", tc.name, got[i], w)
			}
		}
	}
}
