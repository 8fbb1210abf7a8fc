package kubetest

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/internal/ports"
)

// controllerAssets returns the folder of a controller within the one that
// internal/kubeenv/controllers/build.sh prints, which the environment variable
// GRIDBID_CONTROLLERS names. Without it the test is skipped, or fails if CI=true.
func (c *Cluster) controllerAssets(name string) string {
	c.Helper()
	dir := filepath.Join(os.Getenv("GRIDBID_CONTROLLERS"), name)
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return dir
	}
	how := fmt.Sprintf("kubetest: no %[1]s to test with: run make test-kube, or set GRIDBID_CONTROLLERS to what internal/kubeenv/controllers/build.sh %[1]s prints", name)
	if os.Getenv("CI") == "true" {
		c.Fatal(how)
	}
	c.Skip(how)
	return ""
}

// InstallJobSet installs JobSet in a cluster, and starts its controller as a process. Its
// webhooks for pods serve exclusive placement, which gangs do not use: they are left out.
func (c *Cluster) InstallJobSet() {
	c.Helper()
	c.installConfigured("jobset", "config.jobset.x-k8s.io/v1alpha1", func(name string) bool { return strings.Contains(name, "jobset") })
	c.awaitKindServed("jobset.x-k8s.io/v1alpha2", "jobsets")
}

// InstallLeaderWorkerSet installs LeaderWorkerSet in a cluster, and starts its controller as
// a process. Its webhook for pods writes what they know of their group.
func (c *Cluster) InstallLeaderWorkerSet() {
	c.Helper()
	c.installConfigured("lws", "config.lws.x-k8s.io/v1alpha1", func(name string) bool { return name != "vpod.kb.io" })
	c.awaitKindServed("leaderworkerset.x-k8s.io/v1", "leaderworkersets")
}

// installConfigured installs a controller that reads a configuration of a given version,
// with those of its webhooks that are wanted.
func (c *Cluster) installConfigured(name, version string, wanted func(webhook string) bool) {
	c.Helper()
	assets, port := c.controllerAssets(name), c.freePort()
	certs := c.webhookCertificates()
	config := filepath.Join(certs, "config.yaml")
	c.FailOnError(os.WriteFile(config, fmt.Appendf(nil, `apiVersion: %s
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`, version, port, certs), 0o600))
	c.createPublished(assets, name+"-", func(*unstructured.Unstructured) {}, func(webhook string, client map[string]any) bool {
		c.reachAtLoopback(client, port)
		return wanted(webhook)
	})
	c.FailOnError(c.StartExtraProcess(name, filepath.Join(assets, name), "--config="+config))
}

// InstallTrainingOperator installs Kubeflow's operator of PyTorchJobs in a cluster, and
// starts it as a process.
func (c *Cluster) InstallTrainingOperator() {
	c.Helper()
	const name, namespace, certificates = "training-operator", "kubeflow", "/tmp/k8s-webhook-server/serving-certs"
	assets, port := c.controllerAssets(name), c.freePort()
	c.ApplyYAML(fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[2]s, namespace: %[1]s}, spec: {type: ExternalName, externalName: localhost}}
---
{apiVersion: v1, kind: Secret, metadata: {name: training-operator-webhook-cert, namespace: %[1]s}}
`, namespace, name))
	c.createPublished(assets, "", func(u *unstructured.Unstructured) {
		if u.GetKind() == "ValidatingWebhookConfiguration" {
			u.SetName("validator.training-operator.kubeflow.org") // by which the operator knows it
		}
	}, func(webhook string, client map[string]any) bool {
		client["service"] = map[string]any{"namespace": namespace, "name": name, "port": int64(port), "path": client["service"].(map[string]any)["path"]}
		return strings.Contains(webhook, "pytorchjob")
	})
	// It waits until a file is at a place that cannot be configured, and reads its
	// certificate from the folder for temporary files.
	temporary := c.TempDir()
	own := filepath.Join(temporary, "k8s-webhook-server", "serving-certs")
	for _, dir := range []string{certificates, own} {
		c.FailOnError(os.MkdirAll(dir, 0o700))
	}
	go c.mountCertificates(namespace, "training-operator-webhook-cert", own)
	go c.mountCertificates(namespace, "training-operator-webhook-cert", certificates)
	c.FailOnError(c.StartExtraProcess(name, "/usr/bin/env", "TMPDIR="+temporary, filepath.Join(assets, name), "--enable-scheme=pytorchjob",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", fmt.Sprintf("--webhook-server-port=%d", port)))
	c.awaitKindServed("kubeflow.org/v1", "pytorchjobs")
}

// InstallMPIOperator installs Kubeflow's operator of MPIJobs in a cluster, and starts it as a
// process. It has no webhooks. It answers for its health at a port that cannot be configured.
func (c *Cluster) InstallMPIOperator() {
	c.Helper()
	assets := c.controllerAssets("mpi-operator")
	c.ApplyYAML(`{apiVersion: v1, kind: Namespace, metadata: {name: mpi-operator}}`)
	c.createPublished(assets, "", func(*unstructured.Unstructured) {}, nil)
	c.awaitKindServed("kubeflow.org/v2beta1", "mpijobs")
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		l, err := net.Listen("tcp", ":8080")
		if err == nil {
			c.FailOnError(l.Close())
			break
		}
		if time.Now().After(end) {
			c.Fatal("kubetest: mpi-operator listens at port 8080, which another program uses: ", err)
		}
	}
	c.FailOnError(c.StartExtraProcess("mpi-operator", filepath.Join(assets, "mpi-operator"), "--kube-api-qps=100", "--kube-api-burst=200"))
}

// freePort returns a port at which nothing listens.
func (c *Cluster) freePort() int {
	c.Helper()
	free, err := ports.FreePorts(1)
	c.FailOnError(err)
	return free[0]
}

// webhookCertificates returns a folder with the certificate of the control plane, which is
// for the loopback address, under the names that webhook servers read.
func (c *Cluster) webhookCertificates() (dir string) {
	c.Helper()
	plane, dir := filepath.Dir(c.Kubeconfig), c.TempDir()
	for from, to := range map[string]string{"server.crt": "tls.crt", "server.key": "tls.key"} {
		text, err := os.ReadFile(filepath.Join(plane, from))
		c.FailOnError(err)
		c.FailOnError(os.WriteFile(filepath.Join(dir, to), text, 0o600))
	}
	return dir
}

// reachAtLoopback has the API server call a webhook at a port of this machine.
func (c *Cluster) reachAtLoopback(client map[string]any, port int) {
	path := client["service"].(map[string]any)["path"].(string)
	delete(client, "service")
	client["url"], client["caBundle"] = fmt.Sprintf("https://127.0.0.1:%d%s", port, path), base64.StdEncoding.EncodeToString(c.Config.CAData)
}

// awaitKindServed waits until the API server lists a kind, some time after its definition
// was created.
func (c *Cluster) awaitKindServed(groupVersion, plural string) {
	c.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		list, err := c.Client.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
			return
		}
		if time.Now().After(end) {
			c.Fatal(groupVersion, " ", plural, " is not served: ", err)
		}
	}
}
