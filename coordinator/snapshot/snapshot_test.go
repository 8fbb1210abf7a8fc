package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000

var config = market.Config{Remember: 40 * time.Hour, Lease: time.Minute}

// A world is a market and the parties around it, which act at random.
type world struct {
	market  *market.Market
	board   jobstatus.View
	dice    *rand.Rand
	now     protocol.Time
	senders map[protocol.Party]*protocol.Sender
	events  []protocol.Message
	jobs    []protocol.Job
	runs    []run
}

type run struct {
	site  protocol.Party
	award protocol.Award
}

func newTown(seed uint64, now protocol.Time) *world {
	return &world{
		market: market.New(config, auction.New(auction.Config{})), dice: rand.New(rand.NewPCG(seed, 1)), now: now,
		senders: make(map[protocol.Party]*protocol.Sender),
	}
}

func (w *world) say(who protocol.Party, b protocol.Body) []protocol.Message {
	if w.senders[who] == nil {
		w.senders[who] = &protocol.Sender{Party: who}
	}
	return w.hear(w.market.Step(w.now, w.senders[who].NewMessage(w.now, protocol.Coordinator, b)))
}

func (w *world) tick() []protocol.Message {
	w.now = max(w.now, w.market.Due())
	return w.hear(w.market.Tick(w.now))
}

// hear answers the messages of the market, and returns all of them.
func (w *world) hear(ms []protocol.Message) []protocol.Message {
	w.events = append(w.events, w.market.Events()...)
	all := ms
	for _, m := range ms {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			for _, site := range []protocol.Party{"agent/bern", "agent/oslo"} {
				if w.dice.IntN(10) > 0 {
					all = append(all, w.say(site, w.offer(b))...)
				}
			}
		case protocol.Award:
			switch w.dice.IntN(8) {
			case 0:
				all = append(all, w.say(m.To, protocol.Decline{Job: b.Job, Epoch: b.Epoch})...)
			case 1: // no answer
			default:
				w.runs = append(w.runs, run{m.To, b})
				all = append(all, w.say(m.To, protocol.Accept{Job: b.Job, Epoch: b.Epoch})...)
				if w.dice.IntN(2) == 0 {
					all = append(all, w.say(m.To, protocol.Started{Job: b.Job, Epoch: b.Epoch})...)
				}
			}
		case protocol.Preempt: // of another part of a job that does not stand
			if w.dice.IntN(3) > 0 {
				w.runs = slices.DeleteFunc(w.runs, func(r run) bool { return r.award.Job == b.Job && r.award.Epoch == b.Epoch })
				all = append(all, w.say(m.To, protocol.Decline{Job: b.Job, Epoch: b.Epoch})...)
			}
		}
	}
	return all
}

func (w *world) offer(c protocol.CallForBids) protocol.Bids {
	o := protocol.Bids{Round: c.Round, Capacity: []protocol.CapacityProfile{{
		Model: "V100", From: w.now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{200_000}, Total: 200_000,
	}}}
	for _, j := range c.Jobs {
		m := protocol.JobBids{Job: j.ID}
		for range w.dice.IntN(3) {
			start := w.now.Add(time.Duration(w.dice.IntN(2)*w.dice.IntN(90)) * time.Minute)
			m.Options = append(m.Options, protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Model: "V100", Money: 10_000, Energy: 1e9, Carbon: 50_000})
		}
		o.Jobs = append(o.Jobs, m)
	}
	return o
}

