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

	"github.com/gridbid/gridbid/protocol"
)

// A ClearingRule decides rounds. The auction is one; the baselines that it is compared
// with are others.
type ClearingRule interface {
	// Clear decides every lot of r, in the order of r.Lots.
	Clear(r Round) Outcome

	// ShadowPrices says what room is thought to be worth, for the next Call.
	ShadowPrices() []protocol.ShadowPrice
}

// A Round is what a rule may know: the jobs called and all that was offered.
type Round struct {
	Number       uint64
	Now          protocol.Time
	Next         protocol.Time // when every waiting job will be called again
	Full         bool          // every waiting job is in this round, but those Left
	Lots         []Lot         // by arrival, then job id
	Sites        []Site        // that answered, by name
	Weights      protocol.Weights
	TieTolerance TieTolerance

	// Planning is that of the Call; the zero Planning means the default.
	Planning protocol.Planning

	LeftOut []protocol.JobID // of a full round: who waits and found no place in the call, sorted
}

// A Lot is one job of a round, with what each site answered.
type Lot struct {
	Job  protocol.Job
	Bids []SiteBids // by site name
}

// A SiteBids is one site's options for a lot.
type SiteBids struct {
	Site    string
	Options []protocol.BidOption
	Bias    []protocol.Milli // nil, or by option: it counts as so many thousandths cheaper than it is
}

// A Site is what a site said of itself in this round.
type Site struct {
	Name     string
	Capacity []protocol.CapacityProfile
	Forecast protocol.GridForecast
	Trust    protocol.Milli // its bids are taken this many thousandths as dear; at least 1000
}

// A Verdict is what becomes of a lot.
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
	Site     string             // of the award, or where the plan would run it
	Option   protocol.BidOption // of the award, or of the plan
	MayQueue bool               // the site shall keep the job until it has room
	PauseAt  protocol.Time      // when the site shall pause it and give the rest back; 0: never
	Until    protocol.Time      // of a hold: when it could start, as far as the rule knows
	Why      protocol.Reason
	NearTies []NearTie // of an award: options that may take its place, its own among them; or none
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
	prices priceMemory
	plan   map[protocol.JobID]plannedPlace
}

// plannedPlace is the place that the plan keeps for a job which waits.
type plannedPlace struct {
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
	return &Auction{cfg: cfg, prices: priceMemory{}, plan: make(map[protocol.JobID]plannedPlace)}
}

// ShadowPrices implements Rule.
func (a *Auction) ShadowPrices() []protocol.ShadowPrice { return a.prices.shadowPrices() }

// Clear implements Rule.
func (a *Auction) Clear(r Round) Outcome {
	r.Sites = slices.SortedFunc(slices.Values(r.Sites), func(x, y Site) int { return cmp.Compare(x.Name, y.Name) })
	if r.Full { // jobs that no longer wait are in no plan
		maps.DeleteFunc(a.plan, func(id protocol.JobID, _ plannedPlace) bool {
			_, left := slices.BinarySearch(r.LeftOut, id)
			return !left
		})
	}
	for _, l := range r.Lots {
		delete(a.plan, l.Job.ID)
	}
	if r.Planning = r.Planning.OrDefault(); r.Planning.Slot != a.prices.slot {
		a.prices = priceMemory{slot: r.Planning.Slot} // those of other slots say nothing of these
	}
	p := newProblem(r, a.plan, &a.prices)
	if r.Full {
		p.searchPrices(a.cfg.Steps)
	}
	choice := p.assignOptions()
	p.recordChoices(choice)
	out := Outcome{Decisions: make([]Decision, len(r.Lots)), Proof: p.certifyBound(choice)}
	for i := range r.Lots {
		out.Decisions[i] = a.decideLot(r, p, i, choice[i])
	}
	p.markNearTies(r.TieTolerance, choice, out.Decisions)
	a.prices.rememberPrices(p)
	return out
}

// recordChoices notes what the lots chose.
func (p *problem) recordChoices(choice []int) {
	for i, c := range choice {
		if c >= 0 {
			p.sold = append(p.sold, p.lots[i].candidateAt(c))
		}
	}
}
