package scenarios

import (
	"cmp"
	"slices"
	"testing"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A site with terms runs nothing for a tenant that it does not serve, and lends no more GPUs at any
// instant than it says, under the auction and under a rule that sends every job home; without terms
// it does both. All jobs end all the same.
func TestASiteRunsOnItsTerms(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 150})
	if err != nil {
		t.Fatal(err)
	}
	const site, own, most = "hydro-north", "team-a", 2
	replay := func(policy string, with terms.Terms) (unserved int, lent protocol.Milli, ended int) {
		x := s
		x.Sites = slices.Clone(s.Sites)
		i := slices.IndexFunc(x.Sites, func(s spec.Site) bool { return s.Name == site })
		x.Sites[i].Terms = with
		res, err := Replay(t.Context(), x, policy, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		type change struct {
			at   protocol.Time
			gpus protocol.Milli
		}
		var changes []change
		for _, c := range CompletedJobs(res.History, MarketWeights(s)) {
			j, _ := res.History.LatestJob(c.Job)
			ended++
			if c.Site != site || j.Job.Tenant == own {
				continue
			}
			if j.Job.Tenant == "team-b" {
				unserved++
			}
			changes = append(changes, change{c.Started, j.Job.TotalGPUMilli()}, change{c.Ended, -j.Job.TotalGPUMilli()})
		}
		slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.gpus, y.gpus)) })
		held := protocol.Milli(0)
		for _, c := range changes {
			held += c.gpus
			lent = max(lent, held)
		}
		return unserved, lent, ended
	}
	limit := float64(most)
	with, err := terms.File{Own: []string{own}, Exclude: []string{"team-b"}, MostGPUs: &limit}.Terms()
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{PolicyAuction, "home-fifo"} {
		if unserved, lent, ended := replay(policy, terms.Terms{}); unserved == 0 || lent <= 1000*most || ended != len(s.Jobs) {
			t.Fatalf("%s without terms: %d jobs of team-b, %d thousandths of a GPU lent, %d of %d jobs ended: the test says nothing", policy, unserved, lent, ended, len(s.Jobs))
		}
		unserved, lent, ended := replay(policy, with)
		if unserved != 0 || lent == 0 || lent > 1000*most {
			t.Errorf("%s: %d jobs of team-b and %d thousandths of a GPU lent; want none, and at most %d GPUs", policy, unserved, lent, most)
		}
		if policy == PolicyAuction && ended != len(s.Jobs) {
			t.Errorf("%s: %d of %d jobs ended", policy, ended, len(s.Jobs))
		}
	}
}
