package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// leaveNotice is how long a site goes on after its agent first knew when it leaves.
const leaveNotice = 24 * time.Hour

// noteLeave records when the agent first knew that the site leaves, and puts that off until its notice is over.
func (a *Agent) noteLeave(now protocol.Time) {
	at := a.cfg.Terms.Leave
	if at == 0 || a.leaveNoted {
		return
	}
	quiet := a.sender // a copy: the event takes no sequence number
	m := quiet.NewMessage(now, a.sender.Party, protocol.Drain{Site: a.cfg.Site, Until: at})
	a.recordEvent(m)
	a.restoreLeave(m)
}

// restoreLeave restores when the agent first knew of it. A note of another instant is void.
func (a *Agent) restoreLeave(m protocol.Message) {
	if at := &a.cfg.Terms.Leave; a.isLeaveNote(m) && !a.leaveNoted {
		a.leaveNoted, *at = true, max(*at, m.At.Add(leaveNotice))
	}
}

// isLeaveNote reports whether an event is the note of when the site leaves.
func (a *Agent) isLeaveNote(m protocol.Message) bool {
	b, ok := m.Body.(protocol.Drain)
	return ok && b.Until == a.leaveStated && a.leaveStated != 0
}

// stopLeft stops runs of others once the site has left, with a checkpoint where they can save one.
func (a *Agent) stopLeft(now protocol.Time) (msgs []protocol.Message) {
	if at := a.cfg.Terms.Leave; at == 0 || now < at {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		l := a.running[id]
		if l == nil || a.rankOf(&l.launch.Job) == 0 || !l.confirmed || l.preempt != nil {
			continue
		}
		p := protocol.Preempt{Job: id, Epoch: l.acceptedEpoch, Why: protocol.Reason{Code: protocol.Reclaimed, Note: "the site leaves the federation"}, Until: now}
		msgs = append(msgs, a.stopForOwner(now, p)...)
	}
	return msgs
}

// nextLeave returns when the site leaves, if runs of others are to be stopped then; 0: none are.
func (a *Agent) nextLeave() protocol.Time {
	at := a.cfg.Terms.Leave
	if at == 0 {
		return 0
	}
	if !a.leaveNoted {
		return 1
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		if l := a.running[id]; a.rankOf(&l.launch.Job) != 0 && l.confirmed && l.preempt == nil {
			return at
		}
	}
	return 0
}
