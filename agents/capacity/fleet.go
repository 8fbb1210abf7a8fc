// Package capacity models the capacity of a site: its nodes and GPUs, the jobs that run on them,
// and a calendar of reservations. It answers how a job could run (which GPU model, under which
// power cap, how long and at what power), where it would be placed, when there will be capacity,
// and how many GPUs a placement would leave unusable to other jobs.
//
// The agent keeps it up to date from what it starts and from what the executor reports. Placement
// is decided by agents/fgd and power comes from agents/power; prices and carbon are
// agents/forecast's and not known here.
package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A Node is one machine. Host is the power of everything but its GPUs, Topology where it stands.
type Node struct {
	fgd.Node
	Host     power.Host
	Topology []protocol.Label
}

// Config is what a site consists of. A zero field means its default.
type Config struct {
	Nodes         []Node
	Power         power.Table
	Policy        fgd.Policy // default the published FGD
	ArrivalWindow int        // latest arrivals by which fragmentation is judged; default 1024

	// HeadroomOneIn reserves one of so many large nodes of a pool for jobs that cannot wait; 0:
	// none.
	HeadroomOneIn int

	// PreferAwake places a job on the nodes that it adds least idle energy to; Policy then chooses
	// among these. Without it Policy alone chooses.
	PreferAwake bool
	// WakesAhead says that the executor wakes nodes which a launch names for jobs to come: see WakeAhead.
	WakesAhead bool
	// NoBackfill lets no job use a node before a reservation there, however soon it would end: to measure what
	// that is worth.
	NoBackfill bool
	// NodesSleep says that nodes which the executor reports sleep when they are empty. Nodes of
	// Config.Nodes say so themselves, by their Host.
	NodesSleep bool
}

// A Fleet is one site's nodes and what runs on them. It is not safe for concurrent use.
type Fleet struct {
	cfg        Config
	cluster    *fgd.Cluster
	nodes      []node
	pools      []pool                      // by model
	topology   map[string][]protocol.Label // of nodes that inventories report: see SetTopology
	running    map[protocol.JobID]*Run
	reservedOn map[protocol.JobID]int   // index of the node with a job's reservation; of a gang's, the first
	setsOn     map[protocol.JobID][]int // indexes of all nodes with a gang's reservation
	headroom   []int                    // nodes kept for jobs that cannot wait; nil: choose them at the next use
	awake      awakeRecord
	urgent     []urgentStart // lately, the oldest first
	kept       []keptRoom    // see keepRoomAwake
	ahead      protocol.Time // until when nodes that were woken ahead linger without a job

	indexes  map[shape]*nodeIndex
	indexed  int // size of indexes: see maxIndexed
	changes  changeLog
	version  int // counts changes of runs, reservations and nodes: see noteChange
	profiles profiles
	openings setOpenings
	domains  map[levelAbove]*domainIndex // nil: nodes have changed

	displaced  map[protocol.JobID]displacedReservation // see PutBack
	overrun    time.Duration                           // how much later runs may end than a reservation begins, while it is put back
	starting   protocol.JobID                          // a job with a reservation, while it is started: see fillsHole
	holes      map[protocol.JobID]*holeUse             // of gangs with a reservation
	backfilled protocol.Milli                          // share of such holes that others use, as learned: see learnBackfill

	// Below: scratch of one search.
	skips      skipSets
	addedAwake []addedEnergy
	times      []protocol.Time
	within     []fgd.NodeLimit
	emptiable  []emptiable
	ends       []protocol.Milli
}

// A node is the state of one machine.
type node struct {
	Node
	jobs         []*Run              // by planned end, then id
	reservations []reservation       // by time, not overlapping
	isHeadroom   bool                // in Fleet.headroom
	summary      nodeSummary         // of jobs and reservations; zero: not computed
	emptySince   protocol.Time       // when its last job ended; 0: it never had one
	wakesAt      protocol.Time       // when a job that was placed on it while it slept or woke can start
	idle         protocol.Milliwatts // of the awake node without jobs

	// Below: only for nodes that the executor's inventory reported.
	others        []fgd.Placement // what pods of other schedulers use of it
	unschedulable bool            // takes no new jobs
	leaving       bool            // is removed when its last job has ended
	removed       bool            // no longer exists; addNode may reuse its index
	replacement   *protocol.Node  // what a leaving node becomes
}

// A pool is all nodes with one GPU model, or all without GPUs.
type pool struct {
	model   string
	gpu     power.GPU
	choices []power.Choice
	nodes   []int
	total   protocol.Milli
}

// A RunConfig is a way to run a job: on which GPU model, under which power cap.
type RunConfig struct {
	Model  string // "" for a job without GPUs
	Choice power.Choice
	Run    time.Duration       // on this model under this cap
	Power  protocol.Milliwatts // added to an awake node, without the facility's overhead
}

