package market

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// lose takes a site's jobs from it. Only the desk may ask: that they do not run
// there any more is known to nobody else.
func (k *Market) lose(now protocol.Time, m protocol.Message, g protocol.Gone) (said []protocol.Message) {
	if k.sites[g.Site] == nil || m.From != protocol.Desk {
		k.counts["gone-of-nothing"]++
		return nil
	}
	k.note(m)
	left := leaves(g)
	for _, l := range k.abandon(now, g.Site) {
		switch {
		case l.stop:
			said = append(said, k.refuse(now, l, cancelled)...)
		case g.End:
			said = append(said, k.refuse(now, l, left.Why)...)
		default:
			said = append(said, k.stand(now, l, left)...)
		}
	}
	k.stir(now)
	return said
}

// leaves is how a job stands that a site had which was said to be gone.
func leaves(g protocol.Gone) protocol.Standing {
	why := protocol.Reason{Code: protocol.SiteGone, Note: fmt.Sprintf("%s, says %s", g.Site, g.By)}
	return protocol.Standing{State: protocol.Waiting, Site: g.Site, Why: why}
}

// abandon forgets a site, and returns the jobs that it had, which wait now. The
// epoch of its awards is over: whatever it says of them is void.
func (k *Market) abandon(now protocol.Time, name string) (taken []*lot) {
	delete(k.sites, name)
	if k.round != nil {
		delete(k.round.offers, name)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		switch {
		case l.site != name || l.state == ended:
			continue
		case l.state == waiting || l.state == called: // the lease had ended; an accept may be on its way
			l.site = ""
			continue
		}
		k.left = append(k.left, protocol.Stray{Site: name, Job: id, Epoch: l.epoch})
		k.again(now, l)
		taken = append(taken, l)
	}
	return taken
}

// back tells a site that was said to be gone what it is to stop, in an order that
// a restart does not change. It is told when it greets, and with its offers for as
// long as it has not answered: what was told may not have been heard.
func (k *Market) back(now protocol.Time, name string) (said []protocol.Message) {
	all := slices.DeleteFunc(slices.Clone(k.left), func(x protocol.Stray) bool { return x.Site != name })
	slices.SortFunc(all, func(x, y protocol.Stray) int { return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Epoch, y.Epoch)) })
	k.sites[name].told = now
	for _, x := range all {
		said = append(said, k.say(now, protocol.Agent(name), protocol.Cancel{Job: x.Job, Epoch: x.Epoch}))
	}
	return said
}

// stopped notes that a site has stopped, or never had, a job that was taken from
// it, and reports whether that is news.
func (k *Market) stopped(from protocol.Party, id protocol.JobID, epoch uint64) bool {
	n := len(k.left)
	k.left = slices.DeleteFunc(k.left, func(x protocol.Stray) bool {
		return x.Job == id && x.Epoch == epoch && from == protocol.Agent(x.Site)
	})
	return len(k.left) < n
}

// holds reports whether a site may still run a job that was taken from it.
func (k *Market) holds(name string, id protocol.JobID) bool {
	return slices.ContainsFunc(k.left, func(x protocol.Stray) bool { return x.Site == name && x.Job == id })
}
