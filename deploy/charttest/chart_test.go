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

// render returns the objects of the chart by kind, namespace and name.
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
			key := fmt.Sprint(o["kind"], "/", space, "/", meta["name"])
			if objects[key] != nil {
				t.Errorf("two of %s", key)
			}
			objects[key] = o
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
		"ServiceAccount/gridbid/oslo", "ClusterRole//gridbid-site-oslo", "ClusterRoleBinding//gridbid-site-oslo",
		"Role/training/gridbid-site-oslo", "Role/inference/gridbid-site-oslo", "RoleBinding/training/gridbid-site-oslo", "RoleBinding/inference/gridbid-site-oslo",
		"StatefulSet/gridbid/oslo", "ConfigMap/gridbid/oslo", "PodDisruptionBudget/gridbid/oslo", "NetworkPolicy/gridbid/oslo",
		"DaemonSet/gridbid/oslo-node", "NetworkPolicy/gridbid/oslo-node", "ServiceAccount/gridbid/oslo-node", "ConfigMap/gridbid/oslo-ceiling",
		"Role/gridbid/gridbid-ceiling-oslo", "RoleBinding/gridbid/gridbid-ceiling-oslo", "Role/training/gridbid-node-oslo", "Role/inference/gridbid-node-oslo",
		"RoleBinding/training/gridbid-node-oslo", "RoleBinding/inference/gridbid-node-oslo",
		"ValidatingAdmissionPolicy//gridbid-node-oslo", "ValidatingAdmissionPolicyBinding//gridbid-node-oslo",
	} {
		if o[want] == nil {
			t.Errorf("no %s", want)
		}
		delete(o, want)
	}
	for more := range o {
		t.Errorf("and %s", more)
	}
}

// What is rendered is a configuration that the agent takes.
func TestTheAgentTakesItsConfiguration(t *testing.T) {
	schema := schemaOf(t)
	for name, more := range map[string]map[string]any{
		"plain": nil, "a number for a name": {"site": "101"},
		"Kueue's clusters by name": {"kueue": map[string]any{"clusters": map[string]any{"worker-1": "oslo"}, "run": "30m"}}, "Kueue": {"kueue": true}, "a queue": {"queue": true}, "a ceiling": {"node": map[string]any{"ceilingWatts": 5000}},
		"GPUs of its own": {"power": map[string]any{"X900": map[string]any{"idle": 25, "load": 240, "limit": 320, "speed": 1.85, "caps": []any{map[string]any{"limit": 256, "speed": 0.965, "energy": 0.948}}}}},
		"terms":           {"terms": map[string]any{"own": []any{"team-a"}, "most_gpus": 16, "logs": true, "hours": []any{map[string]any{"from": "20:00", "to": "06:00"}}}},
		"traces":          {"traces": map[string]any{"endpoint": "http://otel-collector.monitoring:4318", "ratio": 0.1}}, "nodes that sleep": {"grid": map[string]any{"price": 55, "carbon": 30, "nodesSleep": true}},
		"all": {"abandon": "10m", "nodes": "all", "prometheus": map[string]any{"url": "http://prometheus.monitoring:9090", "cards": true, "use": true}, "curves": map[string]any{"H100": "{}"}, "models": map[string]any{"Acme-X1": "H100"}, "monitoring": map[string]any{"enabled": true},
			"grid": map[string]any{"price": 55, "carbon": 30, "pue": 1.2, "secret": "grid-keys", "sources": []any{
				map[string]any{"tells": "carbon", "from": "electricity-maps", "zone": "NO-NO1", "key_env": "EM_KEY"}}}},
	} {
		o, err := render(t, values(more))
		if err != nil {
			t.Fatal(err)
		}
		var config any
		text := o["ConfigMap/gridbid/oslo"]["data"].(map[string]any)["agent.yaml"].(string)
		if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if err := schema.Validate(config); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for value, want := range map[string]string{"node": "ceiling: 5000", "kueue": "queue: {kueue: {", "queue": "queue: {", "power": "power: {\"X900\"", "traces": "traces: {endpoint: \"http://otel", "terms": "terms: {\"hours\""} {
			if _, set := more[value]; set && !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", name, want, text)
			}
		}
	}
	o, err := render(t, values(nil))
	if err != nil {
		t.Fatal(err)
	}
	var agent map[string]any
	text := o["ConfigMap/gridbid/oslo"]["data"].(map[string]any)["agent.yaml"].(string)
	if err := yaml.UnmarshalStrict([]byte(text), &agent); err != nil {
		t.Fatalf("the agent's configuration: %v\n%s", err, text)
	}
	if agent["site"] != "oslo" || fmt.Sprint(agent["kubernetes"].(map[string]any)["namespaces"]) != "[training inference]" {
		t.Errorf("the agent's configuration is\n%s", text)
	}
}

