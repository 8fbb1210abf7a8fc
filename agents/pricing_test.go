package agents

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// plainStarts is startsOf with each start searched and each option priced by itself.
func (p *bidPricing) plainStarts(j protocol.Job, ways []capacity.RunConfig, prices []protocol.ShadowPrice) (out []pricedOption) {
	best := make(map[protocol.Time]pricedOption)
	fleet := p.agent.fleet
	for _, w := range ways {
		run := w.Run + p.agent.cfg.Network.transferTime(j, p.agent.cfg.Site)
		model := w.Model
		if !p.strategy.SweepModelsAndCaps {
			model = ""
		}
		earliest := p.now
		place, ok := fleet.QuotePlacement(p.now, j, model, run)
		if !ok {
			if earliest, ok = fleet.EarliestStart(p.now, j, model, p.now, run); !ok {
				continue
			}
			earliest = max(earliest, p.now.Add(time.Second))
		}
		last := earliest
		if p.strategy.TemporalShift && j.MayWait() {
			last = max(earliest, min(capacity.LatestStart(j, run), p.weights.LatestWorthBidding(p.asDeclared(&j)), p.now.Add(p.planning.Horizon)))
		}
		for t := earliest; t <= last; t = t.Add(time.Second).Ceil(p.planning.Slot) {
			if t > earliest && (j.GPUs > 1 || t.Add(run).Add(p.planning.FirmLead) > j.Deadline) {
				if at, ok := fleet.EarliestStart(p.now, j, w.Model, t, run); !ok || at != t {
					continue
				}
			}
			at := capacity.PlacementQuote{}
			if t == p.now {
				at = place
			}
			o := p.plainOption(j, w, t, run, at, prices)
			if was, ok := best[t]; !ok || isCheaperOption(&o, &was) {
				best[t] = o
			}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(best)) {
		out = append(out, best[t])
	}
	return out
}

// plainOption is priceStart with nothing computed ahead.
func (p *bidPricing) plainOption(j protocol.Job, w capacity.RunConfig, start protocol.Time, run time.Duration, at capacity.PlacementQuote, prices []protocol.ShadowPrice) pricedOption {
	finish := start.Add(at.WakeTime + run)
	mean := w.Power * protocol.Milliwatts(run/time.Millisecond) / protocol.Milliwatts(max(at.WakeTime+run, time.Millisecond)/time.Millisecond)
	o := protocol.BidOption{Start: start, Finish: finish, Model: w.Model, Cap: w.Choice.Cap, FragmentationDelta: at.FragmentationDelta, Score: at.Score, Wake: at.WakeTime}
	o.Energy, o.Carbon, o.Money = p.agent.curve.CostBetween(start, finish, mean)
	cost := func(from, until protocol.Time, power protocol.Milliwatts) protocol.Microdollars {
		_, carbon, money := p.agent.curve.CostBetween(from, until, power)
		return money + p.weights.CarbonCost(carbon)
	}
	o.NodeIdleShare = cost(start, start.Add(run), p.agent.fleet.IdlePowerShare(p.now, j, w.Model))
	if at.SleepPower > 0 {
		added := protocol.Microdollars(0)
		for _, s := range at.AddedAwake {
			added += cost(s.From, s.Until, at.SleepPower)
		}
		o.NodeIdleShare = min(added, o.NodeIdleShare)
	}
	n := p.agent.cfg.Network
	o.Transfer = n.transferCost(j, p.agent.cfg.Site)
	o.Carbon += n.transferCarbon(j, p.agent.cfg.Site)
	room := plainMeanPrice(prices, w.Model, start, finish)
	return pricedOption{o, p.weights.CostOf(*p.asDeclared(&j), o, room).Total() + protocol.GPUHoursCost(j.TotalGPUMilli(), run, room)}
}

// plainMeanPrice adds up oslo's prices slot by slot.
func plainMeanPrice(prices []protocol.ShadowPrice, model string, start, finish protocol.Time) (mean protocol.Microdollars) {
	for _, p := range prices {
		if p.Site != "oslo" || p.Model != model || finish <= start {
			continue
		}
		first, last := int(start.Sub(p.From)/p.Slot), int((finish-1).Sub(p.From)/p.Slot)
		sum := protocol.Microdollars(0)
		for i := first; i <= last; i++ {
			if i >= 0 && i < len(p.Values) {
				sum += p.Values[i]
			}
		}
		mean = sum / protocol.Microdollars(last-first+1)
	}
	return mean
}

// drawBusySite draws a site of two models, of which some nodes sleep, in the middle of its work.
func drawBusySite(t *testing.T, rt *rapid.T, strategy BidStrategy) *site {
	var nodes []capacity.Node
	for i := range rapid.IntRange(1, 5).Draw(rt, "nodes") {
		n := capacity.Node{Node: fgd.Node{Name: fmt.Sprint("n", i), CPU: 64_000, Memory: 256 << 10, GPUs: []int{4, 4, 2, 1, 8}[i], Model: []string{"V100", "A100"}[i%2]}}
		n.Host = power.DefaultHost(n.GPUs)
		if rapid.Bool().Draw(rt, "sleeps") {
			n.Host = power.SleepingHost(n.GPUs)
		}
		nodes = append(nodes, n)
	}
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 3).Draw(rt, "standby"), PreferAwake: rapid.Bool().Draw(rt, "prefers")})
	if err != nil {
		rt.Fatal(err)
	}
	s := &site{
		T: t, now: noon, agent: New(Config{Site: "oslo", Strategy: strategy}, f, forecast.New(forecast.Config{})),
		market: protocol.Sender{Party: protocol.Coordinator}, executor: protocol.Sender{Party: "hands/oslo"}, source: protocol.Sender{Party: "feed/oslo"},
	}
	s.signal(protocol.GridPrice, rapid.SliceOfN(rapid.Int64Range(-50_000, 200_000), 1, 40).Draw(rt, "prices")...)
	s.signal(protocol.GridCarbon, rapid.SliceOfN(rapid.Int64Range(0, 900_000), 1, 40).Draw(rt, "carbon")...)
	s.agent.Tick(s.now)
	for i := range rapid.IntRange(0, 10).Draw(rt, "jobs") {
		s.now = s.now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(rt, "seconds")) * time.Second)
		j := drawBidJob(rt, protocol.JobID(fmt.Sprint("job-", i)), s.now)
		if m := s.call(j)[0]; len(m.Options) > 0 {
			o := rapid.SampledFrom(m.Options).Draw(rt, "option")
			s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: o, MayQueue: o.Start > s.now, Lease: s.now.Add(10 * time.Second)})
		}
		if rapid.IntRange(0, 3).Draw(rt, "ends") == 0 {
			s.exit(protocol.JobID(fmt.Sprint("job-", rapid.IntRange(0, i).Draw(rt, "which"))), 1)
		}
	}
	return s
}

