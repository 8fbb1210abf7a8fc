// Package auction decides a clearing round: which site runs which job, when
// and how, or that a job had better wait.
//
// A round is one assignment problem, not a row of single sales. Each job has
// options at many sites and hours; each site has so many GPUs of a model in
// each slot of time. [Auction] prices the scarce slots (package doc of dual.go),
// lets every job answer to the prices, and repairs what does not fit. The same
// prices give a bound that no assignment of the round can beat, and it is
// announced with the awards.
//
// Only options that start now are awarded. A job whose best hour comes later is
// held: its room is kept in a plan, not at the site, and it is called again
// then, when more is known.
//
// Outcomes depend on what was offered, never on the order it came in.
package auction

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Rule decides rounds. The auction is one; the baselines that it is compared
// with are others.
type Rule interface {
	// Clear decides every lot of r, in the order of r.Lots.
	Clear(r Round) Outcome

	// Shadow says what room is thought to be worth, for the next Call.
	Shadow() []protocol.Price
}

// A Round is what a rule may know: the jobs called and all that was offered.
type Round struct {
	Number uint64
	Now    protocol.Time
	Next   protocol.Time // when every waiting job will be called again
	Full   bool          // every waiting job is in this round, but those Left
	Lots   []Lot         // by arrival, then job id
	Sites  []Site        // that answered, by name
	Terms  protocol.Weights
	Leeway Leeway

	// Planning is that of the Call; the zero Planning means the default.
	Planning protocol.Planning

	Left []protocol.JobID // of a full round: who waits and found no place in the call, sorted
}

// A Lot is one job of a round, with what each site answered.
type Lot struct {
	Job   protocol.Job
	Menus []Menu // by site name
}

// A Menu is one site's options for a lot.
type Menu struct {
	Site    string
	Options []protocol.Option
	Bias    []protocol.Milli // nil, or by option: it counts as so many thousandths cheaper than it is
}

// A Site is what a site said of itself in this round.
type Site struct {
	Name  string
	Room  []protocol.Room
	Grid  protocol.Outlook
	Trust protocol.Milli // its bids are taken this many thousandths as dear; at least 1000
}

// A Verdict is what becomes of a lot.
type Verdict int

// Verdicts.
const (
	Hold Verdict = iota
	Award
	Refuse
)

// A Decision is the verdict on one lot, and why.
type Decision struct {
	Verdict Verdict
	Site    string          // of the award, or where the plan would run it
	Option  protocol.Option // of the award, or of the plan
	Queue   bool            // the site shall keep the job until it has room
	Pause   protocol.Time   // when the site shall pause it and give the rest back; 0: never
	Until   protocol.Time   // of a hold: when it could start, as far as the rule knows
	Why     protocol.Reason
	Near    []Near // of an award: options that may take its place, its own among them; or none
}

// An Outcome is what a rule made of a round.
type Outcome struct {
	Decisions []Decision
	Proof     protocol.Certificate
}

// Config of an Auction. The zero of a field is its default.
type Config struct {
	Steps int // of the price search in a full round; default 300
}

// An Auction is the market's own rule. It remembers the plan for held jobs and
// the prices of slots.
type Auction struct {
	cfg    Config
	prices prices
	plan   map[protocol.JobID]held
}

// held is the place that the plan keeps for a job which waits.
type held struct {
	pool   poolKey
	start  protocol.Time
	finish protocol.Time
	gpu    protocol.Milli
}

// New returns an auction that has seen nothing.
func New(cfg Config) *Auction {
	if cfg.Steps == 0 {
		cfg.Steps = 300
	}
	return &Auction{cfg: cfg, prices: prices{}, plan: make(map[protocol.JobID]held)}
}

// Shadow implements Rule.
func (a *Auction) Shadow() []protocol.Price { return a.prices.announce() }

// Clear implements Rule.
func (a *Auction) Clear(r Round) Outcome {
	r.Sites = slices.SortedFunc(slices.Values(r.Sites), func(x, y Site) int { return cmp.Compare(x.Name, y.Name) })
	if r.Full { // jobs that no longer wait are in no plan
		maps.DeleteFunc(a.plan, func(id protocol.JobID, _ held) bool {
			_, left := slices.BinarySearch(r.Left, id)
			return !left
		})
	}
	for _, l := range r.Lots {
		delete(a.plan, l.Job.ID)
	}
	if r.Planning = r.Planning.OrDefault(); r.Planning.Slot != a.prices.slot {
		a.prices = prices{slot: r.Planning.Slot} // those of other slots say nothing of these
	}
	p := newProblem(r, a.plan, &a.prices)
	if r.Full {
		p.searchPrices(a.cfg.Steps)
	}
	choice := p.assign()
	p.sell(choice)
	out := Outcome{Decisions: make([]Decision, len(r.Lots)), Proof: p.certify(choice)}
	for i, l := range r.Lots {
		out.Decisions[i] = a.decide(r, l, p, i, choice[i])
	}
	p.near(r.Leeway, choice, out.Decisions)
	a.prices.keep(p)
	return out
}

