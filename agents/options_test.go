package agents

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

var eager = MarginalCost{TemporalShift: true, SweepModelsAndCaps: true}

// At a steady price no later start costs less than one of now, also where the node must wake
// first: such a start would be put off slot by slot until the deadline.
func TestAStartOfNowIsNotDearerForWakingItsNode(t *testing.T) {
	s := newSleepySite(t, eager)
	j := job("train", 1)
	j.Urgency = protocol.UrgencyFlexible
	options := s.call(j)[0].Options
	w := protocol.FreeWaitingWeights()
	if len(options) < 2 || options[0].Start != noon {
		t.Fatalf("offered %+v; want a start of now and later ones", options)
	}
	now := w.CostOf(j, options[0], 0).Total()
	for _, o := range options[1:] {
		if later := w.CostOf(j, o, 0).Total(); later < now-2 { // rounded down twice
			t.Errorf("a start at %v costs %d, one of now %d", o.Start, later, now)
		}
	}
}

// By hand: a V100 at work draws 160 W, 35 of them idle too; four busy cores draw
// 16 W; so the job adds 141 W, and with the building's fifth 169.2 W. The node of
// four draws 300 + 320 + 140 W awake and 15 asleep; a quarter of 745 W is 186.25,
// and with the building's fifth 223.5 W, for the hour if it sleeps: twice 223.5 Wh, as
// nodes are expected to be half full, the job's share, which is less than the node's 200 s of
// waking, hour and linger. A kWh costs 10 cents and 500 g; a kilogram counts as 10 cents.
func TestAnOptionCostsWhatItCostsByHand(t *testing.T) {
	for wake, awake := range map[time.Duration]protocol.Microdollars{0: 0, 200 * time.Second: 67_050} {
		s := newSite(t, MarginalCost{}, 4)
		lost := protocol.Millijoules(0)
		if wake > 0 {
			s = newSleepySite(t, MarginalCost{})
			lost = 4_320 // of its mean power over 3800 s, which is whole milliwatts
		}
		got := s.call(job("train", 1))[0].Options
		want := protocol.BidOption{
			Start: noon, Finish: noon.Add(wake + time.Hour), Model: "V100",
			Energy: 609_120_000 - lost, Carbon: 84_600 - protocol.Milligrams(min(lost, 1)), Money: 16_920,
			NodeIdleShare: awake, Wake: wake, Score: got[0].Score, FragmentationDelta: got[0].FragmentationDelta,
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("offered\n%+v, want\n%+v", got, want)
		}
	}
}

// newSleepySite is newSite with one node of four V100s that sleeps.
func newSleepySite(t *testing.T, strategy BidStrategy) *site {
	s := newSiteOf(t, strategy, []capacity.Node{{
		Node: fgd.Node{Name: "a", CPU: 64_000, Memory: 256 << 10, GPUs: 4, Model: "V100"}, Host: power.SleepingHost(4),
	}})
	s.signalFlat()
	return s
}

// A start now costs what it adds to the node's awake time: nothing while another job
// keeps the node awake, and at most the job's share for so long as it runs. By hand: a
// quarter of 745 W, with the building's fifth, is 223.5 W; the first job was charged twice its part,
// as at the beginning, and so is the next. The second job comes while the node still wakes, and waits for that.
func TestAStartOnAnAwakeNodeCostsNoIdlePower(t *testing.T) {
	s := newSleepySite(t, MarginalCost{})
	s.award(job("first", 1), 1, false)
	const wake = 200 * time.Second
	for run, want := range map[time.Duration]protocol.Microdollars{
		30 * time.Minute: 0,
		time.Hour:        0,
		2 * time.Hour:    89_400 + 44_700,   // 894 W for 3600 s more
		6 * time.Hour:    268_200 + 134_100, // its share is less than that: 372.5 W of IT
	} {
		j := job("second", 1)
		j.Run = run
		o := s.call(j)[0].Options[0]
		if o.NodeIdleShare != want || o.Wake != wake || o.Finish != noon.Add(wake+run) {
			t.Errorf("a run of %v is charged %d, wakes for %v and ends at %v, want %d, %v, %v", run, o.NodeIdleShare, o.Wake, o.Finish, want, wake, noon.Add(wake+run))
		}
	}
}

