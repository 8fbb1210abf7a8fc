// Package capacity is the body of a site as its mind knows it: nodes, GPUs and the
// jobs on them. It says how a job could run (which GPU model, under which cap,
// how long and at what draw), where it would land, when there will be room, and
// what a placement would leave useless to others.
//
// It is a model, kept up by what the agent starts and by what it hears has
// ended. Where a job lands is package fgd's to say; what devices draw, package
// power's; prices and carbon are the grid's and not known here.
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

// A Node is one machine. Host is what it draws beside its GPUs.
type Node struct {
	fgd.Node
	Host power.Host
}

// Config is what a site is made of. The zero of a field is its default.
type Config struct {
	Nodes         []Node
	Power         power.Table
	Policy        fgd.Policy // default the published FGD
	ArrivalWindow int        // latest arrivals that fragments are judged by; default 1024

	// HeadroomOneIn is of how many large nodes of a pool one is for jobs that cannot
	// wait; 0: none is.
	HeadroomOneIn int
}

// A Fleet is one site's nodes and what runs on them.
type Fleet struct {
	cfg        Config
	cluster    *fgd.Cluster
	nodes      []node
	pools      []pool // by model
	running    map[protocol.JobID]*Run
	reservedOn map[protocol.JobID]int // node that is set aside for a job
	headroom   []int                  // nodes on standby; nil: to be chosen anew
	skip       fgd.NodeSet            // scratch of full
}

// A node is the state of one machine.
type node struct {
	Node
	jobs         []*Run        // by planned end, then id
	reservations []reservation // by time, not overlapping
	isHeadroom   bool          // on standby, when that was last chosen

	// Of a node that was surveyed.
	others        []fgd.Placement // what others hold of it
	unschedulable bool            // takes nothing new
	leaving       bool            // goes when its last job has ended
	removed       bool            // is here no more; its place in the list is free
	replacement   *protocol.Node  // what it has become
}

// A pool is all nodes with one GPU model, or all without.
type pool struct {
	model   string
	gpu     power.GPU
	choices []power.Choice
	nodes   []int
	total   protocol.Milli
}

// A RunConfig is how a job could run: on which model, under which cap.
type RunConfig struct {
	Model  string // "" for a job without GPUs
	Choice power.Choice
	Run    time.Duration
	Power  protocol.Milliwatts // added to an awake node, before the facility's share
}

// A Run is a job in its place.
type Run struct {
	Job       protocol.Job
	RunConfig RunConfig
	Start     protocol.Time
	End       protocol.Time // planned
	Node      string
	placement fgd.Placement
}

// DeviceIndexes returns the devices of r's node that it holds, in order.
func (r *Run) DeviceIndexes() []int {
	var out []int
	for i := range fgd.MaxGPUs {
		if r.placement.Devices.Has(i) {
			out = append(out, i)
		}
	}
	return out
}

// New returns a fleet on which nothing runs. A node whose GPU model has no
// power figures is an error: its draw could not be bid.
func New(cfg Config) (*Fleet, error) {
	if cfg.ArrivalWindow == 0 {
		cfg.ArrivalWindow = 1024
	}
	f := &Fleet{cfg: cfg, running: make(map[protocol.JobID]*Run), reservedOn: make(map[protocol.JobID]int)}
	plain := make([]fgd.Node, len(cfg.Nodes))
	for i, n := range cfg.Nodes {
		if n.GPUs == 0 {
			n.Model = ""
		}
		if _, ok := cfg.Power.LookupModel(n.Model); !ok && n.GPUs > 0 {
			return nil, fmt.Errorf("fleet: node %s has GPUs of model %q, of which no power is known; add the model to the power table", n.Name, n.Model)
		}
		plain[i] = n.Node
		f.nodes = append(f.nodes, node{Node: n})
	}
	f.rebuildPools()
	var err error
	f.cluster, err = fgd.New(fgd.Config{Policy: cfg.Policy, Window: cfg.ArrivalWindow}, plain, nil)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return f, nil
}

// PoolTotals says what the fleet consists of, by model.
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

// ObserveArrival takes in that a job arrived: fragments are judged by what arrives.
func (f *Fleet) ObserveArrival(j protocol.Job) { f.cluster.ObserveArrival(fgdRequest(j, "")) }

