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

// patience is how long the API server may take for one answer: a guard waits for
// the next beat meanwhile.
const patience = 3 * time.Second

// Condition is the type of the condition that is written on pods: whether their
// cap is kept, and why not.
const Condition = "gridbid.io/Power"

// Config is what a node's daemon needs to know. The zero of a field is its
// default, but for Node and Client.
type Config struct {
	Node   string
	Client kubernetes.Interface
	Spaces []string             // namespaces whose pods count; default "default"
	Cards  *gpuaccounting.Cards // nil: there are none, for the reason Why
	Why    string
	Every  time.Duration // between two readings of the cards; default 5s
	Tell   time.Duration // between two notes on a pod that runs on; default 1m
	// Chosen says which cards the kubelet gave a pod, where it chooses them. Nil:
	// the hands do.
	Chosen func(ctx context.Context, p *corev1.Pod) ([]string, error)
	Budget *Budget // of the site's ceiling; nil: none
	// Owned is the site whose taint a node must bear for its cards to count among those
	// of the ceiling. Empty: all nodes' do.
	Owned string
	// Beat tells a guard that we live. Nil: there is none.
	Beat func() error
	Log  *slog.Logger
	Now  func() protocol.Time
}

// A Daemon keeps the cards of one node. Make it with New; Run lets it live.
type Daemon struct {
	cfg  Config
	pods []cache.Indexer // by namespace
	node cache.Indexer   // our own alone; nil: it is not asked whose it is
	kick chan struct{}
	seen map[types.UID]*seen
}

// A seen pod is one that held cards.
type seen struct {
	holder gpuaccounting.Holder
	told   protocol.Time       // when it was written on; 0: never
	state  gpuaccounting.State // as it was written
	missed bool                // it was over before we came
	final  bool                // nothing more will be written
}

// New returns a daemon that is not alive yet.
func New(cfg Config) *Daemon {
	if len(cfg.Spaces) == 0 {
		cfg.Spaces = []string{"default"}
	}
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Tell == 0 {
		cfg.Tell = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = func() protocol.Time { return protocol.At(time.Now()) }
	}
	return &Daemon{cfg: cfg, kick: make(chan struct{}, 1), seen: make(map[types.UID]*seen)}
}