// Whatever is cheapest, a job that may run on two models is offered hours of both,
// soonest first, each the cheapest way to run on its model then.
func TestEveryModelIsOffered(t *testing.T) {
	var nodes []capacity.Node
	for _, model := range []string{"A100", "V100"} {
		nodes = append(nodes, capacity.Node{
			Node: fgd.Node{Name: "of-" + model, CPU: 64_000, Memory: 256 << 10, GPUs: 4, Model: model}, Host: power.DefaultHost(4),
		})
	}
	s := newSiteOf(t, MarginalCost{TemporalShift: true, SweepModelsAndCaps: true, MaxOptionsPerModel: 3}, nodes)
	s.signal(protocol.GridPrice, 100_000, 40_000, 100_000, 50_000, 100_000)
	s.signal(protocol.GridCarbon, 500_000)
	j := job("train", 1)
	j.Urgency = protocol.UrgencyStandard
	offered := make(map[string]int)
	menu := s.call(j)[0].Options
	for i, o := range menu {
		if offered[o.Model]++; i > 0 && o.Start < menu[i-1].Start {
			t.Errorf("%v is offered after %v", o.Start, menu[i-1].Start)
		}
	}
	if offered["A100"] != 3 || offered["V100"] != 3 {
		t.Errorf("offered %v, want three hours of each model", offered)
	}
}

// By hand: 10 GiB are 85,903 Mbit, at 1 Gbit/s 86 s in which the GPU is held;
// they cost 20 cents and 240 g on the way. The run takes 3,686 s.
func TestOptionIncludesTransferOfRemoteInput(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	j := job("train", 1)
	j.Home, j.Input = "bern", 10<<10
	o := s.call(j)[0].Options[0]
	if o.Finish != noon.Add(3686*time.Second) || o.Transfer != 200_000 {
		t.Errorf("finishes at %v, transfer %d", o.Finish, o.Transfer)
	}
	if o.Energy != 623_671_200 || o.Money != 17_324 || o.Carbon != 86_621+240_000 {
		t.Errorf("energy %d, money %d, carbon %d", o.Energy, o.Money, o.Carbon)
	}
	j.Home = "oslo"
	if o := s.call(j)[0].Options[0]; o.Transfer != 0 || o.Finish != noon.Add(time.Hour) {
		t.Errorf("at home: transfer %d, finish %v", o.Transfer, o.Finish)
	}
}

func TestInputTakesItsTimeAndNoMore(t *testing.T) {
	n := DefaultNetwork()
	for _, c := range []struct {
		home string
		in   protocol.MiB
		want time.Duration
	}{
		{"bern", 0, 0}, {"bern", 1, time.Second}, {"bern", 119, time.Second}, {"bern", 120, 2 * time.Second},
		{"oslo", 1 << 30, 0}, {"", 1 << 30, 0}, {"bern", 1 << 40, 10 * protocol.MaxRun},
	} {
		if got := n.transferTime(protocol.Job{Home: c.home, Input: c.in}, "oslo"); got != c.want {
			t.Errorf("%d MiB from %q take %v, want %v", c.in, c.home, got, c.want)
		}
	}
}

func TestWhyASiteHasNoOption(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*protocol.Job)
		want  protocol.Code
	}{
		{"a region that is not ours", func(j *protocol.Job) { j.Regions = []string{"bern"} }, protocol.NotAllowed},
		{"a model that is not ours", func(j *protocol.Job) { j.Models = []string{"H100"} }, protocol.NoSuchGPU},
		{"larger than a node", func(j *protocol.Job) { j.GPUs = 5 }, protocol.FitsNoNode},
		{"an input that never comes", func(j *protocol.Job) { j.Home, j.Input = "bern", 1<<40 }, protocol.PastDeadline},
	} {
		for _, strategy := range []MarginalCost{{}, eager} {
			j := job("train", 1)
			c.spoil(&j)
			if m := newSite(t, strategy, 4).call(j)[0]; m.Job != "train" || len(m.Options) != 0 || m.Why.Code != c.want {
				t.Errorf("%s: %+v, want %s", c.name, m, c.want)
			}
		}
	}
	o := newDarkSite(t, eager, 4).offer(protocol.CallForBids{Jobs: []protocol.Job{job("train", 1)}})
	if m := o.Jobs[0]; len(m.Options) != 0 || m.Why.Code != protocol.NoSignal {
		t.Errorf("a site that knows no price: %+v", o)
	}
}

