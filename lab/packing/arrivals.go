package packing

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
)

// watchDraws is the number of random draws that the published program uses for its
// Kubernetes client before it ranks the nodes (specification §2.4).
const watchDraws = 10

// maxArrivals limits the memory of a sequence.
const maxArrivals = 20_000_000

// A PlacementTrace has nodes and pods, each sorted by name, and the target workload that the
// pods form. Create it with NewPlacementTrace.
type PlacementTrace struct {
	Nodes  []fgd.Node
	Pods   []PodRow
	Target []fgd.Class
	gpus   int64 // of all nodes, in thousandths
}

// popularPercent is the percentage of pods that the target covers (§3).
const popularPercent = 95

// NewPlacementTrace sorts nodes and pods by name and computes the target workload.
func NewPlacementTrace(nodes []fgd.Node, pods []PodRow) *PlacementTrace {
	t := &PlacementTrace{Nodes: slices.Clone(nodes), Pods: slices.Clone(pods)}
	slices.SortStableFunc(t.Nodes, func(a, b fgd.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(t.Pods, func(a, b PodRow) int { return cmp.Compare(a.Name, b.Name) })
	classes := make([]fgd.Class, len(pods))
	for i, p := range t.Pods {
		classes[i] = fgd.Class{Request: p.Request, Count: 1}
	}
	t.Target = fgd.PopularClasses(classes, popularPercent)
	for _, n := range t.Nodes {
		t.gpus += 1000 * int64(n.GPUs)
	}
	return t
}

// DrawArrivals returns the arrival sequence of a seed: the pods shuffled, then repeated
// or removed at random until they request tune times the cluster's GPUs (§2); tune 0
// keeps the trace unchanged. rank orders nodes with equal scores. It is an error if a
// tune cannot be reached.
func (t *PlacementTrace) DrawArrivals(tune float64, seed int64) (sequence []int, rank []int, err error) {
	if !(tune >= 0 && tune <= 100) {
		return nil, nil, fmt.Errorf("packing: tune %v: want 0 to 100", tune)
	}
	// The draws must have the order of the published program: its sequences depend on it.
	r := rand.New(rand.NewSource(seed))
	r.Int()
	sequence = make([]int, len(t.Pods))
	var asked int64
	for i, p := range t.Pods {
		sequence[i] = i
		asked += p.Request.TotalMilli()
	}
	r.Shuffle(len(sequence), func(i, j int) { sequence[i], sequence[j] = sequence[j], sequence[i] })

	goal := tune * float64(t.gpus)
	if tune > 0 && float64(asked) < goal && asked == 0 {
		return nil, nil, fmt.Errorf("packing: no pod requests a GPU, so a load of %v cannot be reached: use tune 0", tune)
	}
	if tune > 0 && float64(asked) < goal {
		for {
			i := r.Intn(len(t.Pods))
			q := t.Pods[i].Request
			if float64(asked+q.Milli) > goal { // the published program adds one device's share here, not that of all devices (§10.2)
				break
			}
			if len(sequence) == maxArrivals {
				return nil, nil, fmt.Errorf("packing: tune %v needs more than %d arrivals: use a lower tune", tune, maxArrivals)
			}
			sequence = append(sequence, i)
			asked += q.TotalMilli()
		}
	} else if tune > 0 {
		for float64(asked) > goal {
			at := r.Intn(len(sequence))
			asked -= t.Pods[sequence[at]].Request.TotalMilli()
			sequence = slices.Delete(sequence, at, at+1)
		}
	}
	for range watchDraws {
		r.Float64()
	}
	return sequence, r.Perm(len(t.Nodes)), nil
}
