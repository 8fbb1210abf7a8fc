package binder

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// ClaimName is the name of the GPU claim within a pod, and of the request within the
// claim.
const ClaimName = "gpu"

// TemplateName returns the name of the claim template of a run, or of a component of a
// gang, for pods with n devices each. The number is part of the name, so that
// claimedDeviceCount can read it from a pod.
func TemplateName(of string, n int64) string { return of + "-g" + strconv.FormatInt(n, 10) }

// claimedDeviceCount returns for how many devices the claim of a pod of ours is, by
// the name of its template.
func claimedDeviceCount(p *corev1.Pod) int {
	for _, c := range p.Spec.ResourceClaims {
		if c.Name == ClaimName && c.ResourceClaimTemplateName != nil {
			_, text, _ := cutAtLast(*c.ResourceClaimTemplateName, "-g")
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 0
}

// cutAtLast is like strings.Cut, but at the last separator: a run's name may contain it.
func cutAtLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// CreateClaimTemplates creates claim templates of a run, whose names are those of
// TemplateName. The run's object u owns them, so that they are deleted together with
// it.
func (b *Binder) CreateClaimTemplates(ctx context.Context, r *Run, u *unstructured.Unstructured, names []string) error {
	for _, name := range names {
		_, text, _ := cutAtLast(name, "-g")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("kube: claim template %q: want %s-gN: %w", name, r.Name, err)
		}
		_, err = b.cfg.Client.ResourceV1().ResourceClaimTemplates(r.Namespace).Create(ctx, b.buildClaimTemplate(r, u, name, n), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// buildClaimTemplate returns a claim template for n devices, or for n shares of devices: a
// share requests thousandths of a device and, if the job says so, its memory.
func (b *Binder) buildClaimTemplate(r *Run, u *unstructured.Unstructured, name string, n int64) *resourcev1.ResourceClaimTemplate {
	req := &resourcev1.ExactDeviceRequest{DeviceClassName: b.cfg.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}
	if j := r.Launch.Job; j.Share < 1000 {
		req.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
			inventory.MilliCapacity: *resource.NewQuantity(int64(j.Share), resource.DecimalSI),
		}}
		if j.GPUMemory > 0 {
			req.Capacity.Requests[inventory.MemoryCapacity] = *resource.NewQuantity(int64(j.GPUMemory)<<20, resource.BinarySI)
		}
	}
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, Labels: map[string]string{kube.LabelSite: b.inv.Site, kube.LabelRun: r.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: u.GetUID()}},
		},
		Spec: resourcev1.ResourceClaimTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kube.LabelSite: b.inv.Site, kube.LabelRun: r.Name}},
			Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: ClaimName, Exactly: req}}}},
		},
	}
}

// allocateDeviceClaim writes into the status of a pod's claim which devices it gets,
// as the Kubernetes scheduler would, and returns true when that is done. It returns
// false while the claim does not exist yet; refused says why the run's claim can never
// be met.
func (b *Binder) allocateDeviceClaim(ctx context.Context, r *Run, p *corev1.Pod, devices []int) (ready bool, refused *protocol.Reason, err error) {
	// The claim that its controller created for this pod.
	name := ""
	for _, s := range p.Status.ResourceClaimStatuses {
		if s.Name == ClaimName && s.ResourceClaimName != nil {
			name = *s.ResourceClaimName
		}
	}
	o, ok, _ := b.inv.ClaimCache.GetByKey(p.Namespace + "/" + name)
	if name == "" || !ok {
		return false, nil, nil // its controller will create it, and that event triggers a reconcile
	}
	claim := o.(*resourcev1.ResourceClaim).DeepCopy()
	// Allocated before, by us: there is nothing to do.
	if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 1 && claim.Status.ReservedFor[0].UID == p.UID {
		return true, nil, nil
	}
	results, err := b.allocationResults(r, claim, devices)
	if err != nil {
		return false, refusal(protocol.TakenOver, err.Error()), nil
	}
	// Reserve first and write then: see reserveForClaim.
	if full := b.reserveForClaim(r.Launch.Node, claim, results); full != "" {
		return false, nil, fmt.Errorf("device %s is still allocated to a claim of an ended job", full)
	}
	// After a failed write the reservation is given up; a retry makes it anew.
	if claim, err = b.writeClaimAllocation(ctx, r, p, claim, results); err != nil {
		b.claimMu.Lock()
		delete(b.pendingClaims, claim.UID)
		b.claimMu.Unlock()
		return false, nil, err
	}
	b.claimMu.Lock()
	b.pendingClaims[claim.UID] = claim
	b.claimMu.Unlock()
	return true, nil, nil
}

// reserveForClaim records a claim's allocation before it is written, or returns the
// device that lacks the capacity now. Without that, two pods that are bound
// concurrently might be given the same capacity.
func (b *Binder) reserveForClaim(node string, claim *resourcev1.ResourceClaim, results []resourcev1.DeviceRequestAllocationResult) string {
	b.claimMu.Lock()
	defer b.claimMu.Unlock()
	full := b.overcommittedDevice(node, claim, results)
	if full == "" {
		planned := claim.DeepCopy()
		planned.ResourceVersion = "" // not written yet: see overcommittedDevice
		planned.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: results}}
		b.pendingClaims[claim.UID] = planned
	}
	return full
}

