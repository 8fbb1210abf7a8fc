package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A planner defers every job, and lets its plan for the job "plan" stay until an hour.
type planner struct {
	soonest
	hour protocol.Time
}

func (p *planner) Clear(r auction.Round) (out auction.Outcome) {
	p.rounds = append(p.rounds, r)
	for _, l := range r.Lots {
		d := auction.Decision{Until: r.Next, Site: "oslo", Why: protocol.Reason{Code: protocol.CheaperLater}}
		if l.Job.ID == "plan" && r.Now < p.hour {
			d.Until, d.Fixed = p.hour, true
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// A fixed plan is left out of full rounds, which say so, until its hour; other jobs are called in
// each.
func TestAFixedPlanIsCalledAtItsHour(t *testing.T) {
	s := newTestMarket(t, "oslo")
	rule := &planner{hour: noon.Add(35 * time.Minute)}
	s.market.rule = rule
	for _, id := range []protocol.JobID{"other", "plan"} {
		j := s.job()
		j.ID = id
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	for s.now < rule.hour.Add(time.Minute) {
		s.wait()
	}
	var plan []protocol.Time // when it was called
	for i, r := range rule.rounds {
		called := slices.ContainsFunc(r.Lots, func(l auction.Lot) bool { return l.Job.ID == "plan" })
		if called {
			plan = append(plan, r.Now.Floor(time.Minute))
		}
		if left := slices.Equal(r.LeftOut, []protocol.JobID{"plan"}); r.Full && left == called {
			t.Errorf("round %d: plan is called: %v; left out are %v", i, called, r.LeftOut)
		}
	}
	if want := []protocol.Time{noon, rule.hour}; !slices.Equal(plan, want) {
		t.Errorf("the job is called at %v; want %v", plan, want)
	}
	if len(rule.rounds) < 5 {
		t.Errorf("there were %d rounds; want one each ten minutes", len(rule.rounds))
	}
}
