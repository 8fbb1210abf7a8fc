package protocol

import "testing"

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
