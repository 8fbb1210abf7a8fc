package narrate

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

func TestTheSizesOfAnElasticJobAreTold(t *testing.T) {
	job := protocol.Job{ID: "e", Run: 4 * time.Hour, Speed: []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 4, Speed: 3000}}}.WithPods([]protocol.Component{{Pods: 1, GPUs: 2, Share: 1000}})
	option := func(pods int, hours, dollars protocol.Time) history.PricedOption {
		return history.PricedOption{BidOption: protocol.BidOption{Pods: pods, Finish: hours * 3_600_000}, Terms: protocol.CostBreakdown{Money: protocol.Microdollars(dollars) * 1_000_000}}
	}
	answers := []history.Answer{{Site: "oslo", Options: []history.PricedOption{option(4, 2, 7), option(1, 9, 6), option(1, 4, 5)}}, {Site: "lyon", Options: []history.PricedOption{option(3, 1, 1)}}}
	h := history.JobRound{Answers: answers, Decision: history.Decision{Kind: "award", Site: "oslo", Option: option(1, 4, 5)}}
	got := sizeSentence(history.JobRecord{Job: job}, h)
	if want := "oslo offered it on 1 and 4 pods. It got 1, which end 1 Jan 04:00; 4 would have cost $2.0000 more and ended 1 Jan 02:00."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := SizeText(job), "1 to 4 pods of 2 GPUs"; got != want {
		t.Errorf("SizeText = %q; want %q", got, want)
	}
	h.Decision.Site = "lyon"
	if got := sizeSentence(history.JobRecord{Job: job}, h); got != "" {
		t.Errorf("of one number: %q", got)
	}
}
