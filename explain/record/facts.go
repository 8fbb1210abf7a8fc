package record

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A builder writes one record.
type builder struct {
	out     Record
	h       history.Hearing
	figures int
	reasons int
	names   map[string]string // fact ids by subject and metric, for what is computed of them
	cheap   string            // the cheapest bid that did not win
	least   protocol.Microdollars
}

func (b *builder) fact(subject, metric string, value int64, unit, from string) {
	b.figures++
	f := Fact{fmt.Sprintf("F%d", b.figures), subject, metric, value, unit, printed(value, unit), from}
	b.names[subject+" "+metric] = f.ID
	b.out.Facts = append(b.out.Facts, f)
}

func (b *builder) reason(subject string, why protocol.Reason, from string) {
	b.reasons++
	text := narrate.Words(why.Code)
	if !narrate.Known(why.Code) { // a site may say anything, and a model is shown the text
		text = "of a reason that has no words here"
	}
	b.out.Facts = append(b.out.Facts, Fact{fmt.Sprintf("R%d", b.reasons), subject, "reason", string(why.Code), "code", text, from})
}

// less writes the difference of two facts as a fact.
func (b *builder) less(subject, metric string, value int64, unit, x, y string) {
	b.fact(subject, metric, value, unit, b.names[x]+"-"+b.names[y])
}

func (b *builder) asked(r history.JobRecord) {
	from := message(r.Submitted)
	b.fact("job", "gpus", int64(r.Job.GPU()), "thousandths", from)
	if r.Job.Run != 0 {
		b.fact("job", "run", r.Job.Run.Milliseconds(), "ms", from)
	}
	b.fact("job", "arrival", int64(r.Job.Arrival), "instant", from)
	b.fact("job", "deadline", int64(r.Job.Deadline), "instant", from)
}

// answer writes one site's bids. What came late was not read, and says so.
func (b *builder) answer(a history.Answer) {
	d := b.h.Decision
	switch {
	case a.Said == (history.Origin{}):
		b.none(a.Site, protocol.Reason{Code: protocol.SiteSilent}, "none")
		return
	case a.Late:
		b.none(a.Site, protocol.Reason{Code: protocol.SiteSilent}, message(a.Said))
		return
	}
	b.out.Inputs.Offers = append(b.out.Inputs.Offers, message(a.Said))
	if len(a.Options) == 0 {
		b.none(a.Site, a.Why, message(a.Said))
		return
	}
	for _, p := range a.Options {
		id := b.bid(a.Site, p, message(a.Said))
		won := d.Kind == "award" && d.Site == a.Site && p.Option == d.Option.Option
		if won && b.out.Winner == nil {
			b.out.Winner, b.out.Path = &id, path(d.Why)
		} else if b.cheap == "" || p.Terms.Total() < b.least {
			b.cheap, b.least = id, p.Terms.Total()
		}
	}
}

// path says who chose the winner. A judge whose answer did not count left the
// choice to the rule.
func path(why protocol.Reason) string {
	if why.Code == protocol.Judged {
		return "judge"
	}
	return "rule"
}

func (b *builder) next(site string, feasible bool) *Bid {
	id := fmt.Sprintf("B-%s-%d", b.out.ID[2:], len(b.out.Bids)+1)
	b.out.Bids = append(b.out.Bids, Bid{ID: id, Site: site, Feasible: feasible})
	return &b.out.Bids[len(b.out.Bids)-1]
}

func (b *builder) none(site string, why protocol.Reason, from string) {
	bid := b.next(site, false)
	if class := classes[why.Code]; class != "" {
		bid.Reasons = []string{class}
	}
	b.reason(bid.ID, why, from)
}

func (b *builder) bid(site string, p history.Priced, from string) string {
	bid := b.next(site, true)
	bid.Terms = make(map[string]float64)
	for _, c := range narrate.Causes() {
		bid.Terms[c.Key] = c.Of(p.Terms).Dollars()
	}
	total := p.Terms.Total().Dollars()
	bid.Cost = &total
	bid.Claimed = map[string]float64{"energy_kwh": p.Energy.KWh(), "carbon_kg": p.Carbon.Kilograms(), "energy_usd": p.Money.Dollars()}
	b.fact(bid.ID, "start", int64(p.Start), "instant", from)
	b.fact(bid.ID, "finish", int64(p.Finish), "instant", from)
	b.fact(bid.ID, "energy", int64(p.Energy), "millijoules", from)
	b.fact(bid.ID, "carbon", int64(p.Carbon), "milligrams", from)
	for _, c := range narrate.Causes() {
		if v := c.Of(p.Terms); v != 0 {
			b.fact(bid.ID, c.Key+"-cost", int64(v), "microdollars", from+" by "+message(b.h.Called))
		}
	}
	b.fact(bid.ID, "total-cost", int64(p.Terms.Total()), "microdollars", from+" by "+message(b.h.Called))
	b.fact(bid.ID, "room-worth", int64(p.Room), "microdollars", from+" by "+message(b.h.Called))
	return bid.ID
}

// decided writes what was decided, what it beat, and what was proved of it.
func (b *builder) decided() {
	d := b.h.Decision
	said := message(d.Said)
	b.reason("decision", d.Why, said)
	if d.Until != 0 {
		b.fact("decision", "until", int64(d.Until), "instant", said)
	}
	if d.Kind == "hold" && d.Start != 0 {
		b.fact("decision", "planned-start", int64(d.Start), "instant", said)
	}
	if d.Kind == "award" && b.out.Winner == nil { // of an option that no message on the ledger offered
		id := b.bid(d.Site, d.Option, said)
		b.out.Winner, b.out.Path = &id, path(d.Why)
	}
	if d.Kind != "award" {
		return
	}
	if b.cheap != "" {
		b.less(b.cheap, "cost-difference", int64(b.least-d.Option.Terms.Total()), "microdollars", b.cheap+" total-cost", *b.out.Winner+" total-cost")
	}
	b.fact("round", "primal", int64(d.Proof.Primal), "microdollars", said)
	b.fact("round", "bound", int64(d.Proof.Bound), "microdollars", said)
	b.fact("round", "jobs", int64(d.Proof.Jobs), "count", said)
	b.less("round", "gap", int64(d.Proof.Primal-d.Proof.Bound), "microdollars", "round primal", "round bound")
}

// printed returns a value as people read it.
func printed(v int64, unit string) string {
	switch unit {
	case "microdollars":
		return format.Dollars(protocol.Microdollars(v))
	case "millijoules":
		return format.KWh(protocol.Millijoules(v)) + " kWh"
	case "milligrams":
		return format.Kg(protocol.Milligrams(v)) + " kg"
	case "thousandths":
		return format.Thousandths(protocol.Milli(v))
	case "instant":
		return format.Clock(protocol.Time(v)) + " UTC"
	case "ms":
		return format.Span(protocol.Time(v).Sub(0))
	}
	return fmt.Sprint(v)
}
