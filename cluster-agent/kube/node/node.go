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

// apiTimeout is how long the API server may take for one answer: a guard waits for
// the next beat meanwhile.
const apiTimeout = 3 * time.Second

// PowerCapCondition is the type of the condition that is written on pods: whether their
// cap is kept, and why not.
const PowerCapCondition = "gridbid.io/Power"

// Config is what a node's daemon needs to know. The zero of a field is its
// default, but for Node and Client.
type Config struct {
	Node           string
	Client         kubernetes.Interface
	Namespaces     []string            // namespaces whose pods count; default "default"
	GPUs           *gpuaccounting.GPUs // nil: there are none, for the reason Why
	NoGPUsReason   string
	ReadInterval   time.Duration // between two readings of the cards; default 5s
	ReportInterval time.Duration // between two notes on a pod that runs on; default 1m
	// Chosen says which cards the kubelet gave a pod, where it chooses them. Nil:
	// the hands do.
	Chosen func(ctx context.Context, p *corev1.Pod) ([]string, error)
	Budget *PowerBudget // of the site's ceiling; nil: none
	// Owned is the site whose taint a node must bear for its cards to count among those
	// of the ceiling. Empty: all nodes' do.
	Owned string
	// GuardHeartbeat tells a guard that we live. Nil: there is none.
	GuardHeartbeat func() error
	Log            *slog.Logger
	Now            func() protocol.Time
}

// A NodeDaemon keeps the cards of one node. Make it with New; Run lets it live.
type NodeDaemon struct {
	cfg         Config
	pods        []cache.Indexer // by namespace
	node        cache.Indexer   // our own alone; nil: it is not asked whose it is
	wakeUp      chan struct{}
	trackedPods map[types.UID]*trackedPod
}

// A trackedPod pod is one that held cards.
type trackedPod struct {
	holder           gpuaccounting.PodGPUs
	lastReported     protocol.Time           // when it was written on; 0: never
	state            gpuaccounting.CapStatus // as it was written
	endedBeforeStart bool                    // it was over before we came
	final            bool                    // nothing more will be written
}

// New returns a daemon that is not alive yet.
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

// Run lets a daemon live until ctx ends, and puts all limits back then. An API
// server that does not answer is waited for; cards are kept as they are, but below ceilings.
func (d *NodeDaemon) Run(ctx context.Context) error {
	if d.cfg.GPUs == nil {
		d.cfg.Log.Warn("no cards are kept or measured here; energy of jobs on this node is estimated", "why", d.cfg.NoGPUsReason)
	} else {
		defer func() {
			if err := d.cfg.GPUs.RestorePowerLimits(); err != nil {
				d.cfg.Log.Error("limits are not all back", "error", err)
			}
		}()
	}
	synced := d.watchPods(ctx)
	d.applyCeilingsAtStart(ctx)
	for slices.ContainsFunc(synced, func(f cache.InformerSynced) bool { return !f() }) { // the guard is told meanwhile, too
		d.sendGuardHeartbeat()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	for {
		again := d.reconcilePods(ctx)
		wait := d.cfg.ReadInterval
		if !again.IsZero() {
			wait = max(min(wait, again.Sub(d.cfg.Now().StdTime())), 10*time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.wakeUp:
		case <-time.After(wait):
		}
	}
}

// applyCeilingsAtStart keeps ceilings before the API server says who holds cards: the machine's own, and
// of the site's no more than the lowest limits, as nobody tells its part. Where it has yet
// to say whose the cards are, the site's is not for them.
func (d *NodeDaemon) applyCeilingsAtStart(ctx context.Context) {
	if d.cfg.GPUs == nil {
		return
	}
	now, again := d.cfg.Now(), time.Time{}
	var err error
	if d.cfg.Budget != nil && d.node == nil {
		_, err = d.cfg.Budget.reconcileBudget(ctx, d.cfg.GPUs.PowerCaps(), now, again) // asks nobody, the first time
	}
	if _, unset := d.cfg.GPUs.AccountAndApplyCaps(now, nil); err != nil || unset != nil {
		d.cfg.Log.Error("cards", "error", errors.Join(err, unset))
	}
}

// watchPods begins to watch the pods of our node, in each namespace for itself: no
// right is asked for that reaches beyond.
func (d *NodeDaemon) watchPods(ctx context.Context) (synced []cache.InformerSynced) {
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
	if d.cfg.Budget != nil && d.cfg.Owned != "" {
		all := informers.NewSharedInformerFactoryWithOptions(d.cfg.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = "metadata.name=" + d.cfg.Node
		}))
		in := all.Core().V1().Nodes().Informer()
		d.node, synced = in.GetIndexer(), append(synced, in.HasSynced)
		all.Start(ctx.Done())
	}
	return synced
}

// nodeSharesCeiling reports whether our cards count among those of the site's ceiling: it is not for
// cards of others.
func (d *NodeDaemon) nodeSharesCeiling() bool {
	if d.node == nil {
		return true
	}
	o, ok, _ := d.node.GetByKey(d.cfg.Node)
	return ok && kube.NodeOwnedBySite(d.cfg.Owned, o.(*corev1.Node))
}

func (d *NodeDaemon) sendGuardHeartbeat() {
	if d.cfg.GuardHeartbeat == nil {
		return
	}
	if err := d.cfg.GuardHeartbeat(); err != nil {
		d.cfg.Log.Error("the guard is not told", "error", err)
	}
}

