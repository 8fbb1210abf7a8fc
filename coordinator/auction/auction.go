// Package auction clears a round: it decides which site runs which job, when and how, or that a
// job should wait.
//
// A round is one assignment problem and not a sequence of sales. Each job has options at many
// sites and hours; each site has so many GPUs of a model in each slot of time. [Auction] prices
// the scarce slots by Lagrangian relaxation (dual.go), lets every job choose at these prices, and
// repairs what does not fit (assign.go, exchange.go). The same prices give a lower bound on the
// cost of any assignment of the round, the certificate, which is announced with the awards.
// docs/method.md states objective and algorithm; coordinator/market runs the rounds, and
// docs/clearing-rule.md shows how to write another rule.
//
// Only options that start now are awarded. A job whose best hour comes later is deferred: its
// capacity is kept in the rule's plan, not at the site, and the job is called again at that hour,
// when forecasts are better (decision 0002).
//
// Invariant: outcomes depend on the bids, never on the order in which they arrived.
package auction

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A ClearingRule decides rounds. Auction is the product's; the baselines that replays compare it
// with (scenarios/baseline) are others.
type ClearingRule interface {
	// Clear decides every lot of r, in the order of r.Lots.
	Clear(r Round) Outcome

	// ShadowPrices returns what the rule takes capacity to be worth; the next call for bids
	// carries it.
	ShadowPrices() []protocol.ShadowPrice
}

// A Round is all that a rule may know: the called jobs and the valid bids for them.
type Round struct {
	Number       uint64 // counts rounds from 1
	Now          protocol.Time
	Next         protocol.Time // when the next full round calls every waiting job
	Full         bool          // every waiting job is in this round, except LeftOut
	Lots         []Lot         // by arrival, then job id
	Sites        []Site        // those that answered, by name
	Weights      protocol.Weights
	TieTolerance TieTolerance

	// Planning is that of the Call; the zero Planning means the default.
	Planning protocol.Planning

	LeftOut []protocol.JobID // of a full round: waiting jobs that the call had no room for, and those whose plan is fixed, sorted

	jitter CostJitter // that of the Auction's Config
}

// A Lot is one job of a round with the sites' bids for it.
type Lot struct {
	Job  protocol.Job
	Bids []SiteBids // by site name
}

// SiteBids are one site's options for a lot.
type SiteBids struct {
	Site    string
	Options []protocol.BidOption
	GPUs    []protocol.Milli // nil, or one per option: what it takes, of a job that can run on several numbers of pods
	Bias    []protocol.Milli // nil, or one per option: the policy ranks it as so many thousandths cheaper than it is
}

// A Site is what a site reported about itself in this round, and how far the market trusts it.
type Site struct {
	Name     string
	Capacity []protocol.CapacityProfile
	Forecast protocol.GridForecast
	Trust    protocol.Milli // the site's costs are multiplied by this many thousandths; at least 1000
}

// A Verdict is the kind of a Decision.
type Verdict int

// Verdicts.
const (
	Defer Verdict = iota
	Award
	Reject
)

// A Decision is the verdict on one lot, and why.
type Decision struct {
	Verdict  Verdict
	Site     string             // that gets the award, or where the plan places a deferred lot; "" without a place
	Option   protocol.BidOption // the awarded option, or the planned one
	MayQueue bool               // the site keeps the job in its queue until it has capacity
	PauseAt  protocol.Time      // when the site pauses the job and returns the rest to the market; 0: never
	Until    protocol.Time      // of Defer: when the lot could start, as far as the rule knows
	Fixed    bool               // of Defer: the plan is final, and no full round before then calls the lot
	HeldBy   Pool               // of Defer: the GPUs on which the lot would start now, had they room; zero: room does not hold it
	Why      protocol.Reason
	NearTies []NearTie // of Award: options that may replace Option, which is among them; or none
}

// A Pool is the GPUs of one model at a site.
type Pool struct{ Site, Model string }

// An Outcome is a cleared round: one decision per lot, and the certificate of its cost.
type Outcome struct {
	Decisions []Decision
	Placed    []bool // by lot: it has an option, whose cost is in Proof; nil: the rule proves nothing
	TakesKept []bool // by lot: it uses capacity that its site or the plan keeps, for want of another place; nil: not known
	Proof     protocol.Certificate
}

