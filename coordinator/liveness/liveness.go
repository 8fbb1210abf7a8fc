// Package liveness turns the heartbeats of sites, and their silence, into rare events. A
// [Monitor] sits beside the market: it takes the heartbeats, which no ledger holds, and says by a
// protocol.SiteCondition when a site has become silent, when its signals have become stale, when it
// is well again, and when a site that the market no longer waits for is heard. These conditions go
// into the event log and the ledger.
//
// It promises: a site that is heard in time is never called silent, one that stops is called so
// once, and a coordinator that did not run for a while blames no site for that. By conditions the
// market decides for which sites a round waits; package history folds them into the state of a
// site.
package liveness

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// missedHeartbeats is how many heartbeats a site may miss before it is silent.
const missedHeartbeats = 3

// A Monitor watches the sites of one term of a coordinator, by the coordinator's clock. It is not
// safe for concurrent use.
type Monitor struct {
	every   time.Duration // between heartbeats of a site that sent none in this term
	checked protocol.Time // time of the last Changes; 0: none
	sites   map[string]*watch
	early   map[string]protocol.Heartbeat // of sites that have not registered, at most maxEarly
}

// maxEarly bounds the heartbeats that are kept of strangers, who cost no more memory than that.
const maxEarly = 1024

// A watch is what the monitor knows of one site. A site that never sent a heartbeat, as older
// agents do not, is not judged.
type watch struct {
	heard  protocol.Time // last message of any kind; 0: none in this term
	from   protocol.Time // from when its silence counts: heard, or later if the coordinator did not listen then
	every  time.Duration // between its heartbeats; 0: it never sent one
	stale  protocol.Reason
	since  protocol.Time // of stale, or of being well
	silent bool
	told   protocol.SiteCondition // the last one that was sent; zero: none
}

// New returns the monitor of a term. every is the usual interval of heartbeats.
func New(every time.Duration) *Monitor {
	return &Monitor{every: every, sites: make(map[string]*watch), early: make(map[string]protocol.Heartbeat)}
}

// Restore takes in a message of an earlier term: a site that had sent heartbeats then is expected
// to go on.
func (k *Monitor) Restore(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.RegisterSite:
		k.watchSite(b.Site)
	case protocol.SiteCondition:
		if m.From == protocol.SiteMonitor && m.IsPlausible() {
			w := k.watchSite(b.Site)
			w.every, w.told, w.since = k.every, b, b.Since
			w.silent = b.State == protocol.SiteSilent
			if w.stale = (protocol.Reason{}); b.State == protocol.SignalsStale {
				w.stale = b.Why
			}
		}
	}
}

// watchSite returns what is known of a site, and begins it for a new one.
func (k *Monitor) watchSite(name string) *watch {
	w := k.sites[name]
	if w == nil {
		w = new(watch)
		k.sites[name] = w
	}
	return w
}

// Receive takes in a message that the coordinator received, and reports whether it is a heartbeat,
// which is not for the market. A site is watched from its registration on. Its first heartbeat
// overtakes that, which waits for the agent's disk: without it an agent that is killed in its first
// two seconds would count as one that sends none.
func (k *Monitor) Receive(now protocol.Time, m protocol.Message) (heartbeat bool) {
	b, heartbeat := m.Body.(protocol.Heartbeat)
	name := m.From.SiteName()
	if m.From != protocol.AgentParty(name) {
		return heartbeat
	}
	if r, ok := m.Body.(protocol.RegisterSite); ok && m.IsPlausible() {
		k.watchSite(r.Site)
		b = k.early[r.Site]
		delete(k.early, r.Site)
	}
	w := k.sites[name]
	if w == nil {
		if heartbeat && len(k.early) < maxEarly {
			k.early[name] = b
		}
		return heartbeat
	}
	if w.heard, w.from = now, now; b.Every <= 0 {
		return heartbeat
	}
	// A site cannot put off its own silence for long.
	w.every = min(max(b.Every, k.every/10), 10*k.every)
	// Signals that are stale for one more reason have been stale since the first.
	if w.silent || w.told == (protocol.SiteCondition{}) || w.stale.Code != b.Stale.Code {
		w.since = now
	}
	w.silent, w.stale = false, b.Stale
	return heartbeat
}

// LastSeen returns when the coordinator received the last message of a site's agent; 0: not in
// this term, so that it is not known. What an earlier leader heard is in no event.
func (k *Monitor) LastSeen(site string) protocol.Time {
	if w := k.sites[site]; w != nil {
		return w.heard
	}
	return 0
}

// Changes returns the conditions that are new since the last call, by site, and those of suspects
// that were heard since: sites for which the market does not wait, each since an instant. Call it
// every second or so: if it was not called for long, the coordinator did not run, and the sites get
// that time.
func (k *Monitor) Changes(now protocol.Time, suspects map[string]protocol.Time) (all []protocol.SiteCondition) {
	gap := now.Sub(k.checked)
	paused := k.checked == 0 || gap > missedHeartbeats*k.every || gap < 0
	k.checked = now
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		w := k.sites[name]
		if w.every == 0 {
			continue
		}
		if w.heard = min(w.heard, now); paused || w.from > now { // a clock may be set back
			w.from = now
		}
		if !w.silent && now.Sub(w.from) > missedHeartbeats*w.every {
			w.silent, w.since = true, w.from
		}
		since, suspect := suspects[name]
		heardAgain := suspect && !w.silent && w.heard > since
		if c := w.condition(name); c.State != w.told.State || c.Why != w.told.Why || heardAgain {
			w.told = c
			all = append(all, c)
		}
	}
	return all
}

// condition returns how a site stands.
func (w *watch) condition(name string) protocol.SiteCondition {
	c := protocol.SiteCondition{Site: name, State: protocol.SiteOK, Since: w.since}
	switch {
	case w.silent:
		c.State, c.Why = protocol.SiteSilent, protocol.Reason{Code: protocol.NoHeartbeat}
	case w.stale.Code != "":
		c.State, c.Why = protocol.SignalsStale, w.stale
	}
	return c
}
