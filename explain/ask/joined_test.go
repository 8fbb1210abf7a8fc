package ask

import (
	"slices"
	"testing"
)

// Things of one kind that are joined are asked for one by one; what is not joined stays with each.
func TestThingsThatAreJoinedAreAskedForOneByOne(t *testing.T) {
	l := testParser()
	for question, want := range map[string][]string{
		"price and intensity at oslo at 13:00":                  {"electricity price at site oslo at 2022-04-13T13:00:00Z", "carbon intensity at site oslo at 2022-04-13T13:00:00Z"},
		"wait between 2 and 4 and between 14 and 16":            {"average wait from 2022-04-13T02:00:00Z to 2022-04-13T04:00:00Z", "average wait from 2022-04-13T14:00:00Z to 2022-04-13T16:00:00Z"},
		"carbon in the morning against the evening":             {"carbon used from 2022-04-13T06:00:00Z to 2022-04-13T12:00:00Z", "carbon used from 2022-04-13T18:00:00Z to 2022-04-14T00:00:00Z"},
		"compare carbon of mornings and evenings":               {"carbon used from 2022-04-13T06:00:00Z to 2022-04-13T12:00:00Z", "carbon used from 2022-04-13T18:00:00Z to 2022-04-14T00:00:00Z"},
		"energy of oslo, lyon and bern":                         {"energy used at site oslo", "energy used at site lyon", "energy used at site bern"},
		"mean wait and total cost of vision":                    {"average wait of tenant vision", "cost used of tenant vision"},
		"how many jobs came and how many ended between 7 and 8": {"how many jobs ran from 2022-04-13T07:00:00Z to 2022-04-13T08:00:00Z", `measure "ended" from 2022-04-13T07:00:00Z to 2022-04-13T08:00:00Z`},
		"average cost per job and per GPU-hour":                 {"cost used per job", "cost used per gpu-hour"},
		"carbon of vision and energy of speech":                 {"carbon used of tenant vision", "energy used of tenant speech"},
		"when did train-1 and train-2 end":                      {"when did job train-1 start and end", "when did job train-2 start and end"},
		"carbon by tenant and energy by site":                   {"carbon used by tenant", "energy used by site"},

		"late jobs of vision":                   nil, // it asks for one
		"carbon at oslo and late jobs of lyons": nil, // a word is not known
		"carbon of vision and late jobs":        nil, // of vision, or of all
		"carbon and trees of vision":            nil,
		"drain oslo and lyon":                   nil,
		"how many jobs are late and urgent":     nil, // both at once
	} {
		var got []string
		for _, q := range new(Conversation).ParseJoined(l, question) {
			got = append(got, q.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q asks for %q; want %q", question, got, want)
		}
	}
}

// A follow-up of a question that asked for several things changes each.
func TestAFollowUpOfThingsThatAreJoinedChangesEach(t *testing.T) {
	l, talk := testParser(), Conversation{}
	talk.ContinueFromJoined(talk.ParseJoined(l, "mean wait and total cost of vision"))
	got := talk.ParseJoined(l, "and speech?")
	if len(got) != 2 || got[0].String() != "average wait of tenant speech" || got[1].String() != "cost used of tenant speech" {
		t.Errorf("it asks for %v", got)
	}
	if got = talk.ParseJoined(l, "late jobs"); got != nil {
		t.Errorf("a question of its own asks for %v", got)
	}
}

// A follow-up replaces the slot of its own kind, and keeps the rest.
func TestAFollowUpReplacesTheSlotOfItsKind(t *testing.T) {
	l := testParser()
	for _, turn := range [][3]string{
		{"cost by site", "only the late ones", `measure "total cost late by-site"`},
		{"energy by tenant", "in dollars", "cost used by tenant"},
		{"energy by tenant", "highest only", "energy used by tenant most"},
		{"jobs over 2 kWh", "over 5?", "how many jobs ran with energy more than 5 kWh"},
		{"jobs that waited more than 2 hours", "more than 4 h", "how many jobs ran with wait more than 4 h"},
		{"which jobs wait at 13:00", "whose are they", "which jobs wait by tenant at 2022-04-13T13:00:00Z"},
		{"average wait of vision", "and the others", "average wait except tenant vision"},
		{"top 10 jobs by cost", "of vision", "top 10 jobs by cost of tenant vision"},
		{"price at oslo at 13:00", "by hour", "hours of electricity price at site oslo from 2022-04-13T00:00:00Z to 2022-04-14T00:00:00Z"},
	} {
		var talk Conversation
		q, _, _ := talk.ParseQuestion(l, turn[0])
		talk.ContinueFrom(q)
		if got, _, back := talk.ParseQuestion(l, turn[1]); back != nil || got.String() != turn[2] {
			t.Errorf("%q after %q is read as %q (%+v); want %q", turn[1], turn[0], got.String(), back, turn[2])
		}
	}
}

// Measures by what sums are per, how often jobs were held, and hours of a grid.
func TestRatiosHoldsAndHours(t *testing.T) {
	l := testParser()
	for question, want := range map[string]string{
		"carbon per GPU-hour by model":        `measure "total carbon by-model per-gpu-hour"`,
		"gpu hours per dollar by site":        `measure "total gpu-hours by-site per-dollar"`,
		"which job was held most often":       `measure "most times-held 5"`,
		"which tenant has the dirtiest kWh":   "carbon used by tenant per kwh most",
		"price by hour at oslo":               "hours of electricity price at site oslo",
		"which site has most jobs at 13:00":   `measure "most by-site" in state running at 2022-04-13T13:00:00Z`,
		"did late jobs cost more than others": `measure "mean cost by-late"`,
		"price at oslo now and at 13:00":      "",
	} {
		if got, _, back := l.ParseQuestion(question); (back != nil) != (want == "") || back == nil && got.String() != want {
			t.Errorf("%q is read as %q (%+v); want %q", question, got.String(), back, want)
		}
	}
}
