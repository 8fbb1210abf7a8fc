package kubetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// An Oracle watches a cluster and checks at each event that nothing is allocated
// twice: CPU, memory and GPUs of nodes by the requests of bound pods, and devices by
// the allocated claims and by the indexes in pods' annotations. It relies on no party
// of the market.
type Oracle struct {
	c    *Cluster
	stop func()

	mu           sync.Mutex
	pods         map[types.UID]*corev1.Pod
	claims       map[types.UID]*resourcev1.ResourceClaim
	ran          map[string]map[types.UID]bool // job -> pods of it that ran to their end
	Events       int
	Faults       []string
	MaxBoundPods int // most pods that were bound at the same time

	OvercommitEvents   int             // events at which a node was overcommitted: see AllowOtherScheduler
	otherScheduler     bool            // set by AllowOtherScheduler
	overcommittedNodes map[string]bool // nodes that are overcommitted now
}

// AllowOtherScheduler tells the oracle that another scheduler uses the same nodes.
// Both may then bind to a node's last capacity at once, until our run yields. That is
// counted in OvercommitEvents and is a fault only if it lasts to the end, or if more
// GPUs are used by running pods than a node has.
func (o *Oracle) AllowOtherScheduler() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.otherScheduler = true
}

// StartOracle starts an oracle, which watches until StopAndCheck or the end of the
// test.
func (c *Cluster) StartOracle() *Oracle {
	ctx, cancel := context.WithCancel(context.Background())
	o := &Oracle{c: c, pods: make(map[types.UID]*corev1.Pod), claims: make(map[types.UID]*resourcev1.ResourceClaim), ran: make(map[string]map[types.UID]bool), overcommittedNodes: make(map[string]bool)}
	var watching sync.WaitGroup
	watching.Go(func() {
		o.listAndWatch(ctx, func(rv string) (runtime.Object, watch.Interface, error) {
			if rv == "" {
				l, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
				return l, nil, err
			}
			w, err := c.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: rv})
			return nil, w, err
		})
	})
	watching.Go(func() {
		o.listAndWatch(ctx, func(rv string) (runtime.Object, watch.Interface, error) {
			if rv == "" {
				l, err := c.Client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{})
				return l, nil, err
			}
			w, err := c.Client.ResourceV1().ResourceClaims("").Watch(ctx, metav1.ListOptions{ResourceVersion: rv})
			return nil, w, err
		})
	})
	o.stop = sync.OnceFunc(func() { cancel(); watching.Wait() })
	c.Cleanup(o.stop)
	return o
}

// StopAndCheck ends the watch and fails the test for each fault. It returns how many
// pods of each job succeeded.
func (o *Oracle) StopAndCheck() map[string]int {
	o.c.Helper()
	o.stop()
	for node := range o.overcommittedNodes {
		o.addFault("node %s: it is asked for more than it has, to the end", node)
	}
	for i, f := range o.Faults {
		if i == 10 {
			o.c.Errorf("and %d more", len(o.Faults)-10)
			break
		}
		o.c.Error("oracle: ", f)
	}
	ran := make(map[string]int)
	for job, pods := range o.ran {
		ran[job] = len(pods)
	}
	return ran
}

// listAndWatch lists, then watches from the list's version on, and starts over when
// the watch ends: the tests stop and start the API server.
func (o *Oracle) listAndWatch(ctx context.Context, ask func(rv string) (runtime.Object, watch.Interface, error)) {
	for ctx.Err() == nil {
		list, _, err := ask("")
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		rv := ""
		switch l := list.(type) {
		case *corev1.PodList:
			rv = l.ResourceVersion
			o.replacePods(l.Items)
		case *resourcev1.ResourceClaimList:
			rv = l.ResourceVersion
			o.replaceClaims(l.Items)
		}
		_, w, err := ask(rv)
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			o.observeEvent(e.Type == watch.Deleted, e.Object)
		}
	}
}

// replacePods replaces what is known of pods by a new list.
func (o *Oracle) replacePods(items []corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.pods)
	for i := range items {
		o.pods[items[i].UID] = &items[i]
		o.recordFinishedPod(&items[i])
	}
}

