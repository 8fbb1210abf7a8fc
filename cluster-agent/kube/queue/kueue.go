package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// Kueue has a queue be the dispatcher of Kueue's MultiKueue: for each Workload that
// waits for a cluster there is an auction among the clusters of its MultiKueueConfig,
// and the winner is nominated. The zero of a field is its default.
type Kueue struct {
	Clusters map[string]string // MultiKueueCluster -> site; those that are not named are sites themselves
	Run      time.Duration     // how long a Workload is taken to run that does not say; default 1h
}

// Dispatcher is what Kueue's configuration names in multiKueue.dispatcherName.
const Dispatcher = "gridbid.io/dispatcher"

// multiKueue is the controller of the admission checks that want a cluster.
const multiKueue = "kueue.x-k8s.io/multikueue"

// served is the version of Kueue's kinds that is asked for.
var served = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}

func kueues(plural string) schema.GroupVersionResource { return served.WithResource(plural) }

// admission is what Kueue's operators configured, as informers see it.
type admission struct{ checks, configs cache.Indexer }

func (q *Queue) watchKueue(ctx context.Context) (synced []cache.InformerSynced) {
	if _, err := q.cfg.Client.Discovery().ServerResourcesForGroupVersion(served.String()); apierrors.IsNotFound(err) {
		q.cfg.Log.Error("this cluster has no Kueue, and the queue waits for it; install Kueue, or take kueue out of the configuration", "wanted", served.String())
	}
	all := dynamicinformer.NewDynamicSharedInformerFactory(q.cfg.Dynamic, 0)
	checks, configs := all.ForResource(kueues("admissionchecks")).Informer(), all.ForResource(kueues("multikueueconfigs")).Informer()
	q.checks = admission{checks.GetIndexer(), configs.GetIndexer()}
	all.Start(ctx.Done())
	synced = append(synced, checks.HasSynced, configs.HasSynced)
	for _, space := range q.cfg.Namespaces {
		f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(q.cfg.Dynamic, 0, space, nil)
		in := f.ForResource(kueues("workloads")).Informer()
		q.follow(in, ofWorkload)
		q.workloads[space] = in.GetIndexer()
		f.Start(ctx.Done())
		synced = append(synced, in.HasSynced)
	}
	return synced
}

// waits reports whether a Workload waits for MultiKueue to choose a cluster, or has
// one, and which there are.
func (q *Queue) waits(w *workload) (clusters []string, ok bool) {
	if !w.is("QuotaReserved") || w.is("Finished") {
		return nil, false
	}
	for _, c := range w.Status.AdmissionChecks {
		o, known, _ := q.checks.checks.GetByKey(c.Name)
		if !known || c.State == "Rejected" || c.State == "Retry" {
			continue
		}
		spec, _ := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		if spec["controllerName"] != multiKueue {
			continue
		}
		name, _, _ := unstructured.NestedString(spec, "parameters", "name")
		if o, known, _ = q.checks.configs.GetByKey(name); known {
			clusters, _, _ = unstructured.NestedStringSlice(o.(*unstructured.Unstructured).Object, "spec", "clusters")
			return clusters, true
		}
	}
	return nil, false
}

// site is the site of a cluster of MultiKueue.
func (k *Kueue) site(cluster string) string {
	if s := k.Clusters[cluster]; s != "" {
		return s
	}
	return cluster
}

// attendWorkload does what a Workload needs next. It is submitted anew each time
// that Kueue reserves quota for it: under its UID and the time of that.
func (q *Queue) attendWorkload(ctx context.Context, name string, w *workload) (again time.Duration, err error) {
	clusters, waits := q.waits(w)
	taken, err := time.Parse(time.RFC3339, w.Annotations[NoteTaken])
	submitted := err == nil && slices.Contains(w.Finalizers, Finalizer)
	switch {
	case !submitted && waits && w.DeletionTimestamp == nil:
		return q.takeWorkload(ctx, w, clusters)
	case !submitted:
		return 0, nil
	}
	order, _ := q.orderWorkload(w, taken) // without fault when it was taken in
	key := ofWorkload + name
	n := q.known(order.Job.ID, key)
	if n.closed {
		return 0, q.closeWorkload(ctx, w, order.Job.ID, n.stand)
	}
	if !waits || w.DeletionTimestamp != nil {
		// One that has finished where it ran is told of by that site, soon.
		if done := w.since("Finished"); w.DeletionTimestamp == nil && done != 0 && q.cfg.Now().Sub(done) < q.cfg.Every {
			if _, err := q.ask(ctx, order, false); err != nil {
				return 0, err
			}
			return q.cfg.Every, nil
		}
		return q.ask(ctx, order, true)
	}
	if again, err = q.ask(ctx, order, false); err != nil {
		return 0, err
	}
	s := state{reason: "Asking", words: "the market was asked, and has not answered yet"}
	switch {
	case n.hold != nil:
		s = held(*n.hold)
	case n.stand.State != "":
		s = stands(n.stand)
	case n.taken:
		s = submittedAs(order.Job.ID)
	}
	if n.stand.State == protocol.Stands && n.hold == nil && w.Status.ClusterName == "" {
		for _, c := range clusters {
			if q.cfg.Kueue.site(c) == n.stand.Site && !slices.Equal(w.Status.NominatedClusterNames, []string{c}) {
				if err := q.nominate(ctx, w, c); err != nil {
					return 0, err
				}
			}
		}
	}
	return again, q.tellWorkload(ctx, w, s)
}

