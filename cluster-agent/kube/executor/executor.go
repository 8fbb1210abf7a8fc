package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/binder"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// Config is what hands need to know. The zero of a field is its default, but for
// Site, Client and Dynamic.
type Config struct {
	Site         string
	Client       kubernetes.Interface // set QPS and Burst: by default a client makes 5 requests a second
	Dynamic      dynamic.Interface
	Namespaces   []string           // where jobs are put; the first is for tasks that name none; default "default"
	Sharing      kube.GPUSharing    // default DRA
	Nodes        kube.NodeSelection // which are used; default Owned
	Driver       string             // of device claims; default "gpu.nvidia.com"
	Class        string             // of device claims; default "gpu.nvidia.com"
	Models       map[string]string  // GPU product as nodes spell it -> model of the power table, beside what is known
	Power        power.Table        // which models there are; default power.DefaultTable()
	Workers      int                // jobs that are looked after at once; default 16
	StartTimeout time.Duration      // how long a job may take to begin; default 10m
	FinishedTTL  time.Duration      // how long what has finished stays in the cluster; default 1h
	// AbandonAfter is after how long a silent API server is taken to be gone together
	// with all that runs there, which may then be run elsewhere. 0 is never: where
	// nodes outlive their control plane, a job would run twice.
	AbandonAfter time.Duration
	Incarnation  uint32 // how often these hands were begun anew: see protocol.Sender
	Log          *slog.Logger
	Now          func() protocol.Time
	// EnergyReportTimeout is how long after its end a pod's machine may take to write down
	// what its cards drew: see cluster-agent/kube/node. 0: no machine does that.
	EnergyReportTimeout time.Duration
	// Draw asks another meter what the pods of a run that hold cards drew, by
	// hour. Nil, or an error: what machines wrote, or an estimate.
	Draw func(ctx context.Context, l protocol.Launch, namespace string, pods []string, since, until protocol.Time) ([]protocol.HourlyEnergy, error)
	// Hour asks the site's own meter what all of it drew in the hour that begins
	// at an instant, without the facility's share. Nil, or an error: the power
	// model, which is marked as an estimate.
	Hour func(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error)
	// Use asks metrics what the pods of a run made of what they held; nil is nobody.
	// With an error it returns what it knows all the same.
	Use func(ctx context.Context, namespace string, pods []string, since, until protocol.Time) (protocol.Utilization, error)
}

func (c Config) withDefaults() Config {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def((*string)(&c.Sharing), string(kube.SharingDRA))
	def((*string)(&c.Nodes), string(kube.OwnedNodes))
	def(&c.Driver, "gpu.nvidia.com")
	def(&c.Class, "gpu.nvidia.com")
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{"default"}
	}
	if len(c.Power.ModelNames()) == 0 {
		c.Power = power.DefaultTable()
	}
	if c.Workers == 0 {
		c.Workers = 16
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 10 * time.Minute
	}
	if c.FinishedTTL == 0 {
		c.FinishedTTL = time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = func() protocol.Time { return protocol.FromStdTime(time.Now()) }
	}
	return c
}

// ConnectToCluster fills in the clients of the cluster of a kubeconfig file; "" is the one
// that this process runs in.
func (c *Config) ConnectToCluster(file string) (err error) {
	c.Client, c.Dynamic, err = kube.ConnectCluster(file)
	return err
}

// KubeExecutor are a site's, on a real cluster. Make them with New; Run lets them live.
type KubeExecutor struct {
	cfg              Config
	conn             bus.Conn
	queue            workqueue.TypedRateLimitingInterface[string] // of run names
	inventoryChanged chan struct{}                                // the inventory may have changed

	sendMu sync.Mutex
	sender protocol.Sender

	mu             sync.Mutex
	runs           map[string]*run
	epochs         map[protocol.JobID]uint64  // highest that was launched
	refused        map[string]string          // run -> why the cluster makes no pods of it
	informerStores map[string][]cache.Indexer // plural of a kind -> its objects, by namespace
	objects        dynamicInformers
	silent         bool       // the API server does not answer
	past           []endedRun // runs that ended not long ago, oldest first

	firstHour    protocol.Time                          // that these hands told; 0: none yet
	reportedHour protocol.Time                          // the last that was told; 0: none
	spent        map[protocol.Time]protocol.Millijoules // by runs that ended, in hours that were not told yet

	inv             *inventory.Inventory // what is watched of the cluster
	binder          *binder.Binder
	addForeignUsage external.Pods
	jobs            external.Jobs
}

