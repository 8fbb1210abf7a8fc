package capacity

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A gang (protocol.Job.Pods) is placed over several nodes at once: all of its pods, or none. To
// placement it is sets of equal pods. To a node it is one run or reservation of all its pods there,
// with the id of the gang. All its GPUs are of one model.

// A setPart is pods of one component on one node.
type setPart struct{ node, component, pods int }

// podSets returns a gang as placement sees it, on one GPU model, or on any that it allows.
func podSets(j *protocol.Job, model string) []fgd.PodSet {
	sets := make([]fgd.PodSet, len(j.Pods))
	for i := range j.Pods {
		sets[i] = fgd.PodSet{Request: fgdRequest(j.PodsOf(i, 1), model), Pods: j.Pods[i].Pods}
	}
	return sets
}

// addPods returns x with so many pods of a component of gang j added. Shares of a GPU are packed into
// devices of their own.
func addPods(x protocol.Job, j *protocol.Job, component, pods int) protocol.Job {
	p := j.PodsOf(component, pods)
	if p.GPUs > 0 && p.Share < 1000 && pods > 1 {
		perDevice := int(1000 / p.Share)
		p.GPUs, p.Share, p.GPUMemory = (pods+perDevice-1)/perDevice, 1000, p.GPUMemory*protocol.MiB(min(pods, perDevice))
	}
	if x.CPU == 0 && x.GPUs == 0 {
		return p
	}
	if x.GPUs > 0 && p.GPUs > 0 {
		p.Share = 1000
	}
	p.Share = max(p.Share, x.Share)
	p.GPUs, p.CPU, p.Memory, p.GPUMemory = x.GPUs+p.GPUs, x.CPU+p.CPU, x.Memory+p.Memory, max(x.GPUMemory, p.GPUMemory)
	return p
}

// A podPacker packs a gang onto nodes, by what fits each.
type podPacker struct {
	job   *protocol.Job
	nodes []int                                // in the order in which they are filled
	most  func(node, component int) int        // pods that a node takes at most, as far as is known without fits
	fits  func(node int, x *protocol.Job) bool // reports whether a node takes x; nil: as many pods as most says
	fleet *Fleet                               // says in which domains nodes stand
}

// pack returns where the pods go, or the most pods that found a place. The components with the largest
// pods go first; one that finds no place goes first in the next try.
func (p *podPacker) pack() (parts []setPart, most int, ok bool) {
	j := p.job
	order := make([]int, len(j.Pods))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := j.PodsOf(x, 1), j.PodsOf(y, 1)
		return cmp.Or(cmp.Compare(b.TotalGPUMilli(), a.TotalGPUMilli()), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory))
	})
	for range len(order) * len(order) {
		parts, failed, placed := p.packInOrder(order)
		if most = max(most, placed); failed < 0 {
			return parts, most, true
		}
		if failed == 0 {
			break
		}
		first := order[failed]
		order = slices.Insert(slices.Delete(order, failed, failed+1), 0, first)
	}
	return nil, most, false
}

// packInOrder is pack for one order. It returns the position of the component that found no place, or -1.
func (p *podPacker) packInOrder(order []int) (parts []setPart, failed, placed int) {
	used := make(map[int]protocol.Job)
	for at, c := range order {
		left := p.job.Pods[c].Pods
		grouped, whole := p.groupsOf(c, used)
		if whole < left {
			return nil, at, placed + whole
		}
		for at, i := range p.nodes {
			if left == 0 {
				break
			}
			most := left
			if grouped != nil {
				most = min(left, grouped[at])
			}
			if k := p.podsBeside(used[i], i, c, most); k > 0 {
				used[i] = addPods(used[i], p.job, c, k)
				parts = append(parts, setPart{i, c, k})
				left -= k
			}
		}
		if placed += p.job.Pods[c].Pods - left; left > 0 {
			return nil, at, placed
		}
	}
	return parts, -1, placed
}

