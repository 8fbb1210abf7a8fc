package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/internal/propagation"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

// Deployments, StatefulSets and LeaderWorkerSets of the cluster's users that carry the queue's label are services: the market
// divides as many replicas among the sites as the object asks for, by its file or by its subresource scale; of a LeaderWorkerSet a
// replica is a group of pods on one node. A LeaderWorkerSet without the gate waits as a set (see set.go).
// The object itself runs none: its template has a scheduling gate that nobody removes. Nothing of its spec is
// ever written.

const (
	// AnnotationService has keys of a service file that say how the replicas are divided, such as
	// "division: cost". What the object says itself is no key of it.
	AnnotationService = "gridbid.io/service"

	// ServiceGate is the scheduling gate that keeps the pods of the object itself from running.
	ServiceGate = "gridbid.io/service"
)

// workloadKinds are the kinds that are read as services, and as nothing else.
var workloadKinds = []*podsets.Kind{
	{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Plural: "deployments"},
	{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, Plural: "statefulsets"},
}

// serviceKeyPrefix is the prefix of work queue keys of services; plural/namespace/name follows.
const serviceKeyPrefix = "service/"

// serviceNews is what was asked of the market about a service, and what it answered, since this process
// started.
type serviceNews struct {
	key         string // of its object in the work queue
	asked       protocol.Body
	lastQueried protocol.Time
	status      *protocol.ServiceStatus // the newest answer to what was asked; nil: none yet
}

// serviceIDOf returns the id of an object's service. The object has the same when it is made anew.
func (c Config) serviceIDOf(k *podsets.Kind, u *unstructured.Unstructured) protocol.ServiceID {
	return protocol.ServiceID(strings.Join([]string{c.Site, u.GetNamespace(), strings.ToLower(k.Kind), u.GetName()}, "."))
}

// parseService returns an object as a service, or its faults. The result depends on its spec, its annotation
// and the configuration alone, so a repeated submission is the same.
func (c Config) parseService(k *podsets.Kind, u *unstructured.Unstructured) (s protocol.Service, faults []string) {
	for _, path := range templatesOf(k, u) {
		if !hasServiceGate(u, path) {
			faults = append(faults, fmt.Sprintf("%s.spec.schedulingGates has no %s, so its pods would run here beside those of the market: add - name: %s", strings.Join(path, "."), ServiceGate, ServiceGate))
		}
	}
	if k == &podsets.LeaderWorkerSet {
		group := u.DeepCopy()
		err := unstructured.SetNestedField(group.Object, int64(1), "spec", "replicas")
		if err == nil {
			_, err = k.PodSetsOf(group.Object)
		}
		if err != nil { // its groups could not be bound
			return s, append(faults, err.Error())
		}
	}
	// Marks of the cluster and of ours change without the service changing.
	object, err := json.Marshal(map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": k.Kind, "spec": u.Object["spec"],
		"metadata": map[string]any{"name": u.GetName(), "namespace": u.GetNamespace()},
	})
	if err != nil {
		return s, append(faults, err.Error())
	}
	said, err := propagation.ReadWorkload("the object", object)
	if err != nil {
		return s, append(faults, err.Error())
	}
	said.ID, said.Tenant = string(c.serviceIDOf(k, u)), c.Site+"/"+u.GetNamespace()
	text, err := said.YAML()
	if err == nil { // keys of the annotation first, for the lines of its faults
		s, err = servicefile.Parse("annotation "+AnnotationService, append([]byte(u.GetAnnotations()[AnnotationService]+"\n"), text...))
	}
	if err != nil {
		faults = append(faults, err.Error())
	}
	return s, faults
}

// templatesOf returns where the pod templates of an object are.
func templatesOf(k *podsets.Kind, u *unstructured.Unstructured) [][]string {
	if k != &podsets.LeaderWorkerSet {
		return [][]string{{"spec", "template"}}
	}
	all := [][]string{{"spec", "leaderWorkerTemplate", "workerTemplate"}}
	if leader := []string{"spec", "leaderWorkerTemplate", "leaderTemplate"}; hasField(u, leader) {
		all = append(all, leader)
	}
	return all
}

// hasField reports whether an object has a field.
func hasField(u *unstructured.Unstructured, path []string) bool {
	_, ok, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	return ok
}

// hasServiceGate reports whether a pod template keeps its pods from running.
func hasServiceGate(u *unstructured.Unstructured, path []string) bool {
	gates, _, _ := unstructured.NestedSlice(u.Object, append(slices.Clone(path), "spec", "schedulingGates")...)
	return slices.ContainsFunc(gates, func(g any) bool { m, _ := g.(map[string]any); return m["name"] == ServiceGate })
}

// isService reports whether a set is a service: a LeaderWorkerSet that says so by its gate or its annotation, or that
// was submitted as one.
func isService(k *podsets.Kind, u *unstructured.Unstructured) bool {
	if k != &podsets.LeaderWorkerSet {
		return false
	}
	_, asked := u.GetAnnotations()[AnnotationService]
	_, set := u.GetAnnotations()[AnnotationSubmittedAt]
	return asked || slices.ContainsFunc(templatesOf(k, u), func(path []string) bool { return hasServiceGate(u, path) }) ||
		!set && slices.Contains(u.GetFinalizers(), kube.FinalizerQueue)
}

