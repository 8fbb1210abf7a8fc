package faults

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A faultRun is one simulated run.
type faultRun struct {
	plan  FaultPlan
	dice  *rand.Rand
	now   protocol.Time
	queue eventQueue
	count int // number of scheduled events; it orders events of the same instant

	hosts  []*simHost
	stream eventStream
	lease  leaderLease
	oracle faultOracle
	sum    FaultCounts

	// beforeSend, if set, sees each message before it is sent, so that a test can inject
	// a fault at a chosen moment. It returns true to lose the message.
	beforeSend       func(from *simHost, m protocol.Message) bool
	decommissionSite func(site string)
	quotas           []protocol.Quota // that each leader has in force, if a test sets some

	// recordStory turns recording of the story on.
	recordStory bool
	story       []string
	wrong       *Violation
}

// A simEvent is an action at an instant.
type simEvent struct {
	at protocol.Time
	n  int
	do func()
}

// eventQueue is a heap by time, then by order of scheduling.
type eventQueue []simEvent

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *eventQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// scheduleAfter schedules an action after a duration.
func (p *faultRun) scheduleAfter(d time.Duration, do func()) { p.scheduleAt(p.now.Add(d), do) }

// scheduleAt schedules an action at an instant, or now if that is in the past.
func (p *faultRun) scheduleAt(t protocol.Time, do func()) {
	p.count++
	heap.Push(&p.queue, simEvent{max(t, p.now), p.count, do})
}

// drawFault returns true with a probability of rate thousandths during the time of
// faults, and false afterwards.
func (p *faultRun) drawFault(rate int) bool { return p.inFaultPeriod() && p.dice.IntN(1000) < rate }

// inFaultPeriod reports whether it is the time of faults.
func (p *faultRun) inFaultPeriod() bool { return p.now < startTime.Add(p.plan.FaultPeriod) }

// addToStory adds a line to the story if it is recorded.
func (p *faultRun) addToStory(format string, args ...any) {
	if p.recordStory {
		p.story = append(p.story, sinceStart(p.now)+"  "+fmt.Sprintf(format, args...))
	}
}

// reportViolation records the first violated invariant, which ends the run.
func (p *faultRun) reportViolation(format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Violation{At: p.now, What: fmt.Sprintf(format, args...)}
	}
}

// newFaultRun creates a run with all its hosts.
func newFaultRun(seed uint64, plan FaultPlan, tell bool) (*faultRun, error) {
	p := &faultRun{plan: plan, dice: rand.New(rand.NewPCG(seed, 2)), now: startTime, recordStory: tell}
	p.oracle.run = p
	if err := p.startParties(); err != nil {
		return nil, err
	}
	p.scheduleAt(startTime, p.pauseAndPartition)
	p.beginOutage()
	return p, nil
}

// runToEnd runs to the end and returns the violated invariant, or nil.
func (p *faultRun) runToEnd() *Violation {
	end := startTime.Add(p.plan.FaultPeriod + calmPeriod)
	for len(p.queue) > 0 && p.wrong == nil {
		e := heap.Pop(&p.queue).(simEvent)
		if e.at > end {
			break
		}
		p.now = e.at
		e.do()
		p.sum.Steps++
		if p.wrong == nil && p.oracle.allQuiet() {
			break
		}
	}
	if p.wrong == nil {
		p.oracle.checkFinalState()
	}
	if p.wrong != nil {
		p.wrong.Story = p.storyExcerpt()
	}
	return p.wrong
}

// maxStoryLines is the maximum number of lines of a story.
const maxStoryLines = 200

// storyExcerpt returns the lines of the story that concern the job of the violation or the
// hosts.
func (p *faultRun) storyExcerpt() []string {
	job, _, _ := strings.Cut(p.wrong.What, " ")
	var out []string
	for _, line := range p.story {
		other := strings.Contains(line, "job-") && !strings.Contains(line, job+" ") && !strings.HasSuffix(line, job)
		if !other || !strings.HasPrefix(job, "job-") {
			out = append(out, line)
		}
	}
	if len(out) > maxStoryLines {
		out = append(append(out[:maxStoryLines/2:maxStoryLines/2], "..."), out[len(out)-maxStoryLines/2:]...)
	}
	return out
}

// pauseAndPartition pauses, disconnects or kills a random host now and then. After the time of
// faults it repairs all hosts.
func (p *faultRun) pauseAndPartition() {
	if !p.inFaultPeriod() {
		for _, h := range p.hosts {
			h.partitioned = h.cut
			h.endPause()
			h.restartProcess()
		}
		return
	}
	h := p.hosts[p.dice.IntN(len(p.hosts))]
	long := time.Duration(p.dice.IntN(30_000)) * time.Millisecond
	switch p.dice.IntN(4) {
	case 0:
		if p.plan.CrashRate > 0 && !h.paused {
			p.addToStory("%s is paused for %v", h.name, long)
			p.sum.Pauses++
			h.paused = true
			p.scheduleAfter(long, h.endPause)
		}
	case 1, 2:
		if p.plan.LossRate > 0 && !h.partitioned {
			p.addToStory("%s is cut off for %v", h.name, long)
			p.sum.Cuts++
			h.partitioned = true
			p.scheduleAfter(long, func() {
				p.addToStory("%s is connected again", h.name)
				h.partitioned = h.cut
			})
		}
	case 3:
		if p.plan.CrashRate > 0 {
			h.crashProcess("killed")
		}
	}
	p.scheduleAfter(time.Duration(500+p.dice.IntN(20_000))*time.Millisecond, p.pauseAndPartition)
}

// sendMessage delivers a message to its receivers, or loses it.
func (p *faultRun) sendMessage(from *simHost, m protocol.Message) {
	if p.beforeSend != nil && p.beforeSend(from, m) {
		p.addToStory("lost: %s %d of %s", m.KindName(), m.Seq, m.From)
		return
	}
	for _, to := range p.hosts {
		if !to.isAddressee(m) {
			continue
		}
		p.sum.Messages++
		p.deliverLater(from, to, m)
		if p.drawFault(p.plan.DuplicateRate) {
			p.sum.Repeated++
			p.deliverLater(from, to, m)
		}
	}
}

// deliverLater delivers one copy of a message after a random delay, or loses it.
func (p *faultRun) deliverLater(from, to *simHost, m protocol.Message) {
	far := from.site != to.site // messages within a site pass no cut connection
	if far && (from.partitioned || to.partitioned) || p.drawFault(p.plan.LossRate) {
		p.sum.Lost++
		p.addToStory("lost: %s to %s: %s %d", m.From, to.name, m.KindName(), m.Seq)
		return
	}
	d := time.Duration(1+p.dice.IntN(20)) * time.Millisecond
	if p.plan.Slow > 0 { // in order, as a bus promises
		slow := p.plan.Slow
		if far {
			slow /= 2
		}
		d = slow/2 + time.Duration(p.dice.Int64N(int64(slow/2)))
		d = max(d, from.lastArrival[to].Sub(p.now)+time.Millisecond)
		from.lastArrival[to] = p.now.Add(d)
	}
	if p.inFaultPeriod() && p.dice.IntN(4) == 0 {
		d += time.Duration(p.dice.Int64N(int64(p.plan.MaxDelay)))
	}
	p.scheduleAfter(d, func() {
		if far && (from.partitioned || to.partitioned) {
			p.sum.Lost++
			return
		}
		to.receiveMessage(m)
	})
}
