package faults

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A simHost is a simulated process of one party, with its disk and clock.
type simHost struct {
	run   *faultRun
	name  string
	party protocol.Party
	site  string // "" for parties of the market
	skew  time.Duration

	machine      bus.Machine // nil: the process is down, or a coordinator on standby
	incarnations uint32
	disk         eventStore
	begin        func() // starts the process from what is on its disk

	down          bool
	paused        bool
	partitioned   bool
	off, cut      bool                       // by the outage of the plan, until its end: it is not started, or stays partitioned
	neverRestarts bool                       // whether it never starts again
	queuedWork    []func()                   // actions that wait for the end of a pause
	alarm         protocol.Time              // time of the next scheduled tick
	lastArrival   map[*simHost]protocol.Time // of its messages, where all are slow
}

// An eventStore stores events. appendEvents returns false if the events were not stored; the
// process must stop then.
type eventStore interface {
	appendEvents(h *simHost, facts []protocol.Message) bool
}

// A localEventFile is the disk of one process. A crash during a write may keep only the first
// events.
type localEventFile struct{ events []protocol.Message }

// appendEvents implements eventStore.
func (f *localEventFile) appendEvents(h *simHost, facts []protocol.Message) bool {
	f.events = append(f.events, facts...)
	for _, m := range facts {
		if b, ok := m.Body.(protocol.Cancel); ok && h.party == protocol.ExecutorParty(h.site) {
			h.run.oracle.preempt.stopping[run{b.Job, b.Epoch}] = true
		}
	}
	return true
}

// isAddressee reports whether m is addressed to the party of this host.
func (h *simHost) isAddressee(m protocol.Message) bool { return h.party.ShouldReceive(m) }

// localTime returns the time of the host's own clock.
func (h *simHost) localTime() protocol.Time { return h.run.now.Add(h.skew) }

// receiveMessage steps the machine with a message, if there is a machine.
func (h *simHost) receiveMessage(m protocol.Message) {
	h.runOrQueue(func() {
		if h.machine != nil {
			h.run.addToStory("%s receives %s from %s: %s", h.name, m.KindName(), m.From, describeMessage(m))
			h.persistAndSend(h.machine.Step(h.localTime(), m))
		}
	})
}

// runOrQueue runs an action now, or after the pause of a paused process; it drops it if the
// process is down.
func (h *simHost) runOrQueue(do func()) {
	switch {
	case h.down:
	case h.paused:
		h.queuedWork = append(h.queuedWork, do)
	default:
		do()
	}
}

// endPause ends a pause and runs the waiting actions.
func (h *simHost) endPause() {
	if !h.paused {
		return
	}
	h.run.addToStory("%s resumes", h.name)
	h.paused = false
	held := h.queuedWork
	h.queuedWork = nil
	for _, do := range held {
		h.runOrQueue(do)
	}
}

// persistAndSend stores the events of a step and then sends its messages. The process may be
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
		// The planted bug: messages are out, and the events behind them are lost.
		if len(facts) > 0 && p.drawFault(p.plan.CrashRate) {
			h.crashProcess("killed before it wrote")
			return
		}
	}
	if len(facts) > 0 {
		if p.drawFault(p.plan.CrashRate) {
			// A crash during the write keeps a prefix of the events.
			part := p.dice.IntN(len(facts) + 1)
			if _, own := h.disk.(*localEventFile); !own { // an entry of the stream is written as a whole or not at all
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
	// Events are durable from here on; only now messages may leave.
	p.oracle.clusterCaughtUp(h)
	p.oracle.checkClusters()
	for i, m := range said {
		if p.drawFault(p.plan.CrashRate) {
			h.crashProcess(fmt.Sprintf("killed when it had said %d of %d", i, len(said)))
			return
		}
		p.addToStory("%s sends %s to %q: %s", h.name, m.KindName(), m.To, describeMessage(m))
		p.oracle.checkSentMessage(m)
		p.sendMessage(h, m)
	}
	h.armTimer()
}

// armTimer schedules the next tick of the machine.
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
		return // an earlier tick is scheduled already
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

// crashProcess kills the process; it is restarted some time later.
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

// restartProcess starts the process if it is down and may start again.
func (h *simHost) restartProcess() {
	if !h.down || h.neverRestarts || h.off {
		return
	}
	h.down = false
	h.startProcess()
}

// startProcess starts a new incarnation of the process.
func (h *simHost) startProcess() {
	h.incarnations++
	h.run.addToStory("%s is started, incarnation %d", h.name, h.incarnations)
	h.begin()
	h.armTimer()
}

// describeMessage returns the job and the epoch that a message is about.
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
	case protocol.Preempt:
		return fmt.Sprintf("%s epoch %d for %s", b.Job, b.Epoch, b.For)
	case protocol.Preempted:
		return fmt.Sprintf("%s epoch %d for %s", b.Job, b.Epoch, b.For)
	case protocol.PartsDecided:
		return describeParts(b)
	case protocol.Reject:
		return fmt.Sprintf("%s: %s %s", b.Job, b.Why.Code, b.Why.Note)
	case protocol.CallForBids:
		return fmt.Sprintf("round %d, %d jobs", b.Round, len(b.Jobs))
	case protocol.Defer:
		return fmt.Sprintf("%s until %s: %s", b.Job, sinceStart(b.Until), b.Why.Code)
	}
	return describeService(m)
}