// fgdRequest is a job as placement sees it, on one model or on any that will do.
func fgdRequest(j protocol.Job, model string) fgd.Request {
	r := fgd.Request{CPU: int64(j.CPU), Memory: int64(j.Memory), GPUs: j.GPUs, Milli: int64(j.Share), GPUMemory: int64(j.GPUMemory), Models: model}
	if model == "" && len(j.Models) > 0 {
		r.Models = strings.Join(j.Models, "|")
	}
	return r
}

// RunOf returns the run of a job, or nil.
func (f *Fleet) RunOf(id protocol.JobID) *Run { return f.running[id] }

// StartRun places a job and keeps its room until End. It runs as long as the way
// says, and before that takes the time to move its input. A way without a model
// lets the placement policy choose one; the run then says which. It reports
// false if there is no room now, or the job runs already.
//
// Nodes that are set aside for others are closed to a job that would not be done
// in time. Only if its own is due and there is no other room, do those who were
// promised theirs for later give way: they lose what the run overlaps.
func (f *Fleet) StartRun(now protocol.Time, j protocol.Job, w RunConfig, move time.Duration) (*Run, bool) {
	if f.running[j.ID] != nil {
		return nil, false
	}
	due, kept := f.ReservedFrom(j.ID)
	own := f.reservedNode(j.ID)
	again := f.CancelReservation(j.ID)
	var p fgd.Placement
	ok := f.tryWithReservations(now, j, w.Run+move, own, func(skip fgd.NodeSet) (ok bool) {
		p, ok = f.cluster.PlaceExcept(fgdRequest(j, w.Model), skip)
		return ok
	})
	if !ok && kept && due.Add(reservationGrace) <= now {
		p, ok = f.cluster.PlaceExcept(fgdRequest(j, w.Model), f.nodesReservedBy(due))
	}
	if !ok {
		again()
		return nil, false
	}
	n := &f.nodes[p.Node]
	if w.Model == "" && j.GPUs > 0 {
		w = f.runConfigFor(f.poolOf(n.Model), j, power.Choice{})
	}
	r := &Run{Job: j, RunConfig: w, Start: now, End: now.Add(w.Run + move), Node: n.Name, placement: p}
	f.recordRun(n, r)
	return r, true
}

// reservationGrace is how late what was kept for a job may be, before the job takes what
// is kept for others. The end of the job before it may be heard a moment late.
const reservationGrace = time.Minute

// nodesReservedBy returns the nodes on which something is kept from a time on or before.
func (f *Fleet) nodesReservedBy(by protocol.Time) (nodes fgd.NodeSet) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.unschedulable && !n.removed && slices.ContainsFunc(n.reservations, func(k reservation) bool { return k.from <= by }) {
			nodes = nodes.Add(i)
		}
	}
	return nodes
}

// EndRun gives back the room of a job. It reports false for a job that is not here.
func (f *Fleet) EndRun(id protocol.JobID) bool {
	r := f.running[id]
	if r == nil {
		return false
	}
	delete(f.running, id)
	f.headroom = nil
	n := &f.nodes[r.placement.Node]
	n.jobs = slices.DeleteFunc(n.jobs, func(x *Run) bool { return x == r })
	ok := f.cluster.ReleasePlacement(r.placement) == nil
	if n.leaving {
		f.removeIfDrained(r.placement.Node)
		f.rebuildPools()
	}
	return ok
}

// FragmentedShare returns the share of idle GPUs that the usual jobs cannot use, in
// thousandths (FGD, section 9: frag ratio).
func (f *Fleet) FragmentedShare() protocol.Milli {
	num, den := f.cluster.Fragmentation()
	idle := f.cluster.IdleMilli()
	if den == 0 || idle == 0 {
		return 0
	}
	return protocol.Milli(float64(num) * 1000 / (float64(den) * float64(idle)))
}

// IdleGPUs returns the GPUs that nothing holds, and those of them that the usual jobs
// cannot use, in thousandths of a GPU (FGD, section 5: F).
func (f *Fleet) IdleGPUs() (all, useless protocol.Milli) {
	num, den := f.cluster.Fragmentation()
	all = protocol.Milli(f.cluster.IdleMilli())
	return all, min(protocol.Milli(num/den), all)
}

func (f *Fleet) poolOf(model string) *pool {
	i, ok := slices.BinarySearchFunc(f.pools, model, func(p pool, m string) int { return strings.Compare(p.model, m) })
	if !ok {
		return nil
	}
	return &f.pools[i]
}
