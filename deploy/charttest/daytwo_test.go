package charttest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// The agent answers on loopback only, so each container is probed by a command that it has.
func TestEveryContainerIsProbed(t *testing.T) {
	o, err := render(t, values(nil))
	if err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile(root + "/cmd/cluster-agent/health.go")
	if err != nil {
		t.Fatal(err)
	}
	probes := 0
	for name, path := range map[string]string{"StatefulSet/gridbid/oslo": "agent", "DaemonSet/gridbid/oslo-node": "node"} {
		for _, c := range at(t, o[name], "spec", "template", "spec", "containers").([]any) {
			if c.(map[string]any)["livenessProbe"] == nil {
				t.Errorf("%s of %s has no probe", c.(map[string]any)["name"], path)
			}
			for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
				if c.(map[string]any)[probe] == nil {
					continue
				}
				probes++
				command := at(t, c, probe, "exec", "command").([]any)
				if command[0] != "/cluster-agent" || command[1] != "health" {
					t.Errorf("%s of %s runs %v", probe, path, command)
				}
				for _, flag := range command[2:] {
					word, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprint(flag), "-"), "=")
					if !strings.Contains(string(main), `"`+word+`"`) {
						t.Errorf("health has no flag %v", flag)
					}
				}
			}
		}
	}
	if probes != 6 {
		t.Errorf("%d probes", probes)
	}
	config := at(t, o["ConfigMap/gridbid/oslo"], "data", "agent.yaml").(string)
	if !strings.Contains(config, "listen: 127.0.0.1:9464") || !strings.Contains(string(main), "127.0.0.1:9464") {
		t.Errorf("the probe asks elsewhere than\n%s", config)
	}
	node, guard := fmt.Sprint(at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "spec", "containers", 0)), fmt.Sprint(at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "spec", "containers", 1))
	if !strings.Contains(node, "health --heartbeat=/var/lib/gridbid-node/heartbeat --period") || !strings.Contains(guard, "health --heartbeat=/var/lib/gridbid-node/heartbeat.guard --period") {
		t.Errorf("the daemons are probed by other files:\n%s\n%s", node, guard)
	}
}

// What one's own registry, cluster and policies ask of pods can be set.
func TestPodsTakeWhatAClusterAsks(t *testing.T) {
	more := map[string]any{
		"image": map[string]any{"pullSecrets": []any{"registry-key"}}, "priorityClass": "infrastructure", "affinity": map[string]any{"nodeAffinity": map[string]any{}},
		"podAnnotations": map[string]any{"sidecar.istio.io/inject": false}, "podLabels": map[string]any{"team": "hpc"}, "serviceAccountAnnotations": map[string]any{"a.example/role": "x"},
		"env": []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}}, "traces": map[string]any{"endpoint": "http://otel.monitoring:4318"},
		"node": map[string]any{"podAnnotations": map[string]any{"b": "1"}, "podLabels": map[string]any{"team": "hpc"}, "priorityClass": "system-node-critical", "affinity": map[string]any{"nodeAffinity": map[string]any{}}, "env": []any{map[string]any{"name": "X", "value": "1"}}},
	}
	o, err := render(t, values(more))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"StatefulSet/gridbid/oslo":    {"imagePullSecrets:[map[name:registry-key]]", "priorityClassName:infrastructure", "affinity:map[nodeAffinity:map[]]", "sidecar.istio.io/inject:false", "team:hpc", "map[name:HTTPS_PROXY value:http://proxy:3128]"},
		"DaemonSet/gridbid/oslo-node": {"imagePullSecrets:[map[name:registry-key]]", "priorityClassName:system-node-critical", "affinity:map[nodeAffinity:map[]]", "annotations:map[b:1]", "team:hpc", "map[name:X value:1]"},
		"ServiceAccount/gridbid/oslo": {"a.example/role:x"},
	} {
		for _, w := range want {
			if text := fmt.Sprint(o[name]); !strings.Contains(text, w) {
				t.Errorf("%s lacks %s:\n%s", name, w, text)
			}
		}
	}
	if at(t, o["StatefulSet/gridbid/oslo"], "spec", "selector", "matchLabels").(map[string]any)["team"] != nil {
		t.Error("a label of the pods selects them: it could not be changed later")
	}
	if p := policy(t, more, "oslo"); !lets(t, p, "TCP", "203.0.113.9", 4318) {
		t.Error("traces are not let out")
	}
	if p := policy(t, map[string]any{"grid": map[string]any{"price": 1, "carbon": 1, "sources": []any{map[string]any{"tells": "price", "from": "csv", "file": "/x.csv", "rate_from": "ecb"}}}}, "oslo"); !lets(t, p, "TCP", "203.0.113.9", 443) {
		t.Error("the bank's rates are not let in")
	}
}

