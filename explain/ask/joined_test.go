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
		"energy of oslo, lyon and bern":                         {"energy used at site oslo", "energy used at site bern", "energy used at site lyon"},
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
