package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A job in parts is stopped as a whole to make room for another one, or not at all (decision 0418): the part at
// the site that makes room is stopped for that job, and the others as those of a job that lost a part. All of
// their work counts as lost, and whoever pays for the one pays for all. It has no others stopped itself: no site
// can say what room it would have to make beside that of another site.

// stoppedWith returns the runs that are stopped if one is: itself, or all parts of its job that are not over. None
// may be stopped now if one of them is being stopped or cancelled, or does not stand yet.
func (l *lot) stoppedWith() (all []*lot) {
	runs := []*lot{l}
	if l.whole != nil {
		runs = l.whole.parts
	}
	for _, x := range runs {
		switch {
		case x.state == ended:
		case x.state != accepted || x.cancelRequested || x.preempt != nil:
			return nil
		default:
			all = append(all, x)
		}
	}
	return all
}

// isBeingStopped reports whether a run is to make room for another job, be it as a part of a job that is.
func (l *lot) isBeingStopped() bool {
	makesRoom := func(x *lot) bool { return x.preempt != nil && !x.preempt.IsForBudget() }
	return makesRoom(l) || l.whole != nil && slices.ContainsFunc(l.whole.parts, makesRoom)
}

// stopped returns all runs that are stopped with those of a preemption, at its site and elsewhere.
func (p *preemption) stopped() (all []*lot) {
	for _, c := range p.claims {
		for _, x := range c.lot.stoppedWith() {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// takePartBack makes a part that its site gave back wait for the others of its job. If it was stopped for a job of
// a higher class, that one pays for the others, too.
func (k *Market) takePartBack(now protocol.Time, p *lot) {
	if x := p.preempt; x != nil && x.For != "" && x.Why.Code == protocol.StrongerClaim {
		p.whole.roomFor = x.For
	}
	k.preemptionOver(now, p)
	k.restPart(p)
}
