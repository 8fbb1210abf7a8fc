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

// A stream keeps the coordinators' facts. An entry is taken only if the stream
// ends where its writer thinks.
type stream struct {
	facts []protocol.Message
	last  int // entries
	life  uint32
}

// A lease says who leads, and until when. It is kept by the server, whose clock
// is right.
type lease struct {
	holder *host
	until  protocol.Time
}

const leased = 2 * time.Second

// A term is a coordinator's part in the stream.
type term struct {
	play *play
	last int
}

// append implements disk.
func (t *term) append(h *host, facts []protocol.Message) bool {
	s := &t.play.stream
	if s.last != t.last {
		t.play.note("%s is shut out of the stream, and stands by", h.name)
		h.machine = nil
		h.stand()
		return false
	}
	s.last++
	t.last = s.last
	if len(facts) > 0 {
		s.facts = append(s.facts, facts...)
		t.play.oracle.kept(facts)
	}
	return true
}

// stand has a coordinator wait for the lease, and lead when it has it.
func (h *host) stand() {
	p := h.play
	life := h.lives
	h.act(func() {
		switch {
		case h.down || h.lives != life || h.machine != nil:
			return
		case h.cut || p.lease.holder != nil && p.lease.holder != h && p.now < p.lease.until:
			p.in(p.beat(250*time.Millisecond), h.stand)
			return
		}
		if p.lease.holder != h {
			p.sum.Takeovers++
		}
		p.lease = lease{h, p.now.Add(leased)}
		h.lead()
	})
}

// lead restores a market from the stream and begins a term.
func (h *host) lead() {
	p := h.play
	cfg := market.Config{
		Terms: protocol.Weights{Carbon: 100_000, Delay: 1_000_000, Late: 10_000_000}, Pay: accounts.Rule{Margin: 100},
		Patience: 20 * time.Minute,
	}
	if p.plan.Bug == ForgetIDs {
		cfg.Remember = time.Millisecond
	}
	m := market.New(cfg, auction.New(auction.Config{Steps: 10}))
	// Of some facts there is a summary.
	sum, n := snapshot.New(cmp.Or(cfg.Remember, protocol.MaxRun)), p.dice.IntN(len(p.stream.facts)+1)
	for _, f := range p.stream.facts[:n] {
		sum.Add(f)
	}
	for _, f := range append(sum.Messages(uint64(n)), p.stream.facts[n:]...) {
		m.Restore(f)
	}
	p.stream.life++
	p.stream.last++
	m.Begin(p.stream.life)
	p.note("%s leads, term %d, with %d facts", h.name, p.stream.life, len(p.stream.facts))
	h.disk = &term{play: p, last: p.stream.last}
	h.machine = m
	h.renew(m)
	h.arm()
}

// beat is how often something is done, and less often when nothing can happen any
// more: it is most of what plays do.
func (p *play) beat(d time.Duration) time.Duration {
	if p.trouble() {
		return d
	}
	return 40 * d
}

// renew keeps the lease as long as its holder can. One that was paused finds that
// it was taken, or tries to go on without knowing.
func (h *host) renew(m *market.Market) {
	p := h.play
	p.in(p.beat(leased/4), func() {
		h.act(func() {
			switch {
			case h.machine != m:
				return
			case p.lease.holder == h && !h.cut:
				p.lease.until = p.now.Add(4 * p.beat(leased/4))
			case p.lease.holder != h && p.dice.IntN(2) == 0:
				p.note("%s has lost the lease, and stands by", h.name)
				h.machine = nil
				h.stand()
				return
			}
			h.renew(m)
		})
	})
}
