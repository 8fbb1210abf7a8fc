package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
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
// end as planned; how many of them are open to deferrable jobs, if headroom is kept; and what is in use
// of their nodes' cores and memory. A job
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
		r.CPUUsed, r.MemoryUsed = f.usedOfNodes(p.nodes)
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

// usedOfNodes returns the parts of the cores and of the memory of some nodes that jobs, replicas and pods
// of other schedulers use. As for GPUs, a cordoned node does not count.
func (f *Fleet) usedOfNodes(nodes []int) (cpu, memory protocol.Milli) {
	var used, all fgd.Request
	for _, i := range nodes {
		n := &f.nodes[i]
		if n.unschedulable {
			continue
		}
		all.CPU, all.Memory = all.CPU+n.CPU, all.Memory+n.Memory
		for _, b := range n.others {
			used.CPU, used.Memory = used.CPU+b.Request.CPU, used.Memory+b.Request.Memory
		}
		for _, run := range n.jobs {
			used.CPU, used.Memory = used.CPU+run.placement.Request.CPU, used.Memory+run.placement.Request.Memory
		}
	}
	return thousandthsOf(used.CPU, all.CPU), thousandthsOf(used.Memory, all.Memory)
}

// thousandthsOf returns a part of a whole; of overbooked nodes all.
func thousandthsOf(part, whole int64) protocol.Milli {
	if whole <= 0 {
		return 0
	}
	return protocol.Milli(min(max(part, 0), whole) * 1000 / whole)
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
		free += n.freeGPUs()
		for _, run := range n.jobs {
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
