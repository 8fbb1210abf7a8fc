package record

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A recordBuilder builds one record. Facts are numbered in the order in which they are added, so
// that the same decision gives the same ids.
type recordBuilder struct {
	out     DecisionRecord
	h       history.JobRound
	figures int
	reasons int
	names   map[string]string     // fact ids by subject and metric, for computed facts
	cheap   string                // id of the cheapest bid that did not win
	least   protocol.Microdollars // its cost
}

// addFact adds a figure in an integer unit; from is the id of its message or a computation.
func (b *recordBuilder) addFact(subject, metric string, value int64, unit, from string) {
	b.figures++
	f := Fact{fmt.Sprintf("F%d", b.figures), subject, metric, value, unit, formatValue(value, unit), from}
	b.names[subject+" "+metric] = f.ID
	b.out.Facts = append(b.out.Facts, f)
}

// addReason adds a reason by its code. The note of a reason is left out: it is external text.
func (b *recordBuilder) addReason(subject string, why protocol.Reason, from string) {
	b.reasons++
	text := narrate.ReasonText(why.Code)
	if !narrate.HasReasonText(why.Code) { // a site may send any code, and models read the text
		text = "of a reason that has no words here"
	}
	b.out.Facts = append(b.out.Facts, Fact{fmt.Sprintf("R%d", b.reasons), subject, "reason", string(why.Code), "code", text, from})
}

// addDifference adds the difference of two facts as a fact, with their ids as its origin. x and y
// are "subject metric", as given to addFact before.
func (b *recordBuilder) addDifference(subject, metric string, value int64, unit, x, y string) {
	b.addFact(subject, metric, value, unit, b.names[x]+"-"+b.names[y])
}

// addJobFacts adds the facts of the job's request.
func (b *recordBuilder) addJobFacts(r history.JobRecord) {
	from := messageID(r.Submitted)
	b.addFact("job", "gpus", int64(r.Job.TotalGPUMilli()), "thousandths", from)
	if r.Job.Run != 0 {
		b.addFact("job", "run", r.Job.Run.Milliseconds(), "ms", from)
	}
	b.addFact("job", "arrival", int64(r.Job.Arrival), "instant", from)
	b.addFact("job", "deadline", int64(r.Job.Deadline), "instant", from)
}

// addBids adds one site's bids, marks the awarded one as winner, and keeps the cheapest of the
// others for the difference. A late answer counts as none, as the market did not use it.
func (b *recordBuilder) addBids(a history.Answer) {
	d, from := b.h.Decision, messageID(a.Message)
	if a.Late || a.Message == (history.MessageRef{}) {
		b.addInfeasibleBid(a.Site, protocol.Reason{Code: protocol.NoAnswer}, from)
		return
	}
	b.out.Inputs.Offers = append(b.out.Inputs.Offers, from)
	if len(a.Options) == 0 {
		b.addInfeasibleBid(a.Site, a.Why, from)
	}
	// Two equal options of a site have one winner: the first.
	for _, p := range a.Options {
		id := b.addBid(a.Site, p, from)
		won := d.Kind == "award" && d.Site == a.Site && p.BidOption == d.Option.BidOption
		if won && b.out.Winner == nil {
			b.out.Winner, b.out.Path = &id, deciderPath(d.Why)
		} else if b.cheap == "" || p.Terms.Total() < b.least {
			b.cheap, b.least = id, p.Terms.Total()
		}
	}
}

// deciderPath returns who chose the winner. If a judge's answer did not count, that is the rule.
func deciderPath(why protocol.Reason) string {
	if why.Code == protocol.ChosenByJudge {
		return "judge"
	}
	return "rule"
}

// appendBid adds an empty bid, numbered within the decision: "B-14-1" of D-14. The pointer holds
// until the next bid is added.
func (b *recordBuilder) appendBid(site string, feasible bool) *Bid {
	id := fmt.Sprintf("B-%s-%d", b.out.ID[2:], len(b.out.Bids)+1)
	b.out.Bids = append(b.out.Bids, Bid{ID: id, Site: site, Feasible: feasible})
	return &b.out.Bids[len(b.out.Bids)-1]
}

// addInfeasibleBid adds a site's bid without an option, with its reason.
func (b *recordBuilder) addInfeasibleBid(site string, why protocol.Reason, from string) {
	bid := b.appendBid(site, false)
	if class := reasonClasses[why.Code]; class != "" {
		bid.Reasons = []string{class}
	}
	b.addReason(bid.ID, why, from)
}

// addBid adds one option of a site with its terms and facts, and returns its id. A cost has two
// origins: the site's message, and the call whose weights priced it.
func (b *recordBuilder) addBid(site string, p history.PricedOption, from string) string {
	bid := b.appendBid(site, true)
	bid.Terms = make(map[string]float64)
	for _, c := range narrate.CostCauses() {
		bid.Terms[c.Key] = c.Of(p.Terms).InDollars()
	}
	total := p.Terms.Total().InDollars()
	bid.Cost = &total
	bid.Claimed = map[string]float64{"energy_kwh": p.Energy.InKWh(), "carbon_kg": p.Carbon.InKilograms(), "energy_usd": p.Money.InDollars()}
	b.addFact(bid.ID, "start", int64(p.Start), "instant", from)
	b.addFact(bid.ID, "finish", int64(p.Finish), "instant", from)
	b.addFact(bid.ID, "energy", int64(p.Energy), "millijoules", from)
	b.addFact(bid.ID, "carbon", int64(p.Carbon), "milligrams", from)
	for _, c := range narrate.CostCauses() {
		if v := c.Of(p.Terms); v != 0 {
			b.addFact(bid.ID, c.Key+"-cost", int64(v), "microdollars", from+" by "+messageID(b.h.Called))
		}
	}
	b.addFact(bid.ID, "total-cost", int64(p.Terms.Total()), "microdollars", from+" by "+messageID(b.h.Called))
	b.addFact(bid.ID, "room-worth", int64(p.Room), "microdollars", from+" by "+messageID(b.h.Called))
	return bid.ID
}

// addDecisionFacts adds the decision, the difference to the next best bid, and the proof.
func (b *recordBuilder) addDecisionFacts() {
	d := b.h.Decision
	said := messageID(d.Message)
	b.addReason("decision", d.Why, said)
	if d.Until != 0 {
		b.addFact("decision", "until", int64(d.Until), "instant", said)
	}
	if d.Kind == "hold" && d.Start != 0 {
		b.addFact("decision", "planned-start", int64(d.Start), "instant", said)
	}
	if d.Kind == "award" && b.out.Winner == nil { // the ledger lacks the message with the awarded option
		id := b.addBid(d.Site, d.Option, said)
		b.out.Winner, b.out.Path = &id, deciderPath(d.Why)
	}
	if d.Kind != "award" {
		return
	}
	if b.cheap != "" {
		b.addDifference(b.cheap, "cost-difference", int64(b.least-d.Option.Terms.Total()), "microdollars", b.cheap+" total-cost", *b.out.Winner+" total-cost")
	}
	b.addFact("round", "primal", int64(d.Proof.Primal), "microdollars", said)
	b.addFact("round", "bound", int64(d.Proof.Bound), "microdollars", said)
	b.addFact("round", "jobs", int64(d.Proof.Jobs), "count", said)
	b.addDifference("round", "gap", int64(d.Proof.Primal-d.Proof.Bound), "microdollars", "round primal", "round bound")
}

// formatValue returns the printed form of a value in a fact's unit.
func formatValue(v int64, unit string) string {
	if unit == "instant" {
		return format.FormatValue(v, unit) + " UTC"
	}
	return format.FormatValue(v, unit)
}