// A run is one epoch of a job in our care. Only one worker at a time looks after a
// run. What others read is changed under Hands.mu, and what others change is
// atomic, or read under it.
type run struct {
	name                string
	launch              protocol.Launch
	namespace           string
	kind                *jobKind
	firstSeen           protocol.Time                   // when we first asked for it
	created             protocol.Time                   // when we asked for it; 0: not yet
	adoptedAt           protocol.Time                   // when it was found again by hands that began anew; 0: never
	observed            bool                            // the cluster has it
	claimsCreated       bool                            // its claim templates are there
	startReported       atomic.Bool                     // Started was said
	endedSeenAt         protocol.Time                   // when we first saw that it had ended; 0: not yet
	since               protocol.Time                   // it runs; 0: not yet
	terminating         atomic.Pointer[protocol.Reason] // why it is taken down
	stopped             atomic.Bool                     // because it was cancelled
	interruptedReported atomic.Bool                     // said to be lost already
	deleted             bool                            // we asked for that
	external            external.Loan
	kueueEnd            *unstructured.Unstructured // the object as it ended; Kueue then takes it away
	objectID            string                     // name of its object, if that is ours; "": not yet

	going      string        // a pod that is being deleted, and nobody says why; "": none
	goingSince protocol.Time // when that was seen
	goingTry   int64         // of which attempt it is: see jobSetAttemptOf

	bound           binder.Run                          // which devices its pods were given
	podsWithDevices map[types.UID]string                // names of its pods that were given devices
	deletedPods     map[types.UID]bool                  // those of them that are no more
	drew            map[types.UID]podenergy.EnergyTally // what their machines wrote

	fixed map[protocol.Time]protocol.Millijoules // what it drew in hours that were told
	spent bool                                   // all that it drew was told
}

// objectName names what the run consists of in its namespace.
func (r *run) objectName() string {
	return cmp.Or(r.external.Object, r.objectID, r.name)
}

// An endedRun run is remembered for those who ask how it stands.
type endedRun struct {
	job     protocol.JobID
	epoch   uint64
	at      protocol.Time
	outcome protocol.Body
}

// endedRunTTL is for how long that is.
const endedRunTTL = 48 * time.Hour

// New returns hands that are not alive yet.
func New(cfg Config) *KubeExecutor {
	cfg = cfg.withDefaults()
	h := &KubeExecutor{
		cfg: cfg, sender: protocol.Sender{Party: protocol.ExecutorParty(cfg.Site), Incarnation: cfg.Incarnation}, inventoryChanged: make(chan struct{}, 1),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 5*time.Second)),
		runs:  make(map[string]*run), epochs: make(map[protocol.JobID]uint64), refused: make(map[string]string),
		inv: &inventory.Inventory{Config: inventory.Config{Site: cfg.Site, Sharing: cfg.Sharing, Nodes: cfg.Nodes, Driver: cfg.Driver, Models: cfg.Models, Power: cfg.Power}},
	}
	h.binder = binder.New(binder.Config{Client: cfg.Client, Class: cfg.Class, Now: cfg.Now}, h.inv)
	h.addForeignUsage = external.Pods{Inventory: h.inv, Ours: h.podBelongsToRun, DevicesOfRun: h.devicesOfRun}
	h.jobs = external.Jobs{Inventory: h.inv, Client: cfg.Client}
	return h
}

// PlannedEnergy takes a run to have drawn what its plan said.
func PlannedEnergy(l protocol.Launch, since, until protocol.Time) (draw []protocol.HourlyEnergy) {
	for t := since; t < until; {
		end := min(t.Floor(time.Hour).Add(time.Hour), until)
		mj := int64(l.Power) * int64(end-t) / 1000
		draw = append(draw, protocol.HourlyEnergy{Hour: t.Floor(time.Hour), Energy: protocol.Millijoules(mj)})
		t = end
	}
	return draw
}

