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
	Site       string // in whose name it submits
	Client     kubernetes.Interface
	Dynamic    dynamic.Interface
	Namespaces []string      // where it looks; default "default"
	Kueue      *Kueue        // Workloads are taken in as well; nil: they are not
	Runs       bool          // the site runs jobs in this cluster
	Sharing    kube.Sharing  // how, if it does; default DRA
	Every      time.Duration // between questions how a job stands; default 1m
	Life       uint32        // how often this queue was begun anew: see protocol.Mouth
	Log        *slog.Logger
	Now        func() protocol.Time
}

func (c Config) withDefaults() Config {
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{"default"}
	}
	if c.Sharing == "" {
		c.Sharing = kube.DRA
	}
	if c.Every == 0 {
		c.Every = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = func() protocol.Time { return protocol.At(time.Now()) }
	}
	return c
}

// workers look after so many objects at once.
const workers = 4

// A Queue is a party of its site, queue/SITE. Make it with New; Run lets it live.
type Queue struct {
	cfg   Config
	port  bus.Port
	queue workqueue.TypedRateLimitingInterface[string] // of keys: see key

	speaking sync.Mutex
	mouth    protocol.Mouth

	mu   sync.Mutex
	news map[protocol.JobID]*news
	jobs map[string]cache.Indexer // by namespace

	workloads map[string]cache.Indexer // the same
	checks    admission
	told      map[string]string // of each Workload by key, its UID and how it stands, in words
}

// news is what the market said of a job in this life.
type news struct {
	key    string // of its object
	asked  protocol.Time
	taken  bool
	closed bool
	stand  protocol.Standing
	hold   *protocol.Hold
	clash  string // why it is not the job that was submitted
	stop   bool   // it was cancelled
}

// New returns a queue that is not alive yet.
func New(cfg Config) *Queue {
	cfg = cfg.withDefaults()
	return &Queue{
		cfg: cfg, mouth: protocol.Mouth{Who: protocol.Queue(cfg.Site), Life: cfg.Life},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second)),
		news:  make(map[protocol.JobID]*news), jobs: make(map[string]cache.Indexer), workloads: make(map[string]cache.Indexer), told: make(map[string]string),
	}
}

// What keys of objects begin with; namespace and name follow.
const (
	ofJob      = "job/"
	ofWorkload = "workload/"
)

// Run lets a queue live at port until ctx ends or the port does, and returns why.
// It waits for an API server that does not answer.
func (q *Queue) Run(ctx context.Context, port bus.Port) error {
	ctx, cancel := context.WithCancel(ctx)
	q.port = port
	var working sync.WaitGroup
	defer func() {
		cancel()
		q.queue.ShutDown()
		working.Wait()
		_ = port.Close()
	}()
	if err := q.watch(ctx); err != nil {
		return err
	}
	for range workers {
		working.Go(func() { q.work(ctx) })
	}
	for {
		select {
		case m, ok := <-port.Heard():
			if !ok {
				return fmt.Errorf("queue: %w", port.Close())
			}
			q.hear(m)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *Queue) watch(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, space := range q.cfg.Namespaces {
		f := informers.NewSharedInformerFactoryWithOptions(q.cfg.Client, 0, informers.WithNamespace(space))
		in := f.Batch().V1().Jobs().Informer()
		q.follow(in, ofJob)
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

// follow has all objects of an informer looked after.
func (q *Queue) follow(in cache.SharedIndexInformer, sort string) {
	add := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			q.queue.Add(sort + key)
		}
	}
	_, _ = in.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only when stopped
		AddFunc: add, UpdateFunc: func(_, o any) { add(o) }, DeleteFunc: add,
	})
}

func (q *Queue) work(ctx context.Context) {
	kube.Work(ctx, q.queue, q.attend, func(key string, err error) {
		if !apierrors.IsConflict(err) { // somebody wrote meanwhile, which is seen soon
			q.cfg.Log.Warn("tried again soon", "object", key, "error", err)
		}
	})
}

