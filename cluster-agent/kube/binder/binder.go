// Package binder schedules the pods of a site's own runs: it binds a pod to the node
// and the devices that its run was awarded, by the pod's UID, or not at all. For each
// mechanism of GPU sharing it writes which devices were chosen to where the cluster
// expects it: the pod's resource claim, or annotations of the binding.
//
// It makes no placement decisions of its own: the award names node and devices, and
// package executor decides when the pods of a run are bound.
package binder

import (
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// Config says how a binder reaches its cluster.
type Config struct {
	Client kubernetes.Interface
	Class  string // device class of resource claims
	Now    func() protocol.Time
}

// A Binder binds pods. It is safe for concurrent use, but each Run must be used by one
// goroutine at a time.
type Binder struct {
	cfg Config
	inv *inventory.Inventory

	claimMu       sync.Mutex
	pendingClaims map[types.UID]*resourcev1.ResourceClaim // allocations that the informer cache does not show yet; guarded by claimMu
}

// New returns a binder for the cluster that inv reads.
func New(cfg Config, inv *inventory.Inventory) *Binder {
	return &Binder{cfg: cfg, inv: inv, pendingClaims: make(map[types.UID]*resourcev1.ResourceClaim)}
}

// A Run is one epoch of a job whose pods are bound one after the other. In its zero
// value no pod has devices yet.
type Run struct {
	Name      string // as kube.RunName makes it
	Namespace string
	Launch    protocol.Launch // of a gang: what it has at one of its places

	devicesByPod map[types.UID][]int // chosen devices, valid before the cache shows them
}

// DevicesOf returns the device indexes that a pod of the run was given; nil if none yet.
func (r *Run) DevicesOf(pod types.UID) []int { return r.devicesByPod[pod] }