// Run lets hands live at port until ctx ends or the port does, and returns why.
// It closes the port. It waits for an API server that does not answer.
func (h *KubeExecutor) Run(ctx context.Context, port bus.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	h.conn = port
	var working sync.WaitGroup
	defer func() {
		cancel()
		h.queue.ShutDown()
		working.Wait()
	}()
	if err := h.startInformers(ctx); err != nil {
		_ = port.Close()
		return err
	}
	held, err := h.adoptRunningObjects(ctx)
	if err != nil {
		_ = port.Close()
		return err
	}
	last := h.surveyInventory()
	h.warnIfNoNodesOwned()
	h.logInventoryChanges(nil, last)
	h.sendToAgent(protocol.Inventory{Nodes: last, Held: held})
	working.Go(func() { h.watchAPIHealth(ctx) })
	working.Go(func() { h.reportIdleHours(ctx) })
	working.Go(func() { h.gcLoop(ctx) })
	for range h.cfg.Workers {
		working.Go(func() { h.runReconcileWorker(ctx) })
	}
	for {
		select {
		case m, ok := <-port.Messages():
			if !ok {
				return fmt.Errorf("kube: %w", port.Close())
			}
			h.handleMessage(m)
		case <-h.inventoryChanged:
			if now := h.surveyInventory(); !sameNodes(now, last) {
				h.logInventoryChanges(last, now)
				last = now
				h.sendToAgent(protocol.Inventory{Nodes: now})
			}
			select { // changes come in swarms
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		case <-ctx.Done():
			_ = port.Close()
			return ctx.Err()
		}
	}
}

// sendToAgent tells the agent. A port that cannot be spoken to has ended, and ends Run.
func (h *KubeExecutor) sendToAgent(b protocol.Body) {
	h.sendMu.Lock()
	defer h.sendMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.conn.Send(ctx, h.sender.NewMessage(h.cfg.Now(), protocol.AgentParty(h.cfg.Site), b)); err != nil {
		h.cfg.Log.Error("the agent was not told", "error", err)
	}
}

// handleMessage takes in what the agent says.
func (h *KubeExecutor) handleMessage(m protocol.Message) {
	if m.From != protocol.AgentParty(h.cfg.Site) {
		return
	}
	switch b := m.Body.(type) {
	case protocol.Launch:
		h.startRun(b)
	case protocol.Cancel:
		h.cancelRun(b)
	}
}

// startRun takes a job into our care. One that is not newer than the last of its
// job is no launch but a question how that stands.
func (h *KubeExecutor) startRun(l protocol.Launch) {
	name := kube.RunName(l.Job.ID, l.Epoch)
	if h.repeatOutcome(l.Job.ID, l.Epoch) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.runs[name] != nil:
		h.runs[name].startReported.Store(false) // say it again
	case l.Epoch > h.epochs[l.Job.ID]:
		h.epochs[l.Job.ID] = l.Epoch
		h.runs[name] = &run{name: name, launch: l}
	case h.recoverEndedRun(l, name):
	default:
		h.cfg.Log.Warn("a launch that is not newer than the last was refused", "job", l.Job.ID, "epoch", l.Epoch)
		return
	}
	h.queue.Add(name)
}

// repeatOutcome says again how a run ended, if it did so not long ago.
func (h *KubeExecutor) repeatOutcome(job protocol.JobID, epoch uint64) bool {
	h.mu.Lock()
	var said protocol.Body
	for _, e := range h.past {
		if e.job == job && e.epoch == epoch {
			said = e.outcome
		}
	}
	h.mu.Unlock()
	if said == nil {
		return false
	}
	h.sendToAgent(said)
	return true
}

// recoverEndedRun takes up a run that ended in a former life, to say again how. The caller
// holds h.mu.
func (h *KubeExecutor) recoverEndedRun(l protocol.Launch, name string) bool {
	for i := range jobKinds {
		for _, u := range h.allRunObjects(&jobKinds[i]) {
			if u.GetLabels()[kube.LabelRun] == name {
				h.runs[name] = h.runOfObject(&jobKinds[i], u, l)
				h.runs[name].startReported.Store(true)
				return true
			}
		}
	}
	return false
}

// cancelRun takes a run down, or sees to it that it never comes to be.
func (h *KubeExecutor) cancelRun(c protocol.Cancel) {
	name := kube.RunName(c.Job, c.Epoch)
	if h.repeatOutcome(c.Job, c.Epoch) {
		return
	}
	h.mu.Lock()
	r := h.runs[name]
	if c.Checkpoint { // nothing here knows how to save what a job has done: it runs on
		if r != nil {
			r.startReported.Store(false)
			h.queue.Add(name)
		}
		h.mu.Unlock()
		return
	}
	if r != nil {
		r.stopped.Store(true)
		r.terminating.CompareAndSwap(nil, &protocol.Reason{Code: protocol.Cancelled})
		h.queue.Add(name)
	} else {
		h.epochs[c.Job] = max(h.epochs[c.Job], c.Epoch)
	}
	h.mu.Unlock()
	if r == nil {
		h.reportOutcome(c.Job, c.Epoch, protocol.Finished{Job: c.Job, Epoch: c.Epoch})
	}
}

// reportOutcome says how a run ended, and remembers it for a while; its job is forgotten
// with its last run.
func (h *KubeExecutor) reportOutcome(job protocol.JobID, epoch uint64, b protocol.Body) {
	now := h.cfg.Now()
	h.mu.Lock()
	for len(h.past) > 0 && h.past[0].at < now.Add(-endedRunTTL) {
		if e := h.past[0]; h.epochs[e.job] == e.epoch {
			delete(h.epochs, e.job)
		}
		h.past = h.past[1:]
	}
	h.past = append(h.past, endedRun{job, epoch, now, b})
	h.mu.Unlock()
	h.sendToAgent(b)
}

func (h *KubeExecutor) runReconcileWorker(ctx context.Context) {
	kube.RunReconcileWorker(ctx, h.queue, h.reconcileRun, func(name string, err error) {
		h.cfg.Log.Warn("tried again soon", "run", name, "error", err)
	})
}

// podsOfRun returns the pods of a run. A label anybody can write, in a namespace of
// his own.
func (h *KubeExecutor) podsOfRun(r *run) (pods []*corev1.Pod) {
	list, _ := h.inv.PodCache.ByIndex(indexByRun, r.podIndexKey())
	for _, o := range list {
		if p := o.(*corev1.Pod); p.Namespace == r.namespace {
			pods = append(pods, p)
		}
	}
	return pods
}
