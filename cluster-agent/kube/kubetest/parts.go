package kubetest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serviceExport defines the kind by which clusters with the Multi-Cluster Services API export a Service.
const serviceExport = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: serviceexports.multicluster.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: {plural: serviceexports, singular: serviceexport, kind: ServiceExport, listKind: ServiceExportList}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// InstallServiceExports has the cluster serve the kind ServiceExport.
func (c *Cluster) InstallServiceExports() {
	c.Helper()
	c.ApplyYAML(serviceExport)
}

// ExportsFirstPod reports whether a Service of a name selects the first pod of a Job, and is exported.
func (c *Cluster) ExportsFirstPod(name string) bool {
	c.Helper()
	s, err := c.Client.CoreV1().Services("default").Get(c.Context(), name, metav1.GetOptions{})
	if err != nil || s.Spec.Selector["batch.kubernetes.io/job-completion-index"] != "0" {
		return false
	}
	of := schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "serviceexports"}
	_, err = c.Dynamic.Resource(of).Namespace("default").Get(c.Context(), name, metav1.GetOptions{})
	return err == nil
}

// A PartPod is a pod of a part of a job, and what its container is told.
type PartPod struct {
	Name, Phase         string
	Rank, World, Master string
}

// podsOfParts returns the pods of all parts of a job.
func (c *Cluster) podsOfParts(job string) (all []corev1.Pod) {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
	c.FailOnError(err)
	for _, p := range l.Items {
		if strings.HasPrefix(p.Annotations["gridbid.io/job"], job+".") {
			all = append(all, p)
		}
	}
	return all
}

// PodsOfParts returns the pods of all parts of a job that are in this cluster.
func (c *Cluster) PodsOfParts(job string) (all []PartPod) {
	c.Helper()
	for _, p := range c.podsOfParts(job) {
		x := PartPod{Name: p.Name, Phase: string(p.Status.Phase)}
		for _, v := range p.Spec.Containers[0].Env {
			switch v.Name {
			case "RANK": // the kubelet reads the annotation when it starts the container
				if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.annotations['gridbid.io/rank']" {
					x.Rank = p.Annotations["gridbid.io/rank"]
				}
			case "WORLD_SIZE":
				x.World = v.Value
			case "MASTER_ADDR":
				x.Master = v.Value
			}
		}
		all = append(all, x)
	}
	return all
}

// StartHeldParts has the kubelets start the pods of all parts of a job that HeldAnnotations hold.
func (c *Cluster) StartHeldParts(job string) {
	c.Helper()
	c.StartHeldPods(c.podsOfParts(job))
}
