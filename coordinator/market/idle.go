package market

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A lot that is called in vain, so that not even the rule's plan has a place for
// it, or the site that won it declines, rests before it is called again: at first
// for as long as the market gathers jobs, since sites offer other room when theirs
// was taken; then for twice as long each time, and for longest at most. So a cluster
// that is full, or a site that offers what it has not, costs few rounds.
const longest = 2 * time.Minute

// hold has a lot wait: for its place in the plan, or until it could start. If the
// rule knows no time for that but now, it is called when it has rested; and when
// something changes before its time has come: see stir.
func (k *Market) hold(now protocol.Time, l *lot, d auction.Decision) {
	l.state, l.due = waiting, max(d.Until, now.Add(k.cfg.Gather))
	l.idle(now, k.cfg.Gather, d.Site)
	if d.Site == "" {
		k.list(l)
		l.due = max(l.due, l.rests)
	}
	l.due = min(l.due.Ceil(k.cfg.Gather), max(k.replan, now.Add(k.cfg.Gather))) // with others
	k.agenda.add(l)
}

// rejected has a lot rest that its site declined after it had offered for it. One that
// the site let run out was counted then.
func (k *Market) rejected(now protocol.Time, l *lot) {
	if l.state == awarded || l.state == accepted {
		l.spurned(l.site)
	}
	l.idle(now, k.cfg.Gather, "")
	l.state, l.site, l.due = waiting, "", l.rests
	k.agenda.add(l)
	k.list(l)
}

// idle counts how often a lot was called in vain: planned at no site.
func (l *lot) idle(now protocol.Time, rest time.Duration, planned string) {
	if planned != "" {
		l.vain = 0
		return
	}
	l.rests = now.Add(min(rest<<min(l.vain, 20), longest))
	l.vain++
}

// list notes a lot that is called earlier if something changes.
func (k *Market) list(l *lot) {
	if !l.listed {
		l.listed = true
		k.idle = append(k.idle, l)
	}
}

// stir has lots that were called in vain called as soon as they have rested,
// because something changed by which they may find a place: room came free, a
// site is back, an operator wants otherwise.
func (k *Market) stir(now protocol.Time) {
	k.idle = slices.DeleteFunc(k.idle, func(l *lot) bool {
		l.listed = l.state == called || l.state == waiting && l.vain > 0
		return !l.listed
	})
	for _, l := range k.idle {
		if at := max(now.Add(k.cfg.Gather), l.rests).Ceil(k.cfg.Gather); l.state == waiting && at < l.due {
			l.due = at
			k.agenda.add(l)
		}
	}
}