// The agent takes no key that others than its group may read, and is not root.
func TestTheAgentsKeysAreKept(t *testing.T) {
	o, err := render(t, values(nil))
	if err != nil {
		t.Fatal(err)
	}
	pod := at(t, o["StatefulSet/gridbid/oslo"], "spec", "template", "spec")
	if mode, group := at(t, pod, "volumes", 1, "secret", "defaultMode"), at(t, pod, "securityContext", "fsGroup"); mode != float64(0o440) || group != float64(65532) {
		t.Errorf("its keys have the mode %v, and the group %v", mode, group)
	}
}

// No rule names everything, and none reaches Secrets. Without a queue the agent may bind and
// patch the pods of its namespaces, and neither create nor delete one.
func TestRightsAreFew(t *testing.T) {
	for _, sharing := range []string{"dra", "plugin"} {
		o, err := render(t, values(map[string]any{"sharing": sharing}))
		if err != nil {
			t.Fatal(err)
		}
		var core []string
		for _, name := range []string{"ClusterRole//gridbid-site-oslo", "Role/training/gridbid-site-oslo", "Role/training/gridbid-node-oslo"} {
			for _, r := range o[name]["rules"].([]any) {
				rule := fmt.Sprint(r)
				if name == "Role/training/gridbid-site-oslo" && (strings.Contains(rule, "resources:[pods") || strings.Contains(rule, "services")) {
					core = append(core, rule)
				}
				for _, word := range []string{"*", "secrets", "configmaps", "exec", "impersonate", "escalate"} {
					if strings.Contains(rule, word) {
						t.Errorf("%s: %s", name, rule)
					}
				}
				if strings.HasPrefix(name, "ClusterRole/") && (strings.Contains(rule, "create") || strings.Contains(rule, "delete")) {
					t.Errorf("%s writes everywhere: %s", name, rule)
				}
				if sharing == "plugin" && strings.Contains(rule, "resourceclaims") {
					t.Errorf("%s: claims where none are used: %s", name, rule)
				}
			}
		}
		if want := "[map[apiGroups:[] resources:[pods/binding] verbs:[create]] map[apiGroups:[] resources:[pods] verbs:[patch]] map[apiGroups:[] resources:[services] verbs:[create]]]"; fmt.Sprint(core) != want {
			t.Errorf("on pods and Services the agent has %v; want %s", core, want)
		}
	}
}

// The agent may read logs of pods only if the terms show them.
func TestLogsOfPodsAreReadOnlyByTheTerms(t *testing.T) {
	for _, logs := range []bool{false, true} {
		o, err := render(t, values(map[string]any{"terms": map[string]any{"own": []any{"team-a"}, "logs": logs}}))
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range o {
			rules := fmt.Sprint(x["rules"])
			if may, want := strings.Contains(rules, "resources:[pods/log] verbs:[get]"), logs && (name == "Role/training/gridbid-site-oslo" || name == "Role/inference/gridbid-site-oslo"); may != want {
				t.Errorf("logs %t: %s may read logs: %t", logs, name, may)
			}
		}
	}
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"no site":           {"site": ""},
		"no namespace":      {"namespaces": []any{}},
		"one twice":         {"namespaces": []any{"training", "training"}},
		"an unknown way":    {"sharing": "mps"},
		"some nodes":        {"nodes": "some"},
		"no price":          {"grid": map[string]any{"carbon": 30}},
		"no server":         {"nats": map[string]any{"secret": ""}},
		"a ceiling of none": {"node": map[string]any{"ceilingWatts": 0}},
		"a negative carbon": {"grid": map[string]any{"price": 1, "carbon": -1}},
	} {
		if _, err := render(t, values(more)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A job can mount the Secrets of its namespace, and name its service accounts.
func TestJobsArePutWhereTheAgentsKeysAreNot(t *testing.T) {
	if _, err := render(t, values(map[string]any{"namespaces": []any{"training", "gridbid"}})); err == nil || !strings.Contains(err.Error(), "a namespace of its own") {
		t.Errorf("rendered with %v", err)
	}
}

// A word that is spelt wrong sets nothing: a ceiling, say, that nobody would keep.
func TestAValueThatTheChartDoesNotKnowIsRefused(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"ceilingwatts": {"node": map[string]any{"ceilingwatts": 5000}}, "namespace": {"namespace": "training"}, "cidrs": {"networkPolicy": map[string]any{"apiServer": map[string]any{"cidrs": "10.0.0.0/8"}}},
	} {
		if _, err := render(t, values(more)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := render(t, values(map[string]any{"global": map[string]any{"region": "north"}, "enabled": true})); err != nil {
		t.Errorf("as a part of another chart: %v", err)
	}
}