// Run lets a daemon live until ctx ends, and puts all limits back then. An API
// server that does not answer is waited for; cards are kept as they are, but below ceilings.
func (d *Daemon) Run(ctx context.Context) error {
	if d.cfg.Cards == nil {
		d.cfg.Log.Warn("no cards are kept or measured here; energy of jobs on this node is estimated", "why", d.cfg.Why)
	} else {
		defer func() {
			if err := d.cfg.Cards.Restore(); err != nil {
				d.cfg.Log.Error("limits are not all back", "error", err)
			}
		}()
	}
	synced := d.watch(ctx)
	d.lower(ctx)
	for slices.ContainsFunc(synced, func(f cache.InformerSynced) bool { return !f() }) { // the guard is told meanwhile, too
		d.beat()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	for {
		again := d.round(ctx)
		wait := d.cfg.Every
		if !again.IsZero() {
			wait = max(min(wait, again.Sub(d.cfg.Now().Go())), 10*time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.kick:
		case <-time.After(wait):
		}
	}
}

// lower keeps ceilings before the API server says who holds cards: the machine's own, and
// of the site's no more than the lowest limits, as nobody tells its part. Where it has yet
// to say whose the cards are, the site's is not for them.
func (d *Daemon) lower(ctx context.Context) {
	if d.cfg.Cards == nil {
		return
	}
	now, again := d.cfg.Now(), time.Time{}
	var err error
	if d.cfg.Budget != nil && d.node == nil {
		_, err = d.cfg.Budget.keep(ctx, d.cfg.Cards.Limits(), now, again) // asks nobody, the first time
	}
	if _, unset := d.cfg.Cards.Keep(now, nil); err != nil || unset != nil {
		d.cfg.Log.Error("cards", "error", errors.Join(err, unset))
	}
}

// watch begins to watch the pods of our node, in each namespace for itself: no
// right is asked for that reaches beyond.
func (d *Daemon) watch(ctx context.Context) (synced []cache.InformerSynced) {
	wake := func(any) {
		select {
		case d.kick <- struct{}{}:
		default:
		}
	}
	for _, space := range d.cfg.Spaces {
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

// shares reports whether our cards count among those of the site's ceiling: it is not for
// cards of others.
func (d *Daemon) shares() bool {
	if d.node == nil {
		return true
	}
	o, ok, _ := d.node.GetByKey(d.cfg.Node)
	return ok && kube.Owns(d.cfg.Owned, o.(*corev1.Node))
}

func (d *Daemon) beat() {
	if d.cfg.Beat == nil {
		return
	}
	if err := d.cfg.Beat(); err != nil {
		d.cfg.Log.Error("the guard is not told", "error", err)
	}
}

// round looks at all pods, keeps their cards, and writes on those that are due.
func (d *Daemon) round(ctx context.Context) (again time.Time) {
	d.beat()
	now := d.cfg.Now()
	var holders []gpuaccounting.Holder
	alive := make(map[types.UID]bool)
	var here []*corev1.Pod
	for _, store := range d.pods {
		for _, o := range store.List() {
			p := o.(*corev1.Pod)
			alive[p.UID] = true
			s := d.look(ctx, p)
			if s == nil || s.final {
				continue
			}
			here = append(here, p)
			if !s.missed {
				holders = append(holders, s.holder)
			}
		}
	}
	for uid := range d.seen {
		if !alive[uid] {
			delete(d.seen, uid)
		}
	}
	slices.SortFunc(holders, func(x, y gpuaccounting.Holder) int { return strings.Compare(x.Name, y.Name) })
	if d.cfg.Cards != nil {
		var err error
		if again, err = d.cfg.Cards.Keep(now, holders); err != nil {
			d.cfg.Log.Error("cards", "error", err)
		}
		if d.cfg.Budget != nil && !d.shares() {
			d.cfg.Budget.leave(d.cfg.Cards.Limits())
		} else if d.cfg.Budget != nil {
			if again, err = d.cfg.Budget.keep(ctx, d.cfg.Cards.Limits(), now, again); err != nil {
				d.cfg.Log.Warn("the site's ceiling", "error", err)
			}
		}
	}
	for _, p := range here {
		d.beat() // each may take its time
		d.tell(ctx, p, now)
	}
	return again
}

// look makes a holder of a pod that has cards, and returns nil for one that has
// none, or does not say yet.
func (d *Daemon) look(ctx context.Context, p *corev1.Pod) *seen {
	if s := d.seen[p.UID]; s != nil {
		return s
	}
	if p.Annotations[kube.NoteDevices] == "" {
		return nil
	}
	s := &seen{holder: gpuaccounting.Holder{Name: string(p.UID), Milli: 1000}}
	if text := p.Annotations[podenergy.NoteDrew]; text != "" {
		t, err := podenergy.Read(text)
		if err != nil {
			t.Miss("what was counted before cannot be read")
		}
		s.holder.Tally, s.final = t, t.Final
	}
	if s.missed = over(p) && s.holder.Tally.Until == 0; s.final || s.missed {
		d.seen[p.UID] = s
		return s
	}
	if milli, err := strconv.ParseInt(p.Annotations[kube.NoteMilli], 10, 32); err == nil && milli > 0 && milli <= 1000 {
		s.holder.Milli = protocol.Milli(milli)
	}
	plan, err := podenergy.ReadPlan(p.Annotations[podenergy.NotePower])
	if err != nil {
		d.cfg.Log.Warn("a pod does not say under what its cards are to be", "pod", p.Name, "error", err)
	}
	s.holder.Plan, s.holder.Since = plan, began(p)
	if s.holder.Cards, err = d.cardsOf(ctx, p, s.holder.Tally.Counters); err != nil {
		d.cfg.Log.Warn("which cards a pod has is not known yet", "pod", p.Name, "error", err)
		return nil
	}
	d.seen[p.UID] = s
	return s
}

// cardsOf returns the UUIDs of a pod's cards: as its hands said, or as they were
// counted before, or as its kubelet chose, or by index.
func (d *Daemon) cardsOf(ctx context.Context, p *corev1.Pod, counted map[string]protocol.Millijoules) (uuids []string, err error) {
	switch text := p.Annotations[podenergy.NoteCards]; {
	case d.cfg.Cards == nil:
		return nil, nil
	case text != "":
		return strings.Split(text, ","), nil
	case len(counted) > 0: // a kubelet says nothing of a pod that has ended
		return slices.Sorted(maps.Keys(counted)), nil
	case d.cfg.Chosen != nil:
		d.beat() // a kubelet may take its time
		return d.cfg.Chosen(ctx, p)
	}
	for _, s := range strings.Split(p.Annotations[kube.NoteDevices], ",") {
		i, err := strconv.Atoi(s)
		uuid, ok := d.cfg.Cards.UUID(i)
		if err != nil || !ok {
			return nil, fmt.Errorf("no card %q here", s)
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}

// began is when the first container of a pod began to run; 0 if none has, as far as
// it says.
func began(p *corev1.Pod) (first protocol.Time) {
	for _, c := range p.Status.ContainerStatuses {
		for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			at := metav1.Time{}
			if s.Running != nil {
				at = s.Running.StartedAt
			} else if s.Terminated != nil {
				at = s.Terminated.StartedAt
			}
			if t := protocol.At(at.Time); !at.IsZero() && (first == 0 || t < first) {
				first = t
			}
		}
	}
	return first
}

// over reports whether nothing of a pod runs any more.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// tell writes on a pod how it stands, if that is news, or a while ago, or the
// last time.
func (d *Daemon) tell(ctx context.Context, p *corev1.Pod, now protocol.Time) {
	s := d.seen[p.UID]
	state, tally := gpuaccounting.State{Why: "NoCards", Say: d.cfg.Why}, podenergy.Tally{Until: now, Missing: d.cfg.Why, Final: true}
	switch {
	case s.missed:
		const late = "the job was over before its cards were read"
		state, tally.Missing = gpuaccounting.State{Why: "Missed", Say: late}, late
	case d.cfg.Cards != nil:
		state = d.cfg.Cards.State(s.holder.Name)
		tally, _ = d.cfg.Cards.Tally(s.holder.Name)
		tally.Final = over(p)
	}
	if !tally.Final && s.told != 0 && state == s.state && now.Sub(s.told) < d.cfg.Tell {
		return
	}
	err := d.write(ctx, p, state, tally)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is gone, or another
		s.final = true
	case err != nil && !errors.Is(err, context.Canceled):
		d.cfg.Log.Warn("a pod was not told what it drew; tried again", "pod", p.Name, "error", err)
	case err == nil:
		s.told, s.state, s.final = now, state, tally.Final
	}
}

// write patches the status of a pod that must still be the same.
func (d *Daemon) write(ctx context.Context, p *corev1.Pod, state gpuaccounting.State, t podenergy.Tally) error {
	status := corev1.ConditionFalse
	if state.Set {
		status = corev1.ConditionTrue
	}
	say := state.Say
	if len(say) > 1000 {
		say = say[:1000]
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "annotations": map[string]string{podenergy.NoteDrew: t.Text()}},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: Condition, Status: status, Reason: state.Why, Message: say, LastTransitionTime: metav1.NewTime(d.cfg.Now().Go()),
		}}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = d.cfg.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
