package fgd

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxGPUs is the largest number of devices of one node (specification §1). A
// Devices set has one bit for each.
const MaxGPUs = 8

// whole is one device, in thousandths.
const whole = 1000

// A Request is what one job asks for on one node (specification §1, §4).
type Request struct {
	CPU    int64 // milli-CPU, >= 0
	Memory int64 // MiB of host memory, >= 0
	GPUs   int   // devices, 0 to MaxGPUs; 0 is CPU-only, and the fields below are ignored
	Milli  int64 // thousandths of each device: 1000 whole; less is a share, and then GPUs is 1
	// GPUMemory is the MiB that the job needs on each device; 0 means no
	// constraint. A node that does not model device memory accepts any value.
	GPUMemory int64
	// Models lists the acceptable GPU models, separated by "|" and spelled
	// exactly as nodes spell them. "" accepts any model.
	Models string
}

// TotalMilli returns the thousandths of a GPU that r takes over all its devices.
func (r Request) TotalMilli() int64 { return int64(r.GPUs) * r.Milli }

// maxAmount bounds an amount of CPU or memory, so that sums over a cluster fit into
// an int64.
const maxAmount = 1 << 48

// normalizedRequest clears the GPU fields of a CPU-only request, so that equal requests
// compare equal and share one class.
func (r Request) normalizedRequest() Request {
	if r.GPUs == 0 {
		return Request{CPU: r.CPU, Memory: r.Memory}
	}
	return r
}

// validateRequest returns an error that states what is wrong with r, or nil.
func (r Request) validateRequest() error {
	switch {
	case r.CPU < 0 || r.Memory < 0 || r.GPUMemory < 0:
		return errors.New("negative amount")
	case r.CPU > maxAmount || r.Memory > maxAmount || r.GPUMemory > maxAmount:
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

// A Node is the capacity of a node: what it has when nothing runs on it.
type Node struct {
	Name      string // for error texts only; the package addresses nodes by number
	CPU       int64  // milli-CPU
	Memory    int64  // MiB of host memory
	GPUs      int    // devices, 0 to MaxGPUs
	Model     string // of all its devices; "" matches only requests for any model
	GPUMemory int64  // MiB of each device; 0: the node does not model device memory
}

func (n Node) validateNode() error {
	switch {
	case n.CPU < 0 || n.Memory < 0 || n.GPUMemory < 0:
		return fmt.Errorf("node %q has a negative amount", n.Name)
	case n.CPU > maxAmount || n.Memory > maxAmount || n.GPUMemory > maxAmount:
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

// Has reports whether d contains device i.
func (d Devices) Has(i int) bool { return i >= 0 && i < MaxGPUs && d>>i&1 == 1 }

// A Placement is a request and the devices that serve it.
type Placement struct {
	Node    int // node number, as New and AddNode assign it
	Devices Devices
	Request Request
}

// A Quote is a hypothetical placement: where a request would go.
type Quote struct {
	Placement
	// Fits is false when no node can take the request; the other fields then
	// have no meaning.
	Fits bool
	// DeltaF is F after the placement minus F before it, in thousandths of a
	// GPU, rounded to the nearest; negative: the job fills a gap (docs/method.md,
	// section 2).
	DeltaF int64
	// Score is the score that the policy gave the node, in thousandths of its
	// scale: 500 is an FGD score of 50, which means ΔF = 0.
	Score int
}

// A Policy chooses the node and, when a share goes to a node, the device.
type Policy uint8

// The policies. Each gives equal scores to the node of lowest rank, and takes
// whole devices in ascending order of index.
const (
	FGD            Policy = iota // §6: the published policy
	BestFit                      // §8: least left, CPU and GPU by halves
	DotProd                      // §8: smallest dot product of free and requested amounts
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

// String returns the name that [ParsePolicy] reads.
func (p Policy) String() string {
	if p < numPolicies {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// AllPolicies returns all policies in ascending order.
func AllPolicies() []Policy {
	out := make([]Policy, numPolicies)
	for p := range out {
		out[p] = Policy(p)
	}
	return out
}

// ParsePolicy returns the policy of a name as [Policy.String] writes it. The
// error lists the names that exist.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("fgd: no policy is named %q; there are %q", name, policyNames)
}

// Config sets how a cluster decides. The zero value is the published policy
// with ties broken by node order and a fixed target.
type Config struct {
	Policy Policy
	// Rank[i] is the position of node i among nodes of equal score, lowest
	// first. It must be a permutation; nil means the order of the nodes.
	Rank []int
	// MaxJobs is the largest number of jobs on one node; 0 is no limit. The
	// published runs use 1001 (§4).
	MaxJobs int
	// Seed is the start of the pseudo-random sequence of policy Random.
	Seed uint64
	// Reference above 0 makes FGD sum floats in the published order, rounding
	// noise included (§10.1). Its value is the number of requests that the
	// target was cut from, because the published program divides by it first.
	// It is slower; use it only to compare with the published program.
	Reference int64
	// Window is the number of latest arrivals that make up the target, and
	// Refresh the number of arrivals between two updates of the target. Window
	// 0 keeps the target as given to New; Refresh 0 is a sixteenth of Window,
	// at least 1.
	Window, Refresh int
}
