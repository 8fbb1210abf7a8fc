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

// Advice says when a judge is asked. The judge chooses among options that the
// clearing found to fit and to cost nearly the same; whatever it says, and if it
// says nothing, no job is awarded otherwise. The zero Advice asks nobody; the
// zero of another field than Ease is its default.
type Advice struct {
	Ease   protocol.Milli // how much more than the best a choice may cost, in thousandths of the best; 0: nobody is asked
	Purse  protocol.Milli // what all choices together may cost more, in thousandths of what all awards have cost; default 1
	Budget time.Duration  // for an answer; default 600ms
	Most   int            // jobs asked about in a round; default 2
	Calls  int            // questions in an hour; default 120
	Notes  []Notice       // without one, only jobs are asked about that wait at their site anyway
}

// A Notice is an operator's note with its time; zero ends are open.
type Notice struct {
	protocol.Note
	From, To protocol.Time
}

func (a Advice) withDefaults() Advice {
	a.Purse = cmp.Or(a.Purse, 1)
	a.Budget = cmp.Or(a.Budget, 600*time.Millisecond)
	a.Most = cmp.Or(a.Most, 2)
	a.Calls = cmp.Or(a.Calls, 120)
	return a
}

// The breaker: after so many faults in a row nobody is asked for a while.
const (
	faults = 3
	pause  = time.Minute
)

// advisor is what the market remembers of its judge. All of it follows from
// what was said, so a ledger leads to the same.
type advisor struct {
	purse  protocol.Microdollars // may still be spent
	streak int                   // of faults
	closed protocol.Time         // nobody is asked before
	hour   protocol.Time
	calls  int // in hour

	round   uint64
	until   protocol.Time
	open    int      // questions
	rulings []ruling // of the round; said together, in the order of its lots, when no question is open
	proof   protocol.Certificate
}

// A ruling is what becomes of a lot, and what the judge was asked about it.
type ruling struct {
	lot     *lot
	is      auction.Decision  // the rule's, until the judge chooses another
	choices []protocol.Choice // nil: no question is open
	noted   bool
}

// leeway returns what the rule may leave to the judge in a round.
func (k *Market) leeway(now protocol.Time) auction.Leeway {
	a := &k.advisor
	if k.cfg.Advice.Ease == 0 || now < a.closed {
		return auction.Leeway{}
	}
	if h := now.Floor(time.Hour); h != a.hour {
		a.hour, a.calls = h, 0
	}
	l := auction.Leeway{Ease: k.cfg.Advice.Ease, Spend: a.purse, Most: min(k.cfg.Advice.Most, k.cfg.Advice.Calls-a.calls)}
	for _, n := range k.notes(now) {
		l.Sites = append(l.Sites, n.Site)
	}
	return l
}

// notes returns what operators want known now.
func (k *Market) notes(now protocol.Time) (notes []protocol.Note) {
	for _, n := range k.cfg.Advice.Notes {
		if n.From <= now && (n.To == 0 || now < n.To) {
			notes = append(notes, n.Note)
		}
	}
	return notes
}

// ask puts a ruling's choices to the judge.
func (k *Market) ask(now protocol.Time, r *ruling) protocol.Message {
	a := &k.advisor
	for _, n := range r.is.Near {
		r.choices = append(r.choices, protocol.Choice{Site: n.Site, Option: n.Option, Cost: n.Cost, Extra: n.Extra, Queue: r.is.Queue})
	}
	// The order tells nothing, and is the same in every replay.
	key := func(c protocol.Choice) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, k.rounds, " ", r.lot.job.ID, " ", c.Site) // never fails
		return h.Sum64()
	}
	slices.SortFunc(r.choices, func(x, y protocol.Choice) int { return cmp.Compare(key(x), key(y)) })
	for i := range r.choices {
		r.choices[i].Handle = fmt.Sprint("k", i+1)
	}
	ask := protocol.Ask{Round: k.rounds, Job: r.lot.job.ID, Until: now.Add(k.cfg.Advice.Budget), Choices: r.choices}
	for _, n := range k.notes(now) {
		if slices.ContainsFunc(r.choices, func(c protocol.Choice) bool { return c.Site == n.Site }) {
			ask.Notes = append(ask.Notes, n)
		}
	}
	r.noted = len(ask.Notes) > 0
	a.round, a.until = k.rounds, ask.Until
	a.open++
	a.calls++
	return k.say(now, protocol.Judge, ask)
}

