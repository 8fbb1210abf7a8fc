package protocol

import (
	"math"
	"testing"
)

func TestOnlySomeMaySaySomeThings(t *testing.T) {
	parties := []Party{Coordinator, Submitter, Desk, Judge, Agent("oslo"), Hands("oslo"), Queue("oslo"), Feed("oslo")}
	for _, tc := range []struct {
		body Body
		to   Party
		may  []Party
	}{
		{Award{}, Agent("oslo"), []Party{Coordinator}},
		{Refuse{}, Submitter, []Party{Coordinator}},
		{Settled{}, "", []Party{Coordinator}},
		{Hello{Site: "oslo"}, Coordinator, []Party{Agent("oslo")}},
		{Hello{Site: "bern"}, Coordinator, nil},
		{Hello{}, Coordinator, nil},
		{Done{}, Coordinator, []Party{Agent("oslo")}},
		{Launch{}, Hands("oslo"), []Party{Agent("oslo")}},
		{Launch{}, Coordinator, nil},
		{Exited{}, Agent("oslo"), []Party{Hands("oslo")}},
		{Submit{}, Coordinator, []Party{Coordinator, Submitter, Desk, Judge, Queue("oslo")}},
		{Brought{}, Coordinator, parties},
	} {
		var may []Party
		for _, who := range parties {
			if (Message{From: who, To: tc.to, Body: tc.body}).Proper() {
				may = append(may, who)
			}
		}
		if len(may) != len(tc.may) || len(may) > 0 && may[0] != tc.may[0] {
			t.Errorf("%+v to %s may be said by %v; want %v", tc.body, tc.to, may, tc.may)
		}
	}
}

// A meter that breaks may say anything.
func TestWhatNothingCanTakeIsNotProper(t *testing.T) {
	oslo := func(b Body) bool { return Message{From: Agent("oslo"), To: Coordinator, Body: b}.Proper() }
	if !oslo(Done{Started: 1, Ended: 2, IT: 3, Energy: 4, Carbon: 5, Money: -6}) || !oslo(Meter{Hour: noon, Total: 7, Idle: Bill{Money: -8}}) {
		t.Error("what can be is not proper")
	}
	for _, v := range []int64{math.MinInt64, -1e16, 1e16, math.MaxInt64} {
		for _, b := range []Body{
			Done{IT: Millijoules(v)}, Done{Energy: Millijoules(v)}, Done{Carbon: Milligrams(v)}, Done{Money: Microdollars(v)}, Done{Energy: -1}, Done{Started: 1},
			Meter{Total: Millijoules(v)}, Meter{Total: -1}, Meter{Idle: Bill{IT: Millijoules(v)}}, Meter{Idle: Bill{Energy: Millijoules(v)}},
			Meter{Idle: Bill{Carbon: Milligrams(v)}}, Meter{Idle: Bill{Money: Microdollars(v)}},
		} {
			if oslo(b) {
				t.Errorf("%+v is proper", b)
			}
		}
	}
}
