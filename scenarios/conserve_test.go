package scenarios

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Nothing is lost, whatever the scenario and the policy. [Replay] holds the
// record to its own promises; here the messages are counted again, without it.
func TestEveryJobAndEveryJouleIsAccountedForOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t, 24)
		policy := rapid.SampledFrom(PolicyNames()).Draw(t, "policy")
		var said []protocol.Message
		res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{Record: func(m protocol.Message) error {
			said = append(said, m)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		countFates(t, s, said)
		countRoom(t, s, said)
		countEnergy(t, said)
		if n := res.Totals.Placed + res.Totals.Unplaced; n != len(s.Jobs) || res.Totals.Unplaced != res.Totals.Refused {
			t.Errorf("%d jobs; totals say %d placed, %d unplaced, of them %d refused", len(s.Jobs), res.Totals.Placed, res.Totals.Unplaced, res.Totals.Refused)
		}
	})
}

// countFates holds every job to one submission and one end, and every launch
// to the job's own limits.
func countFates(t *rapid.T, s spec.Scenario, said []protocol.Message) {
	submitted, ended, launched, lost := map[protocol.JobID]int{}, map[protocol.JobID]int{}, map[protocol.JobID]int{}, map[protocol.JobID]int{}
	epochs := map[protocol.JobID]uint64{}
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.Submit:
			submitted[b.Job.ID]++
		case protocol.Launch:
			if b.Epoch <= epochs[b.Job.ID] {
				continue // said again
			}
			launched[b.Job.ID], epochs[b.Job.ID] = launched[b.Job.ID]+1, b.Epoch
			if b.Job.InvalidReason() != "" {
				t.Errorf("%s is malformed and was launched", b.Job.ID)
			}
			if len(b.Job.Regions) > 0 && b.Job.Regions[0] != m.From.SiteName() {
				t.Errorf("%s may run at %v and runs at %s", b.Job.ID, b.Job.Regions, m.From.SiteName())
			}
		case protocol.Interrupted:
			lost[b.Job]++
		case protocol.Settlement:
			ended[b.Job]++
		case protocol.Reject:
			ended[b.Job] += 10
			if b.Why.Code == "" {
				t.Errorf("%s was refused without a reason", b.Job)
			}
		}
	}
	for _, j := range s.Jobs {
		n := ended[j.ID]
		ran, refused := n == 1 && launched[j.ID] == 1+lost[j.ID], n == 10 && launched[j.ID] == lost[j.ID]
		if submitted[j.ID] != 1 || !ran && !refused {
			t.Errorf("%s: submitted %d times, launched %d times, lost %d times; ends: %d (1 is settled, 10 is refused)", j.ID, submitted[j.ID], launched[j.ID], lost[j.ID], n)
		}
	}
}

// countRoom follows launches and exits in order and checks, after each, that no node
// has less than nothing left of CPU, memory, devices or device memory.
func countRoom(t *rapid.T, s spec.Scenario, said []protocol.Message) {
	type node struct {
		has  spec.Node
		used protocol.Job
		gpu  [protocol.MaxGPUs]struct {
			share  protocol.Milli
			memory protocol.MiB
		}
	}
	nodes := map[string]*node{}
	for _, site := range s.Sites {
		for _, n := range site.Nodes {
			nodes[n.Name] = &node{has: n}
		}
	}
	running := map[protocol.JobID]protocol.Launch{}
	change := func(l protocol.Launch, sign int64) {
		n := nodes[l.Node]
		n.used.CPU += protocol.Milli(sign) * l.Job.CPU
		n.used.Memory += protocol.MiB(sign) * l.Job.Memory
		if n.used.CPU > n.has.CPU || n.used.Memory > n.has.Memory {
			t.Errorf("%s: %d of %d cores, %d of %d MiB given", l.Node, n.used.CPU, n.has.CPU, n.used.Memory, n.has.Memory)
		}
		for _, d := range l.Devices {
			g := &n.gpu[d]
			g.share += protocol.Milli(sign) * l.Job.Share
			g.memory += protocol.MiB(sign) * l.Job.GPUMemory
			if d >= n.has.GPUs || g.share > 1000 || n.has.GPUMemory > 0 && g.memory > n.has.GPUMemory {
				t.Errorf("%s of %d GPUs: device %d gives %d thousandths, %d MiB", l.Node, n.has.GPUs, d, g.share, g.memory)
			}
		}
	}
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.Launch:
			if len(b.Devices) != b.Job.GPUs {
				t.Errorf("%s wants %d devices and got %v", b.Job.ID, b.Job.GPUs, b.Devices)
			}
			if before, ok := running[b.Job.ID]; ok && before.Epoch != b.Epoch {
				t.Errorf("%s was launched under epoch %d while it ran under %d", b.Job.ID, b.Epoch, before.Epoch)
			} else if !ok {
				running[b.Job.ID] = b
				change(b, 1)
			}
		case protocol.Finished:
			change(running[b.Job], -1)
			delete(running, b.Job)
		case protocol.Interrupted:
			change(running[b.Job], -1)
			delete(running, b.Job)
		}
	}
}

// countEnergy adds up what was measured by job, by hour and by site.
func countEnergy(t *rapid.T, said []protocol.Message) {
	drawn, idle, total := map[string]protocol.Millijoules{}, map[string]protocol.Millijoules{}, map[string]protocol.Millijoules{}
	paid, wasted := map[string]protocol.Millijoules{}, map[string]protocol.Millijoules{}
	ofJob, bill := map[protocol.JobID]protocol.Millijoules{}, map[protocol.JobID]protocol.Usage{}
	hour := func(site string, at protocol.Time) string { return fmt.Sprint(site, " ", at) }
	for _, m := range said {
		site := m.From.SiteName()
		switch b := m.Body.(type) {
		case protocol.Finished:
			for _, s := range b.Draw {
				drawn[hour(site, s.Hour)] += s.Energy
				ofJob[b.Job] += s.Energy
			}
		case protocol.Interrupted:
			for _, s := range b.Draw {
				drawn[hour(site, s.Hour)] += s.Energy
				wasted[hour(site, s.Hour)] += s.Energy
			}
		case protocol.SiteUsage: // what served no job is paid for by the site, to the millijoule
			paid[hour(site, b.Hour)] += b.Idle.IT
		case protocol.IdleReading:
			idle[hour(site, b.Hour)], total[hour(site, b.Hour)] = b.Idle, b.Total
		case protocol.UsageReport:
			bill[b.Job] = protocol.Usage{IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money, Finish: b.Ended}
		case protocol.Settlement:
			if b.Counted != bill[b.Job] || b.Counted.IT != ofJob[b.Job] {
				t.Errorf("%s: settled %+v, reported %+v, measured %d mJ", b.Job, b.Counted, bill[b.Job], ofJob[b.Job])
			}
		}
	}
	for at, e := range total {
		if e != drawn[at]+idle[at] {
			t.Errorf("%s drew %d mJ; its jobs %d and its idle machines %d", at, e, drawn[at], idle[at])
		}
		if paid[at] != idle[at]+wasted[at] {
			t.Errorf("%s pays for %d mJ; its idle machines drew %d and lost runs %d", at, paid[at], idle[at], wasted[at])
		}
	}
	for at, e := range drawn {
		if _, ok := total[at]; !ok && e != 0 {
			t.Errorf("%s was never metered", at)
		}
	}
}
