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

// byRun is the index of pods by the run that they belong to.
const byRun = "run"

type dynamicInformers []dynamicinformer.DynamicSharedInformerFactory // one for each namespace

// watch begins to watch nodes, pods, devices and, of each kind that is
// installed, our objects, and returns when all are known.
func (h *Hands) watch(ctx context.Context) error {
	all := informers.NewSharedInformerFactoryWithOptions(h.cfg.Client, 0, informers.WithTransform(slim))
	nodes := all.Core().V1().Nodes().Informer()
	pods := all.Core().V1().Pods().Informer()
	synced := []cache.InformerSynced{nodes.HasSynced, pods.HasSynced}
	h.inv.NodeCache, h.inv.PodCache = nodes.GetIndexer(), pods.GetIndexer()
	if err := pods.AddIndexers(cache.Indexers{
		byRun:            func(o any) ([]string, error) { return runsOfPod(o.(*corev1.Pod)), nil },
		inventory.ByNode: inventory.NodeOfPod,
	}); err != nil {
		return fmt.Errorf("kube: %w", err)
	}
	if h.cfg.Sharing == kube.DRA {
		slices, claims := all.Resource().V1().ResourceSlices().Informer(), all.Resource().V1().ResourceClaims().Informer()
		if err := slices.AddIndexers(cache.Indexers{inventory.ByNode: inventory.NodeOfSlice}); err != nil {
			return fmt.Errorf("kube: %w", err)
		}
		if err := claims.AddIndexers(cache.Indexers{inventory.ByNode: inventory.NodesOfClaim}); err != nil {
			return fmt.Errorf("kube: %w", err)
		}
		h.inv.SliceCache, h.inv.ClaimCache = slices.GetIndexer(), claims.GetIndexer()
		synced = append(synced, slices.HasSynced, claims.HasSynced)
		on(slices, func(any) { h.changed() })
		on(claims, func(o any) { h.claimChanged(o.(*resourcev1.ResourceClaim)) })
	}
	on(nodes, func(o any) {
		h.changed()
		h.wake(func(r *run) bool { return r.launch.Node == o.(*corev1.Node).Name })
	})
	on(pods, func(o any) { h.podChanged(o.(*corev1.Pod)) })
	all.Start(ctx.Done())
	for _, space := range h.cfg.Namespaces {
		h.objects = append(h.objects, dynamicinformer.NewFilteredDynamicSharedInformerFactory(h.cfg.Dynamic, 0, space, func(o *metav1.ListOptions) {
			o.LabelSelector = kube.LabelSite + "=" + h.cfg.Site
		}))
		events := informers.NewSharedInformerFactoryWithOptions(h.cfg.Client, 0, informers.WithNamespace(space),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "reason=FailedCreate" }))
		in := events.Core().V1().Events().Informer()
		on(in, func(o any) { h.complaint(o.(*corev1.Event)) })
		events.Start(ctx.Done())
		synced = append(synced, in.HasSynced)
	}
	h.stores = make(map[string][]cache.Indexer)
	for i := range kinds {
		if err := h.follow(ctx, &kinds[i]); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("kube: %w while waiting for the API server", ctx.Err())
	}
	return nil
}

