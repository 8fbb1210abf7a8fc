package executor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// indexByRun is the index of pods by the run that they belong to.
const indexByRun = "run"

type dynamicInformers []dynamicinformer.DynamicSharedInformerFactory // one for each namespace

// startInformers begins to watch nodes, pods, devices and, of each kind that is
// installed, our objects, and returns when all are known.
func (h *KubeExecutor) startInformers(ctx context.Context) error {
	all := informers.NewSharedInformerFactoryWithOptions(h.cfg.Client, 0, informers.WithTransform(dropUnreadFields))
	nodes := all.Core().V1().Nodes().Informer()
	pods := all.Core().V1().Pods().Informer()
	synced := []cache.InformerSynced{nodes.HasSynced, pods.HasSynced}
	h.inv.NodeCache, h.inv.PodCache = nodes.GetIndexer(), pods.GetIndexer()
	if err := pods.AddIndexers(cache.Indexers{
		indexByRun:       func(o any) ([]string, error) { return runKeysOfPod(o.(*corev1.Pod)), nil },
		inventory.ByNode: inventory.NodeOfPod,
	}); err != nil {
		return fmt.Errorf("kube: %w", err)
	}
	if h.cfg.Sharing == kube.SharingDRA {
		slices, claims := all.Resource().V1().ResourceSlices().Informer(), all.Resource().V1().ResourceClaims().Informer()
		if err := slices.AddIndexers(cache.Indexers{inventory.ByNode: inventory.NodeOfSlice}); err != nil {
			return fmt.Errorf("kube: %w", err)
		}
		if err := claims.AddIndexers(cache.Indexers{inventory.ByNode: inventory.NodesOfClaim}); err != nil {
			return fmt.Errorf("kube: %w", err)
		}
		h.inv.SliceCache, h.inv.ClaimCache = slices.GetIndexer(), claims.GetIndexer()
		synced = append(synced, slices.HasSynced, claims.HasSynced)
		addInformerHandler(slices, func(any) { h.signalInventoryChange() })
		addInformerHandler(claims, func(o any) { h.onClaimChange(o.(*resourcev1.ResourceClaim)) })
	}
	addInformerHandler(nodes, func(o any) {
		h.signalInventoryChange()
		h.enqueueRuns(func(r *run) bool { return r.launch.Node == o.(*corev1.Node).Name })
	})
	addInformerHandler(pods, func(o any) { h.onPodChange(o.(*corev1.Pod)) })
	all.Start(ctx.Done())
	for _, space := range h.cfg.Namespaces {
		h.objects = append(h.objects, dynamicinformer.NewFilteredDynamicSharedInformerFactory(h.cfg.Dynamic, 0, space, func(o *metav1.ListOptions) {
			o.LabelSelector = kube.LabelSite + "=" + h.cfg.Site
		}))
		events := informers.NewSharedInformerFactoryWithOptions(h.cfg.Client, 0, informers.WithNamespace(space),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "reason=FailedCreate" }))
		in := events.Core().V1().Events().Informer()
		addInformerHandler(in, func(o any) { h.onWarningEvent(o.(*corev1.Event)) })
		events.Start(ctx.Done())
		synced = append(synced, in.HasSynced)
	}
	h.informerStores = make(map[string][]cache.Indexer)
	for i := range jobKinds {
		if err := h.watchJobKind(ctx, &jobKinds[i]); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("kube: %w while waiting for the API server", ctx.Err())
	}
	return nil
}

// watchJobKind begins to watch our objects of a kind, and returns when they are known.
// It is a NotFound error if the kind is not installed.
func (h *KubeExecutor) watchJobKind(ctx context.Context, k *jobKind) error {
	h.mu.Lock()
	done := h.informerStores[k.plural] != nil
	h.mu.Unlock()
	if done {
		return nil
	}
	if err := h.kindInstalled(ctx, k); err != nil {
		return err
	}
	var stores []cache.Indexer
	for _, f := range h.objects {
		in := f.ForResource(k.groupVersionResource()).Informer()
		addInformerHandler(in, func(o any) {
			u := o.(*unstructured.Unstructured)
			h.keepFinalState(k, u)
			h.queue.Add(u.GetLabels()[kube.LabelRun])
		})
		f.Start(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), in.HasSynced) {
			return fmt.Errorf("kube: %w while waiting for the API server", ctx.Err())
		}
		stores = append(stores, in.GetIndexer())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.informerStores[k.plural] = stores
	return nil
}

