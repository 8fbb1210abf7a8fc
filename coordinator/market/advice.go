package market

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Advice configures when the market asks a judge (an LLM; see coordinator/advisor) to choose among
// options that fit and cost nearly the same. An answer, or its absence, cannot change any other
// award. With Ease 0 the judge is never asked; a zero in any other field means its default.
type Advice struct {
	Ease protocol.Milli // how much more than the best a choice may cost, in thousandths of the best; 0: nobody is asked
	// MaxTotalExtra bounds what all choices together may cost more, in thousandths of what
	// all awards have cost; default 1. Its key in stored input logs is Purse.
	MaxTotalExtra protocol.Milli `json:"Purse"`
	Budget        time.Duration  // for an answer; default 600ms
	Most          int            // jobs asked about in a round; default 2
	Calls         int            // questions in an hour; default 120
	Notes         []TimedNote    // without one, only jobs are asked about that wait at their site anyway
}

// A TimedNote is an operator's note and the interval in which it is in force; a zero end is open.
type TimedNote struct {
	protocol.OperatorNotice
	From, To protocol.Time
}

func (a Advice) withDefaults() Advice {
	a.MaxTotalExtra = cmp.Or(a.MaxTotalExtra, 1)
	a.Budget = cmp.Or(a.Budget, 600*time.Millisecond)
	a.Most = cmp.Or(a.Most, 2)
	a.Calls = cmp.Or(a.Calls, 120)
	return a
}

// The circuit breaker: after breakerFaults faulty answers in a row the market asks no question for
// breakerPause, so that a broken model costs every round at most a minute of waiting.
const (
	breakerFaults = 3
	breakerPause  = time.Minute
)

// adviceState is what the market remembers about its judge. Invariant: all of it follows from
// messages that were received or sent, so a replay of the ledger leads to the same state.
type adviceState struct {
	budget      protocol.Microdollars // may still be spent on choices that are not the cheapest
	faultStreak int                   // faulty answers in a row
	closed      protocol.Time         // the breaker is open until then: no questions
	hour        protocol.Time         // to which calls belongs
	calls       int                   // questions asked in hour

	round         uint64        // of the open questions
	until         protocol.Time // deadline of their answers
	openQuestions int           // not answered yet
	rulings       []lotRuling   // of the round; announced together when no question is open
	proof         protocol.Certificate
	cleared       *round // the round
	preempt       []preemption
}

// A lotRuling is the decision on a lot, and the question about it that the judge was asked, if
// any.
type lotRuling struct {
	lot      *lot
	decision auction.Decision       // the clearing rule's, unless the judge chooses another option
	choices  []protocol.JudgeChoice // nil: no question is open
	hasNotes bool                   // the question carried operators' notes, so an answer may cite them
}

// tieTolerance returns how much a round's clearing rule may leave to the judge: nothing while the
// breaker is open, and never more than what is left of the budget and of the hour's questions.
func (k *Market) tieTolerance(now protocol.Time) auction.TieTolerance {
	a := &k.advisor
	if k.cfg.Advice.Ease == 0 || now < a.closed {
		return auction.TieTolerance{}
	}
	if h := now.Floor(time.Hour); h != a.hour {
		a.hour, a.calls = h, 0
	}
	l := auction.TieTolerance{MaxExtraThousandths: k.cfg.Advice.Ease, MaxExtraTotal: a.budget, MaxLots: min(k.cfg.Advice.Most, k.cfg.Advice.Calls-a.calls)}
	for _, n := range k.activeNotes(now) {
		l.Sites = append(l.Sites, n.Site)
	}
	return l
}

// activeNotes returns the operators' notes that are in force now.
func (k *Market) activeNotes(now protocol.Time) (notes []protocol.OperatorNotice) {
	for _, n := range k.cfg.Advice.Notes {
		if n.From <= now && (n.To == 0 || now < n.To) {
			notes = append(notes, n.OperatorNotice)
		}
	}
	return notes
}

// askJudge returns the question that puts a ruling's near ties to the judge.
func (k *Market) askJudge(now protocol.Time, r *lotRuling) protocol.Message {
	a := &k.advisor
	for _, n := range r.decision.NearTies {
		r.choices = append(r.choices, protocol.JudgeChoice{Site: n.Site, Option: n.Option, Cost: n.Cost, Extra: n.Extra, MayQueue: r.decision.MayQueue})
	}
	// A hash orders the choices, so that their order says nothing about cost and is the same in
	// every replay.
	key := func(c protocol.JudgeChoice) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, k.rounds, " ", r.lot.job.ID, " ", c.Site) // never fails
		return h.Sum64()
	}
	slices.SortFunc(r.choices, func(x, y protocol.JudgeChoice) int { return cmp.Compare(key(x), key(y)) })
	for i := range r.choices {
		r.choices[i].Handle = fmt.Sprint("k", i+1)
	}
	ask := protocol.JudgeRequest{Round: k.rounds, Job: r.lot.job.ID, Until: now.Add(k.cfg.Advice.Budget), Choices: r.choices}
	for _, n := range k.activeNotes(now) {
		if slices.ContainsFunc(r.choices, func(c protocol.JudgeChoice) bool { return c.Site == n.Site }) {
			ask.Notes = append(ask.Notes, n)
		}
	}
	r.hasNotes = len(ask.Notes) > 0
	a.round, a.until = k.rounds, ask.Until
	a.openQuestions++
	a.calls++
	return k.sendAndRecord(now, protocol.Judge, ask)
}

