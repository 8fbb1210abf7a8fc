package tables

import (
	"iter"

	"github.com/gridbid/gridbid/history"
)

// A bidRow is one option of a site for a job in a round, or its answer that it has none.
type bidRow struct {
	job    *history.JobRecord
	round  *history.JobRound
	answer *history.Answer
	option *history.PricedOption // nil: none was offered
	number int                   // of the option, from 1, the cheapest first
}

// ofOption returns a value of the option, or nil.
func (b bidRow) ofOption(value func(*history.PricedOption) any) any {
	if b.option == nil {
		return nil
	}
	return value(b.option)
}

// isAwarded reports whether the round awarded the option.
func (b bidRow) isAwarded() bool {
	d := b.round.Decision
	return b.option != nil && d.Kind == "award" && d.Site == b.answer.Site && d.Option.BidOption == b.option.BidOption
}

// bidsTable has one row for each option, and for each answer without one. Costs are those that the
// round compared: by its weights, its ranking price of lateness and its shadow prices.
func bidsTable() Table {
	fields := []field[bidRow]{
		{"round", Integer, func(b bidRow) any { return integer(b.round.Round) }},
		{"call_time", Instant, func(b bidRow) any { return instant(b.round.Called.At) }},
		{"job_id", Text, func(b bidRow) any { return text(b.job.Job.ID) }},
		{"instance", Integer, func(b bidRow) any { return integer(b.job.Before + 1) }},
		{"site", Text, func(b bidRow) any { return text(b.answer.Site) }},
		{"refusal", Text, func(b bidRow) any { return text(b.answer.Why.Code) }},
		{"is_silent", Flag, func(b bidRow) any { return b.answer.Message == history.MessageRef{} }},
		{"is_late", Flag, func(b bidRow) any { return b.answer.Late }},
		{"option", Integer, func(b bidRow) any { return b.ofOption(func(*history.PricedOption) any { return integer(b.number) }) }},
		{"is_awarded", Flag, func(b bidRow) any { return b.isAwarded() }},
	}
	for _, f := range []field[*history.PricedOption]{
		{"gpu_model", Text, func(o *history.PricedOption) any { return text(o.Model) }},
		{"gpu_cap_w", Number, func(o *history.PricedOption) any { return watts(o.Cap) }},
		{"start_time", Instant, func(o *history.PricedOption) any { return instant(o.Start) }},
		{"finish_time", Instant, func(o *history.PricedOption) any { return instant(o.Finish) }},
		{"energy_kwh", Number, func(o *history.PricedOption) any { return kwh(o.Energy) }},
		{"carbon_kg", Number, func(o *history.PricedOption) any { return kilograms(o.Carbon) }},
		{"energy_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Money) }},
		{"carbon_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Carbon) }},
		{"node_idle_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.NodeIdle) }},
		{"transfer_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Transfer) }},
		{"tariff_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Tariff) }},
		{"fragmentation_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Fragmentation) }},
		{"delay_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Delay) }},
		{"late_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Late) }},
		{"total_usd", Number, func(o *history.PricedOption) any { return dollars(o.Terms.Total()) }},
		{"room_usd", Number, func(o *history.PricedOption) any { return dollars(o.Room) }},
	} {
		fields = append(fields, field[bidRow]{f.name, f.kind, func(b bidRow) any { return b.ofOption(f.value) }})
	}
	t := newTable("bids", fields, bidRows)
	t.NeedAll = true
	return t
}

// bidRows returns the bids by job, round, site and cost.
func bidRows(r Run) iter.Seq[bidRow] {
	return func(yield func(bidRow) bool) {
		for _, id := range r.History.JobIDs() {
			for _, job := range r.History.InstancesOf(id) {
				for i := range job.FullRounds {
					for row := range rowsOfRound(&job, &job.FullRounds[i]) {
						if !yield(row) {
							return
						}
					}
				}
			}
		}
	}
}

// rowsOfRound returns what the sites answered for a job in a round.
func rowsOfRound(job *history.JobRecord, round *history.JobRound) iter.Seq[bidRow] {
	return func(yield func(bidRow) bool) {
		for k := range round.Answers {
			a := &round.Answers[k]
			row := bidRow{job: job, round: round, answer: a}
			if len(a.Options) == 0 && !yield(row) {
				return
			}
			for n := range a.Options {
				row.option, row.number = &a.Options[n], n+1
				if !yield(row) {
					return
				}
			}
		}
	}
}
