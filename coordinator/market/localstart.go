package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// handleLocalStart takes in that a site started a job of its own queue while it heard no coordinator: the
// site is awarded what it runs, so that all that follows an award follows. A job that was confirmed to
// another site, or is over, stays so, and the site is told to stop its run. A submission that the site's
// queue repeats may come after the report, which the site repeats, too.
func (k *Market) handleLocalStart(now protocol.Time, m protocol.Message, b protocol.LocalStart) []protocol.Message {
	site, l := m.From.SiteName(), k.lots[b.Job]
	switch {
	case k.sites[site] == nil || m.From != protocol.AgentParty(site) || !m.IsPlausible() || b.Option.Start > now.Add(maxClockSkew):
		k.counts["start-of-stranger"]++
		return nil
	case k.knownLot(b.Job) == nil:
		return nil
	case l == nil || l.state == ended || l.from != protocol.QueueParty(site) || l.state == accepted && l.site != site || l.cancelRequested:
		k.counts["started-twice"]++
		return []protocol.Message{k.sendAndRecord(now, m.From, protocol.Cancel{Job: b.Job, Epoch: b.Epoch})}
	case l.state == accepted, l.state == awarded && l.site == site: // its answer is on its way
		return nil
	}
	l.state, l.site, l.option, l.due, l.pause = awarded, site, b.Option, now.Add(k.cfg.Lease), 0
	l.option.Start = min(b.Option.Start, now)
	l.epoch = max(l.epoch, k.maxForgottenEpoch, b.Epoch) + 1
	if k.round == nil { // no epoch is above the number of rounds: see maxForgottenEpoch
		k.rounds = max(k.rounds, l.epoch)
	}
	l.why, l.lease, l.places = protocol.Reason{Code: protocol.StartedAlone}, l.due, nil
	k.timers.addToTimerQueue(l)
	return []protocol.Message{k.sendAndRecord(now, m.From, protocol.Award{
		Round: k.rounds, Job: l.job.ID, Epoch: l.epoch, Option: l.option, MayQueue: true, Lease: l.due, Why: l.why, Task: l.task,
	})}
}

// awaitsHome reports whether a job must not be awarded yet, since the site whose queue submitted it may start
// it by itself: it has not bid for it in this round.
func (k *Market) awaitsHome(r *round, l *lot) bool {
	home := l.from.SiteName()
	return l.alone && !slices.ContainsFunc(r.offers[home].Jobs, func(m protocol.JobBids) bool {
		return m.Job == l.job.ID && m.Why.Code != protocol.StartedAlone
	})
}
