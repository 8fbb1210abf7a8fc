package narrate

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestEveryCodeHasWords(t *testing.T) {
	for _, code := range []protocol.Code{
		protocol.NotAllowed, protocol.NoSuchGPU, protocol.FitsNoNode, protocol.NoCapacity, protocol.PastDeadline, protocol.NoSignal, protocol.BadPlanning,
		protocol.NotCalled, protocol.Cheapest, protocol.ByRule, protocol.CheaperLater, protocol.Waiting, protocol.NoBids,
		protocol.Malformed, protocol.Duplicate, protocol.CapacityTaken, protocol.Superseded, protocol.UnknownJob,
		protocol.NoAnswer, protocol.ImpossibleBid, protocol.ChosenByJudge, "",
		protocol.NoHeartbeat, protocol.MissedRounds, protocol.KeysRevoked, protocol.Drained, protocol.SignalsOld,
	} {
		if got := ReasonText(code); got == string(code) {
			t.Errorf("ReasonText(%q) has none", code)
		}
	}
	if got := ReasonText("newer-than-this"); got != "newer-than-this" {
		t.Errorf("Words of a code of tomorrow = %q; want the code", got)
	}
}

func TestFacts(t *testing.T) {
	s := deferred()
	s.run("oslo", night(), 125*time.Minute)
	r, _ := s.book.LatestJob("train-42")
	seen := make(map[string]DecisionFact)
	for i, f := range DecisionFacts(r) {
		if f.Origin.From == "" || f.Origin.Seq == 0 {
			t.Errorf("%s has no origin: %+v", f.ID, f)
		}
		if i == 0 && f.ID != "F1" {
			t.Errorf("the first fact is %q; want F1", f.ID)
		}
		seen[f.Subject+" "+f.Name] = f
	}
	for what, want := range map[string]int64{
		"award total-cost": 74_200, "site/lyon total-cost": 160_000, "run paid": 64_050, "run carbon": 41_400, "job gpu": 2000,
	} {
		if f, ok := seen[what]; !ok || f.Value != want {
			t.Errorf("fact %q = %+v; want %d", what, f, want)
		}
	}
}

// A new term of the cost must appear in the text, too.
func TestCausesAddUpToTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var terms protocol.CostBreakdown
		v := reflect.ValueOf(&terms).Elem()
		for i := range v.NumField() {
			v.Field(i).SetInt(rapid.Int64Range(-1000, 1000).Draw(t, v.Type().Field(i).Name))
		}
		var sum protocol.Microdollars
		for _, c := range CostCauses() {
			sum += c.Of(terms)
		}
		if sum != terms.Total() {
			t.Errorf("causes of %+v add up to %d; want %d", terms, sum, terms.Total())
		}
	})
}
