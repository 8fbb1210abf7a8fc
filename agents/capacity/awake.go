package capacity

import (
	"math"
	"slices"
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

// wakeTime returns how long n takes until it can start a job that is placed on it now: all of its
// waking if it sleeps, what is left of it if another job woke it, and else nothing.
func (n *node) wakeTime(now protocol.Time) time.Duration {
	if n.awakeUntil(now) == 0 {
		return n.Host.WakeTime
	}
	return max(n.wakesAt.Sub(now), 0)
}

// wakeTimeAt is wakeTime for a run that starts at an instant, after the runs and reservations before it.
func (n *node) wakeTimeAt(now, t protocol.Time) time.Duration {
	if t <= now {
		return n.wakeTime(now)
	}
	if n.wakesAt > t {
		return n.wakesAt.Sub(t)
	}
	if n.awakeUntil(now) >= t || slices.ContainsFunc(n.reservations, func(k reservation) bool { return k.from < t && k.until.Add(n.Host.Linger) >= t }) {
		return 0
	}
	return n.Host.WakeTime
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
// The set is empty if there is none, or if the site places jobs by its policy alone; it reuses the
// memory of leave, which is empty.
func (f *Fleet) nodesToLeaveAsleep(leave fgd.NodeSet, x *nodeIndex, now protocol.Time, j *protocol.Job, run time.Duration, skip fgd.NodeSet) fgd.NodeSet {
	if !f.cfg.PreferAwake {
		return leave
	}
	least, most := protocol.Millijoules(math.MaxInt64), protocol.Millijoules(0)
	f.addedAwake = f.addedAwake[:0]
	for k, i := range x.nodes {
		n := &f.nodes[i]
		if x.ready[k] != readyNow || skip.Has(int(i)) || len(n.reservations) > 0 && !f.fitsAt(now, int(i), j, now, nil) {
			continue
		}
		awake := n.addedAwakeTime(now, now, now.Add(n.wakeTime(now)+run), nil)
		added := energyOver(n.sleepPower(), awake)
		least, most = min(least, added), max(most, added)
		f.addedAwake = append(f.addedAwake, addedEnergy{i, added})
	}
	if least >= most {
		return leave
	}
	leave = append(leave, skip...)
	for _, x := range f.addedAwake {
		if x.added > least+least/awakeTolerance {
			leave = leave.Add(int(x.node))
		}
	}
	return leave
}

// awakeTolerance is the part of the least added energy by which nodes still count as equal, so
// that the placement policy has a choice among sleeping nodes: one eighth.
const awakeTolerance = 8

// An awakeRecord sums up what the starts of jobs were charged for keeping a site's nodes awake, and
// what their parts of that energy come to. The ratio is what a start costs there for each part: the
// first job on a node pays for what others will fill, those that follow pay nothing. Each hour takes
// an eighth off both sums.
type awakeRecord struct {
	hour          protocol.Time // up to which the sums have been aged
	charged, part protocol.Millijoules
}

const (
	// A site without a record charges for nodes that are half full, and gives that as much weight as
	// an idle node draws in awakePriorTime. So where few jobs start a job pays for opening a node, and
	// where many do it pays what they do.
	awakePriorMarkup = 2
	awakePriorTime   = 4 * time.Hour
)

// ageTo lets starts of earlier hours count less.
func (r *awakeRecord) ageTo(now protocol.Time) {
	hour := now.Floor(time.Hour)
	for ; r.hour < hour && r.charged+r.part > 0; r.hour = r.hour.Add(time.Hour) {
		r.charged, r.part = r.charged*7/8, r.part*7/8
	}
	r.hour = max(r.hour, hour)
}

// recordAwake notes what a job that starts on n is charged for keeping it awake: what it adds to its
// awake time, at most its share.
func (f *Fleet) recordAwake(now protocol.Time, n *node, j *protocol.Job, finish protocol.Time) {
	f.awake.ageTo(now)
	added := energyOver(n.sleepPower(), n.addedAwakeTime(now, now, finish, nil))
	share := energyOver(f.shareOn(n, j), finish.Sub(now))
	f.awake.charged += min(added, share)
	f.awake.part += energyOver(n.idlePart(j), finish.Sub(now))
}

// energyOver returns the energy of a power over whole seconds.
func energyOver(p protocol.Milliwatts, d time.Duration) protocol.Millijoules {
	return protocol.Millijoules(int64(p) * int64(d/time.Second))
}

// IdlePowerShare returns a job's share of the power that keeps its node awake, 0 where nodes never
// sleep: its part of the node, by the GPUs or CPUs that it uses, times a markup. That is
// awakePriorMarkup at a site without a record, and falls with the square of what starts at the site
// were charged lately for each part (decision 0460). The node of a later start is not known, so the
// first of the pool stands for it.
func (f *Fleet) IdlePowerShare(now protocol.Time, j protocol.Job, model string) protocol.Milliwatts {
	p := f.poolOf(model)
	if p == nil || len(p.nodes) == 0 {
		p = &f.pools[0]
	}
	f.awake.ageTo(now)
	return f.shareOn(&f.nodes[p.nodes[0]], &j)
}

// shareOn is IdlePowerShare for a node, by the record as it stands.
func (f *Fleet) shareOn(n *node, j *protocol.Job) protocol.Milliwatts {
	prior := energyOver(n.sleepPower(), awakePriorTime)
	if prior == 0 {
		return 0
	}
	charged := protocol.Milliwatts((f.awake.charged + awakePriorMarkup*prior) * 1000 / (f.awake.part + prior)) // in thousandths of a part
	return n.idlePart(j) * charged * charged / (awakePriorMarkup * 1000 * 1000)
}

// idlePart returns a job's part of the power that n saves asleep, by the GPUs or CPUs that it uses.
func (n *node) idlePart(j *protocol.Job) protocol.Milliwatts {
	switch {
	case j.GPUs > 0 && n.GPUs > 0:
		return n.sleepPower() * protocol.Milliwatts(j.TotalGPUMilli()) / protocol.Milliwatts(n.GPUs*1000)
	case n.CPU > 0:
		return n.sleepPower() * protocol.Milliwatts(j.CPU) / protocol.Milliwatts(n.CPU)
	}
	return 0
}
