package agents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// slotBySlot returns the starts at which a job finds room for one way to run, by a look
// at each.
func (p *bidPricing) slotBySlot(j protocol.Job, w capacity.RunConfig) (all []protocol.Time) {
	opens := func(t protocol.Time) (at protocol.Time, ok bool) {
		return p.agent.fleet.EarliestStart(p.now, j, w.Model, t, w.Run)
	}
	earliest, ok := p.now, true
	if _, free := p.agent.fleet.QuotePlacement(p.now, j, w.Model, w.Run); !free {
		if earliest, ok = opens(p.now); !ok {
			return nil
		}
		earliest = max(earliest, p.now.Add(time.Second))
	}
	last := max(earliest, min(capacity.LatestStart(j, w.Run), p.now.Add(p.planning.Horizon)))
	for t := earliest; t <= last; t = t.Add(time.Second).Ceil(p.planning.Slot) {
		if at, ok := opens(t); t == earliest || ok && at == t {
			all = append(all, t)
		}
	}
	return all
}

// A job of several GPUs is offered each start at which a node has room for it, and no other.
func TestAGangIsOfferedEachStartAtWhichItFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSite(t, eager, 4, 4)
		s.agent.Tick(s.now)
		for i := range rapid.IntRange(0, 8).Draw(rt, "jobs") {
			j := job(protocol.JobID(fmt.Sprint("job-", i)), rapid.IntRange(1, 4).Draw(rt, "gpus"))
			j.Run, j.Deadline = time.Duration(rapid.IntRange(10, 900).Draw(rt, "run"))*time.Minute, noon.Add(90*time.Hour)
			j.Urgency = protocol.StandardOrNow(rapid.Bool().Draw(rt, "waits"))
			m := s.call(j)[0]
			o := rapid.SampledFrom(m.Options).Draw(rt, "option")
			s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: o, MayQueue: o.Start > s.now, Lease: s.now.Add(10 * time.Second)})
		}
		j := job("train", rapid.IntRange(2, 4).Draw(rt, "gpus"))
		j.Urgency, j.Run = protocol.UrgencyStandard, time.Duration(rapid.IntRange(10, 600).Draw(rt, "run"))*time.Minute
		j.Deadline = noon.Add(time.Duration(rapid.IntRange(11, 80).Draw(rt, "deadline")) * time.Hour)
		ways, _ := s.agent.fleet.RunConfigs(j)
		s.agent.refreshForecast(s.now)
		p := bidPricing{agent: s.agent, strategy: eager, now: s.now, weights: weights, planning: protocol.DefaultPlanning(), shadow: newShadowPrices(nil, "oslo")}
		w := ways[rapid.IntRange(0, len(ways)-1).Draw(rt, "way")]
		var got []protocol.Time
		for _, o := range p.startsOf(&j, []capacity.RunConfig{w}).priceAll() {
			got = append(got, o.Start)
		}
		if want := p.slotBySlot(j, w); !slices.Equal(got, want) {
			rt.Fatalf("it is offered starts at %v; want %v", got, want)
		}
	})
}

// The more nodes a site has, the sooner the search finds one that fits. Looking at all of them for
// each slot of three days, for each of a dozen large jobs, would take longer than a round is open.
func TestSearchOfStartsIsSublinearInNodes(t *testing.T) {
	takes := func(nodes int) float64 {
		s := newSite(t, eager, slices.Repeat([]int{4}, nodes)...)
		s.agent.Tick(s.now)
		for i := range nodes { // each is busy for longer than those before it
			j := job(protocol.JobID(fmt.Sprint("job-", i)), 4)
			j.Run, j.Deadline = time.Duration(nodes+i)*time.Minute, noon.Add(90*time.Hour)
			s.award(j, 1, false)
		}
		j := job("train", 4)
		j.Urgency, j.Deadline = protocol.UrgencyStandard, noon.Add(80*time.Hour)
		ways, _ := s.agent.fleet.RunConfigs(j)
		p := bidPricing{agent: s.agent, strategy: eager, now: s.now, weights: weights, planning: protocol.DefaultPlanning(), shadow: newShadowPrices(nil, "oslo")}
		if n := len(p.startsOf(&j, ways).starts); n < p.planning.SlotCount()/2 {
			t.Fatalf("beside %d nodes it is offered %d starts", nodes, n)
		}
		return testing.AllocsPerRun(3, func() { p.startsOf(&j, ways) })
	}
	if few, many := takes(4), takes(64); many > 2*few {
		t.Errorf("at 4 nodes it takes %g allocations to look for a gang's starts, and at 64 it takes %g", few, many)
	}
}
