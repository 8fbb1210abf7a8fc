package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// apiTimeout limits one request to the API server or kubelet: the loop must return in
// time to send the guard's next heartbeat.
const apiTimeout = 3 * time.Second

// PowerCapCondition is the type of the pod condition that says whether the pod's power
// cap is enforced, and if not, why.
const PowerCapCondition = "gridbid.io/Power"

// Config says what a daemon watches and how. The zero value of a field selects its
// default; Node and Client have none.
type Config struct {
	Node           string
	Client         kubernetes.Interface
	Namespaces     []string            // whose pods are watched; default "default"
	GPUs           *gpuaccounting.GPUs // nil: there are none, for NoGPUsReason
	NoGPUsReason   string
	ReadInterval   time.Duration // between two readings of the GPUs' counters; default 5s
	ReportInterval time.Duration // between two reports on a running pod; default 1m
	// Chosen returns the UUIDs of the GPUs that the kubelet gave a pod, where the kubelet
	// chooses them. Nil: the executor chooses, and writes them on the pod.
	Chosen func(ctx context.Context, p *corev1.Pod) ([]string, error)
	Budget *PowerBudget // shares the site's power ceiling; nil: there is none
	// Owned is the site whose taint a node must have for its GPUs to share the ceiling and
	// for the clocks of unused ones to be lowered. Empty: any node will do.
	Owned string
	// GuardHeartbeat tells the guard process, which restores power limits if this one dies,
	// that we are alive. Nil: there is no guard.
	GuardHeartbeat func() error
	Log            *slog.Logger
	Now            func() protocol.Time
}

// A NodeDaemon caps and measures the GPUs of one node. Make it with New and start it
// with Run.
type NodeDaemon struct {
	cfg         Config
	pods        []cache.Indexer // by namespace
	node        cache.Indexer   // our own node only; nil: ownership is not checked
	wakeUp      chan struct{}
	trackedPods map[types.UID]*trackedPod
}

// A trackedPod is a pod that holds or held GPUs.
type trackedPod struct {
	holder           gpuaccounting.PodGPUs
	lastReported     protocol.Time           // last report; 0: none
	state            gpuaccounting.CapStatus // as reported last
	endedBeforeStart bool                    // it ended before this daemon first saw it
	final            bool                    // the final report was written, or the pod is gone
}

// New returns a daemon; Run starts it.
func New(cfg Config) *NodeDaemon {
	if len(cfg.Namespaces) == 0 {
		cfg.Namespaces = []string{"default"}
	}
	if cfg.ReadInterval == 0 {
		cfg.ReadInterval = 5 * time.Second
	}
	if cfg.ReportInterval == 0 {
		cfg.ReportInterval = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = func() protocol.Time { return protocol.FromStdTime(time.Now()) }
	}
	return &NodeDaemon{cfg: cfg, wakeUp: make(chan struct{}, 1), trackedPods: make(map[types.UID]*trackedPod)}
}

