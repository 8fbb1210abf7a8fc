package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
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

// Config says how an executor runs jobs in its cluster. The zero value of a field
// selects its default; Site, Client and Dynamic have none.
type Config struct {
	Site         string
	Client       kubernetes.Interface // set QPS and Burst: client-go's default is 5 requests a second (see kube.ConnectCluster)
	Dynamic      dynamic.Interface
	Namespaces   []string           // that tasks may use; the first is for tasks that name none; default "default"
	Sharing      kube.GPUSharing    // default DRA
	Nodes        kube.NodeSelection // which nodes are used; default OwnedNodes
	Driver       string             // of device claims; default "gpu.nvidia.com"
	Class        string             // of device claims; default "gpu.nvidia.com"
	Models       map[string]string  // GPU product label of a node -> model of the power table, in addition to the known ones
	Power        power.Table        // the known GPU models; default power.DefaultTable()
	Workers      int                // runs reconciled concurrently; default 16
	StartTimeout time.Duration      // how long a run may take until a pod runs; default 10m
	FinishedTTL  time.Duration      // how long finished objects stay in the cluster; default 1h
	// AbandonAfter is for how long the API server may be unreachable before all runs are
	// reported as lost, so that the market may run them elsewhere. 0 is never: where
	// nodes outlive their control plane, a job would run twice.
	AbandonAfter time.Duration
	Incarnation  uint32 // higher at each restart of the executor: see protocol.Sender
	Log          *slog.Logger
	Now          func() protocol.Time
	// EnergyReportTimeout is how long after the end of a pod to wait for the final energy
	// tally of its node's daemon (cluster-agent/kube/node). 0: there is no such daemon.
	EnergyReportTimeout time.Duration
	// Draw asks another meter what the GPU pods of a run drew, by hour. If it is nil or
	// fails, the tallies of the node daemons count, or else an estimate.
	Draw func(ctx context.Context, l protocol.Launch, namespace string, pods []string, since, until protocol.Time) ([]protocol.HourlyEnergy, error)
	// Hour asks the site's own meter for its IT energy (without the facility's share) in
	// the hour that begins at an instant. If it is nil or fails, the power model counts,
	// which is marked as an estimate.
	Hour func(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error)
	// Use asks a metrics system for the utilization of a run's pods; nil if there is none.
	// It may return an error together with the part that it knows.
	Use func(ctx context.Context, namespace string, pods []string, since, until protocol.Time) (protocol.Utilization, error)
}

// withDefaults returns the configuration with defaults in place of zero values.
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

// ConnectToCluster sets the clients to the cluster of a kubeconfig file; "" is the
// cluster that this process runs in.
func (c *Config) ConnectToCluster(file string) (err error) {
	c.Client, c.Dynamic, err = kube.ConnectCluster(file)
	return err
}

// A KubeExecutor runs the jobs of one site on a Kubernetes cluster. Make it with New
// and start it with Run.
type KubeExecutor struct {
	cfg              Config
	conn             bus.Conn
	queue            workqueue.TypedRateLimitingInterface[string] // of run names
	inventoryChanged chan struct{}                                // holds at most one signal: see signalInventoryChange
	logRequests      chan protocol.LogRequest                     // that wait for an answer

	sendMu sync.Mutex
	sender protocol.Sender

	mu              sync.Mutex
	runs            map[string]*run
	services        map[protocol.ServiceID]*heldService
	epochs          map[protocol.JobID]uint64  // highest epoch that was launched
	createFailures  map[string]string          // run name -> why its controller cannot create pods
	informerStores  map[string][]cache.Indexer // plural of a kind -> its objects, one store for each namespace
	objectInformers dynamicInformers
	apiSilent       bool       // the API server does not answer: see watchAPIHealth
	endedRuns       []endedRun // runs that ended within endedRunTTL, oldest first

	firstReportedHour protocol.Time                          // first hour that this process reported; 0: none yet
	lastReportedHour  protocol.Time                          // last hour that was reported; 0: none
	endedEnergy       map[protocol.Time]protocol.Millijoules // of runs that ended, in hours not reported yet

	inv         *inventory.Inventory // view of the informers' caches
	binder      *binder.Binder
	foreignPods external.Pods
	jobs        external.Jobs
}