// attend does what an object needs next, and returns when to look again if nothing
// happens before.
func (q *Queue) attend(ctx context.Context, key string) (again time.Duration, err error) {
	if name, ok := strings.CutPrefix(key, ofWorkload); ok {
		w, err := q.workload(name)
		if err != nil {
			return 0, err
		}
		if w == nil {
			q.drop(key)
			return 0, nil
		}
		return q.attendWorkload(ctx, name, w)
	}
	name := strings.TrimPrefix(key, ofJob)
	space, _, _ := strings.Cut(name, "/")
	o, ok, _ := q.jobs[space].GetByKey(name)
	if !ok {
		q.drop(key)
		return 0, nil
	}
	return q.attendJob(ctx, o.(*batchv1.Job).DeepCopy())
}

// hear takes in what the market says.
func (q *Queue) hear(m protocol.Message) {
	if m.From != protocol.Coordinator || m.To != protocol.Queue(q.cfg.Site) {
		return
	}
	switch b := m.Body.(type) {
	case protocol.Confirm:
		q.note(b.Job, func(n *news) { n.taken, n.closed = true, n.closed || b.Code == protocol.Closed })
	case protocol.Hold:
		q.note(b.Job, func(n *news) { n.hold = &b })
	case protocol.Standing:
		q.note(b.Job, func(n *news) { n.taken, n.hold, n.stand, n.closed = true, nil, b, b.State == protocol.Closed })
	case protocol.Refuse:
		q.note(b.Job, func(n *news) {
			if b.Why.Code == protocol.Duplicate {
				n.clash = say(protocol.Reason{Code: b.Why.Code})
				return
			}
			n.closed, n.stand = true, protocol.Standing{Job: b.Job, State: protocol.Closed, Why: b.Why}
		})
	}
}

// note changes what is known of a job that was asked about, and has it looked after.
func (q *Queue) note(id protocol.JobID, change func(*news)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.news[id]; n != nil {
		change(n)
		q.queue.Add(n.key)
	}
}

// known returns what is known of the job of an object.
func (q *Queue) known(id protocol.JobID, key string) news {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.news[id] == nil {
		q.news[id] = &news{key: key}
	}
	return *q.news[id]
}

// forget drops what is known of a job that has ended.
func (q *Queue) forget(id protocol.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.news, id)
}

// drop drops what is known of an object that is gone.
func (q *Queue) drop(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.told, key)
	maps.DeleteFunc(q.news, func(_ protocol.JobID, n *news) bool { return n.key == key })
}

// ask submits a job, and with that asks how it stands: the market takes it once.
// With stop it cancels it as well, so that it is cancelled even if it was not
// known. It returns when to ask again.
func (q *Queue) ask(ctx context.Context, s protocol.Submit, stop bool) (again time.Duration, err error) {
	now := q.cfg.Now()
	q.mu.Lock()
	n := q.news[s.Job.ID]
	soon := q.cfg.Every / 6
	due := n.asked.Add(q.cfg.Every)
	if !n.taken || stop { // it may not have been heard
		due = n.asked.Add(soon)
	}
	if n.asked != 0 && n.asked <= now && now < due && n.stop == stop { // or our clock was set back
		q.mu.Unlock()
		return due.Sub(now), nil
	}
	n.asked, n.stop = now, stop
	q.mu.Unlock()
	if stop {
		return soon, q.say(ctx, s, protocol.Cancel{Job: s.Job.ID})
	}
	return soon, q.say(ctx, s)
}

func (q *Queue) say(ctx context.Context, bodies ...protocol.Body) error {
	q.speaking.Lock()
	defer q.speaking.Unlock()
	var ms []protocol.Message
	for _, b := range bodies {
		ms = append(ms, q.mouth.Say(q.cfg.Now(), protocol.Coordinator, b))
	}
	return q.port.Say(ctx, ms...)
}
