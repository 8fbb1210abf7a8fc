package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// setBack is by how much a clock goes back for what is due to be put anew.
const setBack = time.Minute

// clock takes in the time. Where it goes back, as of a machine that began with a wrong
// clock, or of another coordinator, what was due soon would be due in hours.
func (k *Market) clock(now protocol.Time) {
	if now < k.last.Add(-setBack) {
		k.counts["clock-set-back"]++
		k.anew(now)
	}
	k.last = now
}

// anew has all that waits called in a full round at once. A round that is open is given
// up: when it would close, and when its options start, was said by the other clock. Jobs
// have ended by now.
func (k *Market) anew(now protocol.Time) {
	k.round, k.replan = nil, 0
	a := &k.advisor
	a.rulings, a.open, a.closed = nil, 0, min(a.closed, now.Add(pause))
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		k.sites[name].told = min(k.sites[name].told, now)
	}
	for i := range k.gone {
		k.gone[i].at = min(k.gone[i].at, now)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l, soon := k.lots[id], now.Add(k.cfg.Gather)
		switch {
		case l.state == called, l.state == waiting && (l.tries > 0 || l.due <= k.last.Add(k.cfg.Gather)): // else it has not arrived
			l.state = waiting
		case l.state == awarded:
			soon = now.Add(k.cfg.Lease)
		case l.state != accepted || !l.stop:
			continue
		}
		l.due, l.rests, l.lease = min(l.due, soon), min(l.rests, soon), min(l.lease, soon)
		k.agenda.add(l)
	}
}