// Run works until ctx ends, and then restores all power limits. While the API server does
// not answer, GPUs keep their limits, but stay below the ceilings.
func (d *NodeDaemon) Run(ctx context.Context) error {
	if d.cfg.GPUs == nil {
		d.cfg.Log.Warn("no GPUs to cap or measure; the energy of jobs on this node will be estimated", "why", d.cfg.NoGPUsReason)
	} else {
		defer func() {
			if err := d.cfg.GPUs.RestorePowerLimits(); err != nil {
				d.cfg.Log.Error("not all power limits could be restored", "error", err)
			}
		}()
	}
	synced := d.watchPods(ctx)
	// The ceilings hold even before the caches have synced and pods are known.
	d.applyCeilingsAtStart(ctx)
	for slices.ContainsFunc(synced, func(f cache.InformerSynced) bool { return !f() }) { // wait for the caches; heartbeats go on
		d.sendGuardHeartbeat()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	for {
		next := d.reconcilePods(ctx)
		wait := d.cfg.ReadInterval
		if !next.IsZero() {
			wait = max(min(wait, next.Sub(d.cfg.Now().StdTime())), 10*time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.wakeUp:
		case <-time.After(wait):
		}
	}
}

// applyCeilingsAtStart enforces ceilings before the API server has said which pods
// hold GPUs: the machine's own ceiling, and the lowest limits for the site's, since
// our part of it is not known yet. Where ownership of the node is checked and still
// unknown, the site's ceiling is not applied.
func (d *NodeDaemon) applyCeilingsAtStart(ctx context.Context) {
	if d.cfg.GPUs == nil {
		return
	}
	now := d.cfg.Now()
	var err error
	if d.cfg.Budget != nil && d.node == nil {
		_, err = d.cfg.Budget.reconcileBudget(ctx, d.cfg.GPUs.PowerCaps(), now, time.Time{}) // the first call reads no table
	}
	if _, unset := d.cfg.GPUs.AccountAndApplyCaps(now, nil); err != nil || unset != nil {
		d.cfg.Log.Error("GPUs could not be read or capped", "error", errors.Join(err, unset))
	}
}

// watchPods starts informers for our node's pods, one for each namespace, so that no
// cluster-wide right is needed, and one for our node if its ownership matters.
func (d *NodeDaemon) watchPods(ctx context.Context) (synced []cache.InformerSynced) {
	// One signal is enough: reconcilePods looks at all pods.
	wake := func(any) {
		select {
		case d.wakeUp <- struct{}{}:
		default:
		}
	}
	for _, space := range d.cfg.Namespaces {
		all := informers.NewSharedInformerFactoryWithOptions(d.cfg.Client, 0, informers.WithNamespace(space), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector, o.LabelSelector = "spec.nodeName="+d.cfg.Node, kube.LabelRun
		}))
		in := all.Core().V1().Pods().Informer()
		_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: wake, UpdateFunc: func(_, o any) { wake(o) }, DeleteFunc: wake}) // fails only when stopped
		d.pods, synced = append(d.pods, in.GetIndexer()), append(synced, in.HasSynced)
		all.Start(ctx.Done())
	}
	if d.cfg.Owned != "" {
		all := informers.NewSharedInformerFactoryWithOptions(d.cfg.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = "metadata.name=" + d.cfg.Node
		}))
		in := all.Core().V1().Nodes().Informer()
		d.node, synced = in.GetIndexer(), append(synced, in.HasSynced)
		all.Start(ctx.Done())
	}
	return synced
}

// nodeIsOwned reports whether this node is the site's own. On others the GPUs do not
// share the site's ceiling, and pods that we do not know may hold them.
func (d *NodeDaemon) nodeIsOwned() bool {
	if d.node == nil {
		return true
	}
	o, ok, _ := d.node.GetByKey(d.cfg.Node)
	return ok && kube.NodeOwnedBySite(d.cfg.Owned, o.(*corev1.Node))
}

// sendGuardHeartbeat sends the guard a heartbeat, if there is one.
func (d *NodeDaemon) sendGuardHeartbeat() {
	if d.cfg.GuardHeartbeat == nil {
		return
	}
	if err := d.cfg.GuardHeartbeat(); err != nil {
		d.cfg.Log.Error("the guard could not be reached", "error", err)
	}
}

