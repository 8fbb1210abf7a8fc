package faults

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A simHost is a process that one party lives in, with its disk.
type simHost struct {
	run   *faultRun
	name  string
	party protocol.Party
	site  string // "" of the market's
	skew  time.Duration

	machine      bus.Machine // nil: it is down, or a coordinator that stands by
	incarnations uint32
	disk         eventStore
	begin        func() // starts the process; what it needs is on the disk

	down          bool
	paused        bool
	partitioned   bool
	neverRestarts bool     // never starts again
	queuedWork    []func() // what waits for a paused process
	alarm         protocol.Time
}

// A eventStore keeps facts. Append reports whether they are kept; if not, the process
// must not go on.
type eventStore interface {
	appendEvents(h *simHost, facts []protocol.Message) bool
}

// A localEventFile is a disk of one process. A crash while it writes may keep the first
// few facts only.
type localEventFile struct{ events []protocol.Message }

func (f *localEventFile) appendEvents(_ *simHost, facts []protocol.Message) bool {
	f.events = append(f.events, facts...)
	return true
}

// isAddressee reports whether m is for the party that lives here.
func (h *simHost) isAddressee(m protocol.Message) bool { return h.party.ShouldReceive(m) }

// localTime is the time as the host has it.
func (h *simHost) localTime() protocol.Time { return h.run.now.Add(h.skew) }

// receiveMessage steps the machine, unless nobody is there.
func (h *simHost) receiveMessage(m protocol.Message) {
	h.runOrQueue(func() {
		if h.machine != nil {
			h.run.addToStory("%s hears %s of %s: %s", h.name, m.KindName(), m.From, describeMessage(m))
			h.persistAndSend(h.machine.Step(h.localTime(), m))
		}
	})
}

// runOrQueue does something when the process runs.
func (h *simHost) runOrQueue(do func()) {
	switch {
	case h.down:
	case h.paused:
		h.queuedWork = append(h.queuedWork, do)
	default:
		do()
	}
}

// endPause ends a pause: what waited is done.
func (h *simHost) endPause() {
	if !h.paused {
		return
	}
	h.run.addToStory("%s goes on", h.name)
	h.paused = false
	held := h.queuedWork
	h.queuedWork = nil
	for _, do := range held {
		h.runOrQueue(do)
	}
}

// persistAndSend writes the facts of a step and then says what was said, and may be
// killed at any point of that.
func (h *simHost) persistAndSend(said []protocol.Message) {
	p := h.run
	var facts []protocol.Message
	if k, ok := h.machine.(bus.EventSourced); ok {
		facts = append(facts, k.Events()...)
	}
	if p.plan.Bug == SendBeforePersist {
		for _, m := range said {
			p.oracle.checkSentMessage(m)
			p.sendMessage(h, m)
		}
		said = nil
		if len(facts) > 0 && p.drawFault(p.plan.CrashRate) {
			h.crashProcess("killed before it wrote")
			return
		}
	}
	if len(facts) > 0 {
		if p.drawFault(p.plan.CrashRate) {
			part := p.dice.IntN(len(facts) + 1)
			if _, own := h.disk.(*localEventFile); !own { // an entry of the stream is whole or not there
				part = part / max(len(facts), 1) * len(facts)
			}
			h.disk.appendEvents(h, facts[:part])
			h.crashProcess(fmt.Sprintf("killed as it wrote %d of %d facts", part, len(facts)))
			return
		}
		if !h.disk.appendEvents(h, facts) {
			return
		}
	}
	p.oracle.clusterCaughtUp(h)
	p.oracle.checkClusters()
	for i, m := range said {
		if p.drawFault(p.plan.CrashRate) {
			h.crashProcess(fmt.Sprintf("killed when it had said %d of %d", i, len(said)))
			return
		}
		p.addToStory("%s says %s to %q: %s", h.name, m.KindName(), m.To, describeMessage(m))
		p.oracle.checkSentMessage(m)
		p.sendMessage(h, m)
	}
	h.armTimer()
}

// armTimer has the machine ticked when it is due.
func (h *simHost) armTimer() {
	if h.machine == nil {
		return
	}
	due := h.machine.Due()
	if due == 0 {
		return
	}
	at := max(due.Add(-h.skew), h.run.now)
	if h.alarm != 0 && h.alarm <= at && h.alarm > h.run.now {
		return // rung before that anyway
	}
	h.alarm = at
	m := h.machine
	h.run.scheduleAt(at, func() {
		h.runOrQueue(func() {
			if h.machine != m {
				return
			}
			if due := m.Due(); due == 0 || due > h.localTime() {
				h.alarm = 0
				h.armTimer()
				return
			}
			h.alarm = 0
			h.persistAndSend(m.Tick(h.localTime()))
		})
	})
}

// crashProcess kills the process. It is started again some time later.
func (h *simHost) crashProcess(how string) {
	if h.down {
		return
	}
	p := h.run
	p.addToStory("%s is %s", h.name, how)
	p.sum.Crashes++
	h.down, h.machine, h.queuedWork, h.alarm = true, nil, nil, 0
	h.paused = false
	p.scheduleAfter(time.Duration(p.dice.IntN(15_000))*time.Millisecond, h.restartProcess)
}

// restartProcess starts the process if it is down.
func (h *simHost) restartProcess() {
	if !h.down || h.neverRestarts {
		return
	}
	h.down = false
	h.startProcess()
}

func (h *simHost) startProcess() {
	h.incarnations++
	h.run.addToStory("%s is started, life %d", h.name, h.incarnations)
	h.begin()
	h.armTimer()
}

// describeMessage says which job a message is about.
func describeMessage(m protocol.Message) string {
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
	case protocol.Finished:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.UsageReport:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Cancel:
		return fmt.Sprintf("%s epoch %d", b.Job, b.Epoch)
	case protocol.Settlement:
		return string(b.Job)
	case protocol.Reject:
		return fmt.Sprintf("%s: %s %s", b.Job, b.Why.Code, b.Why.Note)
	case protocol.CallForBids:
		return fmt.Sprintf("round %d, %d jobs", b.Round, len(b.Jobs))
	case protocol.Defer:
		return fmt.Sprintf("%s until %s", b.Job, sinceStart(b.Until))
	}
	return ""
}
