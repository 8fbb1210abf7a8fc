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

// A eventStream keeps the coordinators' facts. An entry is taken only if the stream
// ends where its writer thinks.
type eventStream struct {
	events      []protocol.Message
	last        int // entries
	incarnation uint32
}

// A leaderLease says who leads, and until when. It is kept by the server, whose clock
// is right.
type leaderLease struct {
	holder *simHost
	until  protocol.Time
}

const leaseDuration = 2 * time.Second

// A leaderTerm is a coordinator's part in the stream.
type leaderTerm struct {
	run  *faultRun
	last int
}

// appendEvents implements disk.
func (t *leaderTerm) appendEvents(h *simHost, facts []protocol.Message) bool {
	s := &t.run.stream
	if s.last != t.last {
		t.run.addToStory("%s is shut out of the stream, and stands by", h.name)
		h.machine = nil
		h.awaitLease()
		return false
	}
	s.last++
	t.last = s.last
	if len(facts) > 0 {
		s.events = append(s.events, facts...)
		t.run.oracle.checkDurableEvents(facts)
	}
	return true
}

// awaitLease has a coordinator wait for the lease, and lead when it has it.
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

// startLeading restores a market from the stream and begins a term.
func (h *simHost) startLeading() {
	p := h.run
	cfg := market.Config{
		Terms: protocol.Weights{Carbon: 100_000, Delay: 1_000_000, Late: 10_000_000}, Pay: accounts.PaymentRule{Margin: 100},
		Patience: 20 * time.Minute,
	}
	if p.plan.Bug == ForgetEndedIDs {
		cfg.Remember = time.Millisecond
	}
	m := market.New(cfg, auction.New(auction.Config{Steps: 10}))
	// Of some facts there is a summary.
	sum, n := snapshot.New(cmp.Or(cfg.Remember, protocol.MaxRun)), p.dice.IntN(len(p.stream.events)+1)
	for _, f := range p.stream.events[:n] {
		sum.AddEvent(f)
	}
	for _, f := range append(sum.SnapshotMessages(uint64(n)), p.stream.events[n:]...) {
		m.Restore(f)
	}
	p.stream.incarnation++
	p.stream.last++
	m.BeginIncarnation(p.stream.incarnation)
	p.addToStory("%s leads, term %d, with %d facts", h.name, p.stream.incarnation, len(p.stream.events))
	h.disk = &leaderTerm{run: p, last: p.stream.last}
	h.machine = m
	h.renewLease(m)
	h.armTimer()
}

// pollInterval is how often something is done, and less often when nothing can happen any
// more: it is most of what plays do.
func (p *faultRun) pollInterval(d time.Duration) time.Duration {
	if p.inFaultPeriod() {
		return d
	}
	return 40 * d
}

// renewLease keeps the lease as long as its holder can. One that was paused finds that
// it was taken, or tries to go on without knowing.
func (h *simHost) renewLease(m *market.Market) {
	p := h.run
	p.scheduleAfter(p.pollInterval(leaseDuration/4), func() {
		h.runOrQueue(func() {
			switch {
			case h.machine != m:
				return
			case p.lease.holder == h && !h.partitioned:
				p.lease.until = p.now.Add(4 * p.pollInterval(leaseDuration/4))
			case p.lease.holder != h && p.dice.IntN(2) == 0:
				p.addToStory("%s has lost the lease, and stands by", h.name)
				h.machine = nil
				h.awaitLease()
				return
			}
			h.renewLease(m)
		})
	})
}
