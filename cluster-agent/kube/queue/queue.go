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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// Config is what a queue needs to know. The zero of a field is its default, but
// for Site, Client and, with Kueue, Dynamic.
type Config struct {
	Site           string // in whose name it submits
	Client         kubernetes.Interface
	Dynamic        dynamic.Interface
	Namespaces     []string         // where it looks; default "default"
	Kueue          *KueueDispatcher // Workloads are taken in as well; nil: they are not
	RunsJobsHere   bool             // the site runs jobs in this cluster
	Sharing        kube.GPUSharing  // how, if it does; default DRA
	StatusInterval time.Duration    // between questions how a job stands; default 1m
	Incarnation    uint32           // how often this queue was begun anew: see protocol.Sender
	Log            *slog.Logger
	Now            func() protocol.Time
}

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

// workerCount look after so many objects at once.
const workerCount = 4

// A KubeQueue is a party of its site, queue/SITE. Make it with New; Run lets it live.
type KubeQueue struct {
	cfg       Config
	conn      bus.Conn
	workQueue workqueue.TypedRateLimitingInterface[string] // of keys: see key

	sendMu sync.Mutex
	sender protocol.Sender

	mu      sync.Mutex
	jobNews map[protocol.JobID]*jobNews
	jobs    map[string]cache.Indexer // by namespace

	workloads      map[string]cache.Indexer // the same
	checks         kueueAdmission
	reportedStates map[string]string // of each Workload by key, its UID and how it stands, in words
}

// jobNews is what the market said of a job in this life.
type jobNews struct {
	key         string // of its object
	lastQueried protocol.Time
	accepted    bool
	closed      bool
	status      protocol.JobStatus
	deferral    *protocol.Defer
	idConflict  string // why it is not the job that was submitted
	cancelled   bool   // it was cancelled
}

// New returns a queue that is not alive yet.
func New(cfg Config) *KubeQueue {
	cfg = cfg.withDefaults()
	return &KubeQueue{
		cfg: cfg, sender: protocol.Sender{Party: protocol.QueueParty(cfg.Site), Incarnation: cfg.Incarnation},
		workQueue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second)),
		jobNews:   make(map[protocol.JobID]*jobNews), jobs: make(map[string]cache.Indexer), workloads: make(map[string]cache.Indexer), reportedStates: make(map[string]string),
	}
}

// What keys of objects begin with; namespace and name follow.
const (
	jobKeyPrefix      = "job/"
	workloadKeyPrefix = "workload/"
)

// Run lets a queue live at port until ctx ends or the port does, and returns why.
// It waits for an API server that does not answer.
func (q *KubeQueue) Run(ctx context.Context, port bus.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	q.conn = port
	var working sync.WaitGroup
	defer func() {
		cancel()
		q.workQueue.ShutDown()
		working.Wait()
		_ = port.Close()
	}()
	if err := q.startInformers(ctx); err != nil {
		return err
	}
	for range workerCount {
		working.Go(func() { q.runWorker(ctx) })
	}
	for {
		select {
		case m, ok := <-port.Messages():
			if !ok {
				return fmt.Errorf("queue: %w", port.Close())
			}
			q.handleMessage(m)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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

// enqueueInformerEvents has all objects of an informer looked after.
func (q *KubeQueue) enqueueInformerEvents(in cache.SharedIndexInformer, sort string) {
	add := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			q.workQueue.Add(sort + key)
		}
	}
	_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only when stopped
		AddFunc: add, UpdateFunc: func(_, o any) { add(o) }, DeleteFunc: add,
	})
}

func (q *KubeQueue) runWorker(ctx context.Context) {
	kube.RunReconcileWorker(ctx, q.workQueue, q.reconcileObject, func(key string, err error) {
		if !apierrors.IsConflict(err) { // somebody wrote meanwhile, which is seen soon
			q.cfg.Log.Warn("tried again soon", "object", key, "error", err)
		}
	})
}

// reconcileObject does what an object needs next, and returns when to look again if nothing
// happens before.
func (q *KubeQueue) reconcileObject(ctx context.Context, key string) (again time.Duration, err error) {
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
	name := strings.TrimPrefix(key, jobKeyPrefix)
	space, _, _ := strings.Cut(name, "/")
	o, ok, _ := q.jobs[space].GetByKey(name)
	if !ok {
		q.forgetObject(key)
		return 0, nil
	}
	return q.reconcileJob(ctx, o.(*batchv1.Job).DeepCopy())
}

// handleMessage takes in what the market says.
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
	case protocol.Reject:
		q.updateNews(b.Job, func(n *jobNews) {
			if b.Why.Code == protocol.Duplicate {
				n.idConflict = reasonText(protocol.Reason{Code: b.Why.Code})
				return
			}
			n.closed, n.status = true, protocol.JobStatus{Job: b.Job, State: protocol.JobClosed, Why: b.Why}
		})
	}
}

// updateNews changes what is known of a job that was asked about, and has it looked after.
func (q *KubeQueue) updateNews(id protocol.JobID, change func(*jobNews)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.jobNews[id]; n != nil {
		change(n)
		q.workQueue.Add(n.key)
	}
}

// newsOfJob returns what is known of the job of an object.
func (q *KubeQueue) newsOfJob(id protocol.JobID, key string) jobNews {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobNews[id] == nil {
		q.jobNews[id] = &jobNews{key: key}
	}
	return *q.jobNews[id]
}

// forgetJob drops what is known of a job that has ended.
func (q *KubeQueue) forgetJob(id protocol.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobNews, id)
}

// forgetObject drops what is known of an object that is gone.
func (q *KubeQueue) forgetObject(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.reportedStates, key)
	maps.DeleteFunc(q.jobNews, func(_ protocol.JobID, n *jobNews) bool { return n.key == key })
}

// submitAndQueryStatus submits a job, and with that asks how it stands: the market takes it once.
// With stop it cancels it as well, so that it is cancelled even if it was not
// known. It returns when to ask again.
func (q *KubeQueue) submitAndQueryStatus(ctx context.Context, s protocol.Submit, stop bool) (again time.Duration, err error) {
	now := q.cfg.Now()
	q.mu.Lock()
	n := q.jobNews[s.Job.ID]
	soon := q.cfg.StatusInterval / 6
	due := n.lastQueried.Add(q.cfg.StatusInterval)
	if !n.accepted || stop { // it may not have been heard
		due = n.lastQueried.Add(soon)
	}
	if n.lastQueried != 0 && n.lastQueried <= now && now < due && n.cancelled == stop { // or our clock was set back
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

func (q *KubeQueue) sendToMarket(ctx context.Context, bodies ...protocol.Body) error {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	var ms []protocol.Message
	for _, b := range bodies {
		ms = append(ms, q.sender.NewMessage(q.cfg.Now(), protocol.Coordinator, b))
	}
	return q.conn.Send(ctx, ms...)
}