func TestABusySiteOffersWhenItWillHaveRoom(t *testing.T) {
	s := newSite(t, eager, 4)
	s.award(job("large", 4), 1, false)
	for _, o := range s.call(job("next", 1))[0].Options {
		if o.Start < noon.Add(time.Hour) {
			t.Errorf("offers %v, when the GPUs are taken", o.Start)
		}
	}
}

// Power is at half its price in the third hour: who can wait is offered it.
func TestAJobThatCanWaitIsOfferedACheaperHour(t *testing.T) {
	s := newSite(t, eager, 4)
	s.signal(protocol.GridPrice, 100_000, 100_000, 50_000, 100_000)
	j := job("train", 1)
	cheap := func(o protocol.BidOption) bool { return o.Start == noon.Add(2*time.Hour) }
	if !slices.ContainsFunc(s.call(j)[0].Options, func(o protocol.BidOption) bool { return o.Start == noon }) {
		t.Error("a job that cannot wait is not offered now")
	}
	if slices.ContainsFunc(s.call(j)[0].Options, cheap) {
		t.Error("a job that cannot wait is offered later")
	}
	j.Urgency = protocol.UrgencyStandard
	menu := s.call(j)[0].Options
	if !slices.ContainsFunc(menu, cheap) || menu[0].Start != noon {
		t.Errorf("offered %+v", menu)
	}
	for _, o := range menu {
		if o.Finish > j.Deadline {
			t.Errorf("offered to be late: %v", o.Finish)
		}
	}
}

// The cheapest hour lies beyond what a standard job waits for: it is not offered, and a flexible job
// gets it. A site that has no sooner place offers the one it has.
func TestAStandardJobIsNotOfferedStartsBeyondItsLimit(t *testing.T) {
	s := newSite(t, eager, 4)
	s.signal(protocol.GridPrice, 100_000, 100_000, 100_000, 100_000, 10_000)
	j := job("train", 1)
	w := protocol.DefaultWeights()
	starts := func(j protocol.Job) (out []protocol.Time) {
		for _, o := range s.offer(protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: w}).Jobs[0].Options {
			out = append(out, o.Start)
		}
		return out
	}
	last := func(j protocol.Job) protocol.Time { return slices.Max(starts(j)) }
	j.Urgency = protocol.UrgencyFlexible
	if last(j) < noon.Add(4*time.Hour) {
		t.Errorf("a flexible job is not offered the cheap hour: %v", starts(j))
	}
	j.Urgency = protocol.UrgencyStandard
	if last(j) > noon.Add(3*time.Hour) {
		t.Errorf("a standard job of an hour is offered %v; want no start after 15:00", starts(j))
	}
	j.Arrival, j.Deadline = noon.Add(-9*time.Hour), noon.Add(40*time.Hour)
	if got := starts(j); len(got) == 0 || last(j) != noon {
		t.Errorf("a job beyond its limit is offered %v; want the soonest alone", got)
	}
}

// A shadow price of a site's capacity makes its agent bid other hours.
func TestAgentsAvoidExpensiveCapacity(t *testing.T) {
	s := newSite(t, MarginalCost{TemporalShift: true, SweepModelsAndCaps: true, MaxOptionsPerModel: 2}, 4)
	j := job("train", 1)
	j.Urgency = protocol.UrgencyStandard
	dear := protocol.ShadowPrice{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{1e6, 1e6, 1e6, 0, 1e6, 1e6, 1e6, 1e6}}
	menu := s.offer(protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: weights, ShadowPrices: []protocol.ShadowPrice{dear}}).Jobs[0].Options
	if len(menu) != 2 || menu[0].Start != noon || menu[1].Start != noon.Add(3*time.Hour) {
		t.Errorf("offered %+v", menu)
	}
}

