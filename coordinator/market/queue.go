package market

import (
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// foreign reports whether a site submits a job by another party than its queue,
// or in a name that is not its own: it could take another's ids, or have another
// pay.
func foreign(from protocol.Party, j protocol.Job) bool {
	site := from.Site()
	own := site + "/"
	return site != "" && (from != protocol.Queue(site) || !strings.HasPrefix(string(j.ID), own) ||
		!strings.HasPrefix(j.Tenant, own) || j.Home != "" && j.Home != site)
}

// queued reports whether a lot was submitted by a site's queue, which is told
// how it stands: its people look there, and nowhere else.
func (l *lot) queued() bool { return l.from.Site() != "" }

// stand notes how a job of a queue stands, and says so.
func (k *Market) stand(now protocol.Time, l *lot, s protocol.Standing) []protocol.Message {
	if !l.queued() {
		return nil
	}
	k.stands(l, s)
	return []protocol.Message{k.say(now, l.from, l.standing)}
}

// stands notes how a job of a queue stands. It is no fact: it follows from those.
func (k *Market) stands(l *lot, s protocol.Standing) {
	if l.queued() {
		s.Job, s.Epoch = l.job.ID, l.epoch
		l.standing = s
	}
}

// placed is how a job stands that a site has accepted.
func (l *lot) placed(start protocol.Time) protocol.Standing {
	o := l.option
	return protocol.Standing{
		State: protocol.Stands, Site: l.site, Model: o.Model, Start: start, Why: l.why,
		Bill: protocol.Bill{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish + start - o.Start},
	}
}

// closed is how a job stands that has ended, by what its site reported.
func (l *lot) closed(d protocol.Done) protocol.Standing {
	return protocol.Standing{
		State: protocol.Closed, Site: l.site, Model: l.option.Model, Start: d.Started, Failed: d.Failed,
		Bill: protocol.Bill{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended},
	}
}