// A run is one epoch of a job that the executor manages. The work queue gives a run to one
// worker at a time, which may use all fields. Fields that other goroutines read are
// written under KubeExecutor.mu; fields that others write are atomic or guarded by it.
type run struct {
	name                string
	launch              protocol.Launch
	namespace           string
	kind                *jobKind
	firstSeen           protocol.Time                   // when we first tried to create its object
	createdAt           protocol.Time                   // when its object was created or released; 0: not yet
	adoptedAt           protocol.Time                   // when a restarted executor found it; 0: launched by this process
	observed            bool                            // its object has been seen in the cluster
	companionsCreated   bool                            // what its pods need beside its object exists
	startReported       atomic.Bool                     // Started was sent
	endedSeenAt         protocol.Time                   // when we first saw that its object had ended; 0: not yet
	startedAt           protocol.Time                   // when its first pod started; 0: not yet
	begun               bool                            // it has started: of a gang, each of its pods
	terminating         atomic.Pointer[protocol.Reason] // why it is terminated; nil: it is not
	pauseAsked          atomic.Bool                     // the agent wants it to be paused
	cancelled           atomic.Bool                     // terminated by a Cancel: reported as Finished, not as Interrupted
	interruptedReported atomic.Bool                     // Interrupted was sent already, by abandonAllRuns
	deleted             bool                            // we requested the deletion of its object
	external            external.Loan
	kueueEnd            *unstructured.Unstructured // final state of the object, which Kueue may delete at any time
	ownObject           string                     // name of the object that we created; "": none yet

	deletingPod     string        // a pod that is being deleted for no known reason; "": none
	deletingSince   protocol.Time // when the deletion was first seen
	deletingAttempt int64         // the JobSet attempt of that pod

	bindings        []binder.Run                        // by place: which devices the binder gave its pods; see bindingAt
	podsWithDevices map[types.UID]string                // names of its pods that hold devices
	deletedPods     map[types.UID]bool                  // those of them that were deleted
	energyTallies   map[types.UID]podenergy.EnergyTally // as their nodes' daemons wrote them

	reportedEnergy map[protocol.Time]protocol.Millijoules // its energy in hours that were reported
	energyReported bool                                   // its final energy was reported
}

// objectName returns the name of the run's object in its namespace, whether it is ours
// or another's.
func (r *run) objectName() string {
	return cmp.Or(r.external.Object, r.ownObject, r.name)
}

// An endedRun is remembered so that a repeated Launch or Cancel is answered with the
// same outcome.
type endedRun struct {
	job     protocol.JobID
	epoch   uint64
	at      protocol.Time
	outcome protocol.Body
}

// endedRunTTL is how long an endedRun is remembered.
const endedRunTTL = 48 * time.Hour

// New returns an executor; Run starts it.
func New(cfg Config) *KubeExecutor {
	cfg = cfg.withDefaults()
	h := &KubeExecutor{
		cfg: cfg, sender: protocol.Sender{Party: protocol.ExecutorParty(cfg.Site), Incarnation: cfg.Incarnation}, inventoryChanged: make(chan struct{}, 1), logRequests: make(chan protocol.LogRequest, waitingLogs),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 5*time.Second)),
		runs:  make(map[string]*run), services: make(map[protocol.ServiceID]*heldService), epochs: make(map[protocol.JobID]uint64), createFailures: make(map[string]string),
		inv: &inventory.Inventory{Config: inventory.Config{Site: cfg.Site, Sharing: cfg.Sharing, Nodes: cfg.Nodes, Driver: cfg.Driver, Models: cfg.Models, Power: cfg.Power}},
	}
	h.binder = binder.New(binder.Config{Client: cfg.Client, Class: cfg.Class, Now: cfg.Now}, h.inv)
	h.foreignPods = external.Pods{Inventory: h.inv, Ours: h.podBelongsToRun, DevicesOfRun: h.devicesOfRun}
	h.jobs = external.Jobs{Inventory: h.inv, Client: cfg.Client}
	return h
}

