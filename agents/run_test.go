package agents

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestSiteRegistersUntilAcknowledged(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4, 2)
	if s.agent.Due() == 0 || s.agent.Due() > noon {
		t.Fatalf("due at %v", s.agent.Due())
	}
	sent := s.agent.Tick(noon)
	want := protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 6, CPU: 128_000, Memory: 512 << 10}}}
	if len(sent) != 1 || sent[0].To != protocol.Coordinator || !reflect.DeepEqual(sent[0].Body, want) {
		t.Errorf("sent %v", sent)
	}
	due := s.agent.Due()
	if due <= noon || s.agent.Tick(noon) != nil {
		t.Errorf("due at %v", due)
	}
	if again := s.agent.Tick(due); len(again) != 1 || !reflect.DeepEqual(again[0].Body, want) {
		t.Errorf("unacknowledged it sent %v", again)
	}
	s.confirm("", 0, protocol.Acknowledged)
	if s.agent.Due() != 0 || s.agent.Tick(due) != nil {
		t.Error("a site that was heard waits to be spoken to")
	}
	s.confirm("", 0, protocol.UnknownSite) // a coordinator that lost its books
	if again := s.agent.Tick(due); len(again) != 1 || !reflect.DeepEqual(again[0].Body, want) {
		t.Errorf("to one that does not know it, it sent %v", again)
	}
}

func TestAnAwardIsAcceptedThenLaunchedThenReported(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.signal(protocol.GridPrice, 100_000, 200_000)
	j := job("train", 1)
	j.Home, j.Input = "bern", 1<<10 // a GiB: 9 s, 24 g
	sent := s.award(j, 7, false)
	launch := protocol.Launch{
		Job: j, Epoch: 7, Node: "a", Devices: []int{0}, Model: "V100", Run: time.Hour + 9*time.Second, Power: 141_000,
	}
	if want := []protocol.Body{protocol.Accept{Job: "train", Epoch: 7, Start: noon}, launch}; !reflect.DeepEqual(bodies(sent), want) {
		t.Fatalf("sent\n%+v, want\n%+v", bodies(sent), want)
	}
	if sent[1].To != "hands/oslo" {
		t.Errorf("launched by %s", sent[1].To)
	}
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "train", Epoch: 7}))
	s.now = noon.Add(time.Hour + 10*time.Second)
	// What was measured, not what was bid: a kWh in the first hour, two in the
	// second, and a fifth more for the building.
	got := bodies(s.exit("train", 7, protocol.HourlyEnergy{Hour: noon, Energy: 3_600_000_000}, protocol.HourlyEnergy{Hour: noon.Add(time.Hour), Energy: 7_200_000_000}))
	want := []protocol.Body{protocol.UsageReport{
		Job: "train", Epoch: 7, Started: noon, Ended: s.now, Node: "a", Devices: []int{0},
		IT: 10_800_000_000, Energy: 12_960_000_000, Carbon: 600_000 + 1_200_000 + 24_000, Money: 120_000 + 480_000,
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent\n%+v, want\n%+v", got, want)
	}
	if s.exit("train", 7) != nil {
		t.Error("a Finished that comes twice is reported twice")
	}
}

// The end of a job may be reported late, after its agent was down: its report and estimate use the
// time of the end. A wrong clock moves it at most to its start or to now.
func TestReportUsesTheExecutorsEndTime(t *testing.T) {
	for _, tc := range []struct{ sent, want time.Duration }{{time.Hour, time.Hour}, {0, 9 * time.Hour}, {-time.Hour, 0}, {20 * time.Hour, 9 * time.Hour}} {
		s := newSite(t, MarginalCost{}, 4)
		s.award(job("train", 1), 1, false)
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "train", Epoch: 1}))
		x := protocol.Finished{Job: "train", Epoch: 1, Draw: []protocol.HourlyEnergy{{Hour: noon, Energy: 360_000_000}}}
		if tc.sent != 0 {
			x.Ended = noon.Add(tc.sent)
		}
		s.now = noon.Add(9 * time.Hour)
		sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", x))
		if d, ok := sent[0].Body.(protocol.UsageReport); !ok || d.Started != noon || d.Ended != noon.Add(tc.want) {
			t.Errorf("said to have ended after %v it is reported as %+v; want %v", tc.sent, sent[0].Body, tc.want)
		}
		for _, f := range s.agent.Events() {
			if r, ok := f.Body.(protocol.CompletedRun); ok && (r.Lasted != tc.want || r.Power != protocol.Milliwatts(360_000/tc.want.Hours()/3.6)) {
				t.Errorf("after %v it is remembered as %v at %d mW", tc.want, r.Lasted, r.Power)
			}
		}
	}
}

