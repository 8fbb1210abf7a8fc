package queue

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// Config says what a queue watches and how. The zero value of a field selects its
// default; Site and Client have none. Without Dynamic it takes in Jobs only.
type Config struct {
	Site           string // the site that submits the jobs
	Client         kubernetes.Interface
	Dynamic        dynamic.Interface
	Namespaces     []string         // watched namespaces; default "default"
	Kueue          *KueueDispatcher // submit Kueue's Workloads as well; nil: only Jobs
	RunsJobsHere   bool             // the site's executor runs jobs in this cluster
	Sharing        kube.GPUSharing  // the executor's mode; default DRA
	StatusInterval time.Duration    // between two status queries for a job; default 1m
	Incarnation    uint32           // higher at each restart of the queue: see protocol.Sender
	Log            *slog.Logger
	Now            func() protocol.Time
}

// withDefaults returns the configuration with defaults in place of zero values.
func (c Config) withDefaults() Config {
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{"default"}
	}
	if c.Sharing == "" {
		c.Sharing = kube.SharingDRA
	}
	if c.StatusInterval == 0 {
		c.StatusInterval = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = func() protocol.Time { return protocol.FromStdTime(time.Now()) }
	}
	return c
}

// workerCount is how many objects are reconciled concurrently.
const workerCount = 4

// A KubeQueue is the party queue/SITE of the market. Make it with New and start it
// with Run.
type KubeQueue struct {
	cfg       Config
	conn      bus.Conn
	workQueue workqueue.TypedRateLimitingInterface[string] // of keys: a prefix below, then namespace/name

	sendMu sync.Mutex
	sender protocol.Sender

	mu      sync.Mutex
	jobNews map[protocol.JobID]*jobNews
	jobs    map[string]cache.Indexer // by namespace
	sets    map[string]cache.Indexer // by plural/namespace, of the kinds that the cluster serves

	services map[protocol.ServiceID]*serviceNews

	workloads      map[string]cache.Indexer // by namespace
	checks         kueueAdmission
	reportedStates map[string]string // Workload key -> its UID and the state that was reported last
}

// jobNews is what the market has reported about a job since this process started.
type jobNews struct {
	key         string // of its object in the work queue
	lastQueried protocol.Time
	accepted    bool
	closed      bool
	status      protocol.JobStatus
	deferral    *protocol.Defer
	idConflict  string // set if the market has another job under this id: the Job was changed
	cancelled   bool   // the last query asked to cancel it
}

// New returns a queue; Run starts it.
func New(cfg Config) *KubeQueue {
	cfg = cfg.withDefaults()
	return &KubeQueue{
		cfg: cfg, sender: protocol.Sender{Party: protocol.QueueParty(cfg.Site), Incarnation: cfg.Incarnation},
		workQueue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second)),
		jobNews:   make(map[protocol.JobID]*jobNews), jobs: make(map[string]cache.Indexer), sets: make(map[string]cache.Indexer), services: make(map[protocol.ServiceID]*serviceNews), workloads: make(map[string]cache.Indexer), reportedStates: make(map[string]string),
	}
}

// Prefixes of work queue keys; namespace/name follows.
const (
	jobKeyPrefix      = "job/"
	workloadKeyPrefix = "workload/"
)

