package protocol

import (
	"slices"
	"testing"
)

// A call that names the asked sites alone asks each site for the same jobs as one that names all.
func TestACallMayNameTheAskedSitesAlone(t *testing.T) {
	all := []string{"bern", "lyon", "oslo", "rome", "turin"}
	call := func() CallForBids {
		return CallForBids{Sites: all, Jobs: []Job{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Asked: [][]int{{1, 4}, {2}, {1, 2, 4}}}
	}
	before, c := call(), call()
	c.NameAsked([]bool{false, true, true, false, true})
	if want := []string{"lyon", "oslo", "turin"}; !slices.Equal(c.AskedSites(), want) {
		t.Errorf("names %v, want %v", c.AskedSites(), want)
	}
	was, is := before.SitesAsked(), c.SitesAsked()
	for _, site := range append(slices.Clone(all), "vienna") {
		if was(site) != is(site) || !slices.EqualFunc(before.JobsFor(site), c.JobsFor(site), func(x, y Job) bool { return x.ID == y.ID }) {
			t.Errorf("%s is asked for %v, want %v", site, c.JobsFor(site), before.JobsFor(site))
		}
	}
	for _, j := range c.Jobs {
		if got, want := c.SitesAskedFor(j.ID), before.SitesAskedFor(j.ID); !slices.Equal(got, want) {
			t.Errorf("job %s is asked of %v, want %v", j.ID, got, want)
		}
	}
}

// Whom a broadcast reaches follows from what it says.
func TestWhoReceivesABroadcast(t *testing.T) {
	parties := []Party{"agent/lyon", "agent/oslo", Coordinator, "hands/oslo", "queue/oslo", Submitter}
	jobs := []Job{{ID: "a"}, {ID: "b"}}
	for _, tc := range []struct {
		name string
		body Body
		want []Party
	}{
		{"a policy", Policy{}, []Party{"agent/lyon", "agent/oslo", "queue/oslo", Submitter}},
		{"a call without sites", CallForBids{Jobs: jobs}, []Party{"agent/lyon", "agent/oslo", "queue/oslo", Submitter}},
		{"a call that asks some", CallForBids{Jobs: jobs, Sites: []string{"oslo", "rome"}, Asked: [][]int{{0}, {1}}}, []Party{"agent/oslo"}},
		{"a call that asks all for one job", CallForBids{Jobs: jobs, Sites: []string{"lyon", "oslo"}, Asked: [][]int{{1}, nil}}, []Party{"agent/lyon", "agent/oslo", "queue/oslo", Submitter}},
		{"a settlement", Settlement{Site: "oslo"}, []Party{"agent/oslo", Submitter}},
	} {
		m := Message{From: Coordinator, Body: tc.body}
		got := slices.DeleteFunc(slices.Clone(parties), func(p Party) bool { return !p.ShouldReceive(m) })
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s reaches %v, want %v", tc.name, got, tc.want)
		}
	}
	m := Message{From: Coordinator, To: "agent/lyon", Body: Settlement{Site: "oslo"}}
	if m.OnlyTo() != nil || !Party("agent/lyon").ShouldReceive(m) || Party("agent/oslo").ShouldReceive(m) {
		t.Error("a message to one party reaches another, or not that one")
	}
}
