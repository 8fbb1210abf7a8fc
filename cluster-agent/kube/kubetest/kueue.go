package kubetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Names by which Kueue's published manifests refer to its own objects.
const (
	kueueNamespace = "kueue-system"
	kueueService   = "kueue-webhook-service"
	kueueSecret    = "kueue-webhook-server-cert"
)

// InstallKueue installs Kueue in a cluster, and starts its controller as a process.
// dispatcher is the name of the dispatcher that chooses clusters for MultiKueue; "" is
// Kueue's own.
func (c *Cluster) InstallKueue(dispatcher string) {
	c.Helper()
	assets, port := c.controllerAssets("kueue"), c.freePort()
	c.ApplyYAML(fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[2]s, namespace: %[1]s}, spec: {type: ExternalName, externalName: localhost}}
---
{apiVersion: v1, kind: Secret, metadata: {name: %[3]s, namespace: %[1]s}}
`, kueueNamespace, kueueService, kueueSecret))
	service := map[string]any{"namespace": kueueNamespace, "name": kueueService, "port": int64(port)}
	c.createKueueObjects(assets, service)
	dir := filepath.Join(c.TempDir(), "kueue")
	certs := filepath.Join(dir, "certs")
	c.FailOnError(os.MkdirAll(certs, 0o700))
	config := filepath.Join(dir, "config.yaml")
	c.FailOnError(os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
featureGates: {VisibilityOnDemand: false}
internalCertManagement: {enable: true, webhookServiceName: %s, webhookSecretName: %s}
integrations: {frameworks: [batch/job]}
multiKueue: {gcInterval: 0s, workerLostTimeout: 15m%s}
`, kueueNamespace, port, certs, kueueService, kueueSecret, dispatcherLine(dispatcher)), 0o600))
	c.FailOnError(c.StartExtraProcess("kueue", filepath.Join(assets, "kueue"), "--config="+config, "--zap-log-level=2"))
	go c.mountCertificates(kueueNamespace, kueueSecret, certs)
}

// dispatcherLine returns the entry of Kueue's configuration that names a dispatcher.
func dispatcherLine(name string) string {
	if name == "" {
		return ""
	}
	return ", dispatcherName: " + name
}

