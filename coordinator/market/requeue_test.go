package market

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A fullHouse is a market with a rule of its own, and one site of few GPUs that bids whatever
// starts now, as long as it has capacity or beyond that.
type fullHouse struct {
	*testing.T
	market       *Market
	now          protocol.Time
	us, it       protocol.Sender // who submits, the site
	freeCapacity int             // GPUs
	runs         []protocol.Award
	lies         bool // offers what it has not
	deaf         bool
	calls        map[protocol.JobID][]protocol.Time
	began        map[protocol.JobID]protocol.Time
	events       []protocol.Message
}

func newFullHouse(t *testing.T, gpus int) *fullHouse {
	h := &fullHouse{
		T: t, market: New(Config{Window: time.Millisecond}, auction.New(auction.Config{})), now: noon, freeCapacity: gpus,
		us: protocol.Sender{Party: protocol.Submitter}, it: protocol.Sender{Party: "agent/oslo"},
		calls: make(map[protocol.JobID][]protocol.Time), began: make(map[protocol.JobID]protocol.Time),
	}
	h.site(protocol.RegisterSite{Site: "oslo"})
	return h
}

func (h *fullHouse) submit(n int) {
	for i := range n {
		j := protocol.Job{
			Urgency: protocol.UrgencyNow, ID: protocol.JobID(fmt.Sprint("job-", i)), Tenant: "lab", GPUs: 1, Share: 1000, CPU: 1000,
			Arrival: h.now, Run: time.Hour, Deadline: h.now.Add(1000 * time.Hour),
		}
		h.record(h.market.Step(h.now, h.us.NewMessage(h.now, protocol.Coordinator, protocol.Submit{Job: j})))
	}
}

func (h *fullHouse) site(b protocol.Body) {
	h.record(h.market.Step(h.now, h.it.NewMessage(h.now, protocol.Coordinator, b)))
}

// tick moves the clock on, to when the market is due or to most.
func (h *fullHouse) tick(most protocol.Time) bool {
	due := h.market.Due()
	if due == 0 || due > most {
		h.now = most
		return false
	}
	h.now = due
	h.record(h.market.Tick(h.now))
	return true
}

func (h *fullHouse) record(ms []protocol.Message) {
	h.events = append(h.events, h.market.Events()...)
	for _, m := range ms {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			for _, j := range b.Jobs {
				h.calls[j.ID] = append(h.calls[j.ID], h.now)
			}
			if !h.deaf {
				h.site(h.offer(b))
			}
		case protocol.Award:
			if len(h.runs) == h.freeCapacity {
				h.site(protocol.Decline{Job: b.Job, Epoch: b.Epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}})
				continue
			}
			h.began[b.Job] = h.now
			h.runs = append(h.runs, b)
			h.site(protocol.Accept{Job: b.Job, Epoch: b.Epoch})
		}
	}
}

func (h *fullHouse) free() protocol.Milli { return protocol.Milli(h.freeCapacity-len(h.runs)) * 1000 }

func (h *fullHouse) offer(c protocol.CallForBids) protocol.Bids {
	o := protocol.Bids{Round: c.Round, Capacity: []protocol.CapacityProfile{{
		Model: "V100", From: h.now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{h.free()}, Total: protocol.Milli(h.freeCapacity) * 1000,
	}}}
	for _, j := range c.Jobs {
		m := protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoCapacity}}
		if h.free() > 0 || h.lies {
			m.Options = []protocol.BidOption{{Start: h.now, Finish: h.now.Add(j.Run), Model: "V100", Money: 10_000}}
		}
		o.Jobs = append(o.Jobs, m)
	}
	return o
}

// end has a job of the site end, and returns when.
func (h *fullHouse) end(i int) {
	a := h.runs[i]
	h.runs = append(h.runs[:i], h.runs[i+1:]...)
	h.site(protocol.UsageReport{
		Job: a.Job, Epoch: a.Epoch, Started: h.began[a.Job], Ended: h.now, Node: "n1", Devices: []int{0},
		IT: 600_000_000, Energy: 720_000_000, Carbon: 50_000, Money: 12_000,
	})
}

// Whenever a GPU becomes free, a waiting job gets it within the longest backoff; and while all are
// taken, whatever the site bids, a job is called at growing intervals.
func TestIdleJobIsCalledWhenCapacityIsFreed(t *testing.T) {
	longest := maxRequeueBackoff + 2*time.Second
	rapid.Check(t, func(rt *rapid.T) {
		h := newFullHouse(t, rapid.IntRange(1, 3).Draw(rt, "gpus"))
		h.lies = rapid.Bool().Draw(rt, "lies")
		jobs := h.freeCapacity + rapid.IntRange(1, 5).Draw(rt, "waiting")
		h.submit(jobs)
		for len(h.began) < jobs {
			full := time.Duration(rapid.IntRange(1, 5000).Draw(rt, "full")) * time.Second
			for until := h.now.Add(full); h.tick(until); {
			}
			before := len(h.began)
			if want := min(h.freeCapacity, jobs); before < want {
				rt.Fatalf("%d of %d GPUs are in use, and %d jobs wait", len(h.runs), h.freeCapacity, jobs-before)
			}
			h.end(rapid.IntRange(0, len(h.runs)-1).Draw(rt, "who ends"))
			for until := h.now.Add(longest); len(h.began) == before; {
				if !h.tick(until) {
					rt.Fatalf("a GPU was free for %v while %d jobs waited", longest, jobs-before)
				}
			}
		}
		for id, at := range h.calls {
			for i := 1; i < len(at); i++ {
				full := at[i] == at[i].Floor(h.market.cfg.Replan).Add(time.Second)
				if d := at[i].Sub(at[i-1]); d < min(time.Second<<min(i-1, 10), 2*time.Minute) && !full {
					rt.Fatalf("%s was called for the %dth time after %v", id, i+1, d)
				}
			}
		}
	})
}

// No site answers; then one registers, or answers a round.
func TestJobWithoutBidsIsCalledWhenASiteIsBack(t *testing.T) {
	h := newFullHouse(t, 1)
	h.deaf = true
	h.submit(1)
	for until := noon.Add(20 * time.Minute); h.tick(until); {
	}
	calls := len(h.calls["job-0"])
	if calls < 8 || calls > 18 {
		t.Errorf("called %d times in 20 minutes in which no site answered", calls)
	}
	h.deaf = false
	h.site(protocol.RegisterSite{Site: "oslo"})
	for until := h.now.Add(maxRequeueBackoff + 2*time.Second); len(h.runs) == 0; {
		if !h.tick(until) {
			t.Fatalf("the site is back, and was not asked")
		}
	}
}

// A restored market has the same backoff for each lot as the one before.
func TestBackoffIsRestored(t *testing.T) {
	h := newFullHouse(t, 1)
	h.lies = true
	h.submit(2)
	for until := noon.Add(3 * time.Minute); h.tick(until); {
	}
	l := h.market.lots["job-1"]
	k := New(h.market.cfg, auction.New(auction.Config{}))
	for _, m := range h.events {
		k.Restore(m)
	}
	if got := k.lots["job-1"]; got.failedCalls != l.failedCalls || got.backoffUntil != l.backoffUntil || got.due != l.due || l.failedCalls < 2 {
		t.Errorf("restored: in vain %d times, rests until %v, due %v; was %d, %v, %v", got.failedCalls, got.backoffUntil, got.due, l.failedCalls, l.backoffUntil, l.due)
	}
}