// reconcilePods updates the tracked pods, reads and caps their GPUs, and reports on
// the pods that are due. It returns when to be called again at the latest; zero if
// ReadInterval is enough.
func (d *NodeDaemon) reconcilePods(ctx context.Context) (next time.Time) {
	d.sendGuardHeartbeat()
	now := d.cfg.Now()
	var holders []gpuaccounting.PodGPUs
	alive, known := make(map[types.UID]bool), true
	var here []*corev1.Pod
	for _, store := range d.pods {
		for _, o := range store.List() {
			p := o.(*corev1.Pod)
			alive[p.UID] = true
			s := d.trackPod(ctx, p)
			if s == nil && p.Annotations[kube.AnnotationDevices] != "" && !kube.PodEnded(p) {
				known = false // it holds some of our GPUs
			}
			if s == nil || s.final {
				continue
			}
			here = append(here, p)
			if !s.endedBeforeStart {
				holders = append(holders, s.holder)
			}
		}
	}
	// Pods that were deleted need no report.
	for uid := range d.trackedPods {
		if !alive[uid] {
			delete(d.trackedPods, uid)
		}
	}
	// In a fixed order: the store's is random.
	slices.SortFunc(holders, func(x, y gpuaccounting.PodGPUs) int { return strings.Compare(x.Name, y.Name) })
	if d.cfg.GPUs != nil {
		var err error
		d.cfg.GPUs.SetHoldersKnown(known && d.nodeIsOwned())
		if next, err = d.cfg.GPUs.AccountAndApplyCaps(now, holders); err != nil {
			d.cfg.Log.Error("GPUs could not be read or capped", "error", err)
		}
		if d.cfg.Budget != nil && !d.nodeIsOwned() {
			d.cfg.Budget.leaveBudget(d.cfg.GPUs.PowerCaps())
		} else if d.cfg.Budget != nil {
			if next, err = d.cfg.Budget.reconcileBudget(ctx, d.cfg.GPUs.PowerCaps(), now, next); err != nil {
				d.cfg.Log.Warn("the node's part of the site's power ceiling could not be updated", "error", err)
			}
		}
	}
	for _, p := range here {
		d.sendGuardHeartbeat() // each report may take up to apiTimeout
		d.reportPodStatus(ctx, p, now)
	}
	return next
}

// trackPod returns the state of a pod that holds GPUs, and starts to track it. It
// returns nil for a pod without GPUs, or while it is not known which ones it holds.
func (d *NodeDaemon) trackPod(ctx context.Context, p *corev1.Pod) *trackedPod {
	if s := d.trackedPods[p.UID]; s != nil {
		return s
	}
	if p.Annotations[kube.AnnotationDevices] == "" {
		return nil
	}
	s := &trackedPod{holder: gpuaccounting.PodGPUs{Name: string(p.UID), Milli: 1000}}
	if text := p.Annotations[podenergy.AnnotationEnergy]; text != "" {
		t, err := podenergy.ParseEnergyTally(text)
		if err != nil {
			t.MarkMissing("what was counted before cannot be read")
		}
		s.holder.Tally, s.final = t, t.Final
	}
	// Nothing is left to count: the final report exists, or the pod ended unseen.
	if s.endedBeforeStart = kube.PodEnded(p) && s.holder.Tally.Until == 0; s.final || s.endedBeforeStart {
		d.trackedPods[p.UID] = s
		return s
	}
	if milli, err := strconv.ParseInt(p.Annotations[kube.AnnotationGPUMilli], 10, 32); err == nil && milli > 0 && milli <= 1000 {
		s.holder.Milli = protocol.Milli(milli)
	}
	plan, err := podenergy.ParsePowerPlan(p.Annotations[podenergy.AnnotationPowerPlan])
	if err != nil {
		d.cfg.Log.Warn("a pod has no readable power plan", "pod", p.Name, "error", err)
	}
	s.holder.PowerPlan, s.holder.RunningSince = plan, firstContainerStart(p)
	if s.holder.UUIDs, err = d.gpusOfPod(ctx, p, s.holder.Tally.Counters); err != nil {
		d.cfg.Log.Warn("the GPUs of a pod are not known yet", "pod", p.Name, "error", err)
		return nil
	}
	d.trackedPods[p.UID] = s
	return s
}