func TestImpossibleAwardsAreDeclined(t *testing.T) {
	give := func(s *site, id protocol.JobID, epoch uint64) []protocol.Message {
		return s.give(protocol.Award{Job: id, Epoch: epoch, Option: protocol.BidOption{Start: noon, Model: "V100"}, Lease: noon.Add(time.Second)})
	}
	for name, c := range map[string]struct {
		want protocol.Code
		say  func(*site) []protocol.Message
	}{
		"a job that was not called": {protocol.UnknownJob, func(s *site) []protocol.Message { return give(s, "ghost", 1) }},
		"an epoch of none":          {protocol.Superseded, func(s *site) []protocol.Message { s.call(job("train", 1)); return give(s, "train", 0) }},
		"a repeated award": {protocol.Superseded, func(s *site) []protocol.Message {
			s.award(job("train", 1), 2, false)
			return give(s, "train", 2)
		}},
		"an older epoch": {protocol.Superseded, func(s *site) []protocol.Message {
			s.award(job("train", 1), 2, false)
			return give(s, "train", 1)
		}},
		"a lease that is over": {protocol.CapacityTaken, func(s *site) []protocol.Message {
			s.call(job("train", 1))
			s.now = noon.Add(time.Second + time.Millisecond)
			return give(s, "train", 1)
		}},
		"room that was taken since": {protocol.CapacityTaken, func(s *site) []protocol.Message {
			s.call(job("train", 1), job("large", 4))
			give(s, "large", 1)
			return give(s, "train", 1)
		}},
		"a model that is not here": {protocol.CapacityTaken, func(s *site) []protocol.Message {
			s.call(job("train", 1))
			return s.give(protocol.Award{Job: "train", Epoch: 1, Option: protocol.BidOption{Model: "H100"}, Lease: noon})
		}},
		"a cap that was not offered": {protocol.CapacityTaken, func(s *site) []protocol.Message {
			s.call(job("train", 1))
			return s.give(protocol.Award{Job: "train", Epoch: 1, Option: protocol.BidOption{Model: "V100", Cap: 123}, Lease: noon})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sent := c.say(newSite(t, eager, 4))
			d, ok := sent[0].Body.(protocol.Decline)
			if len(sent) != 1 || !ok || d.Why.Code != c.want {
				t.Errorf("sent %+v, want a decline: %s", bodies(sent), c.want)
			}
		})
	}
}

// The market missed the first Accept and awards anew: the job is not started twice, and is
// reported under the newer award.
func TestNewerAwardOfARunningJobIsAcceptedWithoutLaunch(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.award(job("train", 1), 1, false)
	s.now = noon.Add(time.Minute)
	sent := bodies(s.award(job("train", 1), 2, false))
	if want := []protocol.Body{protocol.Accept{Job: "train", Epoch: 2, Start: noon}}; !reflect.DeepEqual(sent, want) {
		t.Fatalf("sent %+v, want %+v", sent, want)
	}
	done := bodies(s.exit("train", 1))
	if len(done) != 1 || done[0].(protocol.UsageReport).Epoch != 2 {
		t.Errorf("sent %+v, want an end under epoch 2", done)
	}
	if got := launched(s.award(job("all", 4), 1, false)); got != "all " {
		t.Errorf("launched %q: room of the job is still held", got)
	}
}

// The newer Accept is not confirmed before its lease ends: the running job is kept and reported,
// also after a restart.
func TestRunningJobIsKeptIfANewerAcceptIsUnconfirmed(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	var events []protocol.Message
	step := func(sent []protocol.Message) []protocol.Message {
		events = append(events, s.agent.Events()...)
		return sent
	}
	step(s.agent.Tick(s.now))
	s.confirm("", 0, protocol.Acknowledged)
	option := s.call(job("train", 1))[0].Options[0]
	award := func(epoch uint64) {
		step(s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "train", Epoch: epoch, Option: option, Lease: s.now.Add(10 * time.Second)})))
	}
	award(1)
	step(s.confirm("train", 1, protocol.AcceptConfirmed))
	step(s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "train", Epoch: 1})))
	award(2)
	later := newSite(t, MarginalCost{}, 4)
	for _, m := range events {
		if err := later.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	later.agent.BeginIncarnation(2)
	later.market, later.executor = s.market, s.executor
	for name, s := range map[string]*site{"it keeps running": s, "it restarts": later} {
		s.now = noon.Add(30 * time.Minute)
		for _, b := range bodies(s.agent.Tick(s.now)) {
			if _, ok := b.(protocol.Decline); ok {
				t.Errorf("%s, and sends %+v of a job that runs", name, b)
			}
		}
		if done := bodies(s.exit("train", 1)); len(done) != 1 || done[0].(protocol.UsageReport).Epoch != 2 {
			t.Errorf("%s, and sends %+v when it ends; want a report under epoch 2", name, done)
		}
	}
}

