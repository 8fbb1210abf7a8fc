package kube

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gridbid/gridbid/protocol"
)

// survey says what the site consists of, in order of name. Where others came to
// hold what ours hold too, the run that began last gives way.
func (h *Hands) survey() []protocol.Node {
	h.mu.Lock()
	silent := h.silent
	h.mu.Unlock()
	var all []protocol.Node
	for _, o := range h.nodes.List() {
		n := o.(*corev1.Node)
		p := h.machine(n)
		ours := h.others(n, &p)
		h.giveWay(n, ours)
		if pods := n.Status.Allocatable.Pods().Value(); p.Closed == "" && pods > 0 && int64(len(h.onNode(n))) >= pods {
			p.Closed = fmt.Sprintf("it has %d pods, which is all that it takes", pods)
		}
		if silent {
			p.Closed = unanswered
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y protocol.Node) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// report logs which nodes take nothing new, take something again, or have GPUs of which
// no power is known: nobody else says why a node is not offered. Nodes that are not
// the site's are passed over.
func (h *Hands) report(last, now []protocol.Node) {
	was := make(map[string]protocol.Node, len(last))
	for _, p := range last {
		was[p.Name] = p
	}
	for _, p := range now {
		before, known := was[p.Name]
		if _, ok := h.cfg.Power.Lookup(p.Model); !ok && p.GPUs > 0 && p.Closed != h.foreign() && (!known || before.Model != p.Model || before.Closed == h.foreign()) {
			h.cfg.Log.Warn("a node is not offered: no power is known of its GPUs; say in models what they count as", "node", p.Name, "gpus", p.Model)
		}
		switch {
		case p.Closed == before.Closed || p.Closed == h.foreign() || p.Closed == unanswered:
		case p.Closed != "":
			h.cfg.Log.Info("a node takes nothing new", "node", p.Name, "why", p.Closed)
		case before.Closed != unanswered:
			h.cfg.Log.Info("a node takes jobs again", "node", p.Name)
		}
	}
}

// unanswered is why all nodes are closed while the API server is silent.
const unanswered = "the API server does not answer"

func sameNodes(x, y []protocol.Node) bool { return reflect.DeepEqual(x, y) }

// machine is what a node has, and whether it takes anything.
func (h *Hands) machine(n *corev1.Node) protocol.Node {
	p := protocol.Node{
		Name: n.Name, CPU: protocol.Milli(n.Status.Allocatable.Cpu().MilliValue()),
		Memory: protocol.MiB(n.Status.Allocatable.Memory().Value() >> 20), Closed: h.closed(n),
	}
	product := first(n.Labels, productLabels)
	if mib, err := strconv.ParseInt(first(n.Labels, memoryLabels), 10, 64); err == nil {
		p.GPUMemory = protocol.MiB(mib)
	}
	if h.cfg.Sharing == DRA {
		for _, d := range h.devices(n.Name) {
			p.GPUs++
			if a := d.Attributes["productName"]; a.StringValue != nil {
				product = *a.StringValue
			}
			if m, ok := d.Capacity[memoryCapacity]; ok {
				p.GPUMemory = protocol.MiB(m.Value.Value() >> 20)
			}
		}
	} else if h.cfg.Sharing == GPUShare {
		q := n.Status.Allocatable["aliyun.com/gpu-count"]
		p.GPUs = int(q.Value())
	} else if q := n.Status.Allocatable[pluginGPU]; h.cfg.Sharing == HAMi {
		p.GPUs = len(hamiNode(n))
	} else {
		p.GPUs = int(q.Value())
	}
	if p.GPUs == 0 {
		p.GPUMemory = 0
		return p
	}
	p.Model = h.model(product)
	return p
}

// closed says why a node takes nothing new, or "".
func (h *Hands) closed(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "cordoned"
	}
	if !h.owns(n) {
		return h.foreign()
	}
	ready := "it has not said so"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Reason
			if c.Status == corev1.ConditionTrue {
				ready = ""
			}
		}
	}
	if ready != "" {
		return "not ready: " + ready
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != pluginGPU && !owns(h.cfg.Site, t) {
			return "tainted " + t.Key
		}
	}
	return ""
}