func drawBidJob(t *rapid.T, id protocol.JobID, now protocol.Time) protocol.Job {
	j := job(id, rapid.SampledFrom([]int{0, 1, 1, 2, 4}).Draw(t, "gpus"))
	if j.GPUs == 1 {
		j.Share = rapid.SampledFrom([]protocol.Milli{250, 1000}).Draw(t, "share")
	}
	j.Urgency = rapid.SampledFrom([]protocol.Urgency{protocol.UrgencyNow, protocol.UrgencyStandard, protocol.UrgencyFlexible}).Draw(t, "urgency")
	j.Run = time.Duration(rapid.IntRange(1, 900).Draw(t, "run")) * time.Minute
	j.Arrival = now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "waited")) * time.Minute)
	j.Deadline = j.Arrival.Add(j.Run + time.Duration(rapid.IntRange(0, 2400).Draw(t, "slack"))*time.Minute)
	j.Home, j.Input = rapid.SampledFrom([]string{"oslo", "bern"}).Draw(t, "home"), protocol.MiB(rapid.IntRange(0, 50_000).Draw(t, "input"))
	if rapid.Bool().Draw(t, "tied") {
		j.Regions = []string{"oslo"}
	}
	return j
}

// A site prices the starts that a look at each finds, at what plain arithmetic gives.
func TestPricedStartsAreThoseOfPlainArithmetic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		strategy := MarginalCost{TemporalShift: rapid.Bool().Draw(rt, "shifts"), SweepModelsAndCaps: rapid.Bool().Draw(rt, "sweeps")}
		s := drawBusySite(t, rt, strategy)
		prices := []protocol.ShadowPrice{{Site: "bern", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{9e6}}}
		for _, model := range []string{"A100", "V100"} {
			v := rapid.SliceOfN(rapid.Int64Range(0, 3_000_000), 0, 60).Draw(rt, "shadow")
			x := protocol.ShadowPrice{Site: "oslo", Model: model, From: noon.Add(time.Duration(rapid.IntRange(-90, 90).Draw(rt, "from")) * time.Minute), Slot: 15 * time.Minute}
			for _, v := range v {
				x.Values = append(x.Values, protocol.Microdollars(v))
			}
			prices = append(prices, x)
		}
		j := drawBidJob(rt, "asked", s.now)
		s.agent.refreshForecast(s.now)
		w := rapid.SampledFrom([]protocol.Weights{weights, protocol.DefaultWeights().ForRanking(), protocol.FreeWaitingWeights()}).Draw(rt, "weights")
		p := bidPricing{agent: s.agent, strategy: strategy, now: s.now, weights: w, planning: protocol.DefaultPlanning(), shadow: newShadowPrices(prices, "oslo"), estimated: rapid.Bool().Draw(rt, "estimated")}
		ways, _ := s.agent.fleet.RunConfigs(j)
		for len(ways) > 0 {
			n := 1
			for n < len(ways) && ways[n].Model == ways[0].Model {
				n++
			}
			want := p.plainStarts(j, ways[:n], prices)
			most := rapid.IntRange(1, 6).Draw(rt, "most")
			if got, want := p.startsOf(&j, ways[:n]).appendSpread(nil, most), plainPick(want, most); !slices.Equal(got, want) {
				rt.Fatalf("on %q it picks\n%+v; want\n%+v", ways[0].Model, got, want)
			}
			if got := p.startsOf(&j, ways[:n]).priceAll(); !slices.Equal(got, want) {
				rt.Fatalf("on %q it is offered\n%+v; want\n%+v", ways[0].Model, got, want)
			}
			ways = ways[n:]
		}
	})
}