// replaceClaims replaces what is known of claims by a new list.
func (o *Oracle) replaceClaims(items []resourcev1.ResourceClaim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.claims)
	for i := range items {
		o.claims[items[i].UID] = &items[i]
	}
}

// observeEvent applies one event and checks the node or the devices that it touches.
func (o *Oracle) observeEvent(gone bool, object runtime.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Events++
	switch x := object.(type) {
	case *corev1.Pod:
		o.pods[x.UID] = x
		if gone {
			delete(o.pods, x.UID)
		}
		o.recordFinishedPod(x)
		if x.Spec.NodeName != "" {
			o.countNode(x.Spec.NodeName)
		}
	case *resourcev1.ResourceClaim:
		o.claims[x.UID] = x
		if gone {
			delete(o.claims, x.UID)
		}
		o.countDevices()
	}
}

// recordFinishedPod records a pod of a job once it has succeeded.
func (o *Oracle) recordFinishedPod(p *corev1.Pod) {
	job := p.Annotations["gridbid.io/job"]
	if p.Status.Phase != corev1.PodSucceeded || job == "" {
		return
	}
	if o.ran[job] == nil {
		o.ran[job] = make(map[types.UID]bool)
	}
	o.ran[job][p.UID] = true
}

// podHoldsNode reports whether a pod is bound and has not ended.
func podHoldsNode(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// countNode checks the pods of one node against its capacity: 96 cores, 768 GiB, 8
// GPUs of 1000 thousandths.
func (o *Oracle) countNode(node string) {
	var cpu, memory, gpus, running int64
	devices, bound := make(map[string]int64), 0
	for _, p := range o.pods {
		if !podHoldsNode(p) {
			continue
		}
		bound++
		if p.Spec.NodeName != node {
			continue
		}
		for _, c := range p.Spec.Containers {
			cpu += c.Resources.Requests.Cpu().MilliValue()
			memory += c.Resources.Requests.Memory().Value()
			q := c.Resources.Limits["nvidia.com/gpu"]
			gpus += q.Value()
			if p.Status.Phase == corev1.PodRunning {
				running += q.Value()
			}
		}
		milli := int64(1000)
		_, _ = fmt.Sscan(p.Annotations["gridbid.io/gpu-milli"], &milli) // without the annotation, whole devices
		if text := p.Annotations["gridbid.io/devices"]; text != "" {
			for _, d := range strings.Split(text, ",") {
				devices[d] += milli
			}
		}
	}
	o.MaxBoundPods = max(o.MaxBoundPods, bound)
	if running > 8 {
		o.addFault("node %s: pods run with %d GPUs of 8", node, running)
	}
	delete(o.overcommittedNodes, node)
	if full := cpu > 96_000 || memory > 768<<30 || gpus > 8; full && o.otherScheduler {
		o.overcommittedNodes[node] = true
		o.OvercommitEvents++
	} else if full {
		o.addFault("node %s: %dm of CPU, %d bytes and %d GPUs are asked by bound pods", node, cpu, memory, gpus)
	}
	for d, milli := range devices {
		if milli > 1000 {
			o.addFault("node %s: %d thousandths of device %s are held by bound pods", node, milli, d)
		}
	}
}

// countDevices checks all allocated claims against the capacity of their devices.
func (o *Oracle) countDevices() {
	type held struct{ milli, memory int64 }
	devices := make(map[string]held)
	for _, c := range o.claims {
		if c.Status.Allocation == nil {
			continue
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			h := devices[r.Pool+"/"+r.Device]
			m, b := r.ConsumedCapacity["milli"], r.ConsumedCapacity["memory"]
			h.milli, h.memory = h.milli+m.Value(), h.memory+b.Value()
			devices[r.Pool+"/"+r.Device] = h
		}
	}
	for d, h := range devices {
		if h.milli > 1000 || h.memory > 80<<30 {
			o.addFault("device %s: %d thousandths and %d bytes are allocated to claims", d, h.milli, h.memory)
		}
	}
}

// addFault records a fault. The caller holds o.mu, or the watch has ended.
func (o *Oracle) addFault(format string, args ...any) {
	o.Faults = append(o.Faults, fmt.Sprintf(format, args...))
}
