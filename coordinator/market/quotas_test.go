package market

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

func quotaOf(name string, least, most protocol.Milli) protocol.Quota {
	return protocol.Quota{Name: name, Min: least * 1000, Max: most * 1000, Weight: 1000}
}

// newQuotaMarket returns a market with one site of some GPUs and a quota tree.
func newQuotaMarket(t *testing.T, gpus int, tree ...protocol.Quota) *testMarket {
	s := newTestMarket(t)
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "A100", GPUs: gpus}}})
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: tree})
	if got := s.market.CurrentPolicy(); got.Version != 1 {
		t.Fatal("the policy was not put into force")
	}
	return s
}

// submitFor submits jobs of a tenant with one GPU each, and returns their ids.
func (s *testMarket) submitFor(tenant string, n int) (ids []protocol.JobID) {
	for i := range n {
		j := s.job()
		j.ID, j.Tenant = protocol.JobID(fmt.Sprintf("%s-%s-%d", tenant, s.now, i)), tenant
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		ids = append(ids, j.ID)
	}
	return ids
}

// awardedOf waits for the round, has oslo bid for some jobs and accept, and counts the awards of each
// tenant.
func (s *testMarket) awardedOf(ids []protocol.JobID, others ...protocol.JobBids) map[string]int {
	s.wait()
	bids, out := others, make(map[string]int)
	for _, id := range ids {
		bids = append(bids, bidsOf(id, s.option(0, time.Hour)))
	}
	for _, m := range s.offer("oslo", bids...) {
		if a, ok := m.Body.(protocol.Award); ok {
			out[strings.SplitN(string(a.Job), "-", 2)[0]]++
			s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: s.now})
		}
	}
	return out
}

// Each tenant gets what it is guaranteed, and the surplus goes by weight. A tenant that no quota names
// gets none.
func TestTenantsGetTheirShares(t *testing.T) {
	s := newQuotaMarket(t, 10, quotaOf("a", 4, 6), quotaOf("b", 2, 0), quotaOf("c", 1, 0))
	ids := s.submitFor("a", 8)
	ids = append(ids, s.submitFor("b", 8)...)
	ids = append(ids, s.submitFor("stranger", 1)...)
	if got, want := fmt.Sprint(s.awardedOf(ids)), "map[a:6 b:4]"; got != want {
		t.Fatalf("awards %s, want %s", got, want)
	}
	why := make(map[protocol.JobID]protocol.Reason)
	for _, m := range s.sent {
		if d, ok := m.Body.(protocol.Defer); ok {
			why[d.Job] = d.Why
		}
	}
	if r := why[ids[7]]; r.Code != protocol.OverQuota || r.Note != "6 of the 6 GPUs that a may hold now are taken, and the job wants 1 (a min 4 max 6 weight 1)" {
		t.Errorf("a's last job waits for %+v", r)
	}
	if r := why[ids[16]]; r.Code != protocol.OverQuota || !strings.Contains(r.Note, "no quota names tenant stranger") {
		t.Errorf("a stranger's job waits for %+v", r)
	}
}

// What nobody else asks for is lent, and no more is lent once its owner asks.
func TestLentRoomIsNotLentOnceItsOwnerAsks(t *testing.T) {
	s := newQuotaMarket(t, 10, quotaOf("a", 4, 0), quotaOf("b", 6, 0))
	if got := s.awardedOf(s.submitFor("a", 7))["a"]; got != 7 {
		t.Fatalf("a gets %d, want all 7 while b asks for nothing", got)
	}
	if got, want := fmt.Sprint(s.awardedOf(append(s.submitFor("a", 2), s.submitFor("b", 8)...))), "map[b:6]"; got != want {
		t.Fatalf("awards %s, want %s", got, want)
	}
}

// A job that no site bids for asks for no quota: the others share what it cannot use (ACKONE Q15).
func TestAJobWithoutBidsHoldsNoQuota(t *testing.T) {
	s := newQuotaMarket(t, 10, quotaOf("a", 0, 0), quotaOf("b", 0, 0))
	big := s.job()
	big.ID, big.Tenant, big.GPUs = "b-big", "b", 8
	s.send(protocol.Submitter, protocol.Submit{Job: big})
	if got, want := fmt.Sprint(s.awardedOf(s.submitFor("a", 10), bidsOf("b-big"))), "map[a:10]"; got != want {
		t.Fatalf("awards %s, want %s", got, want)
	}
}