// takeWorkload takes a Workload in, if it is of a kind that can be followed. What
// its Job says of it is written on it, so that it stays what was submitted.
func (q *Queue) takeWorkload(ctx context.Context, w *workload, clusters []string) (again time.Duration, err error) {
	o := w.owner()
	if o == nil {
		return 0, q.tellWorkload(ctx, w, malformed([]string{"only Workloads of batch/v1 Jobs are dispatched"}))
	}
	notes := map[string]any{}
	if j, ok, _ := q.jobs[w.Namespace].GetByKey(w.Namespace + "/" + o.Name); ok {
		for _, key := range []string{NoteRun, NoteWithin, NoteDeadline, NoteDeferrable, NoteModels, NotePriority, kube.NoteMilli, kube.NoteMemory} {
			if v := j.(*batchv1.Job).Annotations[key]; v != "" {
				notes[key] = v
			}
		}
		allowed := (&scribe{notes: j.(*batchv1.Job).Annotations}).list(NoteRegions)
		clusters = slices.DeleteFunc(slices.Clone(clusters), func(c string) bool {
			return len(allowed) > 0 && !slices.Contains(allowed, q.cfg.Kueue.site(c))
		})
	}
	var sites []string
	for _, c := range clusters {
		sites = append(sites, q.cfg.Kueue.site(c))
	}
	notes[NoteRegions] = strings.Join(sites, ",")
	now := q.cfg.Now().Go().Truncate(time.Second) // as it is written
	w.Annotations = maps.Clone(w.Annotations)
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}
	for k, v := range notes {
		w.Annotations[k] = v.(string)
	}
	_, faults := q.orderWorkload(w, now)
	if len(sites) == 0 {
		faults = append(faults, "there is no cluster in its MultiKueueConfig where it may run")
	}
	if len(faults) > 0 { // until its Job is mended
		return q.cfg.Every, q.tellWorkload(ctx, w, malformed(faults))
	}
	notes[NoteTaken] = now.Format(time.RFC3339)
	return 0, q.patchWorkload(ctx, w, map[string]any{"finalizers": append(slices.Clone(w.Finalizers), Finalizer), "annotations": notes})
}

// orderWorkload reads what a Workload asks for that was taken in at some time, or
// all that is wrong with it.
func (q *Queue) orderWorkload(w *workload, taken time.Time) (protocol.Submit, []string) {
	job := protocol.Job{
		ID:     protocol.JobID(fmt.Sprintf("%s/%s-%d", q.cfg.Site, w.UID, taken.Unix())),
		Tenant: q.cfg.Site + "/" + w.Namespace, Arrival: protocol.At(taken),
	}
	limit := cmp.Or(time.Duration(w.Spec.MaximumExecutionTimeSeconds)*time.Second, q.cfg.Kueue.Run, time.Hour)
	s := scribe{notes: w.Annotations}
	s.terms(&job, limit)
	for _, p := range w.Spec.PodSets {
		s.pods(&job, p.Count, p.Template.Spec)
	}
	s.share(&job)
	if why := job.Check(); why != "" && len(s.faults) == 0 {
		s.fault("%s", why)
	}
	name := ""
	if o := w.owner(); o != nil {
		name = o.Name
	}
	task, err := json.Marshal(map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{
		"name": name, "namespace": w.Namespace, "annotations": map[string]any{kube.NoteKueue: w.Name},
	}})
	if err != nil {
		s.fault("%v", err)
	}
	return protocol.Submit{Job: job, Task: protocol.Task(task)}, s.faults
}

// closeWorkload lets go of a Workload whose auction is over. One that still waits is kept
// in mind as closed until Kueue takes its reservation back.
func (q *Queue) closeWorkload(ctx context.Context, w *workload, id protocol.JobID, end protocol.Standing) error {
	if s := stands(end); w.DeletionTimestamp == nil && s.reason != "Cancelled" {
		if err := q.tellWorkload(ctx, w, s); err != nil {
			return err
		}
		if _, waits := q.waits(w); waits { // it will not be run, and would be asked for again at once
			return nil
		}
	}
	err := q.patchWorkload(ctx, w, map[string]any{
		"finalizers":  slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool { return f == Finalizer }),
		"annotations": map[string]any{NoteTaken: nil},
	})
	if err == nil {
		q.forget(id)
	}
	return err
}

// tellWorkload makes an event of how a Workload stands, on its Job, where its owner
// looks, if there is one.
func (q *Queue) tellWorkload(ctx context.Context, w *workload, s state) error {
	key, words := ofWorkload+w.Namespace+"/"+w.Name, string(w.UID)+": "+s.words
	q.mu.Lock()
	was := q.told[key]
	q.mu.Unlock()
	if was == words {
		return nil
	}
	of := corev1.ObjectReference{APIVersion: served.String(), Kind: "Workload", Namespace: w.Namespace, Name: w.Name, UID: w.UID, ResourceVersion: w.ResourceVersion}
	if o := w.owner(); o != nil {
		of = corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: w.Namespace, Name: o.Name, UID: o.UID}
	}
	if err := q.event(ctx, s, of); err != nil {
		return err
	}
	q.mu.Lock()
	q.told[key] = words
	q.mu.Unlock()
	return nil
}

func (q *Queue) patchWorkload(ctx context.Context, w *workload, meta map[string]any) error {
	meta["uid"], meta["resourceVersion"] = w.UID, w.ResourceVersion
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = q.cfg.Dynamic.Resource(kueues("workloads")).Namespace(w.Namespace).Patch(ctx, w.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