// A Run is a running job and its placement. That of a gang has a part for its pods on each node.
type Run struct {
	Job       protocol.Job
	RunConfig RunConfig
	Start     protocol.Time // when its node is awake
	End       protocol.Time // planned
	Node      string        // of a gang, the first
	placement fgd.Placement

	parts []*Run // of a gang: what it is on its nodes

	isReplica bool // of a service: it has no planned end, whatever End says

	// Below: only for a part.
	component, pods int
	isFurtherPart   bool // not the first
}

// DeviceIndexes returns the indexes of the GPUs that r uses on its node, in order; of a gang, see Places.
func (r *Run) DeviceIndexes() []int {
	var out []int
	for i := range fgd.MaxGPUs {
		if r.onNodes()[0].placement.Devices.Has(i) {
			out = append(out, i)
		}
	}
	return out
}

// New returns a fleet on which nothing runs. A node whose GPU model is not in the power table is
// an error: the energy of a job there could not be bid.
func New(cfg Config) (*Fleet, error) {
	if cfg.ArrivalWindow == 0 {
		cfg.ArrivalWindow = 1024
	}
	f := &Fleet{cfg: cfg, running: make(map[protocol.JobID]*Run), reservedOn: make(map[protocol.JobID]int), setsOn: make(map[protocol.JobID][]int), holes: make(map[protocol.JobID]*holeUse), displaced: make(map[protocol.JobID]displacedReservation)}
	plain := make([]fgd.Node, len(cfg.Nodes))
	// Nodes without GPUs form one pool, whatever model they name.
	for i, n := range cfg.Nodes {
		if n.GPUs == 0 {
			n.Model = ""
		}
		if _, ok := cfg.Power.LookupModel(n.Model); !ok && n.GPUs > 0 {
			return nil, fmt.Errorf("capacity: node %s: GPU model %q is not in the power table: add it there", n.Name, n.Model)
		}
		plain[i] = n.Node
		f.nodes = append(f.nodes, node{Node: n})
	}
	f.rebuildPools()
	var err error
	f.cluster, err = fgd.New(fgd.Config{Policy: cfg.Policy, Window: cfg.ArrivalWindow}, plain, nil)
	if err != nil {
		return nil, fmt.Errorf("capacity: %w", err)
	}
	return f, nil
}

// PoolTotals returns the totals of each pool, sorted by GPU model.
func (f *Fleet) PoolTotals() []protocol.Pool {
	out := make([]protocol.Pool, len(f.pools))
	for i, p := range f.pools {
		out[i] = protocol.Pool{Model: p.model, Nodes: len(p.nodes)}
		for _, n := range p.nodes {
			out[i].GPUs += f.nodes[n].GPUs
			out[i].CPU += protocol.Milli(f.nodes[n].CPU)
			out[i].Memory += protocol.MiB(f.nodes[n].Memory)
		}
	}
	return out
}

// ObserveArrival records the arrival of a job: fragmentation is judged by the jobs that arrive. A gang
// counts as a job of each of its components.
func (f *Fleet) ObserveArrival(j protocol.Job) {
	if !j.IsGang() {
		f.cluster.ObserveArrival(fgdRequest(j, ""))
	}
	for i := range j.Pods {
		f.cluster.ObserveArrival(fgdRequest(j.PodsOf(i, 1), ""))
	}
}

// fgdRequest returns a job as placement sees it, on one GPU model, or on any that the job allows.
func fgdRequest(j protocol.Job, model string) fgd.Request {
	r := fgd.Request{CPU: int64(j.CPU), Memory: int64(j.Memory), GPUs: j.GPUs, Milli: int64(j.Share), GPUMemory: int64(j.GPUMemory), Models: model}
	if model == "" && len(j.Models) > 0 {
		r.Models = strings.Join(j.Models, "|")
	}
	return r
}

// noteChange voids what was computed of runs and reservations, of which those of n change; nil: it is
// the nodes that change. Each change calls it.
func (f *Fleet) noteChange(n *node) {
	f.headroom = nil
	f.version++
	if n != nil {
		n.summary = nodeSummary{}
	}
}

// RunOf returns the run of a job, or nil.
func (f *Fleet) RunOf(id protocol.JobID) *Run { return f.running[id] }

