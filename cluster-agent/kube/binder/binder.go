// Package binder is the scheduler of a site's own pods: it binds a pod to the node
// and the devices that its run was sold, by its UID, or not at all. By each way of
// sharing GPUs it writes down which devices were chosen, where the cluster looks
// for that: in the pod's resource claim, or in annotations of the binding.
//
// Which node and devices those are was decided before; when a run's pods are bound
// is the executor's to say.
package binder

import (
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// Config is what a binder needs to know.
type Config struct {
	Client kubernetes.Interface
	Class  string // device class of claims
	Now    func() protocol.Time
}

// A Binder binds pods. It may be used by several goroutines, but each run by one at
// a time.
type Binder struct {
	cfg Config
	inv *inventory.Inventory

	giving  sync.Mutex
	written map[types.UID]*resourcev1.ResourceClaim // allocated here, and not seen so yet
}

// New returns a binder for the cluster of an inventory.
func New(cfg Config, inv *inventory.Inventory) *Binder {
	return &Binder{cfg: cfg, inv: inv, written: make(map[types.UID]*resourcev1.ResourceClaim)}
}

// A Run is one epoch of a job, whose pods are bound one after the other. The zero
// of what is not exported is a run of which nothing is bound yet.
type Run struct {
	Name      string // as kube.RunName makes it
	Namespace string
	Launch    protocol.Launch

	given map[types.UID][]int // devices of its pods, before the cluster says so
}

// DevicesOf returns which devices a pod of the run was given; nil if none yet.
func (r *Run) DevicesOf(pod types.UID) []int { return r.given[pod] }