// others fills in what pods that are not in our care hold of a node, and returns
// those that are.
func (h *Hands) others(n *corev1.Node, p *protocol.Node) (ours []*corev1.Pod) {
	list, _ := h.pods.ByIndex(byNode, n.Name)
	whole, taken := int64(0), make(map[int]protocol.Milli) // whole ones: on which devices is not known
	held := make(map[int]bool)                             // by ours
	for _, o := range list {
		q := o.(*corev1.Pod)
		if over(q) {
			continue
		}
		if h.ours(q, n.Name) {
			ours = append(ours, q)
			for _, d := range indexes(q) {
				held[d] = true
			}
			continue
		}
		cpu, mem := requests(q)
		p.OtherCPU, p.OtherMem = p.OtherCPU+protocol.Milli(cpu), p.OtherMem+protocol.MiB(mem)
		if ds := indexes(q); len(ds) > 0 {
			milli, err := strconv.ParseInt(q.Annotations[NoteMilli], 10, 64)
			if err != nil || milli <= 0 {
				milli = 1000
			}
			for _, d := range ds {
				taken[d] += protocol.Milli(milli)
			}
		} else {
			whole += amount(q, pluginGPU)
			if gib := amount(q, shareGiB); gib > 0 {
				d, _ := strconv.Atoi(q.Annotations["ALIYUN_COM_GPU_MEM_IDX"])
				taken[d] += 1000
			}
		}
	}
	for d, milli := range h.claimedByOthers(n.Name) {
		taken[d] += milli
	}
	for _, d := range h.broken(n) {
		taken[d] = 1000
	}
	if p.GPUs == 0 {
		return ours
	}
	p.Others = make([]protocol.Milli, p.GPUs)
	for d := range p.Others {
		p.Others[d] = min(taken[d], 1000)
	}
	for pass := range 2 { // first where ours are not
		for d := p.GPUs - 1; d >= 0 && whole > 0; d-- {
			if p.Others[d] == 0 && (pass == 1 || !held[d]) {
				p.Others[d], whole = 1000, whole-1
			}
		}
	}
	if !slices.ContainsFunc(p.Others, func(m protocol.Milli) bool { return m > 0 }) {
		p.Others = nil
	}
	return ours
}

// broken are the indexes of devices of a node that their driver or plugin says are not
// to be used. What runs on them runs on, for as long as it can.
func (h *Hands) broken(n *corev1.Node) (all []int) {
	switch h.cfg.Sharing {
	case DRA:
		for i, d := range h.devices(n.Name) {
			if slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
				return t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute
			}) {
				all = append(all, i)
			}
		}
	case HAMi:
		for i, c := range hamiNode(n) {
			if c.Health != nil && !*c.Health {
				all = append(all, i)
			}
		}
	}
	return all
}

// claimedByOthers is what claims that are not of our runs hold of a node's
// devices, by index; and what claims of ours hold of devices that have another index
// than when they were sold, as after a card before them is gone.
func (h *Hands) claimedByOthers(node string) map[int]protocol.Milli {
	if h.claims == nil {
		return nil
	}
	out := make(map[int]protocol.Milli)
	var index map[string]int
	list, _ := h.claims.ByIndex(byNode, node)
	for _, o := range list {
		c := o.(*resourcev1.ResourceClaim)
		h.mu.Lock()
		r := h.runs[c.Labels[LabelRun]]
		h.mu.Unlock()
		if index == nil {
			index = make(map[string]int)
			for i, d := range h.devices(node) {
				index[d.pool+"/"+d.Name] = i
			}
		}
		for _, x := range c.Status.Allocation.Devices.Results {
			i, ok := index[x.Pool+"/"+x.Device]
			if !ok || x.Driver != h.cfg.Driver || r != nil && slices.Contains(r.launch.Devices, i) {
				continue
			}
			out[i] += protocol.Milli(takes(x))
		}
	}
	return out
}

// onNode are the pods that hold something of a node.
func (h *Hands) onNode(n *corev1.Node) (pods []*corev1.Pod) {
	list, _ := h.pods.ByIndex(byNode, n.Name)
	for _, o := range list {
		if p := o.(*corev1.Pod); !over(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// crowded says what a node lacks for all of some pods, or "".
func (h *Hands) crowded(n *corev1.Node, pods []*corev1.Pod) string {
	cpu, mib, gpus := int64(0), int64(0), int64(0)
	for _, p := range pods {
		c, m := requests(p)
		cpu, mib, gpus = cpu+c, mib+m, gpus+amount(p, pluginGPU)
	}
	have := n.Status.Allocatable
	most := have[pluginGPU]
	switch {
	case cpu > have.Cpu().MilliValue():
		return fmt.Sprintf("others took CPU of node %s: %dm asked of %dm", n.Name, cpu, have.Cpu().MilliValue())
	case mib > have.Memory().Value()>>20:
		return fmt.Sprintf("others took memory of node %s: %d MiB asked of %d", n.Name, mib, have.Memory().Value()>>20)
	case have.Pods().Value() > 0 && int64(len(pods)) > have.Pods().Value():
		return fmt.Sprintf("node %s takes %d pods; it would have %d", n.Name, have.Pods().Value(), len(pods))
	case h.cfg.Sharing == Plugin && gpus > most.Value():
		return fmt.Sprintf("others took GPUs of node %s: %d asked of %d", n.Name, gpus, most.Value())
	}
	return ""
}

// giveWay takes down the run of ours that began last, if others came to a node
// that cannot hold all. What the node's kubelet would do with them nobody knows.
// Where ours alone are too much, nobody came: the node says for a while that it
// has no GPUs when its device plugin begins anew, and what runs there runs on.
func (h *Hands) giveWay(n *corev1.Node, ours []*corev1.Pod) {
	why := h.crowded(n, h.onNode(n))
	if why == "" || len(ours) == 0 || h.crowded(n, ours) != "" {
		return
	}
	last := slices.MaxFunc(ours, func(x, y *corev1.Pod) int { return begun(x).Compare(begun(y)) })
	h.mu.Lock()
	r := h.runs[last.Labels[LabelRun]]
	h.mu.Unlock()
	if r != nil {
		h.leave(r, protocol.TakenOver, why)
		h.queue.Add(r.name)
	}
}
