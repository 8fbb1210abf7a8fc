package adversary

import (
	"context"
	"fmt"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// adversaryScenario returns a day of n jobs at three nearly equal sites, so that many options are
// near ties, with an operator's note on each site.
func adversaryScenario(n int) (spec.Scenario, market.Advice) {
	s := spec.Scenario{
		Name: "attacked", Seed: 1, Start: startTime, End: startTime.Add(24 * time.Hour),
		Weights: spec.Weights{Kappa: 100_000_000, WaitNow: 1_000_000, Late: 10_000_000},
	}
	// Ease 100 is ten per cent: nearly all options count as ties, and the judge is asked often.
	advice := market.Advice{Ease: 100, MaxTotalExtra: 100, Most: 4, Calls: 1 << 30}
	for i, name := range []string{"coal", "hydro", "solar"} {
		constant := func(v int64) (points []protocol.Point) {
			for h := range 96 {
				points = append(points, protocol.Point{At: startTime.Add(time.Duration(h-24) * time.Hour), Value: v})
			}
			return points
		}
		site := spec.Site{Name: name, Zone: name, Signals: map[protocol.Quantity][]protocol.Point{
			// Prices differ by a sixth of a per cent from site to site, carbon not at all.
			protocol.GridPUE: constant(1200), protocol.GridPrice: constant(60_000 + int64(i)*100), protocol.GridCarbon: constant(300_000),
		}}
		for k := range 3 {
			site.Nodes = append(site.Nodes, spec.Node{Name: fmt.Sprint(name, "-", k), CPU: 64_000, Memory: 512 << 10, GPUs: 4, Model: []string{"V100", "A100", "T4"}[(i+k)%3], GPUMemory: 16 << 10})
		}
		s.Sites = append(s.Sites, site)
		advice.Notes = append(advice.Notes, market.TimedNote{OperatorNotice: protocol.OperatorNotice{ID: fmt.Sprint("N", i), Site: name, Text: "prefer it"}})
	}
	for i := range n {
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprint("job-", i)), Tenant: "lab", Home: s.Sites[i%3].Name, GPUs: 1 + 3*(i%7/6), Share: 1000, CPU: 4000, Memory: 16 << 10,
			Arrival: startTime.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)).Floor(time.Second),
			Run:     time.Duration(5+i*37%170) * time.Minute, Urgency: protocol.StandardOrNow(i%5 != 0),
		}
		j.Deadline = j.Arrival.Add(j.Run + 8*time.Hour)
		s.Jobs = append(s.Jobs, j)
	}
	return s, advice
}

// A replayedDay is a replayed day with all its messages.
type replayedDay struct {
	messages []protocol.Message
	res      scenarios.ReplayResult
}

// replayScenario replays a scenario in memory and keeps all messages.
func replayScenario(ctx context.Context, s spec.Scenario, advice market.Advice, judge bus.Machine) (replayedDay, error) {
	var r replayedDay
	res, err := scenarios.Replay(ctx, s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{
		Advice: advice, Judge: judge, Record: func(m protocol.Message) error { r.messages = append(r.messages, m); return nil },
	})
	r.res = res
	r.res.Totals.Messages, r.res.Totals.WallS = 0, 0 // questions count as messages, so these differ between runs
	return r, err
}

// questionCount returns the number of questions to the judge.
func (r replayedDay) questionCount() (n int) {
	for _, m := range r.messages {
		if _, ok := m.Body.(protocol.JudgeRequest); ok {
			n++
		}
	}
	return n
}