// live lets some time pass.
func (w *world) live(steps int) {
	for _, site := range []string{"bern", "oslo"} {
		w.say(protocol.AgentParty(site), protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", Nodes: 50, GPUs: 200}}})
	}
	for range steps {
		switch w.dice.IntN(12) {
		case 0, 1, 2, 3:
			j := protocol.Job{
				ID: protocol.JobID(fmt.Sprint("job-", len(w.jobs))), Tenant: "lab", GPUs: 1, Share: 1000, CPU: 1000,
				Arrival: w.now, Run: time.Hour, Deadline: w.now.Add(4 * time.Hour), Urgency: protocol.StandardOrNow(w.dice.IntN(2) == 0),
			}
			if w.dice.IntN(20) == 0 {
				j.Run = -1 // refused
			}
			if w.dice.IntN(30) == 0 { // two parts of one pod
				j, _ = j.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000, CPU: 1000}}).WithEqualParts(2)
				j.MaxSites = 2
			}
			w.jobs = append(w.jobs, j)
			w.say(protocol.Submitter, protocol.Submit{Job: j})
		case 4:
			if len(w.jobs) > 0 && w.dice.IntN(10) == 0 {
				w.say(protocol.OperatorAPI, protocol.Cancel{Job: w.jobs[w.dice.IntN(len(w.jobs))].ID})
			}
		case 5:
			if w.dice.IntN(40) == 0 {
				w.say("agent/bern", protocol.RegisterSite{Site: "bern", Pools: []protocol.Pool{{Model: "V100", Nodes: 50, GPUs: 200}}})
			}
			if w.dice.IntN(200) == 0 {
				w.lose("bern")
			}
			if w.dice.IntN(100) == 0 {
				w.say(protocol.OperatorAPI, protocol.Drain{Site: "bern", Over: w.dice.IntN(2) == 0})
			}
		case 6, 7, 8, 9:
			if len(w.runs) > 0 {
				i := w.dice.IntN(len(w.runs))
				r := w.runs[i]
				w.runs = append(w.runs[:i], w.runs[i+1:]...)
				w.say(r.site, w.done(r))
			}
		default:
			if due := w.market.Due(); due != 0 {
				w.tick()
			}
		}
	}
}

// lose decommissions a site. Half of its jobs will never be reported on.
func (w *world) lose(site string) {
	w.say(protocol.OperatorAPI, protocol.DecommissionSite{Site: site, By: "ada"})
	w.runs = slices.DeleteFunc(w.runs, func(r run) bool { return r.site == protocol.AgentParty(site) && w.dice.IntN(2) == 0 })
}

func (w *world) done(r run) protocol.UsageReport {
	e := protocol.Millijoules(8e8 + w.dice.Int64N(6e8))
	return protocol.UsageReport{
		Job: r.award.Job, Epoch: r.award.Epoch, Started: w.now, Ended: w.now, Node: "n1", Devices: []int{0},
		IT: e, Energy: e, Carbon: 40_000 + protocol.Milligrams(w.dice.IntN(40_000)), Money: 9_000 + protocol.Microdollars(w.dice.IntN(4_000)),
	}
}

// again is a town whose market is restored from events, and in which the same messages
// follow as in any other of that seed.
func (w *world) again(events []protocol.Message) *world {
	n := newTown(7, w.now.Add(time.Minute))
	for _, m := range events {
		n.market.Restore(m)
		n.board.AddMessage(m)
	}
	n.market.BeginIncarnation(9)
	for who, m := range w.senders {
		n.senders[who] = &protocol.Sender{Party: who, Incarnation: m.Incarnation + 9}
	}
	n.jobs, n.runs = append(n.jobs, w.jobs...), append(n.runs, w.runs...)
	return n
}

// epilogue makes every party repeat its messages, and then goes on at random.
func (w *world) epilogue() (sent []protocol.Message) {
	for _, site := range []string{"bern", "oslo"} { // sites with runs to stop
		sent = append(sent, w.say(protocol.AgentParty(site), protocol.RegisterSite{Site: site})...)
	}
	for i := range w.jobs {
		j := w.jobs[i]
		if i%5 == 0 {
			j.Run++ // another job under a known id
		}
		sent = append(sent, w.say(protocol.Submitter, protocol.Submit{Job: j})...)
	}
	for _, r := range w.runs {
		sent = append(sent, w.say(r.site, w.done(r))...)
	}
	for range 300 {
		if w.market.Due() == 0 {
			break
		}
		sent = append(sent, w.tick()...)
	}
	return sent
}

