package query

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Where a rule of the operators kept a job from a site, or weighed one, that is the
// cause, and not what room was worth to others.
func TestAnswersNameTheRuleThatForbadeASite(t *testing.T) {
	ban := protocol.Rule{ID: "R-9", Kind: protocol.Forbid, Sites: []string{"bern"}}
	like := protocol.Rule{ID: "R-10", Kind: protocol.Prefer, Sites: []string{"oslo"}, Weight: 150}
	most := protocol.Rule{ID: "R-11", Kind: protocol.Cap, Sites: []string{"bern"}, Carbon: 100_000}
	night := protocol.Rule{ID: "R-12", Kind: protocol.Forbid, Sites: []string{"bern"}, Weekly: protocol.Night}
	play := func(held bool, rules ...protocol.Rule) *Dataset {
		s, j := &runBuilder{now: noon}, task("train-1", "vision")
		s.addRegistration("oslo", "bern")
		s.addMessage(protocol.Coordinator, "", protocol.Policy{Version: 3, By: "ada", Rules: rules})
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.addCall(1, j)
		s.addOffer("oslo", 1, j.ID, "", option(0, 2, 50))
		s.addOffer("bern", 1, j.ID, "", option(0, 1, 50))
		if held {
			s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: j.ID, Until: after(time.Hour), Why: protocol.Reason{Code: protocol.NoBids}})
		} else {
			s.addAward("oslo", 1, j, option(0, 2, 50), "o1", []int{0, 1}, time.Hour)
		}
		return s.buildDataset()
	}
	for _, q := range []string{"why not bern for train-1", "why train-1", "what would train-1 have cost at bern"} {
		holds(t, play(false, ban), q, "Rule R-9 of the operators forbids that: jobs may not run at bern.", "A round places")
		holds(t, play(false, like), q, "Rule R-10 of the operators counts there: jobs count 15 % cheaper at oslo.", "forbid")
		holds(t, play(false, most), q, "Rule R-11 of the operators may forbid that: jobs may not run at bern in hours in which a kWh has more than 0.1000 kg of CO2e.", "forbids")
		holds(t, play(false, night), q, "A round places", "Rule")
	}
	holds(t, play(true, ban), "why train-1", "no site has an option for it. bern offered a start at 13 Apr 12:00. Rule R-9 of the operators forbids that", "oslo offered")
}