// StartRun places a job and uses its capacity until EndRun. Its planned duration is the time that a
// sleeping node takes to wake, the time to move its input, then w.Run. If w has no model, the placement policy chooses one, and the run
// says which. False if there is no capacity now, or the job runs already.
//
// A node with reservations takes a job only if both fit. Only if the job's own reservation is
// overdue and it finds no other capacity, later reservations give way: those that the run overlaps
// are dropped.
func (f *Fleet) StartRun(now protocol.Time, j protocol.Job, w RunConfig, move time.Duration) (*Run, bool) {
	if f.running[j.ID] != nil {
		return nil, false
	}
	if j.IsGang() {
		return f.startGang(now, j, w, move)
	}
	// The job's own reservation is capacity for it; it comes back if the job does not start.
	due, kept := f.ReservedFrom(j.ID)
	own := f.reservedNode(j.ID)
	undo := f.CancelReservation(j.ID)
	if kept {
		f.starting = j.ID
		defer func() { f.starting = "" }()
	}
	var p fgd.Placement
	ok := f.tryWithReservations(now, &j, w.Model, w.Run+move, own, func(skip fgd.NodeSet) (ok bool) {
		p, ok = f.cluster.PlaceExcept(fgdRequest(j, w.Model), skip)
		return ok
	})
	// Due: later reservations of its node give way; overdue: those of other nodes, too.
	if !ok && kept && due <= now {
		p, ok = f.cluster.PlaceExcept(fgdRequest(j, w.Model), f.nodesReservedBy(due, own, due.Add(reservationGrace) <= now))
	}
	if !ok {
		undo()
		return nil, false
	}
	n := &f.nodes[p.Node]
	// The policy chose the node, and with it the GPU model.
	if w.Model == "" && j.GPUs > 0 {
		w = f.runConfigFor(f.poolOf(n.Model), &j, power.Choice{})
	}
	r := &Run{Job: j, RunConfig: w, Start: now.Add(n.wakeTime(now)), Node: n.Name, placement: p}
	r.End = r.Start.Add(w.Run + move)
	n.wakesAt = max(n.wakesAt, r.Start)
	f.recordAwake(now, n, &r.Job, r.End)
	f.running[j.ID] = r
	f.noteBackfill(n, r)
	f.recordRun(r.Start, n, r)
	return r, true
}

// reservationGrace is how far overdue a job's reservation must be before the job may use capacity
// of other nodes that is reserved for others: the job before it may end a moment late.
const reservationGrace = time.Minute

// nodesReservedBy returns the nodes with a reservation that begins at or before a time, and without
// others all nodes but own.
func (f *Fleet) nodesReservedBy(by protocol.Time, own int, others bool) (nodes fgd.NodeSet) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.unschedulable && !n.removed && (!others && i != own || slices.ContainsFunc(n.reservations, func(k reservation) bool { return k.from <= by })) {
			nodes = nodes.Add(i)
		}
	}
	return nodes
}

// EndRun frees the capacity of a job that has ended. It reports false for a job that does not run
// here.
func (f *Fleet) EndRun(now protocol.Time, id protocol.JobID) bool {
	r := f.running[id]
	if r == nil {
		return false
	}
	delete(f.running, id)
	ok := true
	for _, p := range r.onNodes() {
		ok = f.leaveNode(now, p) && ok
	}
	return ok
}

// leaveNode frees the capacity of a run on its node.
func (f *Fleet) leaveNode(now protocol.Time, r *Run) bool {
	n := &f.nodes[r.placement.Node]
	f.noteChange(n)
	n.jobs = slices.DeleteFunc(n.jobs, func(x *Run) bool { return x == r })
	if len(n.jobs) == 0 {
		n.emptySince = now
	}
	ok := f.cluster.ReleasePlacement(r.placement) == nil
	f.changes.appendChange(r.placement.Node)
	if n.leaving {
		f.removeIfDrained(r.placement.Node)
		f.rebuildPools()
	}
	return ok
}

// FragmentedShare returns the share of idle GPUs that typical jobs cannot use, in thousandths (FGD
// paper, section 9: frag ratio).
func (f *Fleet) FragmentedShare() protocol.Milli {
	num, den := f.cluster.Fragmentation()
	// num/den is F in thousandths of a GPU.
	idle := f.cluster.IdleMilli()
	if den == 0 || idle == 0 {
		return 0
	}
	return protocol.Milli(float64(num) * 1000 / (float64(den) * float64(idle)))
}

// IdleGPUs returns the idle GPUs, and those of them that typical jobs cannot use, in thousandths
// of a GPU (FGD paper, section 5: F).
func (f *Fleet) IdleGPUs() (all, useless protocol.Milli) {
	num, den := f.cluster.Fragmentation()
	all = protocol.Milli(f.cluster.IdleMilli())
	return all, min(protocol.Milli(num/den), all)
}

// poolOf returns the pool of a GPU model, or nil.
func (f *Fleet) poolOf(model string) *pool {
	i, ok := slices.BinarySearchFunc(f.pools, model, func(p pool, m string) int { return strings.Compare(p.model, m) })
	if !ok {
		return nil
	}
	return &f.pools[i]
}