// Prices that the site was told before a call count as those of the call, for that call alone; so do
// those that came before a request for quotes.
func TestPricesToldBeforeACallCountInIt(t *testing.T) {
	strategy := MarginalCost{TemporalShift: true, SweepModelsAndCaps: true, MaxOptionsPerModel: 2}
	j := job("train", 1)
	j.Urgency = protocol.UrgencyStandard
	dear := []protocol.ShadowPrice{{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{1e6, 1e6, 1e6, 0, 1e6, 1e6, 1e6, 1e6}}}
	call := protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: weights}
	priced := call
	priced.ShadowPrices = dear
	want, plain := newSite(t, strategy, 4).offer(priced).Jobs, newSite(t, strategy, 4).offer(call).Jobs
	s := newSite(t, strategy, 4)
	tell := func(round uint64) {
		s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.SitePrices{Round: round, ShadowPrices: dear}))
	}
	tell(1)
	if got := s.offer(call).Jobs; !reflect.DeepEqual(got, want) || reflect.DeepEqual(got, plain) {
		t.Errorf("offered %+v\nwant %+v", got, want)
	}
	if got := s.offer(call).Jobs; !reflect.DeepEqual(got, plain) {
		t.Errorf("to the next call it offers %+v\nwant %+v", got, plain)
	}
	tell(7)
	if got := s.offer(call).Jobs; !reflect.DeepEqual(got, plain) {
		t.Errorf("by prices of another round it offers %+v\nwant %+v", got, plain)
	}
	tell(0)
	q := s.agent.Step(s.now, s.market.NewMessage(s.now, "", protocol.QuoteRequest{Call: call}))[0].Body.(protocol.Quote)
	if !reflect.DeepEqual(q.Bids.Jobs, want) {
		t.Errorf("quoted %+v\nwant %+v", q.Bids.Jobs, want)
	}
}

func TestShadowPriceIsTheMeanOverTheRun(t *testing.T) {
	p := protocol.ShadowPrice{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{60, 30, 0, 90}}
	s := newShadowPrices([]protocol.ShadowPrice{p, {Site: "bern", Model: "T4", Slot: time.Hour, Values: []protocol.Microdollars{7}}, {Site: "oslo", Model: "A100"}}, "oslo")
	for _, c := range []struct {
		model       string
		start, stop int // hours
		want        protocol.Microdollars
	}{
		{"V100", 0, 1, 60}, {"V100", 0, 2, 45}, {"V100", 1, 4, 40}, {"V100", 3, 6, 30}, // none is known beyond
		{"V100", 5, 9, 0}, {"V100", 2, 2, 0}, {"T4", 0, 1, 0}, {"A100", 0, 1, 0},
	} {
		if got := s.meanPrice(c.model, noon.Add(time.Duration(c.start)*time.Hour), noon.Add(time.Duration(c.stop)*time.Hour)); got != c.want {
			t.Errorf("%s from %d to %d: %d, want %d", c.model, c.start, c.stop, got, c.want)
		}
	}
}

func TestChooseKeepsTheSoonestTheCheapestAndNoMoreThanAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var starts []pricedOption
		at := noon
		for range rapid.IntRange(1, 60).Draw(t, "starts") {
			starts = append(starts, pricedOption{
				protocol.BidOption{Start: at, Finish: at.Add(time.Hour)}, protocol.Microdollars(rapid.IntRange(-5, 20).Draw(t, "cost")),
			})
			at = at.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "gap")) * 15 * time.Minute)
		}
		most := rapid.IntRange(1, 9).Draw(t, "most")
		got := choicesOf(starts).appendSpread(nil, most)
		if len(got) > most || len(got) != min(most, len(starts)) {
			t.Fatalf("%d of %d options, at most %d", len(got), len(starts), most)
		}
		if got[0].Start != noon {
			t.Errorf("the soonest is not among %v", got)
		}
		costs := make(map[protocol.Time]protocol.Microdollars)
		for _, s := range starts {
			costs[s.Start] = s.cost
		}
		least := slices.MinFunc(starts, func(x, y pricedOption) int { return cmp.Compare(x.cost, y.cost) }).cost
		if most > 1 && !slices.ContainsFunc(got, func(o protocol.BidOption) bool { return costs[o.Start] == least }) {
			t.Errorf("no option of the least cost %d among %v", least, got)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Start <= got[i-1].Start {
				t.Errorf("out of order, or twice: %v", got)
			}
		}
	})
}
