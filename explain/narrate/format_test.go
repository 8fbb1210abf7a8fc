package narrate

import (
	"reflect"
	"testing"

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
