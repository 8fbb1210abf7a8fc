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

// A KueueDispatcher makes the queue the dispatcher of Kueue's MultiKueue: for each
// Workload that waits for a cluster, the market holds an auction among the clusters of
// its MultiKueueConfig, and the queue nominates the winner. The zero value of a field
// selects its default.
type KueueDispatcher struct {
	Clusters       map[string]string // MultiKueueCluster -> site; the default is the site of the same name
	DefaultRunTime time.Duration     // run time of Workloads that name none; default 1h
}

// DispatcherName is the name to set in Kueue's configuration as
// multiKueue.dispatcherName.
const DispatcherName = "gridbid.io/dispatcher"

// multiKueueController is the controllerName of admission checks of MultiKueue.
const multiKueueController = "kueue.x-k8s.io/multikueue"

// kueueGroupVersion is the API version of Kueue's kinds that this package uses.
var kueueGroupVersion = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}

// kueueResource is the address of a Kueue kind for the dynamic client.
func kueueResource(plural string) schema.GroupVersionResource {
	return kueueGroupVersion.WithResource(plural)
}

// kueueAdmission holds the informer caches of Kueue's cluster-wide admission checks
// and MultiKueueConfigs.
type kueueAdmission struct{ checks, configs cache.Indexer }

// watchKueue starts the informers of Kueue's kinds. Without Kueue they never sync, so that
// the queue waits until Kueue is installed.
func (q *KubeQueue) watchKueue(ctx context.Context) (synced []cache.InformerSynced) {
	if _, err := q.cfg.Client.Discovery().ServerResourcesForGroupVersion(kueueGroupVersion.String()); apierrors.IsNotFound(err) {
		q.cfg.Log.Error("this cluster does not serve Kueue's API, and the queue waits for it; install Kueue, or remove kueue from the configuration", "wanted", kueueGroupVersion.String())
	}
	all := dynamicinformer.NewDynamicSharedInformerFactory(q.cfg.Dynamic, 0)
	checks, configs := all.ForResource(kueueResource("admissionchecks")).Informer(), all.ForResource(kueueResource("multikueueconfigs")).Informer()
	q.checks = kueueAdmission{checks.GetIndexer(), configs.GetIndexer()}
	all.Start(ctx.Done())
	synced = append(synced, checks.HasSynced, configs.HasSynced)
	for _, space := range q.cfg.Namespaces {
		f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(q.cfg.Dynamic, 0, space, nil)
		in := f.ForResource(kueueResource("workloads")).Informer()
		q.enqueueInformerEvents(in, workloadKeyPrefix)
		q.workloads[space] = in.GetIndexer()
		f.Start(ctx.Done())
		synced = append(synced, in.HasSynced)
	}
	return synced
}

