package market

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// keepQueuesInOrder defers awards by which a job would start before one that stands before it in its
// StrictFIFO queue and finds no room. Jobs stand by priority, then arrival, then id. Who waits for a
// cheaper hour by choice, and who is refused, holds up nobody.
func (k *Market) keepQueuesInOrder(now protocol.Time) {
	tree := k.quotaTree()
	if !tree.HasStrictQueues() {
		return
	}
	rulings := make(map[protocol.JobID]*auction.Decision, len(k.advisor.rulings))
	for i := range k.advisor.rulings {
		rulings[k.advisor.rulings[i].lot.job.ID] = &k.advisor.rulings[i].decision
	}
	queues := make(map[string][]*lot)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		if name, strict := tree.StrictQueueOf(l.submitted.Tenant); strict && l.state != ended && l.state != divided && l.job.Arrival <= now {
			queues[name] = append(queues[name], l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		queue := queues[name]
		slices.SortFunc(queue, func(x, y *lot) int {
			return cmp.Or(cmp.Compare(y.job.Priority, x.job.Priority), cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
		})
		head, from := protocol.JobID(""), protocol.Time(0) // who starts last of those so far, and when
		for _, l := range queue {
			d := rulings[l.job.ID]
			if d != nil && d.Verdict == auction.Award && d.Option.Start < from {
				why := protocol.Reason{Code: protocol.QueueBlocked, Note: "job " + format.CleanText(string(head)) + " stands before it in the queue of " + format.CleanText(name)}
				*d = auction.Decision{Verdict: auction.Defer, Until: now, Why: why}
			}
			if t := l.startWithin(now, d); t > from {
				head, from = l.job.ID, t
			}
		}
	}
}

// startWithin returns when a lot starts that those behind it in a StrictFIFO queue wait for, by a decision
// of this round, if there is one: the end of time if it has no place, and 0 if nobody need wait for it.
func (l *lot) startWithin(now protocol.Time, d *auction.Decision) protocol.Time {
	award, start, why := l.state == awarded || l.state == accepted, l.option.Start, l.why.Code
	byChoice := l.byChoice
	if d != nil {
		award, start, why = d.Verdict == auction.Award, d.Option.Start, d.Why.Code
		byChoice = why == protocol.CheaperLater
	}
	switch {
	case d != nil && d.Verdict == auction.Reject, award && (start <= now || why == protocol.CheaperLater), !award && byChoice:
		return 0
	case award:
		return start
	}
	return math.MaxInt64
}