// podsBeside returns how many pods of a component node i takes beside what is used of it, so many at most.
func (p *podPacker) podsBeside(used protocol.Job, i, c, atMost int) int {
	if atMost = min(atMost, p.most(i, c)); p.fits == nil {
		return atMost
	}
	return sort.Search(atMost, func(k int) bool {
		x := addPods(used, p.job, c, k+1)
		return !p.fits(i, &x)
	})
}

// podsWhenEmpty returns how many pods of a component node i could hold if it were empty.
func (f *Fleet) podsWhenEmpty(i int, j *protocol.Job, c int, model string) int {
	n, pod := &f.nodes[i], &j.Pods[c]
	if n.removed || pod.GPUs > 0 && !allowsNode(j, model, n) {
		return 0
	}
	return fgd.PodsOn(fgd.Request{CPU: int64(pod.CPU), Memory: int64(pod.Memory), GPUs: pod.GPUs, Milli: int64(pod.Share), GPUMemory: int64(pod.GPUMemory)}, &n.Node.Node)
}

// allowsNode reports whether a node's GPUs are of a model, or of any that the job allows.
func allowsNode(j *protocol.Job, model string, n *node) bool {
	return (model == "" || n.Model == model) && (len(j.Models) == 0 || slices.Contains(j.Models, n.Model))
}

// mostPodsWhenEmpty returns how many pods of a gang the site could hold on a model if it were empty,
// and whether these are all.
func (f *Fleet) mostPodsWhenEmpty(j *protocol.Job, model string) (most int, all bool) {
	if j.RequiredFor > 0 {
		prefers := j.WithTopologyAt(j.RequiredUntil())
		j = &prefers
	}
	p := podPacker{job: j, fleet: f, most: func(i, c int) int { return f.podsWhenEmpty(i, j, c, model) }}
	if len(j.Pods) > 1 {
		p.fits = func(i int, x *protocol.Job) bool { return f.nodes[i].fitsWhenEmpty(x) }
	}
	domains := anywhere
	if j.RequiredTopology != "" {
		domains, _ = f.domainsFor(j, 0, roomMeasure{of: func(i int) int64 { return int64(f.mostOfAComponent(i, j, model)) }})
	}
	for _, d := range domains {
		p.nodes = p.nodes[:0]
		for i := range f.nodes {
			if d == nil || d.Has(i) {
				p.nodes = append(p.nodes, i)
			}
		}
		_, n, whole := p.pack()
		most, all = max(most, n), all || whole
	}
	return most, all
}

// mostOfAComponent returns how many pods of a gang's component node i could hold if it were empty, of that
// component of which it holds most.
func (f *Fleet) mostOfAComponent(i int, j *protocol.Job, model string) (most int) {
	for c := range j.Pods {
		most = max(most, f.podsWhenEmpty(i, j, c, model))
	}
	return most
}

// gangConfigs returns how a gang could run if every node were empty: on each model that holds all its
// pods. If there is none, why says how many would fit at most.
func (f *Fleet) gangConfigs(ways []RunConfig, j *protocol.Job) (_ []RunConfig, why protocol.Reason) {
	why = protocol.Reason{Code: protocol.NoSuchGPU}
	best := -1
	for i := range f.pools {
		p := &f.pools[i]
		if j.GPUs > 0 && (p.model == "" || len(j.Models) > 0 && !slices.Contains(j.Models, p.model)) {
			continue
		}
		most, all := f.mostPodsWhenEmpty(j, p.model)
		switch {
		case !all:
			best = max(best, most)
		case j.GPUs == 0:
			return append(ways, f.runConfigFor(p, j, power.Choice{})), protocol.Reason{}
		default:
			for _, c := range p.choices {
				ways = append(ways, f.runConfigFor(p, j, c))
			}
		}
		if j.GPUs == 0 {
			break // pods without GPUs run on any node
		}
	}
	if len(ways) > 0 {
		return ways, protocol.Reason{}
	}
	if best >= 0 {
		why = protocol.Reason{Code: protocol.FitsNoNode, Note: notAllFit(best, j)}
	}
	return ways, why
}

