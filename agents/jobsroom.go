package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Which part of a site's GPUs of a model, in thousandths, replicas leave to jobs, where jobs ask for them: at least
// one that lets the market see what these would pay, and at most three quarters. In between it is half as much again
// as jobs hold and have reserved: so it grows where they fill it, and shrinks where they leave. Of that the market
// leaves a service its own part.
const (
	leastJobsPart = 250
	mostJobsPart  = 750
	jobsGrowth    = 1500
)

// askedHours is for how many hours it counts what jobs asked for: a day, as demand follows the hour.
const askedHours = 24

// askedGPUs is the most that the jobs of one call asked for of each GPU model, by the hour, in thousandths of a
// GPU.
type askedGPUs struct {
	hour   int64 // the newest, counted from 1970
	models map[string]*[askedHours]protocol.Milli
}

// observeCall counts what the jobs of a call ask for. A job that may run on several models asks for each.
func (g *askedGPUs) observeCall(now protocol.Time, jobs []protocol.Job, pools []protocol.Pool) {
	g.advance(now)
	for _, p := range pools {
		asked := protocol.Milli(0)
		for i := range jobs {
			if j := &jobs[i]; len(j.Models) == 0 || slices.Contains(j.Models, p.Model) {
				asked += j.TotalGPUMilli()
			}
		}
		if asked == 0 || p.GPUs == 0 {
			continue
		}
		hours := g.models[p.Model]
		if hours == nil {
			if g.models == nil {
				g.models = make(map[string]*[askedHours]protocol.Milli)
			}
			hours = new([askedHours]protocol.Milli)
			g.models[p.Model] = hours
		}
		hours[g.hour%askedHours] = max(hours[g.hour%askedHours], asked)
	}
}

// advance forgets the hours that are more than a day ago. A clock that was set back counts on in the newest
// hour.
func (g *askedGPUs) advance(now protocol.Time) {
	hour := int64(now.Floor(time.Hour)) / time.Hour.Milliseconds()
	for passed := 0; g.hour < hour && passed < askedHours; passed++ {
		g.hour++
		for _, model := range slices.Sorted(maps.Keys(g.models)) {
			g.models[model][g.hour%askedHours] = 0
		}
	}
	g.hour = max(g.hour, hour)
}

// most returns the most that jobs asked for of a model in a day.
func (g *askedGPUs) most(now protocol.Time, model string) protocol.Milli {
	g.advance(now)
	if hours := g.models[model]; hours != nil {
		return slices.Max(hours[:])
	}
	return 0
}

// replicasBeyond returns how many of the replicas of a service that are here or fit would take GPUs that are left to
// jobs: of each model what jobs asked for in a day, within the parts above.
func (a *Agent) replicasBeyond(now protocol.Time, s *protocol.Service, here int) int {
	each := s.GPUMilli()
	if each == 0 {
		return 0
	}
	usable := func(model string) bool { return len(s.Models) == 0 || slices.Contains(s.Models, model) }
	room, asked := protocol.Milli(0), false
	for _, p := range a.fleet.PoolTotals() {
		if all := 1000 * protocol.Milli(p.GPUs); usable(p.Model) {
			used := a.fleet.JobsGPUs(p.Model) * jobsGrowth / 1000
			left := min(a.asked.most(now, p.Model), max(all*leastJobsPart/1000, min(used, all*mostJobsPart/1000)))
			room, asked = room+all-left, asked || left > 0
		}
	}
	if !asked {
		return 0
	}
	for _, h := range a.servicesByPriority() {
		for _, r := range h.replicas {
			if h.service.ID != s.ID && usable(r.Model) {
				room -= h.service.GPUMilli()
			}
		}
	}
	return max(here-int(max(room, 0)/each), 0)
}
