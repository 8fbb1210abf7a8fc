package auction

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Equal lots are those of jobs that may not wait, that ask for the same, and that got the same bids: an array, or a
// stream of jobs from one template. The costs of their options differ by one amount, for what each has waited, but for
// a microdollar of rounding. So a step that fails for one of them fails for its equals until a step is taken (decision
// 0437).

// maxRecentClasses is with how many classes a lot is compared: equal jobs mostly come one after the other.
const maxRecentClasses = 4

// noClass is the class of a lot that may wait, is a gang, or is a part.
const noClass = -1

// classifyLots returns the class of each lot, and how many classes there are. Lots of one class are equal.
func (p *problem) classifyLots() (class []int, classes int) {
	class = make([]int, len(p.lots))
	recent := make([]int, 0, maxRecentClasses) // a lot of each of the last classes
	for i := range p.lots {
		if class[i] = noClass; p.jobs[i].MayWait() || p.jobs[i].IsGang() || p.jobs[i].PartOf != "" {
			continue
		}
		if k := slices.IndexFunc(recent, func(o int) bool { return p.areEqual(o, i) }); k >= 0 {
			class[i] = class[recent[k]]
			continue
		}
		if class[i], classes = classes, classes+1; len(recent) == maxRecentClasses {
			recent = slices.Delete(recent, 0, 1)
		}
		recent = append(recent, i)
	}
	return class, classes
}

// areEqual reports whether two lots of jobs that may not wait are equal.
func (p *problem) areEqual(i, o int) bool {
	x, y := p.lots[i].lot, p.lots[o].lot
	return p.jitter.PerMillion == 0 && x.Job.AsksTheSame(&y.Job) && slices.EqualFunc(x.Bids, y.Bids, func(m, n SiteBids) bool {
		return m.Site == n.Site && slices.Equal(m.Options, n.Options) && slices.Equal(m.GPUs, n.GPUs) && slices.Equal(m.Bias, n.Bias) &&
			(m.Bias == nil && p.waitsAlike(m.Options, &x.Job, &y.Job) || x.Job.Arrival == y.Job.Arrival && x.Job.Deadline == y.Job.Deadline)
	})
}

// waitsAlike reports whether none of the options begins before one of two jobs arrives, and none makes one late.
func (p *problem) waitsAlike(options []protocol.BidOption, x, y *protocol.Job) bool {
	begin, end := max(x.Arrival, y.Arrival), min(x.Deadline, y.Deadline)
	return !slices.ContainsFunc(options, func(o protocol.BidOption) bool {
		return o.Start < begin || o.Finish.Add(p.planning.MaxStartDelay) > end
	})
}

// A failedStep is one that a lot tried in vain.
type failedStep struct {
	kind  stepKind
	has   optionRef // the option of the lot, without its cost; see localSearch.optionOf
	steps int       // taken before
}

// A stepKind says what a lot tries.
type stepKind int

// Kinds of steps.
const (
	moveOrPricedExchange stepKind = iota
	moveOrExchange
	onlyMove
)

// tryStep tries a step for lot i, unless it failed for an equal lot and none was taken since.
func (x *localSearch) tryStep(i int, kind stepKind) bool {
	class := x.class[i]
	now := failedStep{kind, x.optionOf(i), x.steps}
	if class != noClass && slices.Contains(x.failed[class], now) {
		return false
	}
	if x.moveLot(i) || kind != onlyMove && x.exchangeLot(i, kind == moveOrPricedExchange) {
		return true
	}
	if class != noClass {
		f := x.failed[class]
		if len(f) > 0 && f[0].steps != x.steps {
			f = f[:0]
		}
		x.failed[class] = append(f, now)
	}
	return false
}

// optionOf returns which option lot i has. Equal lots may rank their options differently, by a microdollar.
func (x *localSearch) optionOf(i int) optionRef {
	c := x.choice[i]
	if c < 0 {
		return optionRef{bids: -1}
	}
	has := x.p.lots[i].all[c]
	return optionRef{bids: has.bids, option: has.option}
}
