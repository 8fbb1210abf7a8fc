package binder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// A Part is the pods of a gang at one of its places. Run says which node and devices
// that place has, and what the pods there may request together.
type Part struct {
	Run  *Run
	Pods []*corev1.Pod // all that have not ended, bound or not
	// Ranks are the pods' ranks among those of all parts of a job at several sites, which their binding tells them;
	// nil of other jobs.
	Ranks map[types.UID]int
}

// A gangPod is a pod of a gang that is to be bound.
type gangPod struct {
	*corev1.Pod
	part    Part
	node    *corev1.Node
	devices []int
}

// BindSet binds the pods of a gang that are not bound yet: all of them, or none. The
// API server binds pod by pod, so nothing is bound before everything that can be known
// is in order: each pod passes the checks of Bind, together with the others that go to
// its node; its devices are allocated; and its scheduling gate is gone.
//
// The results are those of Bind. After an error some pods may be bound; BindSet is then
// to be called again, and binds the rest or refuses.
func (b *Binder) BindSet(ctx context.Context, parts []Part) (refused *protocol.Reason, err error) {
	pods, refused := b.checkSet(parts)
	if len(pods) == 0 || refused != nil {
		return refused, nil
	}
	if b.inv.Sharing == kube.SharingDRA {
		for i := range pods {
			p := &pods[i]
			if len(p.devices) == 0 {
				continue
			}
			if ready, refused, err := b.allocateDeviceClaim(ctx, p.part.Run, p.Pod, p.devices); err != nil || !ready {
				return refused, err
			}
		}
	}
	if err := inParallel(pods, func(p *gangPod) error { return b.removeGate(ctx, p.Pod) }); err != nil {
		return nil, err
	}
	return nil, inParallel(pods, func(p *gangPod) error {
		return b.createBinding(ctx, p.part.Run, p.node, p.Pod, p.devices, p.part.Ranks)
	})
}

// checkSet returns the pods of a gang that are to be bound, with their nodes and
// devices, or why the gang is to be terminated. It returns no pods while one of them
// cannot be bound yet.
func (b *Binder) checkSet(parts []Part) (pods []gangPod, refused *protocol.Reason) {
	onNode := make(map[string][]*corev1.Pod) // what each node holds, and what comes
	for _, part := range parts {
		var node *corev1.Node
		for _, p := range part.Pods {
			if p.Spec.NodeName != "" {
				continue
			}
			if node == nil {
				if node, refused = b.openNode(part.Run); node == nil {
					return nil, refused
				}
				if onNode[node.Name] == nil {
					onNode[node.Name] = b.inv.PodsOnNode(node)
				}
			}
			if refused = b.misfit(part.Run, node, p, part.Pods); refused != nil {
				return nil, refused
			}
			if slices.ContainsFunc(onNode[node.Name], func(x *corev1.Pod) bool { return x.UID == p.UID }) {
				continue // bound a moment ago; p is from before the cache saw that
			}
			if slices.ContainsFunc(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name != kube.GateGang }) {
				return nil, nil // another controller holds it back, and will remove its gate
			}
			devices, refused := b.awardedDevices(part.Run, node, p, part.Pods)
			if refused != nil {
				return nil, refused
			}
			onNode[node.Name] = append(onNode[node.Name], p)
			if why := b.inv.MissingCapacity(node, onNode[node.Name]); why != "" {
				return nil, refusal(protocol.TakenOver, why)
			}
			pods = append(pods, gangPod{p, part, node, devices})
		}
	}
	return pods, nil
}

// removeGate removes the scheduling gate of a gang's pod, which keeps the API server from
// binding it. Gates of others stay.
func (b *Binder) removeGate(ctx context.Context, p *corev1.Pod) error {
	if len(p.Spec.SchedulingGates) == 0 {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, p.UID, kube.GateGang)
	_, err := b.cfg.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// maxParallel is how many requests for one gang run at once.
const maxParallel = 16

// inParallel calls do for each pod, up to maxParallel at once, and returns all errors.
func inParallel(pods []gangPod, do func(*gangPod) error) error {
	errs := make([]error, len(pods))
	slots := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for i := range pods {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(&pods[i])
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
