package market

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// lapsedUnderACap returns a market whose site may draw 300 W and did not answer the award of a run
// of 200 W.
func lapsedUnderACap(t *testing.T) *testMarket {
	t.Helper()
	s := newTestMarket(t, "oslo")
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{
		{ID: "R-1", Kind: protocol.Cap, Sites: []string{"oslo"}, Power: 300_000}, // of runs that draw 200 W
	}})
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	s.wait() // nobody answered
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	return s
}

// An Accept after its lease counts as long as there is no newer award. Its power is not given to
// others meanwhile, or the cap could be exceeded.
func TestPowerOfALateAcceptStaysReserved(t *testing.T) {
	for _, answer := range []protocol.Body{protocol.Accept{Job: "train", Epoch: 1}, protocol.Decline{Job: "train", Epoch: 1}, nil} {
		s := lapsedUnderACap(t)
		other := s.job()
		other.ID = "other"
		s.send(protocol.Submitter, protocol.Submit{Job: other})
		s.wait()
		s.offer("oslo", bidsOf("other", s.option(0, time.Hour)))
		if n := count[protocol.Award](s.sent); n != 1 {
			t.Fatalf("%d awards are to draw twice 200 W", n)
		}
		if answer != nil {
			s.send("agent/oslo", answer)
		}
		for s.now < noon.Add(5*time.Minute) {
			if s.wait(); s.market.round != nil {
				s.offer("oslo", bidsOf("other", s.option(0, time.Hour)))
			}
		}
		_, accepted := answer.(protocol.Accept)
		if n := count[protocol.Award](s.sent); accepted && n != 1 || !accepted && n < 2 {
			t.Errorf("answered %+v: %d awards", answer, n)
		}
	}
}

// The reservation ends by the clock that the lease was set by. After the clock was set back that
// would be hours.
func TestPowerOfALateAcceptIsFreeSoonAfterClockReset(t *testing.T) {
	s := lapsedUnderACap(t)
	s.now = s.now.Add(-30 * time.Minute)
	other := s.job()
	other.ID, other.Arrival = "other", s.now
	s.send(protocol.Submitter, protocol.Submit{Job: other})
	for end := s.now.Add(5 * time.Minute); s.now < end; {
		if s.wait(); s.market.round != nil {
			s.offer("oslo", bidsOf("other", s.option(0, time.Hour)))
		}
	}
	if a := lastSent[protocol.Award](s); a.Job != "other" {
		t.Errorf("five minutes later the last award is of %s", a.Job)
	}
}

// runs returns a market with n runs that oslo has accepted, under rules.
func runs(n int, rules ...protocol.Rule) *Market {
	k := New(Config{}, &soonest{})
	k.policy.Rules = rules
	for i := range n {
		id, at := protocol.JobID(fmt.Sprint("run-", i)), noon.Add(time.Duration(i)*time.Minute)
		k.lots[id] = &lot{submitted: protocol.Job{ID: id, Tenant: "lab", GPUs: 1, Share: 1000}, state: accepted, site: "oslo", option: protocol.BidOption{Start: at, Finish: at.Add(9 * time.Hour), Energy: 1_000_000}}
	}
	return k
}

