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

// A ReplaySetup is what a replay of the whole run needs beyond its ledger, and what a policy chose in
// shadow of it. The zero ReplaySetup is that of a run whose scenario is not known.
type ReplaySetup struct {
	Market      market.Config                      // of the run; weights and the time for offers are the ledger's
	Policies    []string                           // under which Replay can run
	Replay      func(DayChange) (DayReplay, error) // nil: the scenario is not known
	Unavailable string                             // why Replay is nil, in words
	Shadow      ShadowReader                       // of what stands beside the ledger; nil: nothing does
}

// A DayChange is one change to a whole run. The zero DayChange replays at a carbon price of 0; set
// Carbon to -1 to keep the run's price.
type DayChange struct {
	Down    string        // this site is away
	Drained bool          // it gets no new jobs, rather
	From    protocol.Time // from when the site is, until To; both zero: throughout
	To      protocol.Time
	Policy  string         // decides; "" is the run's own
	Carbon  int64          // dollars per tonne; below 0: as it was
	Free    protocol.JobID // this job's data may be anywhere
}

// A DayReplay is the outcome of a replay with a DayChange.
type DayReplay struct {
	Totals  history.Totals
	History *history.History
}

// SetReplay sets what replays of the run need, and drops the replays made so far.
func (l *Dataset) SetReplay(s ReplaySetup) {
	l.setup, l.rounds, l.fedMessages, l.unchanged, l.parser = s, nil, 0, nil, nil
}

// clearRound clears the round of a decision with a change, after all messages up to that
// decision.
func (l *Dataset) clearRound(m jobCase, c counterfactual.RoundChange) (out counterfactual.RoundOutcome, mine counterfactual.ChangedJob, err error) {
	if why := m.whyNoPrice(); why != "" {
		return out, mine, errors.New(why)
	}
	if l.rounds == nil {
		if l.rounds, l.fedMessages = counterfactual.NewReplay(l.setup.Market), 0; l.history.Coverage().Live {
			l.rounds = counterfactual.NewLiveReplay()
		}
	}
	for l.fedMessages < len(l.messages) && !l.rounds.MatchedDecision(m.decision) {
		l.rounds.AddMessage(l.messages[l.fedMessages])
		l.fedMessages++
	}
	if out, err = l.rounds.ClearWithChange(m.round.Round, c); err != nil {
		return out, mine, err
	}
	for _, x := range out.Jobs {
		if x.Job.ID == m.job.Job.ID {
			return out, x, nil
		}
	}
	return out, mine, errors.New("the job was not in the round that was cleared")
}

// whyNoPrice says why no price decided the case; "" if one did.
func (m jobCase) whyNoPrice() string {
	switch {
	case m.decision == 0 || !m.hasRound || decisionNumber(m.round.Decision) != m.decision:
		return "no round decided on it"
	case m.round.Decision.Why.Code == protocol.ByRule:
		return "the rule of its policy chose the site, and no price enters it"
	}
	return ""
}

// refuseReclear refuses the question because the round cannot be cleared with a change.
func (r *Result) refuseReclear(m jobCase, why error) {
	r.refuseBecause("The decision on job %s cannot be made again: %s.", namePart(m.job.Job.ID), recordedText(why.Error()))
}

// pricedOption returns an option of a decision as the round's record has it.
func (m jobCase) pricedOption(d auction.Decision) history.PricedOption {
	for _, s := range m.round.Answers {
		for _, p := range s.Options {
			if s.Site == d.Site && p.BidOption == d.Option {
				return p
			}
		}
	}
	return history.PricedOption{BidOption: d.Option}
}

// replayUnchanged replays the run without a change, once. It returns an error unless every job
// runs at the site and starts at the instant of the ledger: otherwise a difference would
// not be due to the change.
func (l *Dataset) replayUnchanged() error {
	if l.setup.Replay == nil {
		return errors.New(cmp.Or(l.setup.Unavailable, "its scenario is not at hand"))
	}
	if l.unchanged != nil {
		return nil
	}
	as, err := l.setup.Replay(DayChange{Carbon: -1})
	if err != nil {
		return err
	}
	for _, r := range l.allInstances() {
		again, ok := as.History.LatestJob(r.Job.ID)
		if !ok || siteOfRun(again) != siteOfRun(r) || again.Run != nil && again.Run.Started != r.Run.Started {
			return fmt.Errorf("replayed unchanged, job %s does not run as the ledger says", cleanName(r.Job.ID))
		}
	}
	l.unchanged = &as
	return nil
}
