package capacity

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A Span is the time between two instants.
type Span struct{ From, Until protocol.Time }

// awakeUntil returns until when n stays awake if no further job comes; 0: it sleeps. A node whose
// host never sleeps is awake for ever.
func (n *node) awakeUntil(now protocol.Time) protocol.Time {
	switch {
	case n.Host.Linger == 0:
		return math.MaxInt64
	case len(n.jobs) > 0:
		return max(n.busyUntil(), now).Add(n.Host.Linger)
	case n.emptySince == 0 || n.emptySince.Add(n.Host.Linger) <= now:
		return 0
	}
	return n.emptySince.Add(n.Host.Linger)
}

// wakeTime returns how long n takes until it can start a job that is placed on it now.
func (n *node) wakeTime(now protocol.Time) time.Duration {
	if n.awakeUntil(now) == 0 {
		return n.Host.WakeTime
	}
	return 0
}

// addedAwakeTime returns for how long a run between two instants would keep n awake, its linger
// included, that its jobs and reservations do not keep it awake anyway. It also appends these times
// to spans, unless that is nil.
func (n *node) addedAwakeTime(now, start, finish protocol.Time, spans *[]Span) (added time.Duration) {
	if n.Host.Linger == 0 {
		return 0
	}
	at, end := start, finish.Add(n.Host.Linger)
	skipAwake := func(from, until protocol.Time) {
		if gap := min(from, end); gap > at {
			added += gap.Sub(at)
			if spans != nil {
				*spans = append(*spans, Span{at, gap})
			}
		}
		at = max(at, until)
	}
	skipAwake(now, n.awakeUntil(now))
	for _, k := range n.reservations { // sorted by beginning
		skipAwake(k.from, k.until.Add(n.Host.Linger))
	}
	skipAwake(end, end)
	return added
}

// sleepPower returns the power that n saves while it sleeps; 0 if it never does.
func (n *node) sleepPower() protocol.Milliwatts {
	if n.Host.Linger == 0 {
		return 0
	}
	return max(n.idle-n.Host.Asleep, 0)
}

// An addedEnergy is the idle energy that a run would add to a node.
type addedEnergy struct {
	node  int32
	added protocol.Millijoules
}

// nodesToLeaveAsleep returns skip and those nodes of x that a run of j from now on would keep awake
// for more energy than another node with capacity: a node that other jobs keep awake costs nothing.
// Nil if there is none, or if the site places jobs by its policy alone.
func (f *Fleet) nodesToLeaveAsleep(x *nodeIndex, now protocol.Time, j *protocol.Job, model string, run time.Duration, skip fgd.NodeSet) fgd.NodeSet {
	if !f.cfg.PreferAwake || !allowsModel(j, model) {
		return nil
	}
	least, most := protocol.Millijoules(math.MaxInt64), protocol.Millijoules(0)
	f.addedAwake = f.addedAwake[:0]
	for k, i := range x.nodes {
		n := &f.nodes[i]
		if x.ready[k] != readyNow || skip.Has(int(i)) || len(n.reservations) > 0 && !f.fitsAt(now, int(i), j, now, nil) {
			continue
		}
		awake := n.addedAwakeTime(now, now, now.Add(n.wakeTime(now)+run), nil)
		added := protocol.Millijoules(int64(n.sleepPower()) * int64(awake/time.Second))
		least, most = min(least, added), max(most, added)
		f.addedAwake = append(f.addedAwake, addedEnergy{i, added})
	}
	if least >= most {
		return nil
	}
	f.leftAsleep = append(f.leftAsleep[:0], skip...)
	for _, x := range f.addedAwake {
		if x.added > least+least/awakeTolerance {
			f.leftAsleep = f.leftAsleep.Add(int(x.node))
		}
	}
	return f.leftAsleep
}

// awakeTolerance is the part of the least added energy by which nodes still count as equal, so
// that the placement policy has a choice among sleeping nodes: one eighth.
const awakeTolerance = 8

// An awakeRecord sums up what the starts of jobs added to the idle energy of a site's nodes, and
// what their parts of that energy came to. What all starts add is all that is drawn, so the ratio is
// how many times a job's part an awake node costs for each job on it: the inverse of how well awake
// nodes are filled. Each hour takes an eighth off both sums.
type awakeRecord struct {
	hour        protocol.Time // up to which the sums have been aged
	added, part protocol.Millijoules
}

const (
	// A site without a record expects awake nodes to be half full, and gives that as much weight as
	// an idle node draws in awakePriorTime.
	awakePriorMarkup = 2
	awakePriorTime   = 4 * time.Hour
	// maxAwakeMarkup bounds what a job pays for the empty part of its node, in thousandths.
	maxAwakeMarkup = 3000
)

// ageTo lets starts of earlier hours count less.
func (r *awakeRecord) ageTo(now protocol.Time) {
	hour := now.Floor(time.Hour)
	for ; r.hour < hour && r.added+r.part > 0; r.hour = r.hour.Add(time.Hour) {
		r.added, r.part = r.added*7/8, r.part*7/8
	}
	r.hour = max(r.hour, hour)
}

// recordAwake notes what a job that starts on n adds to its awake time.
func (f *Fleet) recordAwake(now protocol.Time, n *node, j protocol.Job, finish protocol.Time) {
	f.awake.ageTo(now)
	f.awake.added += protocol.Millijoules(int64(n.sleepPower()) * int64(n.addedAwakeTime(now, now, finish, nil)/time.Second))
	f.awake.part += protocol.Millijoules(int64(n.idlePart(j)) * int64(finish.Sub(now)/time.Second))
}

// IdlePowerShare returns a job's share of the power that keeps its node awake, 0 where nodes never
// sleep: the part of the GPUs or CPUs that it uses, and what belongs to it of the part that is empty,
// as far as nodes were lately (decision 0255). The node of a later start is not known, so the first
// of the pool stands for it.
func (f *Fleet) IdlePowerShare(now protocol.Time, j protocol.Job, model string) protocol.Milliwatts {
	p := f.poolOf(model)
	if p == nil || len(p.nodes) == 0 {
		p = &f.pools[0]
	}
	n := &f.nodes[p.nodes[0]]
	prior := protocol.Millijoules(int64(n.sleepPower()) * int64(awakePriorTime/time.Second))
	if prior == 0 {
		return 0
	}
	f.awake.ageTo(now)
	markup := (f.awake.added + awakePriorMarkup*prior) * 1000 / (f.awake.part + prior)
	return n.idlePart(j) * protocol.Milliwatts(min(max(markup, 1000), maxAwakeMarkup)) / 1000
}

// idlePart returns a job's part of the power that n saves asleep, by the GPUs or CPUs that it uses.
func (n *node) idlePart(j protocol.Job) protocol.Milliwatts {
	switch {
	case j.GPUs > 0 && n.GPUs > 0:
		return n.sleepPower() * protocol.Milliwatts(j.TotalGPUMilli()) / protocol.Milliwatts(n.GPUs*1000)
	case n.CPU > 0:
		return n.sleepPower() * protocol.Milliwatts(j.CPU) / protocol.Milliwatts(n.CPU)
	}
	return 0
}
