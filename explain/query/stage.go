package query

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Stage is what a run can be played again on, beyond its ledger. The zero
// Stage is that of a replay whose scenario is not known.
type Stage struct {
	Market   market.Config                // of the run; weights and the time for offers are the ledger's
	Policies []string                     // that Play knows
	Play     func(Day) (Rehearsal, error) // nil: the scenario is not known
	Why      string                       // Play is nil, in words
}

// A Day is what is otherwise in a whole run. The zero Day is the run as it was.
type Day struct {
	Down   string        // this site is away
	From   protocol.Time // from when the site is, until To; both zero: throughout
	To     protocol.Time
	Policy string         // decides; "" is the run's own
	Carbon int64          // dollars per tonne; below 0: as it was
	Free   protocol.JobID // this job's data may be anywhere
}

// A Rehearsal is what came of a Day.
type Rehearsal struct {
	Totals history.Totals
	Book   *history.History
}

// Set says on what stage the run was played.
func (l *Log) Set(s Stage) { l.stage, l.run, l.fed, l.as, l.listener = s, nil, 0, nil, nil }

// clear clears the round of a decision again, with a change.
func (l *Log) clear(m matter, c counterfactual.RoundChange) (out counterfactual.RoundOutcome, mine counterfactual.ChangedJob, err error) {
	if why := m.fixed(); why != "" {
		return out, mine, errors.New(why)
	}
	if l.run == nil {
		if l.run, l.fed = counterfactual.NewReplay(l.stage.Market), 0; l.book.Coverage().Live {
			l.run = counterfactual.NewLiveReplay()
		}
	}
	for l.fed < len(l.said) && !l.run.MatchedDecision(m.id) {
		l.run.AddMessage(l.said[l.fed])
		l.fed++
	}
	if out, err = l.run.ClearWithChange(m.h.Round, c); err != nil {
		return out, mine, err
	}
	for _, x := range out.Jobs {
		if x.Job.ID == m.rec.Job.ID {
			return out, x, nil
		}
	}
	return out, mine, errors.New("the job was not in the round that was cleared")
}

// fixed says why no price decided, or "".
func (m matter) fixed() string {
	switch {
	case m.id == 0 || !m.met || number(m.h.Decision) != m.id:
		return "no round decided on it"
	case m.h.Decision.Why.Code == protocol.ByRule:
		return "a fixed rule chose the site, and no price enters it"
	}
	return ""
}

// cannot says why a decision cannot be made again.
func (r *Result) cannot(m matter, why error) {
	r.refuse("The decision on job %s cannot be made again: %s.", called(m.rec.Job.ID), recorded(why.Error()))
}

// priced returns an option of a decision as the round's record has it.
func (m matter) priced(d auction.Decision) history.PricedOption {
	for _, s := range m.h.Answers {
		for _, p := range s.Options {
			if s.Site == d.Site && p.BidOption == d.Option {
				return p
			}
		}
	}
	return history.PricedOption{BidOption: d.Option}
}

// rehearsed replays the run unchanged, once, and holds it to the ledger.
func (l *Log) rehearsed() error {
	if l.stage.Play == nil {
		return errors.New(cmp.Or(l.stage.Why, "its scenario is not at hand"))
	}
	if l.as != nil {
		return nil
	}
	as, err := l.stage.Play(Day{Carbon: -1})
	if err != nil {
		return err
	}
	for _, r := range l.records() {
		again, ok := as.Book.LatestJob(r.Job.ID)
		if !ok || ran(again) != ran(r) || again.Run != nil && again.Run.Started != r.Run.Started {
			return fmt.Errorf("replayed unchanged, job %s does not run as the ledger says", name(r.Job.ID))
		}
	}
	l.as = &as
	return nil
}