// The oracle adds up every run: of a job that may win at several sites the largest use, and
// nothing of the option's own job.
func TestUseCapsMatchAnOracle(t *testing.T) {
	sites, jobs := []string{"bern", "kiel", "oslo"}, []protocol.JobID{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		k := runs(3)
		for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
			r := protocol.Rule{
				ID: fmt.Sprint("R-", i), Kind: protocol.Cap, Sites: sites[:rapid.IntRange(1, 3).Draw(t, "sites")], Outside: rapid.Bool().Draw(t, "outside"),
				To: noon.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "to")) * time.Hour),
			}
			if rapid.Bool().Draw(t, "GPUs") {
				r.GPUs, r.Tenant = protocol.Milli(500*rapid.IntRange(1, 9).Draw(t, "cap")), rapid.SampledFrom([]string{"", "lab", "guest"}).Draw(t, "tenant")
			} else {
				r.Power = protocol.Milliwatts(rapid.IntRange(100, 900).Draw(t, "cap"))
			}
			k.policy.Rules = append(k.policy.Rules, r)
		}
		u := k.plannedUse(noon, &round{}, nil)
		beside := make(map[protocol.JobID][]runUse)
		for id, l := range k.lots {
			beside[id] = []runUse{useOf(&l.submitted, l.site, &l.option, l.submitted.TotalGPUMilli())}
		}
		amount := func(r protocol.Rule, x runUse) int64 {
			switch {
			case !r.CoversSite(x.site):
				return 0
			case r.Power != 0:
				return int64(x.power)
			case r.Tenant == "" || r.Tenant == x.job.Tenant:
				return int64(x.gpus)
			}
			return 0
		}
		at := func(r protocol.Rule, but protocol.JobID, t protocol.Time) (sum int64) {
			for id, all := range beside {
				most := int64(0)
				for _, x := range all {
					if id != but && x.from <= t && t < x.to {
						most = max(most, amount(r, x))
					}
				}
				sum += most
			}
			return sum
		}
		for range rapid.IntRange(1, 20).Draw(t, "menus") {
			n := rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
			j, site := protocol.Job{ID: jobs[n], Tenant: []string{"lab", "guest"}[n%2], GPUs: n, Share: 1000}, rapid.SampledFrom(sites).Draw(t, "site")
			var all, want []protocol.BidOption
			for range rapid.IntRange(1, 3).Draw(t, "options") {
				o := protocol.BidOption{Start: noon.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "start")) * 15 * time.Minute)}
				o.Finish = o.Start.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "run")) * 15 * time.Minute)
				o.Energy = protocol.Millijoules(rapid.IntRange(0, 400).Draw(t, "draw")) * protocol.Millijoules(o.Finish.Sub(o.Start)/time.Second)
				all = append(all, o)
				fits := true
				for _, r := range policy.UseCapsFor(k.policy, j, site, o.Start) {
					for at0 := o.Start; at0 < o.Finish; at0 = at0.Add(time.Minute) {
						fits = fits && at(r, j.ID, at0)+amount(r, useOf(&j, site, &o, j.TotalGPUMilli())) <= max(int64(r.Power), int64(r.GPUs))
					}
				}
				if fits {
					want = append(want, o)
				}
			}
			c := u.openClaim(k, &j)
			got, _ := c.withinUseCaps(site, all, nil, nil)
			c.closeClaim()
			if !slices.Equal(got, want) {
				t.Fatalf("of %v at %s %v fit; want %v", all, site, got, want)
			}
			if len(want) > 0 {
				mine := useOf(&j, site, &want[0], j.TotalGPUMilli())
				for _, o := range want {
					x := useOf(&j, site, &o, j.TotalGPUMilli())
					mine = runUse{job: &j, site: site, from: min(mine.from, x.from), to: max(mine.to, x.to), power: max(mine.power, x.power), gpus: max(mine.gpus, x.gpus)}
				}
				beside[j.ID] = append(beside[j.ID], mine)
			}
		}
	})
}

// A full round checks thousands of options against a cap. If each check grew with the number of
// runs, leases would end before their awards are sent.
func TestPowerCapCheckIsSublinearInRuns(t *testing.T) {
	takes := func(n int) float64 {
		k := runs(n, protocol.Rule{ID: "R-1", Kind: protocol.Cap, Power: 1 << 40})
		u := k.plannedUse(noon, &round{}, nil)
		var all []protocol.BidOption
		for range 8 {
			all = append(all, protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour)})
		}
		return testing.AllocsPerRun(10, func() {
			c := u.openClaim(k, &protocol.Job{ID: "train"})
			c.withinUseCaps("oslo", all, nil, nil)
			c.closeClaim()
		})
	}
	if few, many := takes(4), takes(400); many > few+8 {
		t.Errorf("beside 4 runs a menu takes %g allocations, and beside 400 it takes %g", few, many)
	}
}
