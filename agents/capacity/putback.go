package capacity

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A displacedReservation is where a job had a reservation that dropInfeasible dropped; of a gang, on all its nodes.
type displacedReservation struct {
	nodes []int
	names []string // of these nodes: a removed node's index may be another's by now
	keeps []reservation
	gang  bool
	hole  *holeUse
}

// displace cancels the reservation of a job, and remembers it for PutBack.
func (f *Fleet) displace(id protocol.JobID) {
	first, nodes := f.reservedOn[id], f.setsOn[id]
	d := displacedReservation{nodes: nodes, gang: nodes != nil, hole: f.holes[id]}
	if !d.gang {
		d.nodes = []int{first}
	}
	for _, i := range d.nodes {
		n := &f.nodes[i]
		d.names = append(d.names, n.Name)
		d.keeps = append(d.keeps, n.reservations[slices.IndexFunc(n.reservations, func(k reservation) bool { return k.job.ID == id })])
	}
	f.CancelReservation(id)
	f.displaced[id] = d
}

// PutBack restores the reservation of a job that was dropped since the last ForgetDisplaced, although runs
// on its nodes last up to reservationGrace into it: the job starts late then. False if they last longer, or if a
// reservation of another job is in the way.
func (f *Fleet) PutBack(now protocol.Time, id protocol.JobID) bool {
	d, known := f.displaced[id]
	if _, kept := f.reservedOn[id]; !known || kept {
		return false
	}
	f.overrun = reservationGrace
	defer func() { f.overrun = 0 }()
	for x, i := range d.nodes {
		n, k := &f.nodes[i], &d.keeps[x]
		if n.Name != d.names[x] || n.removed || n.unschedulable || !f.hasRoomThroughout(k.beforeItBegins(now), i, &k.job, k.from, k.until.Sub(k.from), nil) {
			return false
		}
	}
	f.reservedOn[id] = d.nodes[0]
	if d.gang {
		f.setsOn[id] = d.nodes
	}
	if d.hole != nil {
		f.holes[id] = d.hole
	}
	for x, i := range d.nodes {
		f.insertReservation(i, d.keeps[x])
		f.noteChange(&f.nodes[i])
	}
	return true
}

// ForgetDisplaced forgets the reservations that were dropped.
func (f *Fleet) ForgetDisplaced() { clear(f.displaced) }
