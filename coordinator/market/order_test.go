package market

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// The same bids, in any order and each perhaps twice, lead to the same round.
func TestBidsInAnyOrderAndTwiceMakeTheSameRound(t *testing.T) {
	sites := []string{"bern", "kiel", "oslo", "rome"}
	rapid.Check(t, func(t *rapid.T) {
		var jobs []protocol.Job
		for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
			j := (&testMarket{}).job()
			j.ID, j.Regions, j.Urgency = protocol.JobID(fmt.Sprint("job-", i)), nil, protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable"))
			jobs = append(jobs, j)
		}
		offers := make(map[string]protocol.Bids)
		for _, name := range sites {
			offers[name] = drawOffer(t, jobs)
		}
		play := func(jobs []protocol.Job, order []string) []protocol.Message {
			k := New(Config{Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}}, auction.New(auction.Config{Steps: 20}))
			senders := make(map[string]*protocol.Sender)
			for _, name := range sites {
				senders[name] = &protocol.Sender{Party: protocol.AgentParty(name)}
			}
			for _, name := range order {
				k.Step(noon, senders[name].NewMessage(noon, protocol.Coordinator, protocol.RegisterSite{Site: name}))
			}
			who := protocol.Sender{Party: protocol.Submitter}
			for _, j := range jobs {
				k.Step(noon, who.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: j}))
			}
			now := k.Due()
			sent := k.Tick(now)
			for _, name := range order {
				m := senders[name].NewMessage(now, protocol.Coordinator, offers[name])
				sent = append(sent, k.Step(now, m)...)
				sent = append(sent, k.Step(now, m)...)
			}
			return sent
		}
		want := play(jobs, sites)
		got := play(rapid.Permutation(jobs).Draw(t, "jobs"), rapid.Permutation(sites).Draw(t, "order"))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order the market says\n%v\nnot\n%v", got, want)
		}
	})
}

// drawOffer draws bids of one GPU at whole hours, at prices that often tie.
func drawOffer(t *rapid.T, jobs []protocol.Job) protocol.Bids {
	opened := noon.Add(time.Second)
	o := protocol.Bids{Round: 1, Capacity: []protocol.CapacityProfile{{
		Model: "V100", From: noon, Slot: 15 * time.Minute, Free: []protocol.Milli{1000}, Total: 1000,
	}}}
	for _, j := range jobs {
		m := protocol.JobBids{Job: j.ID}
		for i := range rapid.IntRange(0, 3).Draw(t, "options") {
			start := opened.Add(time.Duration(i) * time.Hour)
			m.Options = append(m.Options, protocol.BidOption{
				Start: start, Finish: start.Add(time.Hour), Model: "V100",
				Money: protocol.Microdollars(rapid.IntRange(0, 3).Draw(t, "money")) * 10_000,
			})
		}
		o.Jobs = append(o.Jobs, m)
	}
	return o
}

// parties and jobs of a bedlam.
var (
	loud  = []protocol.Party{"agent/bern", "agent/oslo", "agent/rome", "hands/oslo", protocol.Submitter, protocol.Coordinator, ""}
	names = []protocol.JobID{"a", "b", "c"}
)

// Whatever any party sends, every job stays in one state, ends at most once, and is not lost: left
// alone, each ends or is accepted by a site.
func TestNoMessageSequenceLosesAJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		k := New(Config{Patience: time.Hour}, &soonest{})
		senders := make(map[protocol.Party]*protocol.Sender)
		ends := make(map[protocol.JobID]int)
		record := func(ms []protocol.Message) {
			for i, m := range ms {
				if m.From != protocol.Coordinator || m.At != now {
					t.Fatalf("message %d is from %q at %v", i, m.From, m.At)
				}
				switch b := m.Body.(type) {
				case protocol.Settlement:
					ends[b.Job]++
				case protocol.Reject:
					if b.Why.Code != protocol.Duplicate {
						ends[b.Job]++
					}
				}
			}
		}
		tick := func() {
			now = max(now, k.Due())
			record(k.Tick(now))
			if due := k.Due(); due != 0 && due <= now {
				t.Fatalf("at %v: due at %v after a tick", now, due)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "tick") == 3 {
				tick()
				continue
			}
			who := rapid.SampledFrom(loud).Draw(t, "who")
			if senders[who] == nil {
				senders[who] = &protocol.Sender{Party: who}
			}
			record(k.Step(now, senders[who].NewMessage(now, protocol.Coordinator, drawTalk(t, now, who))))
		}
		for range 10_000 {
			if k.Due() == 0 {
				break
			}
			tick()
		}
		for id, l := range k.lots {
			if kept := l.state == accepted; kept && ends[id] != 0 || !kept && (l.state != ended || ends[id] != 1) {
				t.Errorf("%s is in state %d and has ended %d times", id, l.state, ends[id])
			}
		}
		sum := protocol.Microdollars(0)
		for _, a := range k.Accounts().AccountNames() {
			sum += k.Accounts().BalanceOf(a)
		}
		if sum != 0 {
			t.Errorf("the accounts add up to %d", sum)
		}
		if b := k.Accounts().BalanceOf(accounts.SiteAccount("paris")); b != 0 {
			t.Errorf("a stranger has %d", b)
		}
	})
}

func drawTalk(t *rapid.T, now protocol.Time, who protocol.Party) protocol.Body {
	id, epoch := rapid.SampledFrom(names).Draw(t, "job"), uint64(rapid.IntRange(0, 3).Draw(t, "epoch"))
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0, 1:
		j := (&testMarket{}).job()
		j.ID, j.Arrival, j.Deadline = id, now, now.Add(time.Hour)
		j.GPUs = rapid.SampledFrom([]int{1, 1, 1, 2, -1}).Draw(t, "gpus")
		return protocol.Submit{Job: j}
	case 2:
		return protocol.RegisterSite{Site: who.SiteName()}
	case 3, 4:
		o := protocol.Bids{Round: uint64(rapid.IntRange(0, 5).Draw(t, "round")), Capacity: []protocol.CapacityProfile{freeCapacity(now)}}
		for _, id := range names[:rapid.IntRange(0, 3).Draw(t, "menus")] {
			start := now.Add(time.Duration(rapid.IntRange(-1, 60).Draw(t, "start")) * time.Second)
			o.Jobs = append(o.Jobs, bidsOf(id, protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Model: "V100"}))
		}
		return o
	case 5:
		return []protocol.Body{protocol.Accept{Job: id, Epoch: epoch}, protocol.Decline{Job: id, Epoch: epoch}}[rapid.IntRange(0, 1).Draw(t, "answer")]
	default:
		return protocol.UsageReport{Job: id, Epoch: epoch, Started: now - 5, Ended: now, Money: protocol.Microdollars(rapid.Int64().Draw(t, "money"))}
	}
}