// mountCertificates copies certificates from a Secret into files of a folder, as a kubelet
// mounts a Secret.
func (c *Cluster) mountCertificates(namespace, secret, dir string) {
	for ctx := c.Context(); ctx.Err() == nil; {
		s, err := c.Client.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
		if err == nil {
			for name, data := range s.Data {
				file := filepath.Join(dir, name)
				if is, _ := os.ReadFile(file); !bytes.Equal(is, data) { // written only when changed: it may be read at the same time
					_ = os.WriteFile(file, data, 0o600)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// createKueueObjects creates Kueue's custom resource definitions, and those of its
// webhooks that the tests need. service is where the API server reaches the webhooks.
func (c *Cluster) createKueueObjects(assets string, service map[string]any) {
	c.Helper()
	converted := []string{"localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"}
	c.createPublished(assets, "kueue-", func(u *unstructured.Unstructured) {
		if plural, _, _ := strings.Cut(u.GetName(), "."); slices.Contains(converted, plural) {
			c.FailOnError(unstructured.SetNestedMap(u.Object, map[string]any{
				"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": withServicePath(service, "/convert")}},
			}, "spec", "conversion"))
		}
	}, func(name string, client map[string]any) bool {
		client["service"] = withServicePath(service, client["service"].(map[string]any)["path"].(string))
		kind, _, _ := strings.Cut(name[1:], ".")
		return slices.Contains([]string{"job", "workload", "clusterqueue", "cohort", "resourceflavor"}, kind)
	})
}

// createPublished creates the custom resource definitions and webhooks that a controller's
// module publishes. define may change what is created. reach has a webhook of a name reach the
// controller, and reports whether it is wanted; nil: there are none. Names of webhook
// configurations begin with prefix.
func (c *Cluster) createPublished(assets, prefix string, define func(*unstructured.Unstructured), reach func(name string, client map[string]any) bool) {
	c.Helper()
	files, err := filepath.Glob(filepath.Join(assets, "crd", "*.yaml"))
	c.FailOnError(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		c.FailOnError(err)
		u := &unstructured.Unstructured{}
		c.FailOnError(yaml.Unmarshal(text, &u.Object))
		define(u)
		c.createObject(u)
	}
	if reach == nil {
		return
	}
	text, err := os.ReadFile(filepath.Join(assets, "webhooks.yaml"))
	c.FailOnError(err)
	for _, part := range strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		u := &unstructured.Unstructured{}
		c.FailOnError(yaml.Unmarshal([]byte(part), &u.Object))
		u.SetName(prefix + u.GetName())
		define(u)
		hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
		c.FailOnError(err)
		hooks = slices.DeleteFunc(hooks, func(h any) bool {
			hook := h.(map[string]any)
			return !reach(hook["name"].(string), hook["clientConfig"].(map[string]any))
		})
		c.FailOnError(unstructured.SetNestedSlice(u.Object, hooks, "webhooks"))
		c.createObject(u)
	}
}

// withServicePath returns a copy of a webhook's service reference with a path.
func withServicePath(service map[string]any, path string) map[string]any {
	s := map[string]any{"path": path}
	for k, v := range service {
		s[k] = v
	}
	return s
}

// ApplyYAML creates the objects of YAML documents.
func (c *Cluster) ApplyYAML(text string) {
	c.Helper()
	for _, part := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		c.FailOnError(yaml.Unmarshal([]byte(part), &u.Object))
		c.createObject(u)
	}
}

// createObject creates an object and retries for a minute: its kind, or a webhook that
// must admit it, may not be served yet.
func (c *Cluster) createObject(u *unstructured.Unstructured) {
	c.Helper()
	gvk := u.GroupVersionKind()
	plural := strings.ToLower(gvk.Kind) + "s"
	if strings.HasSuffix(gvk.Kind, "y") {
		plural = strings.ToLower(strings.TrimSuffix(gvk.Kind, "y")) + "ies"
	}
	gvr := schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: plural}
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	for {
		var err error
		if space := u.GetNamespace(); space != "" {
			_, err = c.Dynamic.Resource(gvr).Namespace(space).Create(ctx, u, metav1.CreateOptions{})
		} else {
			_, err = c.Dynamic.Resource(gvr).Create(ctx, u, metav1.CreateOptions{})
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.Fatal(gvk.Kind, " ", u.GetName(), ": ", err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// QueueAcceptsJobs reports whether a LocalQueue of Kueue is active. A Job that is
// created before is not recognized as one for other clusters, and is rejected later.
func (c *Cluster) QueueAcceptsJobs(queue string) bool {
	c.Helper()
	gvr := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "localqueues"}
	u, err := c.Dynamic.Resource(gvr).Namespace("default").Get(context.Background(), queue, metav1.GetOptions{})
	if err != nil {
		return false
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(all, func(x any) bool {
		m, _ := x.(map[string]any)
		return m["type"] == "Active" && m["status"] == "True"
	})
}

// DumpWorkloads returns the end of Kueue's log and all Workloads, for the message of a
// test that timed out.
func (c *Cluster) DumpWorkloads() (all []any) {
	c.Helper()
	log, _ := os.ReadFile(filepath.Join(filepath.Dir(c.Kubeconfig), "kueue.log"))
	all = append(all, string(log[max(0, len(log)-2000):]))
	gvr := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	l, err := c.Dynamic.Resource(gvr).Namespace("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return append(all, err)
	}
	for _, u := range l.Items {
		all = append(all, u.GetName(), u.GetAnnotations(), u.Object["status"])
	}
	return all
}