// gpusOfPod returns the UUIDs of a pod's GPUs, from the first of these sources that
// has them: the executor's annotation, the pod's earlier energy tally, the kubelet, or
// the device indexes.
func (d *NodeDaemon) gpusOfPod(ctx context.Context, p *corev1.Pod, counted map[string]protocol.Millijoules) (uuids []string, err error) {
	switch text := p.Annotations[podenergy.AnnotationGPUs]; {
	case d.cfg.GPUs == nil:
		return nil, nil
	case text != "":
		return strings.Split(text, ","), nil
	case len(counted) > 0: // the kubelet drops pods that have ended
		return slices.Sorted(maps.Keys(counted)), nil
	case d.cfg.Chosen != nil:
		d.sendGuardHeartbeat() // the kubelet may take up to apiTimeout
		return d.cfg.Chosen(ctx, p)
	}
	for _, s := range strings.Split(p.Annotations[kube.AnnotationDevices], ",") {
		i, err := strconv.Atoi(s)
		uuid, ok := d.cfg.GPUs.UUIDOfIndex(i)
		if err != nil || !ok {
			return nil, fmt.Errorf("this node has no GPU with index %q", s)
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}

// firstContainerStart returns when the first container of a pod started, by its
// statuses; 0 if none has.
func firstContainerStart(p *corev1.Pod) (first protocol.Time) {
	for _, c := range p.Status.ContainerStatuses {
		for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			at := metav1.Time{}
			if s.Running != nil {
				at = s.Running.StartedAt
			} else if s.Terminated != nil {
				at = s.Terminated.StartedAt
			}
			if t := protocol.FromStdTime(at.Time); !at.IsZero() && (first == 0 || t < first) {
				first = t
			}
		}
	}
	return first
}

// reportPodStatus writes a pod's cap status and energy on it, if the status changed,
// ReportInterval has passed, or the pod has ended.
func (d *NodeDaemon) reportPodStatus(ctx context.Context, p *corev1.Pod, now protocol.Time) {
	s := d.trackedPods[p.UID]
	state, tally := gpuaccounting.CapStatus{Reason: "NoCards", Message: d.cfg.NoGPUsReason}, podenergy.EnergyTally{Until: now, Missing: d.cfg.NoGPUsReason, Final: true}
	switch {
	case s.endedBeforeStart:
		const late = "the job was over before its cards were read"
		state, tally.Missing = gpuaccounting.CapStatus{Reason: "Missed", Message: late}, late
	case d.cfg.GPUs != nil:
		state = d.cfg.GPUs.CapStatusOf(s.holder.Name)
		tally, _ = d.cfg.GPUs.EnergyTallyOf(s.holder.Name)
		tally.Final = kube.PodEnded(p)
	}
	// Between two reports a running pod with the same status is left alone.
	if !tally.Final && s.lastReported != 0 && state == s.state && now.Sub(s.lastReported) < d.cfg.ReportInterval {
		return
	}
	err := d.patchPodStatus(ctx, p, state, tally)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // deleted, or replaced by another pod of its name
		s.final = true
	case err != nil && !errors.Is(err, context.Canceled):
		d.cfg.Log.Warn("the energy of a pod could not be written on it; tried again later", "pod", p.Name, "error", err)
	case err == nil:
		s.lastReported, s.state, s.final = now, state, tally.Final
	}
}

// patchPodStatus writes the condition and the energy annotation. The UID makes it fail
// on another pod of the same name.
func (d *NodeDaemon) patchPodStatus(ctx context.Context, p *corev1.Pod, state gpuaccounting.CapStatus, t podenergy.EnergyTally) error {
	status := corev1.ConditionFalse
	if state.CapEnforced {
		status = corev1.ConditionTrue
	}
	message := state.Message
	if len(message) > 1000 { // bytes
		message = message[:1000]
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "annotations": map[string]string{podenergy.AnnotationEnergy: t.EncodeAnnotation()}},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: PowerCapCondition, Status: status, Reason: state.Reason, Message: message, LastTransitionTime: metav1.NewTime(d.cfg.Now().StdTime()),
		}}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	_, err = d.cfg.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