func sum(parts ...[]protocol.Message) []protocol.Message {
	s, last := snapshot.New(config.Remember), uint64(0)
	for _, events := range parts {
		for _, m := range events {
			s.AddEvent(m)
		}
		last++
	}
	return s.SnapshotMessages(last)
}

// A market restored from a snapshot and the later events answers all messages as
// one restored from all events does. So does one restored from a snapshot that
// was made from an older snapshot.
func TestSnapshotRestoresTheStateOfAllEvents(t *testing.T) {
	for seed := range uint64(1) {
		w := newTown(seed, noon)
		w.live(40_000)
		all := w.events
		one, two := len(all)/2, len(all)*9/10
		whole := w.again(all)
		say := whole.epilogue()
		strays := 0
		for _, m := range say {
			if _, ok := m.Body.(protocol.Cancel); ok {
				strays++
			}
		}
		if strays < 20 {
			t.Errorf("only %d jobs are left at a site that was gone", strays)
		}
		for name, events := range map[string][]protocol.Message{
			"a summary":                           sum(all),
			"a summary, and what came after":      append(sum(all[:two]), all[two:]...),
			"a summary of a summary and the rest": sum(sum(all[:one]), all[one:]),
			"two summaries, and what came after":  append(sum(sum(all[:one]), all[one:two]), all[two:]...),
		} {
			if len(events) >= len(all) {
				t.Errorf("%s has %d events, of %d", name, len(events), len(all))
			}
			n := w.again(events)
			boards(t, name, &whole.board, &n.board)
			if got := n.epilogue(); !reflect.DeepEqual(got, say) {
				differ(t, name, got, say)
			}
			for _, a := range whole.market.Accounts().AccountNames() {
				if x, y := n.market.Accounts().BalanceOf(a), whole.market.Accounts().BalanceOf(a); x != y {
					t.Errorf("%s: %s has %d, not %d", name, a, x, y)
				}
			}
		}
	}
}

func boards(t *testing.T, name string, want, got *jobstatus.View) {
	if !reflect.DeepEqual(got.AllJobs(noon), want.AllJobs(noon)) || len(got.AllJobs(noon)) == 0 {
		t.Errorf("%s: other jobs are on the board", name)
	}
	for i, s := range got.AllSites(noon) {
		x := want.AllSites(noon)[i]
		if s.Done != x.Done || s.Placed != x.Placed || s.Drained != x.Drained || s.GPUs != x.GPUs {
			t.Errorf("%s: the board shows %+v, not %+v", name, s, x)
		}
	}
}

func differ(t *testing.T, name string, got, want []protocol.Message) {
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: word %d is %+v, not %+v", name, i, got[i], want[i])
		}
	}
	t.Fatalf("%s: %d words, not %d", name, len(got), len(want))
}

// What is left of many jobs does not grow with them, but for their ids.
func TestSnapshotSizeIsBounded(t *testing.T) {
	w := newTown(3, noon)
	w.live(42_000)
	one := len(sum(w.events))
	w.live(42_000)
	two := len(sum(w.events))
	if len(w.jobs) < 2*market.MaxWholeEndedJobs || two > one+one/10 { // the ids, and events of more or fewer open jobs
		t.Errorf("%d jobs: %d events; half of them: %d", len(w.jobs), two, one)
	}
}

// However many accounts there are, what is left can be written.
func TestSnapshotOfManyAccountsFitsIntoMessages(t *testing.T) {
	const n = 80_000
	var all []protocol.Balance
	for i := range n {
		all = append(all, protocol.Balance{Account: fmt.Sprintf("tenant/%0128d", i), Amount: 1})
	}
	s, left := snapshot.New(time.Hour), 0
	s.AddEvent(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Accounts: all}})
	for _, m := range s.SnapshotMessages(1) {
		if _, err := protocol.Encode(m); err != nil {
			t.Fatal(err)
		}
		if b, ok := m.Body.(protocol.Snapshot); ok {
			left += len(b.Accounts)
		}
	}
	if left != n {
		t.Errorf("%d accounts are left of %d", left, n)
	}
}