// reconcileService does the next step for an object that is a service: submit it and show its state, or
// withdraw it. It returns after how long to do so once more.
func (q *KubeQueue) reconcileService(ctx context.Context, key string, k *podsets.Kind, u *unstructured.Unstructured) (requeueAfter time.Duration, err error) {
	submitted, id := slices.Contains(u.GetFinalizers(), kube.FinalizerQueue), q.cfg.serviceIDOf(k, u)
	if leaves := u.GetDeletionTimestamp() != nil || u.GetLabels()[kube.LabelQueue] == ""; leaves {
		if !submitted {
			return 0, nil
		}
		status, requeueAfter, err := q.askOfService(ctx, id, key, protocol.DeleteService{Service: id, By: string(protocol.QueueParty(q.cfg.Site))})
		if err != nil || status == nil || !status.Deleted {
			return requeueAfter, err
		}
		q.forgetObject(key)
		return 0, q.removeSetFinalizer(ctx, k, u)
	}
	s, faults := q.cfg.parseService(k, u)
	if len(faults) > 0 {
		state := malformedState(faults)
		if submitted {
			state.message += "; until then what was submitted before stays"
		}
		return 0, q.showSetState(ctx, k, u, state)
	}
	if !submitted {
		return 0, q.patchSet(ctx, k, u, map[string]any{"finalizers": append(slices.Clone(u.GetFinalizers()), kube.FinalizerQueue)})
	}
	status, requeueAfter, err := q.askOfService(ctx, id, key, protocol.SubmitService{Service: s})
	if err != nil || status == nil && u.GetAnnotations()[AnnotationState] != "" {
		return requeueAfter, err
	}
	return requeueAfter, q.showSetState(ctx, k, u, stateOfService(status))
}

// askOfService sends what is asked of the market about a service if that is new, or to hear how it stands,
// and returns the newest answer. It asks at each status interval, or at a sixth of that while replicas start
// or an answer is missing.
func (q *KubeQueue) askOfService(ctx context.Context, id protocol.ServiceID, key string, b protocol.Body) (status *protocol.ServiceStatus, requeueAfter time.Duration, err error) {
	now := q.cfg.Now()
	q.mu.Lock()
	n := q.services[id]
	if n == nil || !reflect.DeepEqual(n.asked, b) {
		n = &serviceNews{key: key, asked: b}
		q.services[id] = n
	}
	wait := q.cfg.StatusInterval
	if n.status == nil || n.status.IsChanging() {
		wait /= 6
	}
	status = n.status
	if due := n.lastQueried.Add(wait); n.lastQueried != 0 && n.lastQueried <= now && now < due { // lastQueried > now: our clock was set back
		q.mu.Unlock()
		return status, due.Sub(now), nil
	}
	n.lastQueried = now
	q.mu.Unlock()
	return status, wait, q.sendToMarket(ctx, b)
}

// recordServiceStatus takes in an answer of the market, and enqueues its object. An answer about a service
// that this process has not asked of is ignored, and so is one to a former request.
func (q *KubeQueue) recordServiceStatus(b protocol.ServiceStatus) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.services[b.Service]
	if n == nil {
		return
	}
	if asked, ok := n.asked.(protocol.SubmitService); ok && !b.Deleted && b.Wanted != asked.Service.Wanted {
		return
	}
	n.status = &b
	q.workQueue.Add(n.key)
}

// stateOfService translates how a service stands; nil: the market has not said so yet.
func stateOfService(b *protocol.ServiceStatus) placementState {
	switch {
	case b == nil:
		return placementState{reason: "Asking", message: "the market was asked, and has not answered yet"}
	case b.Deleted:
		return placementState{reason: "Refused", message: "the market does not take it: it has as many services as it may, or the request makes no sense to it", bad: true}
	case !b.Decided:
		return placementState{reason: "Dividing", message: fmt.Sprintf("the market divides %d replicas", b.Wanted)}
	}
	running, at := 0, make([]string, 0, len(b.Sites))
	for _, x := range b.Sites {
		running += x.Ready
		if x.Ready == x.Count {
			at = append(at, fmt.Sprintf("%s %d", x.Site, x.Ready))
		} else {
			at = append(at, fmt.Sprintf("%s %d of %d", x.Site, x.Ready, x.Count))
		}
	}
	state := placementState{reason: "Running", message: fmt.Sprintf("%d of %d run", running, b.Wanted)}
	if len(at) > 0 {
		state.message += ": " + strings.Join(at, ", ")
	}
	switch {
	case b.Pending > 0:
		state.reason, state.bad = "Pending", true
		state.message += fmt.Sprintf("; %d wait: %s", b.Pending, reasonText(b.Why))
	case b.IsChanging():
		state.reason = "Starting"
	}
	return state
}