// priceAll returns the cheapest option of each start.
func (s *startChoices) priceAll() (all []pricedOption) {
	for k := range s.starts {
		if s.starts[k].option < 0 {
			s.price(k)
		}
		all = append(all, s.priced[s.starts[k].option])
	}
	return all
}

// choicesOf returns starts as if they had been searched and priced.
func choicesOf(starts []pricedOption) *startChoices {
	s := &startChoices{priced: starts}
	for i, o := range starts {
		s.starts = append(s.starts, startChoice{startBound{o.Start, o.cost}, i})
	}
	return s
}

// plainPick is appendSpread by a sorted list of all starts.
func plainPick(starts []pricedOption, most int) (out []protocol.BidOption) {
	if len(starts) == 0 {
		return nil
	}
	order := make([]int, len(starts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(starts[x].cost, starts[y].cost) })
	picked := []int{0}
	for _, apart := range []time.Duration{2 * time.Hour, time.Hour, 0} {
		for _, i := range order {
			near := slices.ContainsFunc(picked, func(k int) bool {
				d := starts[i].Start.Sub(starts[k].Start)
				return i == k || k != 0 && max(d, -d) < apart
			})
			if len(picked) < most && !near {
				picked = append(picked, i)
			}
		}
	}
	slices.Sort(picked)
	for _, k := range picked {
		out = append(out, starts[k].BidOption)
	}
	return out
}

func TestPickedOptionsAreThoseOfASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var starts []pricedOption
		at := noon
		for range rapid.IntRange(1, 60).Draw(t, "starts") {
			starts = append(starts, pricedOption{protocol.BidOption{Start: at, Finish: at.Add(time.Hour)}, protocol.Microdollars(rapid.IntRange(-5, 20).Draw(t, "cost"))})
			at = at.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "gap")) * 15 * time.Minute)
		}
		most := rapid.IntRange(1, 9).Draw(t, "most")
		if got, want := choicesOf(starts).appendSpread(nil, most), plainPick(starts, most); !slices.Equal(got, want) {
			t.Fatalf("of %+v it picks\n%+v; want\n%+v", starts, got, want)
		}
	})
}

// A site of many nodes prices a full round's jobs in little time.
func BenchmarkBids(b *testing.B) {
	for _, nodes := range []int{10, 150} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var all []capacity.Node
			for i := range nodes {
				all = append(all, capacity.Node{Node: fgd.Node{Name: fmt.Sprint("n", i), CPU: 64_000, Memory: 256 << 10, GPUs: 8, Model: []string{"V100", "A100"}[i%2]}, Host: power.SleepingHost(8)})
			}
			f, err := capacity.New(capacity.Config{Nodes: all, Power: power.DefaultTable(), HeadroomOneIn: capacity.DefaultHeadroomOneIn, PreferAwake: true})
			if err != nil {
				b.Fatal(err)
			}
			a := New(Config{Site: "oslo"}, f, forecast.New(forecast.Config{}))
			feed, market := protocol.Sender{Party: "feed/oslo"}, protocol.Sender{Party: protocol.Coordinator}
			for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
				a.Step(noon, feed.NewMessage(noon, "agent/oslo", protocol.Signal{What: what, Points: []protocol.Point{{At: noon, Value: 100_000}, {At: noon.Add(time.Hour), Value: 50_000}}}))
			}
			a.Tick(noon)
			for i := range nodes * 7 { // seven in eight GPUs are taken
				j := job(protocol.JobID(fmt.Sprint("runs-", i)), 1)
				j.Run = time.Duration(1+i%40) * time.Hour
				if _, ok := f.StartRun(noon, j, capacity.RunConfig{Run: j.Run}, 0); !ok {
					b.Fatal("no room")
				}
			}
			c := protocol.CallForBids{Weights: protocol.DefaultWeights()}
			for i := range 200 {
				j := job(protocol.JobID(fmt.Sprint("asked-", i)), []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 8}[i%10])
				j.Urgency, j.Run, j.Deadline = protocol.UrgencyFlexible, time.Duration(10+i)*time.Minute, noon.Add(60*time.Hour)
				c.Jobs = append(c.Jobs, j)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Round++
				a.Step(noon, market.NewMessage(noon, "", c))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(c.Jobs)), "us/menu")
		})
	}
}
