package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/history"
)

// A DecisionFact is one figure of a decision, with its subject and the message it comes from.
type DecisionFact struct {
	ID      string             `json:"id"`      // unique within its decision: "F7"
	Subject string             `json:"subject"` // "job", "run", "award", or "site/NAME"
	Name    string             `json:"name"`
	Value   int64              `json:"value"`
	Unit    string             `json:"unit"` // "microdollars", "millijoules", "milligrams", "ms", "thousandths", ...
	Round   uint64             `json:"round,omitempty"`
	Origin  history.MessageRef `json:"origin"`
}

// factList collects figures and numbers them from 1 in the order of adding.
type factList []DecisionFact

// addFact adds a figure with the next id.
func (f *factList) addFact(subject, name string, value int64, unit string, round uint64, from history.MessageRef) {
	*f = append(*f, DecisionFact{fmt.Sprintf("F%d", len(*f)+1), subject, name, value, unit, round, from})
}

// DecisionFacts returns the figures of the text of WriteDecision in a fixed order. Instants are
// milliseconds since 1970.
func DecisionFacts(r history.JobRecord) []DecisionFact {
	var f factList
	j := r.Job
	f.addFact("job", "gpu", int64(j.TotalGPUMilli()), "thousandths", 0, r.Submitted)
	if j.Run != 0 {
		f.addFact("job", "run", j.Run.Milliseconds(), "ms", 0, r.Submitted)
	}
	f.addFact("job", "arrival", int64(j.Arrival), "instant", 0, r.Submitted)
	f.addFact("job", "deadline", int64(j.Deadline), "instant", 0, r.Submitted)
	// The options of all sites, where the round in the record is that of the award in force.
	h, heard := decidingRound(r)
	award := r.CurrentAward()
	if heard && (award == nil || decidedInRound(h, award)) {
		for _, a := range h.Answers {
			if p, won, ok := ShownOption(h, a); ok && (!won || award == nil) {
				f.addOptionFacts("site/"+a.Site, p, h.Round, a.Message)
				f.addCostFacts("site/"+a.Site, p, h.Round, a.Message)
			}
		}
	}
	if a := award; a != nil {
		f.addOptionFacts("award", a.Option, a.Round, a.Message)
		if heard && decidedInRound(h, a) { // otherwise the prices of its round are not in the record
			f.addCostFacts("award", a.Option, a.Round, a.Message)
		}
		f.addFact("award", "primal", int64(a.Proof.Primal), "microdollars", a.Round, a.Message)
		f.addFact("award", "bound", int64(a.Proof.Bound), "microdollars", a.Round, a.Message)
	}
	// What was measured, each part of a paused job with its own bill.
	for i := range r.Parts {
		f.addRunFacts(fmt.Sprintf("part/%d", i+1), &r.Parts[i])
	}
	if r.HasEnded() {
		f.addRunFacts("run", r.Run)
	}
	return f
}

// addOptionFacts adds the physical figures of an option.
func (f *factList) addOptionFacts(subject string, p history.PricedOption, round uint64, from history.MessageRef) {
	f.addFact(subject, "start", int64(p.Start), "instant", round, from)
	f.addFact(subject, "finish", int64(p.Finish), "instant", round, from)
	f.addFact(subject, "energy", int64(p.Energy), "millijoules", round, from)
	f.addFact(subject, "carbon", int64(p.Carbon), "milligrams", round, from)
}

// addCostFacts adds the terms of an option's cost, at the weights of its round, zeros included:
// readers of the JSON find every term.
func (f *factList) addCostFacts(subject string, p history.PricedOption, round uint64, from history.MessageRef) {
	for _, c := range CostCauses() {
		f.addFact(subject, c.Key+"-cost", int64(c.Of(p.Terms)), "microdollars", round, from)
	}
	f.addFact(subject, "total-cost", int64(p.Terms.Total()), "microdollars", round, from)
	f.addFact(subject, "room-worth", int64(p.Room), "microdollars", round, from)
}

// addRunFacts adds the measured figures of a run.
func (f *factList) addRunFacts(of string, run *history.Run) {
	f.addFact(of, "started", int64(run.Started), "instant", 0, run.Done)
	f.addFact(of, "ended", int64(run.Ended), "instant", 0, run.Done)
	f.addFact(of, "energy", int64(run.Cost.Energy), "millijoules", 0, run.Done)
	f.addFact(of, "carbon", int64(run.Cost.Carbon), "milligrams", 0, run.Done)
	f.addFact(of, "money", int64(run.Cost.Money), "microdollars", 0, run.Done)
	if (run.Settlement != history.MessageRef{}) {
		f.addFact(of, "paid", int64(run.Settled.Paid), "microdollars", 0, run.Settlement)
	}
}