// notAllFit says how much of a gang would fit.
func notAllFit(most int, j *protocol.Job) string {
	where := "here"
	if len(j.Groups) > 0 {
		where = "here in whole groups"
	}
	if j.RequiredTopology != "" {
		where = "into one domain of " + j.RequiredTopology + " here"
	}
	return "at most " + strconv.Itoa(most) + " of its " + strconv.Itoa(j.PodCount()) + " pods would fit " + where + ", were nothing else here"
}

// LargestSet returns how many pods of a gang the site could hold if it were empty, on one model and in one
// domain of the topology that it requires.
func (f *Fleet) LargestSet(j *protocol.Job) (most int) {
	for i := range f.pools {
		if p := &f.pools[i]; j.GPUs == 0 || p.model != "" && allowsModel(j, p.model) {
			n, _ := f.mostPodsWhenEmpty(j, p.model)
			most = max(most, n)
		}
	}
	return most
}

// reservedNodes returns the nodes with a job's reservation.
func (f *Fleet) reservedNodes(id protocol.JobID) (nodes fgd.NodeSet) {
	for _, i := range f.setsOn[id] {
		nodes = nodes.Add(i)
	}
	if i, ok := f.reservedOn[id]; ok {
		nodes = nodes.Add(i)
	}
	return nodes
}

// setLimits returns what placement must leave to others on each node, for a gang that would run for so
// long from now: next to the reservations that count, with aside on the headroom but for the nodes own,
// and with asleep on nodes that sleep.
func (f *Fleet) setLimits(now protocol.Time, j *protocol.Job, run time.Duration, counts reservationFilter, own fgd.NodeSet, aside, asleep bool) (limits []fgd.NodeLimit) {
	if f.starting != j.ID {
		run += f.longestWake(now, now) // a gang starts when the last of its nodes is awake
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		switch {
		case n.removed || n.unschedulable:
		case aside && n.isHeadroom && !own.Has(i), asleep && n.awakeUntil(now) == 0:
			limits = append(limits, fgd.NodeLimit{Node: i})
		case len(n.reservations) == 0:
		case len(j.Pods) == 1:
			limits = append(limits, fgd.NodeLimit{Node: i, Pods: f.podsThroughout(now, i, j, 0, now, run, counts)})
		case f.hasReservationWithin(n, j.ID, now.Add(run), counts):
			limits = append(limits, fgd.NodeLimit{Node: i})
		}
	}
	return limits
}

// longestWake returns how long the slowest node takes to wake for a gang that starts at t.
func (f *Fleet) longestWake(now, t protocol.Time) (wake time.Duration) {
	for i := range f.nodes {
		if n := &f.nodes[i]; !n.removed {
			wake = max(wake, n.wakeTimeAt(now, t))
		}
	}
	return wake
}

// hasReservationWithin reports whether another job's reservation that counts begins before an instant.
func (f *Fleet) hasReservationWithin(n *node, id protocol.JobID, before protocol.Time, counts reservationFilter) bool {
	return slices.ContainsFunc(n.reservations, func(k reservation) bool {
		return k.job.ID != id && k.from < before && (counts == nil || counts(&k))
	})
}

// podsThroughout returns how many pods of a component find capacity on node i from t on for so long.
func (f *Fleet) podsThroughout(now protocol.Time, i int, j *protocol.Job, c int, t protocol.Time, run time.Duration, counts reservationFilter) int {
	most := min(j.Pods[c].Pods, f.podsWhenEmpty(i, j, c, ""))
	return sort.Search(most, func(k int) bool {
		x := addPods(protocol.Job{}, j, c, k+1)
		return !f.hasRoomThroughout(now, i, &x, t, run, counts)
	})
}