// Run connects the queue to conn and reconciles until ctx ends or conn is closed, and returns
// why it ended. It waits for an API server that does not answer, and closes conn.
func (q *KubeQueue) Run(ctx context.Context, conn bus.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	// Close the connection only after the workers have ended: they send through it.
	q.conn = conn
	var working sync.WaitGroup
	defer func() {
		cancel()
		q.workQueue.ShutDown()
		working.Wait()
		_ = conn.Close()
	}()
	if err := q.startInformers(ctx); err != nil {
		return err
	}
	for range workerCount {
		working.Go(func() { q.runWorker(ctx) })
	}
	if q.cfg.Dynamic != nil {
		for _, k := range workloadKinds { // every cluster serves them
			q.watchKind(ctx, k, serviceKeyPrefix)
		}
		working.Go(func() { q.watchSets(ctx) })
	}
	// The market's answers arrive here, the cluster's events through the work queue.
	for {
		select {
		case m, ok := <-conn.Messages():
			if !ok {
				return fmt.Errorf("queue: %w", conn.Close())
			}
			q.handleMessage(m)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startInformers starts the informers of Jobs and Workloads and waits until they have synced.
func (q *KubeQueue) startInformers(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, space := range q.cfg.Namespaces {
		f := informers.NewSharedInformerFactoryWithOptions(q.cfg.Client, 0, informers.WithNamespace(space))
		in := f.Batch().V1().Jobs().Informer()
		q.enqueueInformerEvents(in, jobKeyPrefix)
		q.jobs[space] = in.GetIndexer()
		f.Start(ctx.Done())
		synced = append(synced, in.HasSynced)
	}
	if q.cfg.Kueue != nil {
		synced = append(synced, q.watchKueue(ctx)...)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("queue: %w while waiting for the API server", ctx.Err())
	}
	return nil
}

// enqueueInformerEvents adds the key of each object that an informer reports to the
// work queue, with a prefix for its kind.
func (q *KubeQueue) enqueueInformerEvents(in cache.SharedIndexInformer, prefix string) {
	add := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			q.workQueue.Add(prefix + key)
		}
	}
	_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only when stopped
		AddFunc: add, UpdateFunc: func(_, o any) { add(o) }, DeleteFunc: add,
	})
}

// runWorker reconciles objects of the work queue until that is shut down.
func (q *KubeQueue) runWorker(ctx context.Context) {
	kube.RunReconcileWorker(ctx, q.workQueue, q.reconcileObject, func(key string, err error) {
		if !apierrors.IsConflict(err) { // a conflict only means that our cache is behind
			q.cfg.Log.Warn("reconciling an object failed; retried with backoff", "object", key, "error", err)
		}
	})
}

// reconcileObject does the next step for the object of a key, and returns after how long to
// do so once more if no event comes first.
func (q *KubeQueue) reconcileObject(ctx context.Context, key string) (requeueAfter time.Duration, err error) {
	// Workloads of Kueue first: their keys have a prefix of their own.
	if name, ok := strings.CutPrefix(key, workloadKeyPrefix); ok {
		w, err := q.workloadByName(name)
		if err != nil {
			return 0, err
		}
		if w == nil {
			q.forgetObject(key)
			return 0, nil
		}
		return q.reconcileWorkload(ctx, name, w)
	}
	for _, of := range []struct {
		prefix    string
		kinds     []*podsets.Kind
		reconcile func(context.Context, string, *podsets.Kind, *unstructured.Unstructured) (time.Duration, error)
	}{{setKeyPrefix, setKinds, q.reconcileSet}, {serviceKeyPrefix, workloadKinds, q.reconcileService}} {
		name, ok := strings.CutPrefix(key, of.prefix)
		if !ok {
			continue
		}
		k, u := q.objectOfKey(name, of.kinds)
		if u == nil {
			q.forgetObject(key)
			return 0, nil
		}
		if isService(k, u) {
			of.reconcile = q.reconcileService
		}
		return of.reconcile(ctx, key, k, u.DeepCopy())
	}
	name := strings.TrimPrefix(key, jobKeyPrefix)
	space, _, _ := strings.Cut(name, "/")
	o, ok, _ := q.jobs[space].GetByKey(name)
	if !ok {
		q.forgetObject(key)
		return 0, nil
	}
	return q.reconcileJob(ctx, o.(*batchv1.Job).DeepCopy())
}