// An accept may be late, and stands if the job was not awarded elsewhere. The site has the
// job then, and must be ordered to stop it if it comes back after its decommission.
func TestSnapshotKeepsALateAccept(t *testing.T) {
	w := newTown(1, noon)
	coordinator := protocol.Sender{Party: protocol.Coordinator}
	fact := func(to protocol.Party, b protocol.Body) {
		w.events = append(w.events, coordinator.NewMessage(w.now, to, b))
	}
	heard := func(who protocol.Party, b protocol.Body) {
		if w.senders[who] == nil {
			w.senders[who] = &protocol.Sender{Party: who}
		}
		w.events = append(w.events, w.senders[who].NewMessage(w.now, protocol.Coordinator, b))
	}
	job := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", GPUs: 1, Share: 1000, CPU: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(time.Hour)}
	award := func(site string, epoch uint64) {
		fact(protocol.AgentParty(site), protocol.Award{Round: epoch, Job: job.ID, Epoch: epoch, Lease: w.now.Add(time.Minute)})
	}
	heard("agent/bern", protocol.RegisterSite{Site: "bern"})
	heard("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	heard(protocol.Submitter, protocol.Submit{Job: job})
	award("oslo", 1)
	fact(protocol.Submitter, protocol.Defer{Round: 2, Job: job.ID, Until: w.now.Add(time.Hour)})
	heard("agent/oslo", protocol.Accept{Job: job.ID, Epoch: 1})
	heard(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	award("bern", 2)
	heard("agent/bern", protocol.Accept{Job: job.ID, Epoch: 2})
	heard("agent/bern", protocol.UsageReport{Job: job.ID, Epoch: 2})
	fact("", protocol.Settlement{Job: job.ID, Site: "bern"})
	for i := range market.MaxWholeEndedJobs {
		job.ID = protocol.JobID(fmt.Sprint("job-", i))
		heard(protocol.Submitter, protocol.Submit{Job: job})
		fact(protocol.Submitter, protocol.Reject{Job: job.ID})
	}
	for name, events := range map[string][]protocol.Message{"all events": w.events, "a snapshot": sum(w.events)} {
		stops := 0
		for _, m := range w.again(events).say("agent/oslo", protocol.RegisterSite{Site: "oslo"}) {
			if c, ok := m.Body.(protocol.Cancel); ok && c.Job == "train" && c.Epoch == 1 {
				stops++
			}
		}
		if stops != 1 {
			t.Errorf("restored from %s, the site that is back gets %d orders to stop", name, stops)
		}
	}
}

// A clock that was years ahead for a while, and was corrected, keeps no id known
// for years, nor all that ended since.
func TestIDsEndedByAClockAheadAreForgotten(t *testing.T) {
	s, sender := snapshot.New(time.Hour), protocol.Sender{Party: protocol.Coordinator}
	s.AddEvent(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Ended: []protocol.EndedJob{
		{Job: "ahead", At: noon.Add(50_000 * time.Hour), Digest: 1}, {Job: "since", At: noon, Digest: 2},
	}}})
	known := func(now protocol.Time, id protocol.JobID) (all []protocol.JobID) {
		s.AddEvent(protocol.Message{From: protocol.Submitter, Seq: uint64(now), At: now, Body: protocol.Submit{Job: protocol.Job{ID: id}}})
		s.AddEvent(sender.NewMessage(now, protocol.Submitter, protocol.Reject{Job: id}))
		for _, m := range s.SnapshotMessages(1) {
			if b, ok := m.Body.(protocol.Snapshot); ok {
				for _, p := range b.Ended {
					all = append(all, p.Job)
				}
			}
		}
		return all
	}
	if all := known(noon.Add(30*time.Minute), "a"); len(all) != 2 {
		t.Errorf("within the hour %q are known; want both", all)
	}
	if all := known(noon.Add(91*time.Minute), "b"); len(all) != 0 {
		t.Errorf("after it %q are known", all)
	}
}