// multiKueueClusters returns the clusters among which MultiKueue may choose for a
// Workload. It returns false unless the Workload has reserved quota, has not finished,
// and has a MultiKueue admission check that is neither rejected nor to be retried.
func (q *KubeQueue) multiKueueClusters(w *workload) (clusters []string, ok bool) {
	// Without quota Kueue would not start it, and a finished Workload needs no cluster.
	if !w.hasCondition("QuotaReserved") || w.hasCondition("Finished") {
		return nil, false
	}
	for _, c := range w.Status.AdmissionChecks {
		o, known, _ := q.checks.checks.GetByKey(c.Name)
		if !known || c.State == "Rejected" || c.State == "Retry" {
			continue
		}
		spec, _ := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		if spec["controllerName"] != multiKueueController {
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

// siteOfCluster returns the site behind a MultiKueueCluster.
func (k *KueueDispatcher) siteOfCluster(cluster string) string {
	if s := k.Clusters[cluster]; s != "" {
		return s
	}
	return cluster
}

// reconcileWorkload does the next step for a Workload. Each time that Kueue reserves
// quota for it, it is a new job of the market, with an id of its UID and the time of
// acceptance.
func (q *KubeQueue) reconcileWorkload(ctx context.Context, name string, w *workload) (requeueAfter time.Duration, err error) {
	// The annotation and the finalizer are set by one patch: both are there, or neither.
	clusters, waits := q.multiKueueClusters(w)
	acceptedAt, err := time.Parse(time.RFC3339, w.Annotations[AnnotationSubmittedAt])
	submitted := err == nil && slices.Contains(w.Finalizers, JobFinalizer)
	switch {
	case !submitted && waits && w.DeletionTimestamp == nil:
		return q.acceptWorkload(ctx, w, clusters)
	case !submitted:
		return 0, nil
	}
	order, _ := q.parseWorkload(w, acceptedAt) // it had no faults when it was accepted
	key := workloadKeyPrefix + name
	n := q.newsOfJob(order.Job.ID, key)
	if n.closed {
		return 0, q.releaseWorkload(ctx, w, order.Job.ID, n.status)
	}
	// It waits no longer: the market is asked to cancel its job.
	if !waits || w.DeletionTimestamp != nil {
		// A Workload that has just finished is not cancelled: the site that ran it will report
		// its outcome soon.
		if done := w.conditionSince("Finished"); w.DeletionTimestamp == nil && done != 0 && q.cfg.Now().Sub(done) < q.cfg.StatusInterval {
			if _, err := q.submitAndQueryStatus(ctx, order, false); err != nil {
				return 0, err
			}
			return q.cfg.StatusInterval, nil
		}
		return q.submitAndQueryStatus(ctx, order, true)
	}
	if requeueAfter, err = q.submitAndQueryStatus(ctx, order, false); err != nil {
		return 0, err
	}
	s := placementState{reason: "Asking", message: "the market was asked, and has not answered yet"}
	switch {
	case n.deferral != nil:
		s = deferredState(*n.deferral)
	case n.status.State != "":
		s = stateOfStatus(n.status)
	case n.accepted:
		s = submittedState(order.Job.ID)
	}
	// Nominate the cluster of the site that has the job; Kueue then creates the Workload there.
	if n.status.State == protocol.AcceptConfirmed && n.deferral == nil && w.Status.ClusterName == "" {
		for _, c := range clusters {
			if q.cfg.Kueue.siteOfCluster(c) == n.status.Site && !slices.Equal(w.Status.NominatedClusterNames, []string{c}) {
				if err := q.nominateCluster(ctx, w, c); err != nil {
					return 0, err
				}
			}
		}
	}
	return requeueAfter, q.reportWorkloadState(ctx, w, s)
}

// acceptWorkload accepts a Workload for submission if it belongs to a Job. The Job's
// annotations are copied to the Workload, so that the submission stays the same when
// the Job changes.
func (q *KubeQueue) acceptWorkload(ctx context.Context, w *workload, clusters []string) (requeueAfter time.Duration, err error) {
	o := w.ownerJob()
	if o == nil {
		return 0, q.reportWorkloadState(ctx, w, malformedState([]string{"only Workloads of batch/v1 Jobs are dispatched"}))
	}
	notes := map[string]any{}
	if j, ok, _ := q.jobs[w.Namespace].GetByKey(w.Namespace + "/" + o.Name); ok {
		for _, key := range []string{AnnotationRunTime, AnnotationWithin, AnnotationDeadline, AnnotationUrgency, AnnotationDeferrable, AnnotationModels, AnnotationPriority, kube.AnnotationGPUMilli, kube.AnnotationGPUMemory} {
			if v := j.(*batchv1.Job).Annotations[key]; v != "" {
				notes[key] = v
			}
		}
		// Sites of the MultiKueueConfig, less those that the Job excludes.
		allowed := (&annotationReader{annotations: j.(*batchv1.Job).Annotations}).readList(AnnotationRegions)
		clusters = slices.DeleteFunc(slices.Clone(clusters), func(c string) bool {
			return len(allowed) > 0 && !slices.Contains(allowed, q.cfg.Kueue.siteOfCluster(c))
		})
	}
	// The market knows sites, Kueue knows clusters.
	var sites []string
	for _, c := range clusters {
		sites = append(sites, q.cfg.Kueue.siteOfCluster(c))
	}
	notes[AnnotationRegions] = strings.Join(sites, ",")
	now := q.cfg.Now().StdTime().Truncate(time.Second) // RFC3339 has whole seconds; the job's id contains them
	w.Annotations = maps.Clone(w.Annotations)
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}
	for k, v := range notes {
		w.Annotations[k] = v.(string)
	}
	// Parse it as it will be submitted, so that no fault shows up later.
	_, faults := q.parseWorkload(w, now)
	if len(sites) == 0 {
		faults = append(faults, "there is no cluster in its MultiKueueConfig where it may run")
	}
	if len(faults) > 0 { // retried: the user may correct the Job
		return q.cfg.StatusInterval, q.reportWorkloadState(ctx, w, malformedState(faults))
	}
	notes[AnnotationSubmittedAt] = now.Format(time.RFC3339)
	return 0, q.patchWorkload(ctx, w, map[string]any{"finalizers": append(slices.Clone(w.Finalizers), JobFinalizer), "annotations": notes})
}

// parseWorkload returns the submission of a Workload that was accepted at some time,
// or all its faults. See Config.parseJob.
func (q *KubeQueue) parseWorkload(w *workload, acceptedAt time.Time) (protocol.Submit, []string) {
	job := protocol.Job{
		ID:     protocol.JobID(fmt.Sprintf("%s/%s-%d", q.cfg.Site, w.UID, acceptedAt.Unix())),
		Tenant: q.cfg.Site + "/" + w.Namespace, Arrival: protocol.FromStdTime(acceptedAt),
	}
	limit := cmp.Or(time.Duration(w.Spec.MaximumExecutionTimeSeconds)*time.Second, q.cfg.Kueue.DefaultRunTime, time.Hour)
	s := annotationReader{annotations: w.Annotations}
	s.readJobTerms(&job, limit)
	for _, p := range w.Spec.PodSets {
		s.addPodRequests(&job, p.Count, p.Template.Spec)
	}
	s.readGPUShare(&job)
	if why := job.InvalidReason(); why != "" && len(s.faults) == 0 {
		s.addFault("%s", why)
	}
	name := ""
	if o := w.ownerJob(); o != nil {
		name = o.Name
	}
	task, err := json.Marshal(map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{
		"name": name, "namespace": w.Namespace, "annotations": map[string]any{kube.AnnotationKueueWorkload: w.Name},
	}})
	if err != nil {
		s.addFault("%v", err)
	}
	return protocol.Submit{Job: job, Task: protocol.Task(task)}, s.faults
}

// releaseWorkload removes our finalizer from a Workload whose job the market has
// closed. While MultiKueue still wants a cluster for it, the finalizer stays until
// Kueue withdraws the quota reservation.
func (q *KubeQueue) releaseWorkload(ctx context.Context, w *workload, id protocol.JobID, end protocol.JobStatus) error {
	if s := stateOfStatus(end); w.DeletionTimestamp == nil && s.reason != "Cancelled" {
		if err := q.reportWorkloadState(ctx, w, s); err != nil {
			return err
		}
		if _, waits := q.multiKueueClusters(w); waits { // without the finalizer it would be submitted once more at once
			return nil
		}
	}
	err := q.patchWorkload(ctx, w, map[string]any{
		"finalizers":  slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool { return f == JobFinalizer }),
		"annotations": map[string]any{AnnotationSubmittedAt: nil},
	})
	if err == nil {
		q.forgetJob(id)
	}
	return err
}

