package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// profiles are the latest capacity profiles. They hold until a run, a reservation or a node changes,
// or the next slot begins: a run past its planned end counts until then, whatever the instant.
type profiles struct {
	version int // of the fleet
	from    protocol.Time
	slot    time.Duration
	slots   int
	pools   []protocol.CapacityProfile
}

// CapacityProfiles returns the free GPUs of each model by slot, from the slot of now on, if jobs
// end as planned; and how many of them are open to deferrable jobs, if headroom is kept. A job
// past its planned end counts until the next slot. Reservations count as used from their
// beginning. A cordoned node has nothing free, whatever ends there. The caller must not change the
// result: an unchanged site is asked again and again.
func (f *Fleet) CapacityProfiles(now protocol.Time, slot time.Duration, slots int) []protocol.CapacityProfile {
	last := &f.profiles
	if last.version == f.version && last.from == now.Floor(slot) && last.slot == slot && last.slots == slots {
		return last.pools
	}
	var out []protocol.CapacityProfile
	f.headroomNodes()
	for i := range f.pools {
		p := &f.pools[i]
		if p.model == "" {
			continue
		}
		r := protocol.CapacityProfile{Model: p.model, From: now.Floor(slot), Slot: slot, Total: p.total}
		var headroom []int
		for _, n := range p.nodes {
			if f.nodes[n].isHeadroom {
				headroom = append(headroom, n)
			}
		}
		r.Free = f.freeGPUsBySlot(now, p.nodes, r, slots)
		if len(headroom) > 0 {
			r.ForDeferrable = slices.Clone(r.Free)
			for s, free := range f.freeGPUsBySlot(now, headroom, r, slots) {
				r.ForDeferrable[s] = max(r.ForDeferrable[s]-free, 0)
			}
		}
		out = append(out, r)
	}
	*last = profiles{f.version, now.Floor(slot), slot, slots, out}
	return out
}

// freeGPUsBySlot returns the free GPUs of some nodes by the slots of r, from the changes in each
// slot.
func (f *Fleet) freeGPUsBySlot(now protocol.Time, nodes []int, r protocol.CapacityProfile, slots int) []protocol.Milli {
	slot := protocol.Time(r.Slot.Milliseconds())
	// at returns the slot of an instant so long after the first slot begins, clipped to the profile;
	// with slot-1 more, the slot that begins then or next.
	at := func(after protocol.Time) int { return min(max(int(after/slot), 0), slots) }
	f.ends = slices.Grow(f.ends[:0], slots+1)[:slots+1]
	ends := f.ends
	clear(ends)
	free := protocol.Milli(0)
	for _, i := range nodes {
		n := &f.nodes[i]
		if n.unschedulable {
			continue
		}
		// Free now: all GPUs less what others, running jobs and reservations hold.
		free += protocol.Milli(n.GPUs) * 1000
		for _, b := range n.others {
			free -= protocol.Milli(b.Request.TotalMilli())
		}
		for _, run := range n.jobs {
			free -= run.Job.TotalGPUMilli()
			ends[at(max(run.End, now+1)-r.From+slot-1)] += run.Job.TotalGPUMilli()
		}
		for x := range n.reservations {
			k := &n.reservations[x]
			ends[at(k.from-r.From)] -= k.job.TotalGPUMilli()
			ends[at(k.until-r.From+slot-1)] += k.job.TotalGPUMilli()
		}
	}
	// Changes add up from slot to slot; overbooked capacity counts as none.
	out := make([]protocol.Milli, slots)
	for s := range out {
		free += ends[s]
		out[s] = max(free, 0)
	}
	return out
}