// PlannedEnergy returns the energy, by hour, of a run that draws its planned power
// from since to until.
func PlannedEnergy(l protocol.Launch, since, until protocol.Time) (draw []protocol.HourlyEnergy) {
	for t := since; t < until; {
		end := min(t.Floor(time.Hour).Add(time.Hour), until)
		mj := int64(l.Power) * int64(end-t) / 1000 // mW times ms
		draw = append(draw, protocol.HourlyEnergy{Hour: t.Floor(time.Hour), Energy: protocol.Millijoules(mj)})
		t = end
	}
	return draw
}

// Run connects the executor to conn and reconciles until ctx ends or conn is closed, and
// returns why it ended. It waits for an API server that does not answer, and closes conn.
func (h *KubeExecutor) Run(ctx context.Context, conn bus.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	h.conn = conn
	var working sync.WaitGroup
	defer func() {
		cancel()
		h.queue.ShutDown()
		working.Wait()
	}()
	if err := h.startInformers(ctx); err != nil {
		_ = conn.Close()
		return err
	}
	running, err := h.adoptRunningObjects(ctx)
	if err != nil {
		_ = conn.Close()
		return err
	}
	last := h.surveyInventory()
	stood := h.inv.Topology(last)
	h.warnIfNoNodesOwned()
	h.logInventoryChanges(nil, last)
	h.sendToAgent(protocol.Inventory{Nodes: last, Held: running, Topology: stood})
	working.Go(func() { h.watchAPIHealth(ctx) })
	working.Go(func() { h.reportIdleHours(ctx) })
	working.Go(func() { h.gcLoop(ctx) })
	for range logReaders {
		working.Go(func() { h.answerLogRequests(ctx) })
	}
	for range h.cfg.Workers {
		working.Go(func() { h.runReconcileWorker(ctx) })
	}
	for {
		select {
		case m, ok := <-conn.Messages():
			if !ok {
				return fmt.Errorf("kube: %w", conn.Close())
			}
			h.handleMessage(m)
		case <-h.inventoryChanged:
			now := h.surveyInventory()
			if stands := h.inv.Topology(now); !sameNodes(now, last) || !reflect.DeepEqual(stands, stood) {
				h.logInventoryChanges(last, now)
				last, stood = now, stands
				h.sendToAgent(protocol.Inventory{Nodes: now, Topology: stands})
			}
			select { // changes come in bursts: at most ten surveys a second
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		case <-ctx.Done():
			_ = conn.Close()
			return ctx.Err()
		}
	}
}

// sendToAgent sends a message to the site's agent. An error is only logged: a
// connection that cannot send is closed, which ends Run.
func (h *KubeExecutor) sendToAgent(b protocol.Body) {
	h.sendMu.Lock()
	defer h.sendMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.conn.Send(ctx, h.sender.NewMessage(h.cfg.Now(), protocol.AgentParty(h.cfg.Site), b)); err != nil {
		h.cfg.Log.Error("a message to the agent could not be sent", "error", err)
	}
}

// handleMessage handles a message from the site's agent, and ignores those of other
// senders.
func (h *KubeExecutor) handleMessage(m protocol.Message) {
	if m.From != protocol.AgentParty(h.cfg.Site) {
		return
	}
	switch b := m.Body.(type) {
	case protocol.Launch:
		h.startRun(b)
	case protocol.Cancel:
		h.cancelRun(b)
	case protocol.RunReplicas:
		h.runReplicas(b)
	case protocol.LogRequest:
		h.queueLogRequest(b)
	}
}

// startRun begins to manage the run of a launch. A launch that is known already is a
// question about its state, and answered as such: with its outcome if it has ended,
// with Started if it runs. An outdated one is refused.
func (h *KubeExecutor) startRun(l protocol.Launch) {
	name := kube.RunName(l.Job.ID, l.Epoch)
	if h.repeatOutcome(l.Job.ID, l.Epoch) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.runs[name] != nil:
		h.runs[name].startReported.Store(false) // send Started once more
	case l.Epoch > h.epochs[l.Job.ID]:
		h.epochs[l.Job.ID] = l.Epoch
		h.runs[name] = &run{name: name, launch: l}
	case h.recoverEndedRun(l, name):
	default:
		h.cfg.Log.Warn("refused a launch whose epoch is not above the last one of its job", "job", l.Job.ID, "epoch", l.Epoch)
		return
	}
	h.queue.Add(name)
}