// reportWorkloadState creates an event for a change of a Workload's state. The event
// is about the Workload's Job, if it has one, because that is where its owner looks.
func (q *KubeQueue) reportWorkloadState(ctx context.Context, w *workload, s placementState) error {
	// The UID tells a Workload from an earlier one of the same name.
	key, words := workloadKeyPrefix+w.Namespace+"/"+w.Name, string(w.UID)+": "+s.message
	q.mu.Lock()
	was := q.reportedStates[key]
	q.mu.Unlock()
	if was == words {
		return nil
	}
	of := corev1.ObjectReference{APIVersion: kueueGroupVersion.String(), Kind: "Workload", Namespace: w.Namespace, Name: w.Name, UID: w.UID, ResourceVersion: w.ResourceVersion}
	if o := w.ownerJob(); o != nil {
		of = corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: w.Namespace, Name: o.Name, UID: o.UID}
	}
	if err := q.createEvent(ctx, s, of); err != nil {
		return err
	}
	q.mu.Lock()
	q.reportedStates[key] = words
	q.mu.Unlock()
	return nil
}

// patchWorkload applies a merge patch to the metadata of a Workload, unless the Workload
// has changed since it was read. A Workload that no longer exists is no error.
func (q *KubeQueue) patchWorkload(ctx context.Context, w *workload, meta map[string]any) error {
	meta["uid"], meta["resourceVersion"] = w.UID, w.ResourceVersion
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = q.cfg.Dynamic.Resource(kueueResource("workloads")).Namespace(w.Namespace).Patch(ctx, w.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