func TestNewerAwardReplacesAQueuedOne(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.award(job("large", 4), 1, true)
	s.award(job("next", 4), 1, true)
	s.award(job("next", 4), 2, true)
	sent := s.exit("large", 1)
	l := sent[len(sent)-1].Body.(protocol.Launch)
	if launched(sent) != "next " || l.Epoch != 2 || len(s.agent.queue) != 0 {
		t.Errorf("sent %+v", bodies(sent))
	}
}

// Most awards of an agent with a long uptime end at other sites: no state of them may remain.
func TestDeclinedJobLeavesNoState(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.award(job("large", 4), 1, true)
	for i := range 10 {
		id := protocol.JobID(fmt.Sprint("next-", i))
		s.award(job(id, 4), 1, true)
		s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Cancel{Job: id, Epoch: 1}))
		s.confirm(id, 1, protocol.AwardVoid)
	}
	if n := len(s.agent.epochs); n != 1 {
		t.Errorf("%d jobs are remembered; want the one that runs", n)
	}
}

func TestAJobWaitsAtTheSiteIfTheAwardSaysSo(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.award(job("first", 4), 1, true)
	if sent := bodies(s.award(job("second", 4), 1, true)); len(sent) != 1 || sent[0].(protocol.Accept).Start != noon.Add(time.Hour) {
		t.Fatalf("sent %+v", sent)
	}
	s.award(job("third", 4), 1, true)
	s.now = noon.Add(2 * time.Hour)
	if sent := s.exit("first", 1); launched(sent) != "second " {
		t.Errorf("launched %q", launched(sent))
	}
	if sent := s.exit("second", 1); launched(sent) != "third " {
		t.Errorf("launched %q", launched(sent))
	}
}

// Half of the site works for ten hours. A job of all of it waits at the head of
// the queue; small jobs come every ten minutes, of whom one could always start,
// and would not be done when the head can.
func TestALargeJobIsNotStarvedBySmallOnes(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	long := job("long", 2)
	long.Run = 10 * time.Hour
	s.award(long, 1, true)
	s.award(job("large", 4), 1, true)
	for i := range 20 {
		s.now = s.now.Add(10 * time.Minute)
		small := job(protocol.JobID(fmt.Sprint("small-", i)), 1)
		small.Run = 10 * time.Hour
		if got := launched(s.award(small, 1, true)); got != "" {
			t.Fatalf("%s started before the job at the head, on the node where it waits", got)
		}
	}
	s.now = noon.Add(10 * time.Hour)
	if got := launched(s.exit("long", 1)); got != "large " {
		t.Errorf("launched %q, want the job at the head alone", got)
	}
	s.now = noon.Add(11 * time.Hour)
	if got := launched(s.exit("large", 1)); strings.Count(got, "small") != 4 || !strings.HasPrefix(got, "small-0 ") {
		t.Errorf("launched %q, want the four small jobs that came first", got)
	}
}

// The job before ends a moment late, so the next one would run into the reservation of the one
// after it. It starts all the same, since that one's turn is later.
func TestAMomentLateEndKeepsTheOrderOfTheQueue(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	whole, half := job("whole", 4), job("half", 2)
	whole.Run, half.Run = 2*time.Hour, 90*time.Minute
	s.award(job("first", 1), 1, true)
	s.award(whole, 1, true)
	s.award(half, 1, true)
	s.now = noon.Add(time.Hour + time.Second)
	if got := launched(s.exit("first", 1)); got != "whole " {
		t.Fatalf("launched %q; want whole, which is due", got)
	}
	if at, ok := s.agent.fleet.ReservedFrom("half"); !ok || at != s.now.Add(2*time.Hour) {
		t.Errorf("half is reserved from %v; want whole's planned end", at)
	}
}

// The job before does not end when it was to, and the agent looks at its queue then. No other place would
// be in time for the next job, since the one after it holds the node from when its own run was to end. It
// keeps its turn for as long as it is not late itself, and is given back then.
func TestAJobWhoseNodeIsStillBusyKeepsItsTurn(t *testing.T) {
	for _, tc := range []struct {
		over time.Duration // how much later than planned the first job ends
		want string        // what is launched then
	}{{time.Second, "second "}, {14 * time.Minute, "second "}, {17 * time.Minute, "third "}} {
		s := newSite(t, MarginalCost{TemporalShift: true}, 4)
		for _, id := range []protocol.JobID{"first", "second", "third"} {
			s.award(job(id, 4), 1, true)
		}
		var declined []protocol.JobID
		for s.now = noon.Add(time.Hour); s.now < noon.Add(time.Hour+tc.over); s.now = s.now.Add(time.Minute) {
			for _, b := range bodies(s.agent.Tick(s.now)) {
				if d, ok := b.(protocol.Decline); ok {
					declined = append(declined, d.Job)
				}
			}
		}
		s.now = noon.Add(time.Hour + tc.over)
		if got := launched(s.exit("first", 1)); got != tc.want || (len(declined) > 0) != (tc.want == "third ") {
			t.Errorf("%v late: declined %v, then launched %q; want %q", tc.over, declined, got, tc.want)
		}
	}
}

