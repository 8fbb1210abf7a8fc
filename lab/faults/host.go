package faults

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A host is a process that one party lives in, with its disk.
type host struct {
	play  *play
	name  string
	party protocol.Party
	site  string // "" of the market's
	skew  time.Duration

	machine bus.Machine // nil: it is down, or a coordinator that stands by
	lives   uint32
	disk    disk
	begin   func() // starts the process; what it needs is on the disk

	down   bool
	paused bool
	cut    bool
	lost   bool     // never starts again
	held   []func() // what waits for a paused process
	alarm  protocol.Time
}

// A disk keeps facts. Append reports whether they are kept; if not, the process
// must not go on.
type disk interface {
	append(h *host, facts []protocol.Message) bool
}

// A file is a disk of one process. A crash while it writes may keep the first
// few facts only.
type file struct{ facts []protocol.Message }

func (f *file) append(_ *host, facts []protocol.Message) bool {
	f.facts = append(f.facts, facts...)
	return true
}

// hears reports whether m is for the party that lives here.
func (h *host) hears(m protocol.Message) bool { return h.party.Hears(m) }

// clock is the time as the host has it.
func (h *host) clock() protocol.Time { return h.play.now.Add(h.skew) }

// hear steps the machine, unless nobody is there.
func (h *host) hear(m protocol.Message) {
	h.act(func() {
		if h.machine != nil {
			h.play.note("%s hears %s of %s: %s", h.name, m.Kind(), m.From, brief(m))
			h.after(h.machine.Step(h.clock(), m))
		}
	})
}

// act does something when the process runs.
func (h *host) act(do func()) {
	switch {
	case h.down:
	case h.paused:
		h.held = append(h.held, do)
	default:
		do()
	}
}

// wake ends a pause: what waited is done.
func (h *host) wake() {
	if !h.paused {
		return
	}
	h.play.note("%s goes on", h.name)
	h.paused = false
	held := h.held
	h.held = nil
	for _, do := range held {
		h.act(do)
	}
}

// after writes the facts of a step and then says what was said, and may be
// killed at any point of that.
func (h *host) after(said []protocol.Message) {
	p := h.play
	var facts []protocol.Message
	if k, ok := h.machine.(bus.Keeper); ok {
		facts = append(facts, k.Facts()...)
	}
	if p.plan.Bug == SayFirst {
		for _, m := range said {
			p.oracle.said(m)
			p.send(h, m)
		}
		said = nil
		if len(facts) > 0 && p.chance(p.plan.Crash) {
			h.crash("killed before it wrote")
			return
		}
	}
	if len(facts) > 0 {
		if p.chance(p.plan.Crash) {
			part := p.dice.IntN(len(facts) + 1)
			if _, own := h.disk.(*file); !own { // an entry of the stream is whole or not there
				part = part / max(len(facts), 1) * len(facts)
			}
			h.disk.append(h, facts[:part])
			h.crash(fmt.Sprintf("killed as it wrote %d of %d facts", part, len(facts)))
			return
		}
		if !h.disk.append(h, facts) {
			return
		}
	}
	p.oracle.caughtUp(h)
	p.oracle.look()
	for i, m := range said {
		if p.chance(p.plan.Crash) {
			h.crash(fmt.Sprintf("killed when it had said %d of %d", i, len(said)))
			return
		}
		p.note("%s says %s to %q: %s", h.name, m.Kind(), m.To, brief(m))
		p.oracle.said(m)
		p.send(h, m)
	}
	h.arm()
}

// arm has the machine ticked when it is due.
func (h *host) arm() {
	if h.machine == nil {
		return
	}
	due := h.machine.Due()
	if due == 0 {
		return
	}
	at := max(due.Add(-h.skew), h.play.now)
	if h.alarm != 0 && h.alarm <= at && h.alarm > h.play.now {
		return // rung before that anyway
	}
	h.alarm = at
	m := h.machine
	h.play.at(at, func() {
		h.act(func() {
			if h.machine != m {
				return
			}
			if due := m.Due(); due == 0 || due > h.clock() {
				h.alarm = 0
				h.arm()
				return
			}
			h.alarm = 0
			h.after(m.Tick(h.clock()))
		})
	})
}

// crash kills the process. It is started again some time later.
func (h *host) crash(how string) {
	if h.down {
		return
	}
	p := h.play
	p.note("%s is %s", h.name, how)
	p.sum.Crashes++
	h.down, h.machine, h.held, h.alarm = true, nil, nil, 0
	h.paused = false
	p.in(time.Duration(p.dice.IntN(15_000))*time.Millisecond, h.revive)
}

// revive starts the process if it is down.
func (h *host) revive() {
	if !h.down || h.lost {
		return
	}
	h.down = false
	h.start()
}

func (h *host) start() {
	h.lives++
	h.play.note("%s is started, life %d", h.name, h.lives)
	h.begin()
	h.arm()
}

// brief says which job a message is about.
func brief(m protocol.Message) string {
	switch b := m.Body.(type) {
	case protocol.Submit:
		return string(b.Job.ID)
	case protocol.Award:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Accept:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Decline:
		return fmt.Sprintf("%s epoch %d: %s", b.Job, b.Epoch, b.Why.Code)
	case protocol.Confirm:
		return fmt.Sprintf("%s epoch %d %s", b.Job, b.Epoch, b.Code)
	case protocol.Launch:
		return fmt.Sprintf("%s epoch %d on %s", b.Job.ID, b.Epoch, b.Node)
	case protocol.Started:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Exited:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Done:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Cancel:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Settled:
		return string(b.Job)
	case protocol.Refuse:
		return fmt.Sprintf("%s: %s %s", b.Job, b.Why.Code, b.Why.Note)
	case protocol.Call:
		return fmt.Sprintf("round %d, %d jobs", b.Round, len(b.Jobs))
	case protocol.Hold:
		return fmt.Sprintf("%s until %s", b.Job, since(b.Until))
	}
	return ""
}
