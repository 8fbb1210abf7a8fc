package faults

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A faultRun is one seed on its way.
type faultRun struct {
	plan  FaultPlan
	dice  *rand.Rand
	now   protocol.Time
	queue eventQueue
	count int // of events, so that those of one instant keep their order

	hosts  []*simHost
	stream eventStream
	lease  leaderLease
	oracle faultOracle
	sum    FaultCounts

	// beforeSend is shown what is said before it is sent, to do harm at a chosen
	// moment; it reports whether the message is lost.
	beforeSend       func(from *simHost, m protocol.Message) bool
	decommissionSite func(site string)

	recordStory bool
	story       []string
	wrong       *Violation
}

// An simEvent is something that happens at an instant.
type simEvent struct {
	at protocol.Time
	n  int
	do func()
}

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

// scheduleAfter has something happen after a while.
func (p *faultRun) scheduleAfter(d time.Duration, do func()) { p.scheduleAt(p.now.Add(d), do) }

func (p *faultRun) scheduleAt(t protocol.Time, do func()) {
	p.count++
	heap.Push(&p.queue, simEvent{max(t, p.now), p.count, do})
}

// drawFault reports true for so many thousandths of calls, as long as there is
// trouble.
func (p *faultRun) drawFault(rate int) bool { return p.inFaultPeriod() && p.dice.IntN(1000) < rate }

func (p *faultRun) inFaultPeriod() bool { return p.now < startTime.Add(p.plan.FaultPeriod) }

func (p *faultRun) addToStory(format string, args ...any) {
	if p.recordStory {
		p.story = append(p.story, sinceStart(p.now)+"  "+fmt.Sprintf(format, args...))
	}
}

// reportViolation ends the play.
func (p *faultRun) reportViolation(format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Violation{At: p.now, What: fmt.Sprintf(format, args...)}
	}
}

// newFaultRun sets everybody on stage.
func newFaultRun(seed uint64, plan FaultPlan, tell bool) (*faultRun, error) {
	p := &faultRun{plan: plan, dice: rand.New(rand.NewPCG(seed, 2)), now: startTime, recordStory: tell}
	p.oracle.run = p
	if err := p.startParties(); err != nil {
		return nil, err
	}
	p.scheduleAt(startTime, p.pauseAndPartition)
	return p, nil
}

// runToEnd plays to the end, and returns what was broken.
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

// maxStoryLines is how long a story may be.
const maxStoryLines = 200

// storyExcerpt returns the story as far as it tells of the job that went wrong, and
// of what befell the hosts.
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

// pauseAndPartition pauses hosts and cuts them off, now and then, as long as there is
// trouble.
func (p *faultRun) pauseAndPartition() {
	if !p.inFaultPeriod() {
		for _, h := range p.hosts {
			h.partitioned = false
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
				p.addToStory("%s is joined again", h.name)
				h.partitioned = false
			})
		}
	case 3:
		if p.plan.CrashRate > 0 {
			h.crashProcess("killed")
		}
	}
	p.scheduleAfter(time.Duration(500+p.dice.IntN(20_000))*time.Millisecond, p.pauseAndPartition)
}

// sendMessage carries a message to whoever hears it, or does not.
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

func (p *faultRun) deliverLater(from, to *simHost, m protocol.Message) {
	far := from.site != to.site // what stays within a site crosses no cut
	if far && (from.partitioned || to.partitioned) || p.drawFault(p.plan.LossRate) {
		p.sum.Lost++
		p.addToStory("lost: %s to %s: %s %d", m.From, to.name, m.KindName(), m.Seq)
		return
	}
	d := time.Duration(1+p.dice.IntN(20)) * time.Millisecond
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
