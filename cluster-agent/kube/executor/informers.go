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

// indexByRun names the index of pods by the run that they belong to: see runKeysOfPod.
const indexByRun = "run"

type dynamicInformers []dynamicinformer.DynamicSharedInformerFactory // one for each namespace

// startInformers starts informers for nodes, pods, devices and, of each installed job
// kind, the site's objects. It returns when all of them have synced: before that the
// inventory would lack what foreign pods hold.
func (h *KubeExecutor) startInformers(ctx context.Context) error {
	// Nodes and pods of the whole cluster: foreign pods hold capacity, too.
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
		h.enqueueRuns(func(r *run) bool { return r.usesNode(o.(*corev1.Node).Name) })
	})
	addInformerHandler(pods, func(o any) { h.onPodChange(o.(*corev1.Pod)) })
	all.Start(ctx.Done())
	// The site's own objects, and events of controllers that cannot create pods, by namespace.
	for _, space := range h.cfg.Namespaces {
		h.objectInformers = append(h.objectInformers, dynamicinformer.NewFilteredDynamicSharedInformerFactory(h.cfg.Dynamic, 0, space, func(o *metav1.ListOptions) {
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
	// Kinds that are not installed are skipped; a task of such a kind is refused later.
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

// watchJobKind starts informers for the site's objects of one kind and waits until
// they have synced; it does nothing if they run already. It returns a NotFound error
// if the cluster does not have the kind.
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
	for _, f := range h.objectInformers {
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

// kindInstalled asks the API server whether it serves a kind, and retries until it
// answers or ctx ends. It returns a NotFound error if the kind is not served.
func (h *KubeExecutor) kindInstalled(ctx context.Context, k *jobKind) error {
	for {
		list, err := h.cfg.Client.Discovery().ServerResourcesForGroupVersion(k.GroupVersion().String())
		switch {
		// A served group may lack the kind.
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

// isTransientError reports whether a request that failed with this error may succeed
// later without a change of ours.
func isTransientError(err error) bool {
	if _, ok := err.(apierrors.APIStatus); !ok { // no answer from an API server at all
		return true
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsConflict(err) || apierrors.IsUnauthorized(err)
}

// addInformerHandler calls f for each object that is added, updated or deleted.
func addInformerHandler(in cache.SharedIndexInformer, f func(o any)) {
	_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only when stopped
		AddFunc:    f,
		UpdateFunc: func(_, o any) { f(o) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok { // the watch missed the deletion
				o = gone.Obj
			}
			f(o)
		},
	})
}

// dropUnreadFields removes managedFields before an object enters a cache: they can be
// larger than the rest of it, and nothing here reads them.
func dropUnreadFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// signalInventoryChange has Run survey the inventory. It never blocks: one pending signal
// covers all changes before it.
func (h *KubeExecutor) signalInventoryChange() {
	select {
	case h.inventoryChanged <- struct{}{}:
	default:
	}
}

// enqueueRuns adds the runs that which selects to the work queue.
func (h *KubeExecutor) enqueueRuns(which func(*run) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if which(r) {
			h.queue.Add(name)
		}
	}
}

// onPodChange enqueues the pod's run, and has the inventory surveyed unless the change
// cannot affect it.
func (h *KubeExecutor) onPodChange(p *corev1.Pod) {
	if name := h.runOfPod(p); name != "" {
		h.queue.Add(name)
		if h.hasRun(name) && p.Spec.NodeName == "" {
			return // a pod that is not bound uses no capacity
		}
	}
	h.signalInventoryChange()
}

// onClaimChange enqueues the runs of the pods that own a claim: a pod waits for its
// claim to be created before it can be bound.
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

// hasRun reports whether the executor manages a run of that name.
func (h *KubeExecutor) hasRun(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name] != nil
}

// onWarningEvent records a FailedCreate event, by which a controller says that it
// cannot create pods for a run's object, if waiting will not help. Events live for an
// hour and are delivered once more when they expire and after a restart. An event from
// before the run was created belongs to an earlier object of the same name and is
// ignored.
func (h *KubeExecutor) onWarningEvent(e *corev1.Event) {
	final := false
	// Quota, admission and validation: a controller's retry meets the same refusal.
	for _, word := range []string{"exceeded quota", "forbidden", "is invalid", "denied"} {
		final = final || strings.Contains(e.Message, word)
	}
	if !final {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		asked := cmp.Or(r.createdAt, h.cfg.Now())
		if r.objectName() == e.InvolvedObject.Name && r.namespace == e.InvolvedObject.Namespace && eventLastSeen(e) >= asked.Add(-time.Minute) { // a minute of clock skew between the API server and us
			h.createFailures[name] = e.Message // reconcile terminates the run with this reason
			h.queue.Add(name)
		}
	}
}

// eventLastSeen returns the latest of an event's timestamps. Clients fill in different
// ones of them.
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

// adoptRunningObjects rebuilds the runs after a restart, from the launches that the
// site's objects carry, and returns them for the first inventory report. Objects whose
// outcome was reported only contribute their epoch, so that an outdated launch is
// refused.
func (h *KubeExecutor) adoptRunningObjects(ctx context.Context) (held []protocol.FoundRunning, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range jobKinds {
		k := &jobKinds[i]
		for _, u := range h.allRunObjects(k) {
			l, err := kube.UnpackLaunch(u.GetAnnotations()[kube.AnnotationLaunch])
			if err != nil {
				h.cfg.Log.Error("an object of this site has no readable launch; it is left unchanged", "object", u.GetName(), "error", err)
				continue
			}
			// Every object contributes its epoch, so that no outdated launch is accepted.
			h.epochs[l.Job.ID] = max(h.epochs[l.Job.ID], l.Epoch)
			name := u.GetLabels()[kube.LabelRun]
			if u.GetLabels()[kube.LabelOutcomeReported] != "" || name != kube.RunName(l.Job.ID, l.Epoch) {
				continue
			}
			r := h.runOfObject(k, u, l)
			h.runs[name] = r
			h.queue.Add(name)
			if r.isReplica() {
				h.adoptReplica(r)
				continue // the agent asks for it by its list
			}
			held = append(held, protocol.FoundRunning{Launch: l, Since: r.createdAt})
		}
	}
	return held, nil
}

// runOfObject returns the run of an object that existed before this process started.
func (h *KubeExecutor) runOfObject(k *jobKind, u *unstructured.Unstructured, l protocol.Launch) *run {
	r := &run{
		name: kube.RunName(l.Job.ID, l.Epoch), launch: l, namespace: u.GetNamespace(), kind: k, observed: true,
		createdAt: protocol.FromStdTime(u.GetCreationTimestamp().Time), adoptedAt: h.cfg.Now(), external: external.LoanOf(u), ownObject: u.GetName(),
	}
	if r.external.Object != "" { // created by its owner long before its release: count from its start
		r.createdAt = h.cfg.Now()
		text, _, _ := unstructured.NestedString(u.Object, "status", "startTime")
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			r.createdAt = protocol.FromStdTime(t)
		}
	}
	return r
}

// allRunObjects returns the site's objects of a kind. The caller holds h.mu.
func (h *KubeExecutor) allRunObjects(k *jobKind) (us []*unstructured.Unstructured) {
	for _, store := range h.informerStores[k.plural] {
		for _, o := range store.List() {
			us = append(us, o.(*unstructured.Unstructured))
		}
	}
	return us
}

// objectOfRun returns the object of a run from the informer cache, or nil.
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