// renderWith renders one template of the chart, changed by change, for a version of Kubernetes.
func renderWith(t *testing.T, template, version string, v map[string]any, change func(*helmchart.Chart)) string {
	t.Helper()
	c, err := loader.Load("../chart")
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion.Version = version
	merged, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "oslo", Namespace: "gridbid"}, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, merged)
	if err != nil {
		t.Fatal(err)
	}
	return files["gridbid-site/templates/"+template]
}

// Each file of rules is one PrometheusRule, with the file's groups as they stand.
func TestRulesOfTheChartBecomeObjects(t *testing.T) {
	rules := "groups:\n- name: sites\n  rules:\n  - alert: SiteSilent\n    expr: gridbid_site_up == 0\n    annotations:\n      summary: 'site {{ $labels.site }} is silent'\n"
	with := func(c *helmchart.Chart) {
		c.Files = slices.DeleteFunc(c.Files, func(f *helmchart.File) bool { return strings.HasPrefix(f.Name, "rules/") })
		c.Files = append(c.Files, &helmchart.File{Name: "rules/sites.yaml", Data: []byte(rules)}, &helmchart.File{Name: "rules/market.yaml", Data: []byte(rules)})
	}
	monitored := values(map[string]any{"monitoring": map[string]any{"enabled": true}})
	found := 0
	for _, part := range strings.Split(renderWith(t, "monitor.yaml", "v1.36.0", monitored, with), "\n---\n") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(part), &o); err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		if o["kind"] == "PrometheusRule" {
			if found++; !strings.Contains(fmt.Sprint(o["spec"]), "summary:site {{ $labels.site }} is silent") {
				t.Errorf("%v", o)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 files became rules", found)
	}
	off := values(map[string]any{"monitoring": map[string]any{"enabled": true, "rules": false}})
	if strings.Contains(renderWith(t, "monitor.yaml", "v1.36.0", off, with), "PrometheusRule") {
		t.Error("rules that are switched off are there")
	}
}

// Who installs the chart reads what the cluster must allow.
func TestNotesSayWhatTheClusterMustAllow(t *testing.T) {
	notes := func(version string, more map[string]any) string {
		return renderWith(t, "NOTES.txt", version, values(more), func(*helmchart.Chart) {})
	}
	for _, tc := range []struct {
		version, want string
		more          map[string]any
		there         bool
	}{
		{"v1.36.0", "pod-security.kubernetes.io/enforce=privileged", nil, true},
		{"v1.36.0", "pod-security.kubernetes.io/enforce=privileged", map[string]any{"node": map[string]any{"enabled": false}}, false},
		{"v1.35.2", "DRAConsumableCapacity", nil, true}, {"v1.36.0", "DRAConsumableCapacity", nil, false}, {"v1.35.2", "DRAConsumableCapacity", map[string]any{"sharing": "plugin"}, false},
	} {
		if text := notes(tc.version, tc.more); strings.Contains(text, tc.want) != tc.there {
			t.Errorf("%s with %v: %q is there: %t; want %t\n%s", tc.version, tc.more, tc.want, !tc.there, tc.there, text)
		}
	}
}

// The chart's README names every value.
func TestTheReadmeHasEveryValue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "chart", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "chart", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([A-Za-z]+):`).FindAllSubmatch(text, -1) {
		if !strings.Contains(string(readme), "`"+string(m[1])) {
			t.Errorf("no word of %s", m[1])
		}
	}
}
