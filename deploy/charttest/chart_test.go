// Package charttest holds the chart to what it promises, with Helm's own code. It
// is a module of its own, so that Helm is no requirement of Gridbid.
package charttest

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chart = "../chart"

func values(more map[string]any) map[string]any {
	v := map[string]any{
		"site": "oslo", "namespaces": []any{"training", "inference"},
		"grid": map[string]any{"price": 55, "carbon": 30, "pue": 1.15}, "nats": map[string]any{"secret": "gridbid-oslo"},
	}
	for k, x := range more {
		v[k] = x
	}
	return v
}

// render returns the objects of the chart by kind and namespace.
func render(t *testing.T, v map[string]any) (objects map[string]map[string]any, err error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "oslo", Namespace: "gridbid"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, merged)
	if err != nil {
		return nil, err
	}
	objects = make(map[string]map[string]any)
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, part := range strings.Split(text, "\n---\n") {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(part), &o); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, part)
			}
			if o == nil {
				continue
			}
			meta := o["metadata"].(map[string]any)
			space, _ := meta["namespace"].(string)
			objects[fmt.Sprint(o["kind"], "/", space)] = o
		}
	}
	return objects, nil
}

func TestTheChartIsClean(t *testing.T) {
	for _, m := range lint.All(chart, values(nil), "gridbid", true).Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}

func TestWhatIsRendered(t *testing.T) {
	o, err := render(t, values(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ServiceAccount/gridbid", "ClusterRole/", "ClusterRoleBinding/", "Role/training", "Role/inference", "RoleBinding/training", "RoleBinding/inference",
		"StatefulSet/gridbid", "ConfigMap/gridbid", "PodDisruptionBudget/gridbid", "NetworkPolicy/gridbid",
	} {
		if o[want] == nil {
			t.Errorf("no %s", want)
		}
	}
	if len(o) != 11 {
		t.Errorf("%d objects, want 11", len(o))
	}
	var agent map[string]any
	text := o["ConfigMap/gridbid"]["data"].(map[string]any)["agent.yaml"].(string)
	if err := yaml.UnmarshalStrict([]byte(text), &agent); err != nil {
		t.Fatalf("the agent's configuration: %v\n%s", err, text)
	}
	if agent["site"] != "oslo" || fmt.Sprint(agent["kubernetes"].(map[string]any)["namespaces"]) != "[training inference]" {
		t.Errorf("the agent's configuration is\n%s", text)
	}
}

// No rule names everything, and none reaches Secrets, or pods beyond reading and
// binding them.
func TestRightsAreFew(t *testing.T) {
	for _, sharing := range []string{"dra", "plugin"} {
		o, err := render(t, values(map[string]any{"sharing": sharing}))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ClusterRole/", "Role/training"} {
			for _, r := range o[name]["rules"].([]any) {
				rule := fmt.Sprint(r)
				for _, word := range []string{"*", "secrets", "configmaps", "exec", "impersonate", "escalate"} {
					if strings.Contains(rule, word) {
						t.Errorf("%s: %s", name, rule)
					}
				}
				if name == "ClusterRole/" && (strings.Contains(rule, "create") || strings.Contains(rule, "delete")) {
					t.Errorf("%s writes everywhere: %s", name, rule)
				}
				if sharing == "plugin" && strings.Contains(rule, "resourceclaims") {
					t.Errorf("%s: claims where none are used: %s", name, rule)
				}
			}
		}
	}
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"no site":           {"site": ""},
		"no namespace":      {"namespaces": []any{}},
		"an unknown way":    {"sharing": "mps"},
		"no price":          {"grid": map[string]any{"carbon": 30}},
		"no server":         {"nats": map[string]any{"secret": ""}},
		"a negative carbon": {"grid": map[string]any{"price": 1, "carbon": -1}},
	} {
		if _, err := render(t, values(more)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