// answered takes in what the judge says. The last answer ends the round.
func (k *Market) answered(now protocol.Time, from protocol.Party, b protocol.Answer) []protocol.Message {
	a := &k.advisor
	i := slices.IndexFunc(a.rulings, func(r ruling) bool { return r.lot.job.ID == b.Job && r.choices != nil })
	switch {
	case from != protocol.Judge:
		k.counts["answer-of-stranger"]++
		return nil
	case i < 0 || b.Round != a.round || now >= a.until:
		k.counts["answer-too-late"]++
		return nil
	}
	choice, fault := a.rulings[i].verdict(b)
	k.judged(now, &a.rulings[i], choice, fault)
	if a.open > 0 {
		return nil
	}
	return k.announce(now)
}

// unanswered ends the round by its rule where the judge did not answer in time.
func (k *Market) unanswered(now protocol.Time) []protocol.Message {
	for i := range k.advisor.rulings {
		if k.advisor.rulings[i].choices != nil {
			k.judged(now, &k.advisor.rulings[i], -1, protocol.Late)
		}
	}
	return k.announce(now)
}

// announce says what becomes of all lots of the round.
func (k *Market) announce(now protocol.Time) (said []protocol.Message) {
	for _, r := range k.advisor.rulings {
		if r.lot.state == called { // or the accept of a lease that had ended came since
			said = append(said, k.decide(now, r.lot, r.is, k.advisor.proof))
		}
	}
	k.advisor.rulings = nil
	return said
}

// verdict returns the choice that both askings name, or -1 for the rule's own,
// and what is wrong with the answer.
func (r ruling) verdict(b protocol.Answer) (choice int, fault protocol.Code) {
	if b.Fault != "" {
		if !slices.Contains([]protocol.Code{protocol.Late, protocol.Failed, protocol.Invalid, protocol.NotOffered, protocol.OverBudget}, b.Fault) {
			return -1, protocol.Failed
		}
		return -1, b.Fault
	}
	if len(b.Picks) != 2 {
		return -1, protocol.Invalid
	}
	var at [2]int
	for i, p := range b.Picks {
		at[i] = slices.IndexFunc(r.choices, func(c protocol.Choice) bool { return c.Handle == p.Handle })
		switch p.Why {
		case protocol.OperatorNote:
			if !r.noted {
				return -1, protocol.Invalid
			}
		case protocol.SpreadLoad, protocol.MaintenanceSoon, protocol.LessFragments, protocol.NoPreference:
		default:
			return -1, protocol.Invalid
		}
		if at[i] < 0 {
			return -1, protocol.NotOffered
		}
	}
	switch {
	case at[0] != at[1]:
		return -1, protocol.OrderDecides
	case b.Picks[0].Why == protocol.NoPreference || b.Picks[1].Why == protocol.NoPreference:
		return -1, ""
	}
	return at[0], ""
}

// judged closes a question: the ruling is as the judge chose, or the rule's.
func (k *Market) judged(now protocol.Time, r *ruling, choice int, fault protocol.Code) {
	a := &k.advisor
	switch fault {
	case "":
		a.streak = 0
	case protocol.OrderDecides:
		k.counts["judge-"+string(fault)]++
	default:
		k.counts["judge-"+string(fault)]++
		if a.streak++; a.streak >= faults {
			a.streak, a.closed = 0, now.Add(pause)
			k.counts["judge-paused"]++
		}
	}
	if choice >= 0 {
		c := r.choices[choice]
		a.proof.Primal += c.Extra
		if a.purse -= c.Extra; c.Site != r.is.Site {
			r.is.Site, r.is.Option, r.is.Pause = c.Site, c.Option, 0 // it was to pause by the other site's grid
			r.is.Why = protocol.Reason{Code: protocol.Judged, Note: fmt.Sprint("of ", len(r.choices), " options")}
		}
	}
	r.choices = nil
	a.open--
}

// earn lets the purse grow with what the first award of a job costs.
func (k *Market) earn(l *lot) {
	cost := k.cfg.Terms.Of(l.job, l.option, 0).Total()
	k.advisor.purse += max(0, cost) * protocol.Microdollars(k.cfg.Advice.Purse) / 1000
}