// follow begins to watch our objects of a kind, and returns when they are known.
// It is a NotFound error if the kind is not installed.
func (h *Hands) follow(ctx context.Context, k *kind) error {
	h.mu.Lock()
	done := h.stores[k.plural] != nil
	h.mu.Unlock()
	if done {
		return nil
	}
	if err := h.installed(ctx, k); err != nil {
		return err
	}
	var stores []cache.Indexer
	for _, f := range h.objects {
		in := f.ForResource(k.resource()).Informer()
		on(in, func(o any) {
			u := o.(*unstructured.Unstructured)
			h.final(k, u)
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
	h.stores[k.plural] = stores
	return nil
}

// installed asks the API server, for as long as it takes to answer, whether it
// knows a kind.
func (h *Hands) installed(ctx context.Context, k *kind) error {
	for {
		list, err := h.cfg.Client.Discovery().ServerResourcesForGroupVersion(k.GroupVersion().String())
		switch {
		case err == nil:
			for _, r := range list.APIResources {
				if r.Name == k.plural {
					return nil
				}
			}
			return apierrors.NewNotFound(k.resource().GroupResource(), "")
		case !passing(err):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube: %w: %w", ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// passing reports whether an error may go away by itself.
func passing(err error) bool {
	if _, ok := err.(apierrors.APIStatus); !ok { // nobody answered
		return true
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsConflict(err) || apierrors.IsUnauthorized(err)
}

// on calls f with each object that comes, changes or goes.
func on(in cache.SharedIndexInformer, f func(o any)) {
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

// slim drops what is large and never read.
func slim(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

func (h *Hands) changed() {
	select {
	case h.dirty <- struct{}{}:
	default:
	}
}

// wake has the runs looked after that which picks.
func (h *Hands) wake(which func(*run) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if which(r) {
			h.queue.Add(name)
		}
	}
}

func (h *Hands) podChanged(p *corev1.Pod) {
	if name := h.runOf(p); name != "" {
		h.queue.Add(name)
		if h.holds(name) && p.Spec.NodeName == "" {
			return // nobody's room changes
		}
	}
	h.changed()
}

// claimChanged: the claim of a pod came, which may be all that it waited for.
func (h *Hands) claimChanged(c *resourcev1.ResourceClaim) {
	h.changed()
	for _, owner := range c.OwnerReferences {
		if o, ok, _ := h.inv.PodCache.GetByKey(c.Namespace + "/" + owner.Name); ok {
			if name := o.(*corev1.Pod).Labels[kube.LabelRun]; name != "" {
				h.queue.Add(name)
			}
		}
	}
}

func (h *Hands) holds(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name] != nil
}

// complaint takes in that the cluster makes no pods of an object, if that will
// not go away by itself. Events stay for an hour, and are told of again when they
// go and when we begin anew: those of what bore a run's name before it are not its.
func (h *Hands) complaint(e *corev1.Event) {
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
		if r.object() == e.InvolvedObject.Name && r.space == e.InvolvedObject.Namespace && seen(e) >= asked.Add(-time.Minute) { // clocks differ
			h.refused[name] = e.Message
			h.queue.Add(name)
		}
	}
}

// seen is when what an event tells was last seen.
func seen(e *corev1.Event) protocol.Time {
	last := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(last) {
			last = t
		}
	}
	if s := e.Series; s != nil && s.LastObservedTime.After(last) {
		last = s.LastObservedTime.Time
	}
	return protocol.At(last)
}

// adopt finds what runs from before, and returns it.
func (h *Hands) adopt(ctx context.Context) (held []protocol.Held, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range kinds {
		k := &kinds[i]
		for _, u := range h.all(k) {
			l, err := kube.UnpackLaunch(u.GetAnnotations()[kube.NoteLaunch])
			if err != nil {
				h.cfg.Log.Error("an object of ours cannot be read; it is left alone", "object", u.GetName(), "error", err)
				continue
			}
			h.epochs[l.Job.ID] = max(h.epochs[l.Job.ID], l.Epoch)
			name := u.GetLabels()[kube.LabelRun]
			if u.GetLabels()[kube.LabelTold] != "" || name != kube.RunName(l.Job.ID, l.Epoch) {
				continue
			}
			r := h.known(k, u, l)
			h.runs[name] = r
			h.queue.Add(name)
			held = append(held, protocol.Held{Launch: l, Since: r.created})
		}
	}
	return held, nil
}

// known is the run of an object that was there before.
func (h *Hands) known(k *kind, u *unstructured.Unstructured, l protocol.Launch) *run {
	r := &run{
		name: kube.RunName(l.Job.ID, l.Epoch), launch: l, space: u.GetNamespace(), kind: k, seen: true,
		created: protocol.At(u.GetCreationTimestamp().Time), found: h.cfg.Now(), lent: external.LoanOf(u), made: u.GetName(),
	}
	if r.lent.Object != "" { // it was made long before
		r.created = h.cfg.Now()
		text, _, _ := unstructured.NestedString(u.Object, "status", "startTime")
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			r.created = protocol.At(t)
		}
	}
	return r
}

// all returns our objects of a kind. The caller holds h.mu.
func (h *Hands) all(k *kind) (us []*unstructured.Unstructured) {
	for _, store := range h.stores[k.plural] {
		for _, o := range store.List() {
			us = append(us, o.(*unstructured.Unstructured))
		}
	}
	return us
}

// object returns the object of a run, as we know it.
func (h *Hands) object(r *run) *unstructured.Unstructured {
	h.mu.Lock()
	stores := h.stores[r.kind.plural]
	h.mu.Unlock()
	for _, store := range stores {
		if o, ok, _ := store.GetByKey(r.space + "/" + r.object()); ok {
			return o.(*unstructured.Unstructured)
		}
	}
	return nil
}