// Config configures an Auction. A zero field means its default.
type Config struct {
	Steps  int        // bound of the price search in a full round; default 300
	Jitter CostJitter // of the costs that are compared; only replays set it
}

// An Auction is the product's clearing rule. Between rounds it remembers the plan for deferred
// jobs and the prices of slots. Both only guide later decisions, so losing them at a restart is
// harmless.
type Auction struct {
	cfg    Config
	prices priceMemory
	plan   map[protocol.JobID]plannedPlace
	order  []protocol.JobID // of plan, sorted; a job that is planned no more may be in it until the next round
	arena  arena            // of the problem of a round
}

// A plannedPlace is the capacity that the plan keeps for a deferred job.
type plannedPlace struct {
	pool   poolKey
	start  protocol.Time
	finish protocol.Time
	gpu    protocol.Milli
}

// New returns an auction without plan and prices.
func New(cfg Config) *Auction {
	if cfg.Steps == 0 {
		cfg.Steps = 300
	}
	return &Auction{cfg: cfg, prices: priceMemory{}, plan: make(map[protocol.JobID]plannedPlace)}
}

// ShadowPrices implements ClearingRule.
func (a *Auction) ShadowPrices() []protocol.ShadowPrice { return a.prices.shadowPrices() }

// Clear implements ClearingRule. Full rounds search for new prices; rounds in between use the last
// ones.
func (a *Auction) Clear(r Round) Outcome {
	p, choice := a.assignRound(&r)
	p.recordChoices(choice)
	out := Outcome{Decisions: make([]Decision, len(r.Lots)), Placed: make([]bool, len(r.Lots)), TakesKept: p.takesKept(choice), Proof: p.certifyBound(choice)}
	a.decideParts(r, p, choice, out.Decisions)
	for i := range r.Lots {
		if r.Lots[i].Job.PartOf != "" {
			out.Placed[i] = choice[i] >= 0
			continue
		}
		d := a.decideLot(r, p, i, choice[i])
		if d.Verdict == Defer {
			d.HeldBy = p.poolWithoutRoom(i)
		}
		out.Decisions[i], out.Placed[i] = d, choice[i] >= 0
		out.TakesKept[i] = out.TakesKept[i] || p.wasOnOffer(i, choice[i], d)
	}
	p.markNearTies(r.TieTolerance, choice, out.Decisions)
	a.prices.rememberPrices(p)
	return out
}

// assignRound drops what the plan keeps for the lots of r, completes r, and chooses an option for
// each lot, or -1.
func (a *Auction) assignRound(r *Round) (*problem, []int) {
	r.Sites = slices.SortedFunc(slices.Values(r.Sites), func(x, y Site) int { return cmp.Compare(x.Name, y.Name) })
	if r.Full { // it calls every waiting job: one that is neither called nor left out waits no more
		maps.DeleteFunc(a.plan, func(id protocol.JobID, _ plannedPlace) bool {
			_, left := slices.BinarySearch(r.LeftOut, id)
			return !left
		})
	}
	for _, l := range r.Lots {
		delete(a.plan, l.Job.ID)
	}
	if r.Planning = r.Planning.OrDefault(); r.Planning.Slot != a.prices.slot {
		a.prices = priceMemory{slot: r.Planning.Slot} // prices of slots of another length do not apply
	}
	r.jitter = a.cfg.Jitter
	a.sortPlan()
	p := newProblemIn(&a.arena, *r, a.plan, a.order, &a.prices)
	if r.Full {
		p.searchPrices(a.cfg.Steps)
	}
	p.groups = groupParts(r.Lots)
	return p, p.assignWithParts()
}

// sortPlan drops from order the jobs that are planned no more. Most of the plan stays from round to
// round, and is not sorted anew.
func (a *Auction) sortPlan() {
	a.order = slices.DeleteFunc(a.order, func(id protocol.JobID) bool {
		_, planned := a.plan[id]
		return !planned
	})
	if len(a.order) != len(a.plan) { // the plan was set from outside
		a.order = slices.Sorted(maps.Keys(a.plan))
	}
}

// recordChoices records the chosen options, which isOnOffer compares with.
func (p *problem) recordChoices(choice []int) {
	for i, c := range choice {
		if c >= 0 {
			p.sold = append(p.sold, p.lots[i].candidateAt(c))
		}
	}
}
