package kubetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// AgentKubeconfig creates a service account with exactly the rights that the chart
// gives a site's agent, and returns a kubeconfig file for it. It renders the chart's
// own template: see parseChartTemplate.
func (c *Cluster) AgentKubeconfig(sharing string, namespaces ...string) (file string) {
	c.Helper()
	c.applyChartTemplate("rbac.yaml", sharing, namespaces)
	return c.accountKubeconfig("agent", nil)
}

// NodeDaemonKubeconfig creates the service account of the node daemon with the rights
// that the chart gives it, and returns a kubeconfig file for a daemon on a node: its
// token is bound to a pod there.
func (c *Cluster) NodeDaemonKubeconfig(node string, namespaces ...string) (file string) {
	c.Helper()
	c.applyChartTemplate("node-rbac.yaml", "", namespaces)
	p, err := c.Client.CoreV1().Pods("default").Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon-" + node},
		Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: "agent-node", Containers: []corev1.Container{{Name: "node", Image: "registry.example.com/agent:1"}}},
	}, metav1.CreateOptions{})
	c.FailOnError(err)
	return c.accountKubeconfig("agent-node", &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID})
}

// repositoryRoot returns the folder of go.mod, searched upwards from the test's
// working directory: a binary built with -trimpath does not know where its sources
// are.
func (c *Cluster) repositoryRoot() string {
	c.Helper()
	dir, err := os.Getwd()
	c.FailOnError(err)
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			c.Fatalf("kubetest: no go.mod in %s or above it: run the test inside the repository", dir)
		}
	}
}

// applyChartTemplate renders a template of the chart and creates its objects unless
// they exist.
func (c *Cluster) applyChartTemplate(file, sharing string, namespaces []string) {
	c.Helper()
	t, err := parseChartTemplate(filepath.Join(c.repositoryRoot(), "deploy/chart/templates", file))
	c.FailOnError(err)
	var page bytes.Buffer
	c.FailOnError(t.Execute(&page, map[string]any{
		"Release": map[string]any{"Name": "agent", "Namespace": "default"},
		"Values":  map[string]any{"sharing": sharing, "namespaces": namespaces, "queue": true, "kueue": true, "nodes": "owned", "node": map[string]any{"enabled": true, "ceilingWatts": 2000}},
	}))
	for _, part := range strings.Split(page.String(), "\n---\n") {
		u := &unstructured.Unstructured{}
		c.FailOnError(yaml.Unmarshal([]byte(part), &u.Object))
		plural := strings.ToLower(u.GetKind()) + "s"
		if cut, ok := strings.CutSuffix(plural, "ys"); ok {
			plural = cut + "ies"
		}
		gvr := schema.GroupVersionResource{Group: u.GroupVersionKind().Group, Version: "v1", Resource: plural}
		if _, err := c.Dynamic.Resource(gvr).Namespace(u.GetNamespace()).Create(c.Context(), u, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			c.FailOnError(err)
		}
	}
}

// parseChartTemplate parses a template of rights of the chart. It knows text/template and, of Helm's
// functions, toJson: these templates are restricted to that.
func parseChartTemplate(file string) (*template.Template, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	toJSON := func(v any) (string, error) {
		out, err := json.Marshal(v)
		return string(out), err
	}
	return template.New(filepath.Base(file)).Funcs(template.FuncMap{"toJson": toJSON}).Parse(string(text))
}

// accountKubeconfig returns a kubeconfig file with a token of a service account.
func (c *Cluster) accountKubeconfig(name string, bound *authv1.BoundObjectReference) (file string) {
	c.Helper()
	hour := int64(time.Hour / time.Second)
	token, err := c.Client.CoreV1().ServiceAccounts("default").CreateToken(c.Context(), name,
		&authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: &hour, BoundObjectRef: bound}}, metav1.CreateOptions{})
	c.FailOnError(err)
	file = filepath.Join(c.TempDir(), "kubeconfig")
	c.FailOnError(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: agent
contexts: [{name: agent, context: {cluster: plane, user: agent}}]
clusters: [{name: plane, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: agent, user: {token: %q}}]
`, c.Config.Host, base64.StdEncoding.EncodeToString(c.Config.CAData), token.Status.Token), 0o600))
	c.awaitRightsEffective()
	return file
}

// awaitRightsEffective waits until the API server's authorizer has seen the new role
// bindings.
func (c *Cluster) awaitRightsEffective() {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		l, err := c.Client.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
		if err == nil && len(l.Items) > 0 {
			time.Sleep(500 * time.Millisecond) // the authorizer's own watch is a little behind the list
			return
		}
	}
}