// reconcilePods looks at all pods, keeps their cards, and writes on those that are due.
func (d *NodeDaemon) reconcilePods(ctx context.Context) (again time.Time) {
	d.sendGuardHeartbeat()
	now := d.cfg.Now()
	var holders []gpuaccounting.PodGPUs
	alive := make(map[types.UID]bool)
	var here []*corev1.Pod
	for _, store := range d.pods {
		for _, o := range store.List() {
			p := o.(*corev1.Pod)
			alive[p.UID] = true
			s := d.trackPod(ctx, p)
			if s == nil || s.final {
				continue
			}
			here = append(here, p)
			if !s.endedBeforeStart {
				holders = append(holders, s.holder)
			}
		}
	}
	for uid := range d.trackedPods {
		if !alive[uid] {
			delete(d.trackedPods, uid)
		}
	}
	slices.SortFunc(holders, func(x, y gpuaccounting.PodGPUs) int { return strings.Compare(x.Name, y.Name) })
	if d.cfg.GPUs != nil {
		var err error
		if again, err = d.cfg.GPUs.AccountAndApplyCaps(now, holders); err != nil {
			d.cfg.Log.Error("cards", "error", err)
		}
		if d.cfg.Budget != nil && !d.nodeSharesCeiling() {
			d.cfg.Budget.leaveBudget(d.cfg.GPUs.PowerCaps())
		} else if d.cfg.Budget != nil {
			if again, err = d.cfg.Budget.reconcileBudget(ctx, d.cfg.GPUs.PowerCaps(), now, again); err != nil {
				d.cfg.Log.Warn("the site's ceiling", "error", err)
			}
		}
	}
	for _, p := range here {
		d.sendGuardHeartbeat() // each may take its time
		d.reportPodStatus(ctx, p, now)
	}
	return again
}

// trackPod makes a holder of a pod that has cards, and returns nil for one that has
// none, or does not say yet.
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
	if s.endedBeforeStart = podTerminated(p) && s.holder.Tally.Until == 0; s.final || s.endedBeforeStart {
		d.trackedPods[p.UID] = s
		return s
	}
	if milli, err := strconv.ParseInt(p.Annotations[kube.AnnotationGPUMilli], 10, 32); err == nil && milli > 0 && milli <= 1000 {
		s.holder.Milli = protocol.Milli(milli)
	}
	plan, err := podenergy.ParsePowerPlan(p.Annotations[podenergy.AnnotationPowerPlan])
	if err != nil {
		d.cfg.Log.Warn("a pod does not say under what its cards are to be", "pod", p.Name, "error", err)
	}
	s.holder.PowerPlan, s.holder.RunningSince = plan, firstContainerStart(p)
	if s.holder.UUIDs, err = d.gpusOfPod(ctx, p, s.holder.Tally.Counters); err != nil {
		d.cfg.Log.Warn("which cards a pod has is not known yet", "pod", p.Name, "error", err)
		return nil
	}
	d.trackedPods[p.UID] = s
	return s
}

// gpusOfPod returns the UUIDs of a pod's cards: as its hands said, or as they were
// counted before, or as its kubelet chose, or by index.
func (d *NodeDaemon) gpusOfPod(ctx context.Context, p *corev1.Pod, counted map[string]protocol.Millijoules) (uuids []string, err error) {
	switch text := p.Annotations[podenergy.AnnotationGPUs]; {
	case d.cfg.GPUs == nil:
		return nil, nil
	case text != "":
		return strings.Split(text, ","), nil
	case len(counted) > 0: // a kubelet says nothing of a pod that has ended
		return slices.Sorted(maps.Keys(counted)), nil
	case d.cfg.Chosen != nil:
		d.sendGuardHeartbeat() // a kubelet may take its time
		return d.cfg.Chosen(ctx, p)
	}
	for _, s := range strings.Split(p.Annotations[kube.AnnotationDevices], ",") {
		i, err := strconv.Atoi(s)
		uuid, ok := d.cfg.GPUs.UUIDOfIndex(i)
		if err != nil || !ok {
			return nil, fmt.Errorf("no card %q here", s)
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}

// firstContainerStart is when the first container of a pod began to run; 0 if none has, as far as
// it says.
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

// podTerminated reports whether nothing of a pod runs any more.
func podTerminated(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// reportPodStatus writes on a pod how it stands, if that is news, or a while ago, or the
// last time.
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
		tally.Final = podTerminated(p)
	}
	if !tally.Final && s.lastReported != 0 && state == s.state && now.Sub(s.lastReported) < d.cfg.ReportInterval {
		return
	}
	err := d.patchPodStatus(ctx, p, state, tally)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is gone, or another
		s.final = true
	case err != nil && !errors.Is(err, context.Canceled):
		d.cfg.Log.Warn("a pod was not told what it drew; tried again", "pod", p.Name, "error", err)
	case err == nil:
		s.lastReported, s.state, s.final = now, state, tally.Final
	}
}

// patchPodStatus patches the status of a pod that must still be the same.
func (d *NodeDaemon) patchPodStatus(ctx context.Context, p *corev1.Pod, state gpuaccounting.CapStatus, t podenergy.EnergyTally) error {
	status := corev1.ConditionFalse
	if state.CapEnforced {
		status = corev1.ConditionTrue
	}
	say := state.Message
	if len(say) > 1000 {
		say = say[:1000]
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "annotations": map[string]string{podenergy.AnnotationEnergy: t.EncodeAnnotation()}},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: PowerCapCondition, Status: status, Reason: state.Reason, Message: say, LastTransitionTime: metav1.NewTime(d.cfg.Now().StdTime()),
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
