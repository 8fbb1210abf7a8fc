package faults

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A play is one seed on its way.
type play struct {
	plan  Plan
	dice  *rand.Rand
	now   protocol.Time
	queue events
	count int // of events, so that those of one instant keep their order

	hosts  []*host
	stream stream
	lease  lease
	oracle oracle
	sum    Sum

	// script is shown what is said before it is sent, to do harm at a chosen
	// moment; it reports whether the message is lost.
	script  func(from *host, m protocol.Message) bool
	sayGone func(site string)

	tell  bool
	story []string
	wrong *Wrong
}

// An event is something that happens at an instant.
type event struct {
	at protocol.Time
	n  int
	do func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// in has something happen after a while.
func (p *play) in(d time.Duration, do func()) { p.at(p.now.Add(d), do) }

func (p *play) at(t protocol.Time, do func()) {
	p.count++
	heap.Push(&p.queue, event{max(t, p.now), p.count, do})
}

// chance reports true for so many thousandths of calls, as long as there is
// trouble.
func (p *play) chance(rate int) bool { return p.trouble() && p.dice.IntN(1000) < rate }

func (p *play) trouble() bool { return p.now < start.Add(p.plan.Trouble) }

func (p *play) note(format string, args ...any) {
	if p.tell {
		p.story = append(p.story, since(p.now)+"  "+fmt.Sprintf(format, args...))
	}
}

// broken ends the play.
func (p *play) broken(format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Wrong{At: p.now, What: fmt.Sprintf(format, args...)}
	}
}

// newPlay sets everybody on stage.
func newPlay(seed uint64, plan Plan, tell bool) (*play, error) {
	p := &play{plan: plan, dice: rand.New(rand.NewPCG(seed, 2)), now: start, tell: tell}
	p.oracle.play = p
	if err := p.cast(); err != nil {
		return nil, err
	}
	p.at(start, p.mischief)
	return p, nil
}

// run plays to the end, and returns what was broken.
func (p *play) run() *Wrong {
	end := start.Add(p.plan.Trouble + calm)
	for len(p.queue) > 0 && p.wrong == nil {
		e := heap.Pop(&p.queue).(event)
		if e.at > end {
			break
		}
		p.now = e.at
		e.do()
		p.sum.Steps++
		if p.wrong == nil && p.oracle.settled() {
			break
		}
	}
	if p.wrong == nil {
		p.oracle.end()
	}
	if p.wrong != nil {
		p.wrong.Story = p.excerpt()
	}
	return p.wrong
}

// told is how long a story may be.
const told = 200

// excerpt returns the story as far as it tells of the job that went wrong, and
// of what befell the hosts.
func (p *play) excerpt() []string {
	job, _, _ := strings.Cut(p.wrong.What, " ")
	var out []string
	for _, line := range p.story {
		other := strings.Contains(line, "job-") && !strings.Contains(line, job+" ") && !strings.HasSuffix(line, job)
		if !other || !strings.HasPrefix(job, "job-") {
			out = append(out, line)
		}
	}
	if len(out) > told {
		out = append(append(out[:told/2:told/2], "..."), out[len(out)-told/2:]...)
	}
	return out
}

// mischief pauses hosts and cuts them off, now and then, as long as there is
// trouble.
func (p *play) mischief() {
	if !p.trouble() {
		for _, h := range p.hosts {
			h.cut = false
			h.wake()
			h.revive()
		}
		return
	}
	h := p.hosts[p.dice.IntN(len(p.hosts))]
	long := time.Duration(p.dice.IntN(30_000)) * time.Millisecond
	switch p.dice.IntN(4) {
	case 0:
		if p.plan.Crash > 0 && !h.paused {
			p.note("%s is paused for %v", h.name, long)
			p.sum.Pauses++
			h.paused = true
			p.in(long, h.wake)
		}
	case 1, 2:
		if p.plan.Lose > 0 && !h.cut {
			p.note("%s is cut off for %v", h.name, long)
			p.sum.Cuts++
			h.cut = true
			p.in(long, func() {
				p.note("%s is joined again", h.name)
				h.cut = false
			})
		}
	case 3:
		if p.plan.Crash > 0 {
			h.crash("killed")
		}
	}
	p.in(time.Duration(500+p.dice.IntN(20_000))*time.Millisecond, p.mischief)
}

// send carries a message to whoever hears it, or does not.
func (p *play) send(from *host, m protocol.Message) {
	if p.script != nil && p.script(from, m) {
		p.note("lost: %s %d of %s", m.Kind(), m.Seq, m.From)
		return
	}
	for _, to := range p.hosts {
		if !to.hears(m) {
			continue
		}
		p.sum.Messages++
		p.carry(from, to, m)
		if p.chance(p.plan.Repeat) {
			p.sum.Repeated++
			p.carry(from, to, m)
		}
	}
}

func (p *play) carry(from, to *host, m protocol.Message) {
	far := from.site != to.site // what stays within a site crosses no cut
	if far && (from.cut || to.cut) || p.chance(p.plan.Lose) {
		p.sum.Lost++
		p.note("lost: %s to %s: %s %d", m.From, to.name, m.Kind(), m.Seq)
		return
	}
	d := time.Duration(1+p.dice.IntN(20)) * time.Millisecond
	if p.trouble() && p.dice.IntN(4) == 0 {
		d += time.Duration(p.dice.Int64N(int64(p.plan.Slow)))
	}
	p.in(d, func() {
		if far && (from.cut || to.cut) {
			p.sum.Lost++
			return
		}
		to.hear(m)
	})
}