// With a second node the small ones pass: the head waits on the first node,
// where it fits soonest.
func TestSmallJobsPassALargeOneOnOtherNodes(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4, 4)
	a, b := job("a", 2), job("b", 2)
	a.Run, b.Run = time.Hour, 5*time.Hour
	b.CPU = 63_000 // too large to share a node with a
	a.CPU = 63_000
	s.award(a, 1, true)
	s.award(b, 1, true)
	s.award(job("large", 4), 1, true)
	if got := launched(s.award(job("small", 1), 1, true)); got != "" {
		t.Fatalf("launched %q beside a or b, that have no processors left", got)
	}
	tiny := job("tiny", 1)
	tiny.CPU, tiny.Run = 1000, 2*time.Hour
	menu := s.call(tiny)[0].Options
	if len(menu) != 1 || menu[0].Start != s.now {
		t.Errorf("a small job is offered %+v, there is room beside b", menu)
	}
	if got := launched(s.award(tiny, 1, true)); got != "tiny " {
		t.Errorf("launched %q; a small job passes on the node where the head does not wait", got)
	}
	s.now = noon.Add(time.Hour)
	if got := launched(s.exit("a", 1)); got != "large " {
		t.Errorf("launched %q, want the job at the head", got)
	}
}

func TestAgentIgnoresOtherSitesExecutorsAndSources(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.award(job("train", 1), 1, false)
	for _, who := range []protocol.Party{"hands/bern", "agent/oslo", protocol.Submitter} {
		m := protocol.Sender{Party: who}
		if sent := s.agent.Step(s.now, m.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "train", Epoch: 1})); sent != nil {
			t.Errorf("%s ended a job of oslo: %v", who, sent)
		}
	}
	bern := protocol.Sender{Party: "feed/bern"}
	s.agent.Step(s.now, bern.NewMessage(s.now, "agent/oslo", protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: noon, Value: 1}}}))
	if o := s.offer(protocol.CallForBids{}); o.Grid.Price[0] != 100_000 {
		t.Errorf("the price of bern counts at oslo: %d", o.Grid.Price[0])
	}
	if sent := s.exit("train", 2); sent != nil {
		t.Errorf("an end under an epoch that was not launched: %v", sent)
	}
}

func TestIdleReadingIsBilled(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.IdleReading{Hour: noon, Idle: 3_600_000_000, Total: 9_000_000_000}))
	want := protocol.SiteUsage{Hour: noon, Total: 9_000_000_000, Idle: protocol.Usage{IT: 3_600_000_000, Energy: 4_320_000_000, Carbon: 600_000, Money: 120_000}}
	if len(sent) != 1 || sent[0].To != protocol.Coordinator || sent[0].Body != want {
		t.Errorf("sent %+v, want %+v", bodies(sent), want)
	}
}

// What is no measurement is marked on its whole way to the market.
func TestAnEstimateIsReportedAsOne(t *testing.T) {
	for _, estimated := range []bool{false, true} {
		s := newSite(t, MarginalCost{}, 4)
		for _, id := range []protocol.JobID{"ends", "lost"} {
			s.award(job(id, 1), 7, false)
			s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: id, Epoch: 7}))
		}
		draw := []protocol.HourlyEnergy{{Hour: noon, Energy: 3_600_000_000}}
		for _, b := range []protocol.Body{
			protocol.Finished{Job: "ends", Epoch: 7, Draw: draw, Estimated: estimated},
			protocol.Interrupted{Job: "lost", Epoch: 7, Draw: draw, Estimated: estimated},
			protocol.IdleReading{Hour: noon, Idle: 1, Total: 2, Estimated: estimated},
		} {
			sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", b))
			switch x := sent[0].Body.(type) {
			case protocol.UsageReport:
				if x.Estimated != estimated {
					t.Errorf("%+v became %+v", b, x)
				}
			case protocol.SiteUsage:
				if x.Estimated != estimated {
					t.Errorf("%+v became %+v", b, x)
				}
			default:
				t.Errorf("%+v became %+v", b, x)
			}
		}
	}
}

func TestDuplicateMessageIsProcessedOnce(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	s.call(job("train", 1))
	m := s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "train", Epoch: 1, Option: protocol.BidOption{Model: "V100"}, Lease: s.now})
	if first, second := s.agent.Step(s.now, m), s.agent.Step(s.now, m); len(first) != 1 || second != nil {
		t.Errorf("sent %v, then %v", first, second)
	}
}
