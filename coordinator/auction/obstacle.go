package auction

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An Obstacle is what kept a round from giving a job an option that costs less than the one that
// it was given.
type Obstacle int

// Obstacles. A job that cannot be deferred meets neither HeldPlaces nor SiteReserve.
const (
	NoObstacle  Obstacle = iota // none: the round would cost less with the option
	NotAllowed                  // the option was not in the round: policy, power caps or broken awards took it out
	NotCheaper                  // with the trust in its site, the policy's preference and a late start it costs no less
	RoomPrice                   // with the price of its capacity it costs more than waiting, or is not the job's best
	OtherLots                   // other lots of the round have its capacity
	HeldPlaces                  // the plan keeps its capacity for deferred jobs that are not in the round
	SiteReserve                 // its site keeps the capacity from deferrable jobs
	NoRoomShown                 // its site's profile shows no capacity for it, though the site offers it
)

// A RoundCheck finds obstacles in one round.
type RoundCheck struct {
	round    Round
	problem  *problem
	unheld   *problem // the same without the plan
	choice   []int
	index    map[protocol.JobID]int // of the lots
	decision []Decision
}

// CheckRound clears a round on a copy of a, which must be in the state before the round, and
// returns a RoundCheck of it.
func (a *Auction) CheckRound(r Round) *RoundCheck {
	out := a.Clone().Clear(r)
	a = a.Clone()
	p, choice := a.assignRound(&r)
	x := &RoundCheck{round: r, problem: p, unheld: newProblem(r, nil, &a.prices), choice: choice, index: make(map[protocol.JobID]int), decision: out.Decisions}
	for i, l := range r.Lots {
		x.index[l.Job.ID] = i
	}
	return x
}

// ObstacleTo returns what kept a job that the round awarded from an option of a site. For a job
// that the round did not award it returns NotCheaper, because there is nothing to compare with.
func (x *RoundCheck) ObstacleTo(job protocol.JobID, site string, o protocol.BidOption) Obstacle {
	i, ok := x.index[job]
	if !ok || x.decision[i].Verdict != Award {
		return NotCheaper
	}
	p, r, d := x.problem, x.problem.lots[i], x.decision[i]
	c, own := r.indexOf(site, o), r.indexOf(d.Site, d.Option)
	switch {
	case c < 0:
		return NotAllowed
	case r.all[c].cost >= r.all[own].cost:
		return NotCheaper
	case !p.mayChoose(i, c):
		return RoomPrice
	}
	k := &r.scored[c]
	left, empty, unheld := p.newRemainingCapacity(), p.newRemainingCapacity(), x.unheld.newRemainingCapacity()
	defer func() { p.releaseCapacity(left); p.releaseCapacity(empty); x.unheld.releaseCapacity(unheld) }()
	for j, c := range x.choice {
		if j != i && c >= 0 {
			left.takeOption(p.lots[j], c, 1)
			unheld.takeOption(p.lots[j], c, 1)
		}
	}
	switch {
	case !p.fitsCapacity(r, k, empty.bare, empty.free):
		return NoRoomShown
	case !p.fitsCapacity(r, k, left.bare, left.free):
		return OtherLots
	case !p.jobs[i].MayWait() || p.fitsCapacity(r, k, left.planned, left.open):
		return NoObstacle
	case p.fitsCapacity(r, k, unheld.planned, unheld.open):
		return HeldPlaces
	case p.fitsCapacity(r, k, x.unheld.newRemainingCapacity().planned, empty.open):
		return OtherLots // of what the site opens to deferrable jobs
	}
	return SiteReserve
}

// indexOf returns the index of an option by cost, or -1.
func (r *ranking) indexOf(site string, o protocol.BidOption) int {
	r.ensureSorted(len(r.all) - 1)
	return slices.IndexFunc(r.all, func(x optionRef) bool {
		m := &r.lot.Bids[x.bids]
		return m.Site == site && m.Options[x.option] == o
	})
}

// takesKept reports which lots have an option that does not fit into what sites and the plan leave
// to jobs that may be deferred.
func (p *problem) takesKept(choice []int) []bool {
	out := make([]bool, len(choice))
	if !slices.ContainsFunc(p.jobs, protocol.Job.MayWait) {
		return out
	}
	left := p.newRemainingCapacity()
	defer p.releaseCapacity(left)
	for i, c := range choice {
		if c >= 0 {
			left.takeOption(p.lots[i], c, 1)
		}
	}
	for i, c := range choice {
		if c >= 0 && p.jobs[i].MayWait() {
			left.takeOption(p.lots[i], c, -1)
			out[i] = !p.fitsCapacity(p.lots[i], &p.lots[i].scored[c], left.planned, left.open)
			left.takeOption(p.lots[i], c, 1)
		}
	}
	return out
}

// wasOnOffer reports whether a lot was awarded an option at its site's word (see isOnOffer), and
// not the one that was chosen for it.
func (p *problem) wasOnOffer(lot, c int, d Decision) bool {
	if c < 0 {
		return d.Verdict == Award
	}
	own := p.lots[lot].candidateAt(c)
	return d.Verdict == Award && (d.Site != own.site || d.Option != *own.BidOption)
}