// handleAnswer applies the judge's answer to one question. The last open answer ends the round. An
// answer by another party, to another round, or after the deadline is counted and ignored.
func (k *Market) handleAnswer(now protocol.Time, from protocol.Party, b protocol.JudgeAnswer) []protocol.Message {
	a := &k.advisor
	i := slices.IndexFunc(a.rulings, func(r lotRuling) bool { return r.lot.job.ID == b.Job && r.choices != nil })
	switch {
	case from != protocol.Judge:
		k.counts["answer-of-stranger"]++
		return nil
	case i < 0 || b.Round != a.round || now >= a.until:
		k.counts["answer-too-late"]++
		return nil
	}
	choice, fault := a.rulings[i].judgeVerdict(b)
	k.closeQuestion(now, &a.rulings[i], choice, fault)
	if a.openQuestions > 0 {
		return nil
	}
	return k.announceRulings(now)
}

// closeUnanswered ends the round with the rule's own decision wherever the judge missed the
// deadline.
func (k *Market) closeUnanswered(now protocol.Time) []protocol.Message {
	for i := range k.advisor.rulings {
		if k.advisor.rulings[i].choices != nil {
			k.closeQuestion(now, &k.advisor.rulings[i], -1, protocol.AnswerLate)
		}
	}
	return k.announceRulings(now)
}

// announceRulings applies the decisions on all lots of the round and returns their messages: those on
// jobs of higher priority first, since a site places awards in the order in which they come.
func (k *Market) announceRulings(now protocol.Time) (msgs []protocol.Message) {
	k.keepQueuesInOrder(now)
	k.decideTogether(now)
	slices.SortStableFunc(k.advisor.rulings, func(x, y lotRuling) int {
		return cmp.Compare(y.lot.job.Priority, x.lot.job.Priority)
	})
	msgs = k.requestPreemptions(now, k.advisor.preempt)
	for _, r := range k.advisor.rulings {
		if r.lot.state == called { // else the site's Accept of an expired lease arrived meanwhile, and stands
			msgs = append(msgs, k.applyDecision(now, r.lot, r.decision, k.advisor.proof))
		}
	}
	k.advisor.rulings, k.advisor.cleared, k.advisor.preempt = nil, nil, nil
	return msgs
}

// judgeVerdict returns the choice that both orderings of the question led to, or -1 for the rule's
// own decision, and what is wrong with the answer. A model that picks by position disagrees with
// itself when the order changes: that is OrderDependent, and no fault of the model's service.
func (r lotRuling) judgeVerdict(b protocol.JudgeAnswer) (choice int, fault protocol.Code) {
	if b.Fault != "" {
		if !slices.Contains([]protocol.Code{protocol.AnswerLate, protocol.AnswerFailed, protocol.AnswerInvalid, protocol.NotAmongChoices, protocol.OverBudget}, b.Fault) {
			return -1, protocol.AnswerFailed
		}
		return -1, b.Fault
	}
	if len(b.Picks) != 2 {
		return -1, protocol.AnswerInvalid
	}
	var at [2]int
	for i, p := range b.Picks {
		at[i] = slices.IndexFunc(r.choices, func(c protocol.JudgeChoice) bool { return c.Handle == p.Handle })
		switch p.Why {
		case protocol.OperatorNote:
			if !r.hasNotes {
				return -1, protocol.AnswerInvalid
			}
		case protocol.SpreadLoad, protocol.MaintenanceSoon, protocol.LessFragments, protocol.NoPreference:
		default:
			return -1, protocol.AnswerInvalid
		}
		if at[i] < 0 {
			return -1, protocol.NotAmongChoices
		}
	}
	switch {
	case at[0] != at[1]:
		return -1, protocol.OrderDependent
	case b.Picks[0].Why == protocol.NoPreference || b.Picks[1].Why == protocol.NoPreference:
		return -1, ""
	}
	return at[0], ""
}

// closeQuestion closes a question. With choice >= 0 the ruling becomes the judge's choice, its
// extra cost is taken from the budget and added to the certificate's primal cost; otherwise the
// rule's decision stands. Faults in a row open the breaker.
func (k *Market) closeQuestion(now protocol.Time, r *lotRuling, choice int, fault protocol.Code) {
	a := &k.advisor
	switch fault {
	case "":
		a.faultStreak = 0
	case protocol.OrderDependent:
		k.counts["judge-"+string(fault)]++
	default:
		k.counts["judge-"+string(fault)]++
		if a.faultStreak++; a.faultStreak >= breakerFaults {
			a.faultStreak, a.closed = 0, now.Add(breakerPause)
			k.counts["judge-paused"]++
		}
	}
	if choice >= 0 {
		c := r.choices[choice]
		a.proof.Primal += c.Extra
		if a.budget -= c.Extra; c.Site != r.decision.Site {
			r.decision.Site, r.decision.Option, r.decision.PauseAt = c.Site, c.Option, 0 // the planned pause followed the other site's grid
			r.decision.Why = protocol.Reason{Code: protocol.ChosenByJudge, Note: fmt.Sprint("of ", len(r.choices), " options")}
		}
	}
	r.choices = nil
	a.openQuestions--
}

// growAdviceBudget adds the configured share (Advice.MaxTotalExtra) of the cost of a job's first award.
func (k *Market) growAdviceBudget(l *lot) {
	cost := k.cfg.Terms.CostOf(l.job, l.option, 0).Total()
	k.advisor.budget += max(0, cost) * protocol.Microdollars(k.cfg.Advice.MaxTotalExtra) / 1000
}
