package faults

import (
	"cmp"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

// An eventStream stores the coordinators' events. It accepts an entry only if its last
// entry is the one that the writer expects (optimistic concurrency, as JetStream's
// expected last sequence).
type eventStream struct {
	events      []protocol.Message
	last        int // entries
	incarnation uint32
}

// A leaderLease says who leads, and until when. The server keeps it, with a correct clock.
type leaderLease struct {
	holder *simHost
	until  protocol.Time
}

const leaseDuration = 2 * time.Second

// A leaderTerm is one leader's write access to the stream.
type leaderTerm struct {
	run  *faultRun
	last int
}

// appendEvents implements eventStore. A writer that is not the last one is fenced off and goes to
// standby.
func (t *leaderTerm) appendEvents(h *simHost, facts []protocol.Message) bool {
	s := &t.run.stream
	if s.last != t.last {
		t.run.addToStory("%s is fenced off the stream and goes to standby", h.name)
		h.machine = nil
		h.awaitLease()
		return false
	}
	s.last++
	t.last = s.last
	if len(facts) > 0 {
		s.events = append(s.events, facts...)
		t.run.oracle.checkDurableEvents(facts)
		t.run.oracle.checkBatch(facts)
	}
	return true
}

// awaitLease makes a coordinator wait for the lease and lead once it has it.
func (h *simHost) awaitLease() {
	p := h.run
	life := h.incarnations
	h.runOrQueue(func() {
		switch {
		case h.down || h.incarnations != life || h.machine != nil:
			return
		case h.partitioned || p.lease.holder != nil && p.lease.holder != h && p.now < p.lease.until:
			p.scheduleAfter(p.pollInterval(250*time.Millisecond), h.awaitLease)
			return
		}
		if p.lease.holder != h {
			p.sum.Takeovers++
		}
		p.lease = leaderLease{h, p.now.Add(leaseDuration)}
		h.startLeading()
	})
}

// startLeading restores a market from the stream and starts a term.
func (h *simHost) startLeading() {
	p := h.run
	cfg := market.Config{
		Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}, Pay: accounts.PaymentRule{Margin: 100},
		Patience: 20 * time.Minute, MostSites: p.plan.MostSites,
	}
	if p.plan.Bug == ForgetEndedIDs {
		cfg.Remember = time.Millisecond
	}
	m := market.New(cfg, auction.New(auction.Config{Steps: 10}))
	// A random number of leading events is replaced by their snapshot, as after
	// compaction.
	sum, n := snapshot.New(cmp.Or(cfg.Remember, protocol.MaxRun)), p.dice.IntN(len(p.stream.events)+1)
	for _, f := range p.stream.events[:n] {
		sum.AddEvent(f)
	}
	for _, f := range p.restoredOf(append(sum.SnapshotMessages(uint64(n)), p.stream.events[n:]...)) {
		m.Restore(f)
	}
	if p.plan.Preempting > 0 {
		m.SetPolicy(p.policy())
	} else if len(p.quotas) > 0 {
		m.SetPolicy(protocol.Policy{Version: 1, By: "ada", Quotas: p.quotas})
	}
	p.stream.incarnation++
	p.stream.last++
	m.BeginIncarnation(p.stream.incarnation)
	p.addToStory("%s leads, term %d, with %d facts", h.name, p.stream.incarnation, len(p.stream.events))
	h.disk = &leaderTerm{run: p, last: p.stream.last}
	h.machine = m
	if p.plan.Bug == CommitEarly {
		h.machine = newHastyMarket(m)
	}
	h.renewLease(m)
	if p.plan.Own > 0 {
		h.sendHeartbeats(m)
	}
	h.armTimer()
}

// sendHeartbeats says that a leader is alive, for as long as it leads.
func (h *simHost) sendHeartbeats(m *market.Market) {
	p := h.run
	h.runOrQueue(func() {
		if h.machine != m {
			return
		}
		p.sendMessage(h, protocol.Message{Version: protocol.Current, At: h.localTime(), From: protocol.Coordinator, Seq: 1, Body: protocol.Heartbeat{Every: heartbeatInterval}})
		p.scheduleAfter(heartbeatInterval, func() { h.sendHeartbeats(m) })
	})
}

// heartbeatInterval is that of coordinators and agents.
const heartbeatInterval = 2 * time.Second

// pollInterval returns the interval of a periodic action. After the faults it is longer,
// because these actions are most of a run's steps.
func (p *faultRun) pollInterval(d time.Duration) time.Duration {
	if p.inFaultPeriod() {
		return d
	}
	return 40 * d
}

// renewLease extends the lease as long as its holder can. A leader that was paused may
// find that another has it, or continues without noticing.
func (h *simHost) renewLease(m *market.Market) {
	p := h.run
	p.scheduleAfter(p.pollInterval(leaseDuration/4), func() {
		h.runOrQueue(func() {
			switch {
			case h.marketOf() != m:
				return
			case p.lease.holder == h && !h.partitioned:
				p.lease.until = p.now.Add(4 * p.pollInterval(leaseDuration/4))
			case p.lease.holder != h && p.dice.IntN(2) == 0:
				p.addToStory("%s has lost the lease and goes to standby", h.name)
				h.machine = nil
				h.awaitLease()
				return
			}
			h.renewLease(m)
		})
	})
}