// decide turns the chosen option of a lot into words. What can start now is
// awarded; what the plan runs later is held. Two kinds of lot go into a site's
// queue, because only a site can set a node aside: one that nobody can start now
// and that has no time to lose, and one of several GPUs, for which no node would
// ever come free by itself.
func (a *Auction) decide(r Round, l Lot, p *problem, i, c int) Decision {
	cands := p.lots[i]
	if cands.len() == 0 {
		return wait(r, l)
	}
	if p.patient[i] && (c < 0 && !r.Full || c >= 0 && p.dear(i, c)) {
		d := a.hold(l, p.after(i, r.Next))
		d.Until, d.Why.Code = r.Next, protocol.CheaperLater
		return d
	}
	if k := p.offered(r, i, c); k != nil {
		p.sold = append(p.sold, k)
		return Decision{Verdict: Award, Site: k.site, Option: *k.Option, Queue: true, Why: protocol.Reason{Code: protocol.Cheapest}}
	}
	k := cands.at(max(c, 0))
	if r.tooFar(l, k) {
		d := Decision{Site: k.site, Option: *k.Option}
		if c >= 0 {
			d = a.hold(l, k)
		}
		d.Until, d.Why.Code = r.Next, protocol.Waiting
		return d
	}
	if c < 0 && slices.ContainsFunc(l.Menus, func(m Menu) bool {
		return slices.ContainsFunc(m.Options, func(o protocol.Option) bool { return o.Start <= r.Now })
	}) {
		// Others took the room that it was offered. What sites say next is news.
		return Decision{Until: r.Now, Why: protocol.Reason{Code: protocol.Waiting}}
	}
	if c >= 0 && k.Start <= r.Now {
		return Decision{
			Verdict: Award, Site: k.site, Option: *k.Option, Why: protocol.Reason{Code: protocol.Cheapest},
			Pause: p.pause(l.Job, k, r.Terms, r.outlook(k.site)),
		}
	}
	d := wait(r, l)
	if d.Why.Code == protocol.Waiting && p.urgent(l.Job, k.Option) {
		return Decision{Verdict: Award, Site: k.site, Option: *k.Option, Queue: true, Why: protocol.Reason{Code: protocol.Waiting}}
	}
	if c < 0 {
		return d
	}
	if l.Job.GPUs > 1 || l.Job.Deadline.Sub(k.Finish) < r.Planning.FirmLead && !p.patient[i] || k.Start < r.Now.Add(moment) {
		return Decision{Verdict: Award, Site: k.site, Option: *k.Option, Queue: true, Why: d.Why}
	}
	h := a.hold(l, k)
	h.Until, h.Why = min(k.Start, r.Next), d.Why
	return h
}

// tooFar reports whether a lot had better ask again in the next full round than be
// promised an option: it would be late, and start after that. What a site has
// promised is not sold again, also if GPUs that come free sooner stand idle beside it.
// A job of several GPUs takes what it can get: only a site can set a node aside.
func (r Round) tooFar(l Lot, k *candidate) bool {
	return l.Job.GPUs <= 1 && k.Finish > l.Job.Deadline && k.Start >= r.Next
}

// sell notes what the lots chose.
func (p *problem) sell(choice []int) {
	for i, c := range choice {
		if c >= 0 {
			p.sold = append(p.sold, p.lots[i].at(c))
		}
	}
}

// offered returns the cheapest option of a lot that has no time, if it chose none or
// one that costs far more, and this round sells nothing else of those GPUs then; or
// nil. A site offers such a lot also what it keeps for jobs that have more time, and
// its sums of free room leave that out: that it fits is the site's word, by a look at
// its nodes. So it goes into the site's queue.
func (p *problem) offered(r Round, lot, c int) *candidate {
	for j := 0; ; j++ {
		k := p.lots[lot].at(j)
		if k == nil || c >= 0 && !farAbove(float64(p.lots[lot].at(c).cost), float64(k.cost)) {
			return nil
		}
		if k.pool >= 0 && p.urgent(p.jobs[lot], k.Option) && !r.tooFar(r.Lots[lot], k) && !slices.ContainsFunc(p.sold, k.meets) {
			return k
		}
	}
}

// meets reports whether k and x are for the same GPUs at the same time.
func (k *candidate) meets(x *candidate) bool {
	return k.pool == x.pool && k.Start < x.Finish && x.Start < k.Finish
}

// outlook returns how a site expects its grid to be.
func (r Round) outlook(site string) protocol.Outlook {
	if i, ok := slices.BinarySearchFunc(r.Sites, site, func(s Site, name string) int { return cmp.Compare(s.Name, name) }); ok {
		return r.Sites[i].Grid
	}
	return protocol.Outlook{}
}

// hold keeps a place in the plan for a lot that waits.
func (a *Auction) hold(l Lot, k *candidate) Decision {
	a.plan[l.Job.ID] = held{pool: poolKey{k.site, k.Model}, start: k.Start, finish: k.Finish, gpu: k.gpu}
	return Decision{Site: k.site, Option: *k.Option}
}

// moment is how soon a start is too soon for the job to be called again then.
const moment = time.Minute

func (p *problem) urgent(j protocol.Job, k *protocol.Option) bool {
	return !j.Deferrable || j.Deadline.Sub(k.Finish) < p.planning.FirmLead
}

// wait holds a lot that has no place in the plan until the first of its options
// can start, or until the next full round.
func wait(r Round, l Lot) Decision {
	d := Decision{Verdict: Hold, Until: r.Next, Why: protocol.Reason{Code: protocol.NoOffer}}
	for _, m := range l.Menus {
		for _, o := range m.Options {
			switch {
			case o.Start <= r.Now:
				d.Why.Code = protocol.CheaperLater
			case d.Why.Code == protocol.NoOffer:
				d.Why.Code = protocol.Waiting
			}
			if o.Start > r.Now {
				d.Until = min(d.Until, o.Start)
			}
		}
	}
	return d
}