// repeatOutcome sends the outcome of a run once more, if the run ended within
// endedRunTTL.
func (h *KubeExecutor) repeatOutcome(job protocol.JobID, epoch uint64) bool {
	h.mu.Lock()
	var outcome protocol.Body
	for _, e := range h.endedRuns {
		if e.job == job && e.epoch == epoch {
			outcome = e.outcome
		}
	}
	h.mu.Unlock()
	if outcome == nil {
		return false
	}
	h.sendToAgent(outcome)
	return true
}

// recoverEndedRun manages a run once more whose object an earlier incarnation
// finished, so that its outcome is reported once more. The caller holds h.mu.
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

// cancelRun terminates a run. If there is none, it makes sure that a launch of this
// epoch that arrives later is refused, and reports the run as finished.
func (h *KubeExecutor) cancelRun(c protocol.Cancel) {
	name := kube.RunName(c.Job, c.Epoch)
	if h.repeatOutcome(c.Job, c.Epoch) {
		return
	}
	h.mu.Lock()
	r := h.runs[name]
	if c.Checkpoint { // see pause.go; a run that cannot be paused says so by Started
		if r != nil {
			r.pauseAsked.Store(true)
			h.queue.Add(name)
		}
		h.mu.Unlock()
		return
	}
	if r != nil {
		r.cancelled.Store(true)
		r.terminating.CompareAndSwap(nil, &protocol.Reason{Code: protocol.Cancelled})
		h.queue.Add(name)
	} else {
		h.epochs[c.Job] = max(h.epochs[c.Job], c.Epoch)
	}
	h.mu.Unlock()
	if r == nil {
		h.reportOutcome(c.Job, c.Epoch, protocol.Finished{Job: c.Job, Epoch: c.Epoch, Stopped: true})
	}
}

// reportOutcome sends how a run ended and remembers it for endedRunTTL. When a job's
// last run is forgotten, so is its epoch.
func (h *KubeExecutor) reportOutcome(job protocol.JobID, epoch uint64, b protocol.Body) {
	now := h.cfg.Now()
	h.mu.Lock()
	for len(h.endedRuns) > 0 && h.endedRuns[0].at < now.Add(-endedRunTTL) {
		if e := h.endedRuns[0]; h.epochs[e.job] == e.epoch {
			delete(h.epochs, e.job)
		}
		h.endedRuns = h.endedRuns[1:]
	}
	h.endedRuns = append(h.endedRuns, endedRun{job, epoch, now, b})
	h.mu.Unlock()
	h.sendToAgent(b)
}

// runReconcileWorker reconciles runs of the work queue until that is shut down.
func (h *KubeExecutor) runReconcileWorker(ctx context.Context) {
	kube.RunReconcileWorker(ctx, h.queue, h.reconcileRun, func(name string, err error) {
		h.cfg.Log.Warn("reconciling a run failed; retried with backoff", "run", name, "error", err)
	})
}

// podsOfRun returns the pods of a run. Pods in other namespaces are left out: anyone
// may set the label in a namespace of their own.
func (h *KubeExecutor) podsOfRun(r *run) (pods []*corev1.Pod) {
	list, _ := h.inv.PodCache.ByIndex(indexByRun, r.podIndexKey())
	for _, o := range list {
		if p := o.(*corev1.Pod); p.Namespace == r.namespace {
			pods = append(pods, p)
		}
	}
	return pods
}