// writeClaimAllocation writes a claim's allocation and returns the claim as stored, or
// with an error the claim as it was before the failed write. The finalizer is set
// first: it keeps an allocated claim from being deleted before its devices are
// released.
func (b *Binder) writeClaimAllocation(ctx context.Context, r *Run, p *corev1.Pod, claim *resourcev1.ResourceClaim, results []resourcev1.DeviceRequestAllocationResult) (*resourcev1.ResourceClaim, error) {
	api := b.cfg.Client.ResourceV1().ResourceClaims(p.Namespace)
	if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
		kept, err := api.Update(ctx, claim, metav1.UpdateOptions{})
		if err != nil {
			return claim, err
		}
		claim = kept
	}
	only := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{r.Launch.Node}}
	claim.Status.Allocation = &resourcev1.AllocationResult{
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{only}}}},
		Devices:      resourcev1.DeviceAllocationResult{Results: results},
	}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	done, err := api.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return claim, err
	}
	return done, nil
}

// overcommittedDevice returns a device that lacks the capacity for what results take
// of it, in addition to all other claims, or "". A claim whose pod has ended holds its
// devices until the claim controller deallocates it. The caller holds b.claimMu.
func (b *Binder) overcommittedDevice(node string, claim *resourcev1.ResourceClaim, results []resourcev1.DeviceRequestAllocationResult) string {
	for uid, c := range b.pendingClaims { // drop what the cache shows by now, or what was deleted
		o, ok, _ := b.inv.ClaimCache.GetByKey(c.Namespace + "/" + c.Name)
		if !ok && c.ResourceVersion != "" || ok && o.(*resourcev1.ResourceClaim).UID != uid || ok && seenIsCurrent(o.(*resourcev1.ResourceClaim), c) {
			delete(b.pendingClaims, uid)
		}
	}
	// Sum what all other claims hold: as written by us where that is newer than the cache.
	held := make(map[string]int64)
	add := func(c *resourcev1.ResourceClaim) {
		if c.UID == claim.UID || c.Status.Allocation == nil {
			return
		}
		for _, x := range c.Status.Allocation.Devices.Results {
			held[x.Pool+"/"+x.Device] += inventory.ClaimedMilli(x)
		}
	}
	list, _ := b.inv.ClaimCache.ByIndex(inventory.ByNode, node)
	for _, o := range list {
		if c := o.(*resourcev1.ResourceClaim); b.pendingClaims[c.UID] == nil {
			add(c)
		}
	}
	for _, c := range b.pendingClaims {
		add(c)
	}
	// A device has 1000 thousandths, which all claims share.
	for _, x := range results {
		if held[x.Pool+"/"+x.Device]+inventory.ClaimedMilli(x) > 1000 {
			return x.Device
		}
	}
	return ""
}

// seenIsCurrent reports whether a claim from the cache is at least as new as the one
// that was written. API servers up to now issue resource versions as increasing
// numbers; if one is no number, the written claim is kept.
func seenIsCurrent(seen, written *resourcev1.ResourceClaim) bool {
	s, err1 := strconv.ParseUint(seen.ResourceVersion, 10, 64)
	w, err2 := strconv.ParseUint(written.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && s >= w
}

// allocationResults returns the allocation for a claim: its devices, and for devices
// that can be shared how much of each. The share's id is derived from the claim's UID
// and the device, so that a retry writes the same.
func (b *Binder) allocationResults(r *Run, claim *resourcev1.ResourceClaim, indexes []int) (all []resourcev1.DeviceRequestAllocationResult, err error) {
	list := b.inv.DevicesOfNode(r.Launch.Node)
	for _, i := range indexes {
		if i >= len(list) {
			return nil, fmt.Errorf("node %s publishes %d devices, so device index %d does not exist", r.Launch.Node, len(list), i)
		}
		d := list[i]
		x := resourcev1.DeviceRequestAllocationResult{Request: ClaimName, Driver: b.inv.Driver, Pool: d.Pool, Device: d.Name}
		if d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations {
			sum := sha256.Sum256([]byte(string(claim.UID) + "/" + d.Name))
			id := types.UID(formatUUID(sum[:16]))
			x.ShareID, x.ConsumedCapacity = &id, consumedCapacity(d.Device, r.Launch.Job)
		} else if r.Launch.Job.Share < 1000 {
			return nil, fmt.Errorf("device %s of node %s cannot be shared", d.Name, r.Launch.Node)
		}
		all = append(all, x)
	}
	return all, nil
}

// consumedCapacity returns what a job takes of each capacity of a device, rounded up
// by the request policy that the device publishes. A whole device (Share 1000) takes
// all of each.
func consumedCapacity(d resourcev1.Device, j protocol.Job) map[resourcev1.QualifiedName]resource.Quantity {
	out := make(map[resourcev1.QualifiedName]resource.Quantity)
	for name, c := range d.Capacity {
		want := c.Value.Value()
		switch {
		case j.Share >= 1000:
		case name == inventory.MilliCapacity:
			want = int64(j.Share)
		case name == inventory.MemoryCapacity && j.GPUMemory > 0:
			want = int64(j.GPUMemory) << 20
		case c.RequestPolicy != nil && c.RequestPolicy.Default != nil:
			want = c.RequestPolicy.Default.Value()
		}
		if p := c.RequestPolicy; p != nil && p.ValidRange != nil && j.Share < 1000 {
			if p.ValidRange.Min != nil {
				want = max(want, p.ValidRange.Min.Value())
			}
			if s := p.ValidRange.Step; s != nil && s.Value() > 0 {
				want = (want + s.Value() - 1) / s.Value() * s.Value()
			}
		}
		out[name] = *resource.NewQuantity(want, c.Value.Format)
	}
	return out
}

// formatUUID formats 16 bytes as a version 4 UUID. It changes the bytes.
func formatUUID(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