// handleMessage records the coordinator's answers and ignores messages of other
// senders.
func (q *KubeQueue) handleMessage(m protocol.Message) {
	if m.From != protocol.Coordinator || m.To != protocol.QueueParty(q.cfg.Site) {
		return
	}
	switch b := m.Body.(type) {
	case protocol.Confirm:
		q.updateNews(b.Job, func(n *jobNews) { n.accepted, n.closed = true, n.closed || b.Code == protocol.JobClosed })
	case protocol.Defer:
		q.updateNews(b.Job, func(n *jobNews) { n.deferral = &b })
	case protocol.JobStatus:
		q.updateNews(b.Job, func(n *jobNews) {
			n.accepted, n.deferral, n.status, n.closed = true, nil, b, b.State == protocol.JobClosed
		})
	case protocol.ServiceStatus:
		q.recordServiceStatus(b)
	case protocol.Reject:
		q.updateNews(b.Job, func(n *jobNews) {
			// The id belongs to a job with other content, which stays in the market: only report it.
			if b.Why.Code == protocol.Duplicate {
				n.idConflict = reasonText(protocol.Reason{Code: b.Why.Code})
				return
			}
			n.closed, n.status = true, protocol.JobStatus{Job: b.Job, State: protocol.JobClosed, Why: b.Why}
		})
	}
}

// updateNews changes what is known of a job and enqueues its object. Jobs that this
// process has not submitted are ignored.
func (q *KubeQueue) updateNews(id protocol.JobID, change func(*jobNews)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.jobNews[id]; n != nil {
		change(n)
		q.workQueue.Add(n.key)
	}
}

// newsOfJob returns a copy of what is known of a job, and creates the record for its
// object.
func (q *KubeQueue) newsOfJob(id protocol.JobID, key string) jobNews {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobNews[id] == nil {
		q.jobNews[id] = &jobNews{key: key}
	}
	return *q.jobNews[id]
}

// forgetJob drops what is known of a job that was closed.
func (q *KubeQueue) forgetJob(id protocol.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobNews, id)
}

// forgetObject drops what is known of an object that was deleted.
func (q *KubeQueue) forgetObject(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.reportedStates, key)
	maps.DeleteFunc(q.jobNews, func(_ protocol.JobID, n *jobNews) bool { return n.key == key })
	maps.DeleteFunc(q.services, func(_ protocol.ServiceID, n *serviceNews) bool { return n.key == key })
}

// submitAndQueryStatus submits a job, which is at the same time a query for its
// status: the market accepts a job once and answers repetitions with the status. With
// stop it cancels the job, too; the submission before it makes sure that the market
// knows the job it cancels. Queries are at least StatusInterval apart, or a sixth of
// that while the job is not accepted or being cancelled. It returns when to query
// next.
func (q *KubeQueue) submitAndQueryStatus(ctx context.Context, s protocol.Submit, stop bool) (requeueAfter time.Duration, err error) {
	now := q.cfg.Now()
	q.mu.Lock()
	n := q.jobNews[s.Job.ID]
	soon := q.cfg.StatusInterval / 6
	due := n.lastQueried.Add(q.cfg.StatusInterval)
	// Ask sooner while an answer is missing.
	if !n.accepted || stop { // the message may have been lost
		due = n.lastQueried.Add(soon)
	}
	if n.lastQueried != 0 && n.lastQueried <= now && now < due && n.cancelled == stop { // lastQueried > now: our clock was set back
		q.mu.Unlock()
		return due.Sub(now), nil
	}
	n.lastQueried, n.cancelled = now, stop
	q.mu.Unlock()
	if stop {
		return soon, q.sendToMarket(ctx, s, protocol.Cancel{Job: s.Job.ID})
	}
	return soon, q.sendToMarket(ctx, s)
}

// sendToMarket sends messages to the coordinator in their order.
func (q *KubeQueue) sendToMarket(ctx context.Context, bodies ...protocol.Body) error {
	// The lock keeps sequence numbers in the order of sending.
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	var ms []protocol.Message
	for _, b := range bodies {
		ms = append(ms, q.sender.NewMessage(q.cfg.Now(), protocol.Coordinator, b))
	}
	return q.conn.Send(ctx, ms...)
}
