package kubetest

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/internal/ports"
)

// InstallJobSet installs JobSet in a cluster from the folder that
// internal/kubeenv/kueue/jobset.sh prints, which the environment variable GRIDBID_JOBSET
// names, and starts its controller as a process. Without the variable the test is
// skipped, or fails if CI=true.
func (c *Cluster) InstallJobSet() {
	c.Helper()
	assets := os.Getenv("GRIDBID_JOBSET")
	if assets == "" {
		const how = "kubetest: no JobSet to test with: run make test-kube, or set GRIDBID_JOBSET to what internal/kubeenv/kueue/jobset.sh prints"
		if os.Getenv("CI") == "true" {
			c.Fatal(how)
		}
		c.Skip(how)
	}
	free, err := ports.FreePorts(1)
	c.FailOnError(err)
	// The control plane's own certificate serves: it is for the loopback address, as are the webhooks.
	plane, certs := filepath.Dir(c.Kubeconfig), c.TempDir()
	for from, to := range map[string]string{"server.crt": "tls.crt", "server.key": "tls.key"} {
		text, err := os.ReadFile(filepath.Join(plane, from))
		c.FailOnError(err)
		c.FailOnError(os.WriteFile(filepath.Join(certs, to), text, 0o600))
	}
	config := filepath.Join(certs, "config.yaml")
	c.FailOnError(os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`, free[0], certs), 0o600))
	c.createJobSetObjects(assets, free[0])
	c.FailOnError(c.StartExtraProcess("jobset", filepath.Join(assets, "jobset"), "--config="+config))
	c.awaitKindServed("jobset.x-k8s.io/v1alpha2", "jobsets")
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

// createJobSetObjects creates JobSet's custom resource definition, and the webhooks that fill
// in and check JobSets. Those for pods serve exclusive placement, which gangs do not use.
func (c *Cluster) createJobSetObjects(assets string, port int) {
	c.Helper()
	c.createPublished(assets, "jobset", func(*unstructured.Unstructured) {}, func(name string, client map[string]any) bool {
		path := client["service"].(map[string]any)["path"].(string)
		delete(client, "service")
		client["url"], client["caBundle"] = fmt.Sprintf("https://127.0.0.1:%d%s", port, path), base64.StdEncoding.EncodeToString(c.Config.CAData)
		return strings.Contains(name, "jobset")
	})
}
