package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// explained returns what is said of a job that one round decided on.
func explained(job protocol.Job, h history.JobRound) string {
	r := history.JobRecord{Job: job, FullRounds: []history.JobRound{h}}
	if h.Decision.Kind == "award" {
		r.Awards = []history.Decision{h.Decision}
	}
	return strings.Join(query.ExplainJob(history.New(history.Config{}), r).Text, " ")
}

func TestTheSizesOfAnElasticJobAreTold(t *testing.T) {
	job := protocol.Job{ID: "e", Run: 4 * time.Hour, Speed: []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 4, Speed: 3000}}}.WithPods([]protocol.Component{{Pods: 1, GPUs: 2, Share: 1000}})
	option := func(pods int, hours, dollars protocol.Time) history.PricedOption {
		return history.PricedOption{BidOption: protocol.BidOption{Pods: pods, Finish: hours * 3_600_000}, Terms: protocol.CostBreakdown{Money: protocol.Microdollars(dollars) * 1_000_000}}
	}
	answers := []history.Answer{{Site: "oslo", Options: []history.PricedOption{option(4, 2, 7), option(1, 9, 6), option(1, 4, 5)}}, {Site: "lyon", Options: []history.PricedOption{option(3, 1, 1)}}}
	h := history.JobRound{Answers: answers, Decision: history.Decision{Kind: "award", Site: "oslo", Option: option(1, 4, 5)}}
	if got, want := explained(job, h), "oslo offered it on 1 and 4 pods. It got 1, which end 1 Jan 04:00; 4 would have cost $2.0000 more and ended 1 Jan 02:00."; !strings.Contains(got, want) || !strings.Contains(got, "wants 1 to 4 pods of 2 GPUs") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if h.Decision.Site = "lyon"; strings.Contains(explained(job, h), "offered it on") {
		t.Error("sizes are told where there is one")
	}
}

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
	const needs, keeps = "It needs room for its 4 pods (4 pods of 8 GPUs) at once, and the largest site, oslo, had room for 3.", "oslo keeps nodes for it from 11 Mar 13:00 on, as they become free: 48.5 GPU-hours until it starts, which count $0.0960 under awake."
	for _, tc := range []struct {
		name         string
		answers      []history.Answer
		d            history.Decision
		needs, keeps bool
	}{
		{"an award for later", []history.Answer{small, large}, award, true, true},
		{"held for the next round", []history.Answer{small, large}, history.Decision{Kind: "hold"}, true, false},
		{"some site had room at once", []history.Answer{answer("bern", protocol.BidOption{Start: noon}, nil), large}, award, false, true},
		{"an answer that came too late", []history.Answer{{Site: "oslo", Late: true, Options: large.Options}}, award, false, false},
		{"a site that says nothing of it", []history.Answer{answer("oslo", option, nil)}, award, false, false},
	} {
		if got := explained(job, history.JobRound{Answers: tc.answers, Decision: tc.d}); strings.Contains(got, needs) != tc.needs || strings.Contains(got, keeps) != tc.keeps {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}