// kindInstalled asks the API server, for as long as it takes to answer, whether it
// knows a kind.
func (h *KubeExecutor) kindInstalled(ctx context.Context, k *jobKind) error {
	for {
		list, err := h.cfg.Client.Discovery().ServerResourcesForGroupVersion(k.GroupVersion().String())
		switch {
		case err == nil:
			for _, r := range list.APIResources {
				if r.Name == k.plural {
					return nil
				}
			}
			return apierrors.NewNotFound(k.groupVersionResource().GroupResource(), "")
		case !isTransientError(err):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube: %w: %w", ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// isTransientError reports whether an error may go away by itself.
func isTransientError(err error) bool {
	if _, ok := err.(apierrors.APIStatus); !ok { // nobody answered
		return true
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsConflict(err) || apierrors.IsUnauthorized(err)
}

// addInformerHandler calls f with each object that comes, changes or goes.
func addInformerHandler(in cache.SharedIndexInformer, f func(o any)) {
	_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only when stopped
		AddFunc:    f,
		UpdateFunc: func(_, o any) { f(o) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			f(o)
		},
	})
}

// dropUnreadFields drops what is large and never read.
func dropUnreadFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

func (h *KubeExecutor) signalInventoryChange() {
	select {
	case h.inventoryChanged <- struct{}{}:
	default:
	}
}

// enqueueRuns has the runs looked after that which picks.
func (h *KubeExecutor) enqueueRuns(which func(*run) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if which(r) {
			h.queue.Add(name)
		}
	}
}

func (h *KubeExecutor) onPodChange(p *corev1.Pod) {
	if name := h.runOfPod(p); name != "" {
		h.queue.Add(name)
		if h.hasRun(name) && p.Spec.NodeName == "" {
			return // nobody's room changes
		}
	}
	h.signalInventoryChange()
}

// onClaimChange: the claim of a pod came, which may be all that it waited for.
func (h *KubeExecutor) onClaimChange(c *resourcev1.ResourceClaim) {
	h.signalInventoryChange()
	for _, owner := range c.OwnerReferences {
		if o, ok, _ := h.inv.PodCache.GetByKey(c.Namespace + "/" + owner.Name); ok {
			if name := o.(*corev1.Pod).Labels[kube.LabelRun]; name != "" {
				h.queue.Add(name)
			}
		}
	}
}

func (h *KubeExecutor) hasRun(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name] != nil
}

// onWarningEvent takes in that the cluster makes no pods of an object, if that will
// not go away by itself. Events stay for an hour, and are told of again when they
// go and when we begin anew: those of what bore a run's name before it are not its.
func (h *KubeExecutor) onWarningEvent(e *corev1.Event) {
	final := false
	for _, word := range []string{"exceeded quota", "forbidden", "is invalid", "denied"} {
		final = final || strings.Contains(e.Message, word)
	}
	if !final {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		asked := cmp.Or(r.created, h.cfg.Now())
		if r.objectName() == e.InvolvedObject.Name && r.namespace == e.InvolvedObject.Namespace && eventLastSeen(e) >= asked.Add(-time.Minute) { // clocks differ
			h.refused[name] = e.Message
			h.queue.Add(name)
		}
	}
}

// eventLastSeen is when what an event tells was last seen.
func eventLastSeen(e *corev1.Event) protocol.Time {
	last := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(last) {
			last = t
		}
	}
	if s := e.Series; s != nil && s.LastObservedTime.After(last) {
		last = s.LastObservedTime.Time
	}
	return protocol.FromStdTime(last)
}

// adoptRunningObjects finds what runs from before, and returns it.
func (h *KubeExecutor) adoptRunningObjects(ctx context.Context) (held []protocol.FoundRunning, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range jobKinds {
		k := &jobKinds[i]
		for _, u := range h.allRunObjects(k) {
			l, err := kube.UnpackLaunch(u.GetAnnotations()[kube.AnnotationLaunch])
			if err != nil {
				h.cfg.Log.Error("an object of ours cannot be read; it is left alone", "object", u.GetName(), "error", err)
				continue
			}
			h.epochs[l.Job.ID] = max(h.epochs[l.Job.ID], l.Epoch)
			name := u.GetLabels()[kube.LabelRun]
			if u.GetLabels()[kube.LabelReported] != "" || name != kube.RunName(l.Job.ID, l.Epoch) {
				continue
			}
			r := h.runOfObject(k, u, l)
			h.runs[name] = r
			h.queue.Add(name)
			held = append(held, protocol.FoundRunning{Launch: l, Since: r.created})
		}
	}
	return held, nil
}

// runOfObject is the run of an object that was there before.
func (h *KubeExecutor) runOfObject(k *jobKind, u *unstructured.Unstructured, l protocol.Launch) *run {
	r := &run{
		name: kube.RunName(l.Job.ID, l.Epoch), launch: l, namespace: u.GetNamespace(), kind: k, observed: true,
		created: protocol.FromStdTime(u.GetCreationTimestamp().Time), adoptedAt: h.cfg.Now(), external: external.LoanOf(u), objectID: u.GetName(),
	}
	if r.external.Object != "" { // it was made long before
		r.created = h.cfg.Now()
		text, _, _ := unstructured.NestedString(u.Object, "status", "startTime")
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			r.created = protocol.FromStdTime(t)
		}
	}
	return r
}

// allRunObjects returns our objects of a kind. The caller holds h.mu.
func (h *KubeExecutor) allRunObjects(k *jobKind) (us []*unstructured.Unstructured) {
	for _, store := range h.informerStores[k.plural] {
		for _, o := range store.List() {
			us = append(us, o.(*unstructured.Unstructured))
		}
	}
	return us
}

// objectOfRun returns the object of a run, as we know it.
func (h *KubeExecutor) objectOfRun(r *run) *unstructured.Unstructured {
	h.mu.Lock()
	stores := h.informerStores[r.kind.plural]
	h.mu.Unlock()
	for _, store := range stores {
		if o, ok, _ := store.GetByKey(r.namespace + "/" + r.objectName()); ok {
			return o.(*unstructured.Unstructured)
		}
	}
	return nil
}