// tryGang is tryWithReservations for a gang: try is called with the limits of nodes until it finds a
// place. A gang with a topology wish is tried in one domain after the other.
func (f *Fleet) tryGang(now protocol.Time, j *protocol.Job, model string, run time.Duration, own fgd.NodeSet, try func([]fgd.NodeLimit) bool) bool {
	wish := j.WithTopologyAt(now)
	j = &wish
	headroom := len(f.headroomNodes()) > 0
	stage := func(counts reservationFilter, aside bool) bool {
		return f.overDomains(j, f.freeNow(j, model), func(domains []fgd.NodeSet) bool {
			return f.cfg.PreferAwake && f.tryWithin(domains, f.setLimits(now, j, run, counts, own, aside, true), try) ||
				f.tryWithin(domains, f.setLimits(now, j, run, counts, own, aside, false), try)
		})
	}
	if stage(nil, true) {
		return true
	}
	return f.cfg.HeadroomOneIn > 0 && !hasTimeToWait(now, *j, run) && (headroom && stage(nil, false) || len(f.reservedOn) > 0 && stage(atLeastAsUrgent(now, *j, run), false))
}

// quoteGang returns where StartRun would place a gang now.
func (f *Fleet) quoteGang(now protocol.Time, j *protocol.Job, model string, run time.Duration) (q fgd.SetQuote, ok bool) {
	sets := podSets(j, model)
	if len(j.Groups) > 0 {
		if f.limitToGroups(now, j, model, run, sets) {
			q = f.cluster.QuoteSets(sets, nil)
		}
		return q, q.Fits
	}
	ok = f.tryGang(now, j, model, run, f.reservedNodes(j.ID), func(limits []fgd.NodeLimit) bool {
		q = f.cluster.QuoteSets(sets, limits)
		return q.Fits
	})
	return q, ok
}

// quoteGangPlacement is QuotePlacement for a gang. Nodes of one model are alike: they save the same
// power asleep.
func (f *Fleet) quoteGangPlacement(now protocol.Time, j *protocol.Job, model string, run time.Duration) (p PlacementQuote, ok bool) {
	q, ok := f.quoteGang(now, j, model, run)
	if !ok {
		return PlacementQuote{}, false
	}
	p.FragmentationDelta = protocol.Milli(q.DeltaF)
	seen := fgd.NodeSet(nil)
	for _, x := range q.Placements {
		p.WakeTime = max(p.WakeTime, f.nodes[x.Node].wakeTime(now))
	}
	for _, x := range q.Placements {
		if n := &f.nodes[x.Node]; !seen.Has(x.Node) {
			seen = seen.Add(x.Node)
			p.SleepPower = max(p.SleepPower, n.sleepPower())
			n.addedAwakeTime(now, now, now.Add(p.WakeTime+run), &p.AddedAwake)
		}
	}
	return p, true
}

// SpreadAt returns over which nodes a gang would go if it started at an instant, to run for so long on a
// model; without devices. False if it cannot start then.
func (f *Fleet) SpreadAt(now protocol.Time, j *protocol.Job, model string, start protocol.Time, run time.Duration) (places []protocol.Place, ok bool) {
	if start <= now {
		q, ok := f.quoteGang(now, j, model, run)
		if !ok {
			return nil, false
		}
		for _, x := range q.Placements {
			places = addPlace(places, protocol.Place{Component: x.Set, Pods: x.Pods, Node: f.nodes[x.Node].Name})
		}
		return places, true
	}
	parts, ok := f.setAt(now, j, model, start, run, nil)
	if !ok {
		parts, ok = f.setAt(now, j, model, start, run, atLeastAsUrgent(now, *j, run))
	}
	for _, x := range parts {
		places = addPlace(places, protocol.Place{Component: x.component, Pods: x.pods, Node: f.nodes[x.node].Name})
	}
	return places, ok
}

// addPlace adds pods to those of the same component on the same node, or as a place of its own.
func addPlace(all []protocol.Place, p protocol.Place) []protocol.Place {
	for i := range all {
		if all[i].Component == p.Component && all[i].Node == p.Node {
			all[i].Pods += p.Pods
			return all
		}
	}
	return append(all, p)
}
