package fgd

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxGPUs is the most devices that one node may have (specification §1).
const MaxGPUs = 8

// whole is one device, in thousandths.
const whole = 1000

// A Request is what one job asks of one node (specification §1, §4).
type Request struct {
	CPU    int64 // milli-CPU, >= 0
	Memory int64 // MiB of host memory, >= 0
	GPUs   int   // devices, 0 to MaxGPUs; 0 is CPU-only, and the fields below are ignored
	Milli  int64 // thousandths of each device: 1000 whole; less is a share, and then GPUs is 1
	// GPUMemory is the MiB that the job needs of each device; 0 is not
	// constrained. Nodes that do not model device memory take any.
	GPUMemory int64
	// Models names the models that will do, "A|B" any of them, exactly as
	// nodes spell them. "" is any.
	Models string
}

// Total is the thousandths of a GPU that r takes in all.
func (r Request) Total() int64 { return int64(r.GPUs) * r.Milli }

// most is the largest amount of CPU or memory, so that no sum overflows.
const most = 1 << 48

// plain clears what a CPU-only request does not mean.
func (r Request) plain() Request {
	if r.GPUs == 0 {
		return Request{CPU: r.CPU, Memory: r.Memory}
	}
	return r
}

// check says what is wrong with r, or nil.
func (r Request) check() error {
	switch {
	case r.CPU < 0 || r.Memory < 0 || r.GPUMemory < 0:
		return errors.New("negative amount")
	case r.CPU > most || r.Memory > most || r.GPUMemory > most:
		return errors.New("amount too large")
	case r.GPUs < 0 || r.GPUs > MaxGPUs:
		return fmt.Errorf("%d GPUs, want 0 to %d", r.GPUs, MaxGPUs)
	case r.GPUs > 0 && (r.Milli < 1 || r.Milli > whole):
		return fmt.Errorf("%d thousandths of a GPU, want 1 to %d", r.Milli, whole)
	case r.GPUs > 1 && r.Milli < whole:
		return fmt.Errorf("a share of %d devices, want a share of one", r.GPUs)
	}
	return nil
}

// A Node is what a node has when nothing runs on it.
type Node struct {
	Name      string // for people; the package goes by index
	CPU       int64  // milli-CPU
	Memory    int64  // MiB of host memory
	GPUs      int    // devices, 0 to MaxGPUs
	Model     string // of all its devices; "" matches only requests for any model
	GPUMemory int64  // MiB of each device; 0 is not modelled
}

func (n Node) check() error {
	switch {
	case n.CPU < 0 || n.Memory < 0 || n.GPUMemory < 0:
		return fmt.Errorf("node %q has a negative amount", n.Name)
	case n.CPU > most || n.Memory > most || n.GPUMemory > most:
		return fmt.Errorf("node %q has too large an amount", n.Name)
	case n.GPUs < 0 || n.GPUs > MaxGPUs:
		return fmt.Errorf("node %q has %d GPUs, want 0 to %d", n.Name, n.GPUs, MaxGPUs)
	}
	return nil
}

// Devices are device indexes of one node, as a set of bits.
type Devices uint8

// Count is the number of devices in d.
func (d Devices) Count() int { return bits.OnesCount8(uint8(d)) }

// Has says whether device i is in d.
func (d Devices) Has(i int) bool { return i >= 0 && i < MaxGPUs && d>>i&1 == 1 }

// A Placement is a request and where it runs.
type Placement struct {
	Node    int // as numbered by New and AddNode
	Devices Devices
	Request Request
}

// A Quote is a hypothetical placement.
type Quote struct {
	Placement
	// Fits is false when no node can take the request; the rest is then
	// without meaning.
	Fits bool
	// DeltaF is F after less F before, in thousandths of a GPU, rounded to
	// nearest; negative is a credit: the job fills a gap (METHOD section 2).
	DeltaF int64
	// Score is the node's, as the policy scored it, in thousandths: 500 is an
	// FGD score of 50, which is ΔF = 0.
	Score int
}

// A Policy chooses the node, and of a shared node the device.
type Policy uint8

// The policies. All give equal scores to the lowest rank, and whole devices
// lowest index first.
const (
	FGD            Policy = iota // §6: the published policy
	BestFit                      // §8: least left, CPU and GPU by halves
	DotProd                      // §8: smallest dot product of what is left and what is asked
	GPUPacking                   // §8: used devices first, then used nodes
	GPUClustering                // §8: beside jobs of the same size
	Random                       // §8: any node that fits, drawn from Config.Seed
	LeastAllocated               // Kubernetes' spreading: most left, share of capacity
	MostAllocated                // Kubernetes' packing: least left, share of capacity
	FGDTight                     // FGD, equal scores to the node with the least idle GPU, then by rank
	numPolicies
)

var policyNames = [numPolicies]string{
	FGD: "fgd", BestFit: "bestfit", DotProd: "dotprod", GPUPacking: "gpupacking",
	GPUClustering: "gpuclustering", Random: "random",
	LeastAllocated: "least-allocated", MostAllocated: "most-allocated",
	FGDTight: "fgd-tight",
}

// String is the name that ParsePolicy reads.
func (p Policy) String() string {
	if p < numPolicies {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// Policies is all policies.
func Policies() []Policy {
	out := make([]Policy, numPolicies)
	for p := range out {
		out[p] = Policy(p)
	}
	return out
}

// ParsePolicy reads a policy's name, as String writes it.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("fgd: no policy is named %q; there are %q", name, policyNames)
}

// Config is how a cluster decides. The zero value is the published policy,
// ties to the node named first, and a target that stays as given.
type Config struct {
	Policy Policy
	// Rank[i] is the place of node i among nodes of equal score, lowest
	// first; a permutation. nil is the order of the nodes.
	Rank []int
	// MaxJobs is the most jobs that one node runs; 0 is no limit. The
	// published runs have 1001 (§4).
	MaxJobs int
	// Seed starts Random's draws.
	Seed uint64
	// Reference above 0 makes FGD sum floats in the published order, rounding
	// noise included (§10.1); it is the number of requests that the target was
	// cut from, by which the published program divides first. Slower; for
	// parity only.
	Reference int64
	// Window is the number of latest arrivals that make up the target, and
	// Refresh the number of arrivals after which the target that decides is
	// brought up to them. Window 0 keeps the target as given; Refresh 0 is a
	// sixteenth of Window, at least 1.
	Window, Refresh int
}