// A job of higher priority takes its tenant's share first, whenever it arrived.
func TestPriorityTakesTheShareFirst(t *testing.T) {
	s := newQuotaMarket(t, 10, quotaOf("a", 0, 1))
	ids := s.submitFor("a", 3)
	urgent := s.job()
	urgent.ID, urgent.Tenant, urgent.Priority = "a-urgent", "a", 5
	s.send(protocol.Submitter, protocol.Submit{Job: urgent})
	s.awardedOf(append(ids, "a-urgent"))
	for id, l := range s.market.lots {
		if got := l.state == accepted; got != (id == "a-urgent") {
			t.Errorf("%s has the only GPU of the share: %v", id, got)
		}
	}
}

// Over random rounds, with runs that end and runs for later, what the runs of a tenant hold never
// passes the max of it or of its group, by a count of their own.
func TestQuotasHoldOverRounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tree := []protocol.Quota{
			{Name: "g", Min: 4000, Max: protocol.Milli(rapid.Int64Range(4, 8).Draw(r, "max of g")) * 1000, Weight: 1000},
			{Name: "a", Parent: "g", Min: 3000, Weight: 2000}, {Name: "b", Parent: "g", Max: 5000, Weight: 1000},
			{Name: "*", Min: 2000, Kept: 1000, Weight: 1000},
		}
		s := newQuotaMarket(t, 10, tree...)
		type span struct {
			tenant   string
			from, to protocol.Time
		}
		var runs []span
		tenants := []string{"a", "b", "x", "y"}
		for range rapid.IntRange(1, 4).Draw(r, "rounds") {
			for i := range rapid.IntRange(1, 8).Draw(r, "jobs") {
				tenant := rapid.SampledFrom(tenants).Draw(r, "tenant")
				j := s.job()
				j.ID, j.Tenant = protocol.JobID(fmt.Sprintf("%s-%s-%d", tenant, s.now, i)), tenant
				s.send(protocol.Submitter, protocol.Submit{Job: j})
			}
			s.wait()
			if s.market.round == nil {
				continue
			}
			var all []protocol.JobBids
			for _, l := range s.market.round.lots {
				length := time.Duration(rapid.IntRange(1, 3).Draw(r, "hours")) * time.Hour
				all = append(all, bidsOf(l.job.ID, s.option(0, length), s.option(time.Hour, length)))
			}
			for _, m := range s.offer("oslo", all...) {
				if a, ok := m.Body.(protocol.Award); ok {
					tenant := strings.SplitN(string(a.Job), "-", 2)[0]
					runs = append(runs, span{tenant, a.Option.Start, a.Option.Finish})
					s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: a.Option.Start})
				}
			}
		}
		for _, x := range runs {
			held := make(map[string]int)
			for _, y := range runs {
				if y.from <= x.from && x.from < y.to {
					held[y.tenant]++
				}
			}
			if group := held["a"] + held["b"]; group*1000 > int(tree[0].Max) || held["b"] > 5 {
				r.Fatalf("at %v %v are held under %+v", x.from, held, tree)
			}
		}
	})
}

// A job that is planned for later must not start sooner where a max limits its tenant or its group.
func TestAMaxKeepsPlannedStarts(t *testing.T) {
	group := quotaOf("g", 0, 8)
	inGroup := quotaOf("a", 0, 0)
	inGroup.Parent = "g"
	s := newQuotaMarket(t, 10, group, inGroup, quotaOf("b", 0, 4), quotaOf("c", 0, 0))
	ids := append(append(s.submitFor("a", 1), s.submitFor("b", 1)...), s.submitFor("c", 1)...)
	s.wait()
	var bids []protocol.JobBids
	for _, id := range ids {
		bids = append(bids, bidsOf(id, s.option(time.Hour, time.Hour)))
	}
	for _, m := range s.offer("oslo", bids...) {
		if a, ok := m.Body.(protocol.Award); ok && a.NotBeforeStart != (a.Job != ids[2]) {
			t.Errorf("%s may not start sooner: %v", a.Job, a.NotBeforeStart)
		}
	}
}
