package charttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf is that of the agent's configuration.
func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("../../cluster-agent/program/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at walks into what was rendered: names, and indexes of lists.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
		if v == nil {
			t.Fatalf("nothing at %v", path)
		}
	}
	return v
}

// The daemon may set limits of cards and nothing else: no host's network or
// processes, one folder of the host, one capability, one status.
func TestTheNodesDaemonMayDoLittle(t *testing.T) {
	for _, sharing := range []string{"dra", "plugin"} {
		o, err := render(t, values(map[string]any{"sharing": sharing, "node": map[string]any{"ceilingWatts": 5000}}))
		if err != nil {
			t.Fatal(err)
		}
		pod := at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "spec").(map[string]any)
		for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			if pod[field] != nil {
				t.Errorf("it asks for %s", field)
			}
		}
		if got := fmt.Sprint(pod["tolerations"]); got != "[map[key:nvidia.com/gpu operator:Exists] map[key:gridbid.io/owned operator:Equal value:oslo]]" {
			t.Errorf("it tolerates %s", got)
		}
		paths := 0
		for _, v := range pod["volumes"].([]any) {
			path := fmt.Sprint(at(t, v, "hostPath", "path"))
			if paths++; path != "/var/lib/gridbid-node/oslo" && !(sharing == "plugin" && path == "/var/lib/kubelet/pod-resources") {
				t.Errorf("it mounts %s of the host", path)
			}
		}
		containers := pod["containers"].([]any)
		if len(containers) != 2 || paths != map[string]int{"dra": 1, "plugin": 2}[sharing] {
			t.Errorf("%d containers, %d folders of the host", len(containers), paths)
		}
		for _, c := range containers {
			rights := at(t, c, "securityContext").(map[string]any)
			if fmt.Sprint(at(t, rights, "capabilities")) != "map[add:[SYS_ADMIN] drop:[ALL]]" || rights["privileged"] != nil || rights["readOnlyRootFilesystem"] != true {
				t.Errorf("%v", rights)
			}
		}
		node, guard := fmt.Sprint(at(t, containers, 0, "args")), fmt.Sprint(at(t, containers, 1, "args"))
		for _, both := range []string{"--state=/var/lib/gridbid-node/limits.json", "--heartbeat=/var/lib/gridbid-node/heartbeat", "--period=10s"} {
			if !strings.Contains(node, both) || !strings.Contains(guard, both) {
				t.Errorf("daemon and guard disagree on %s:\n%s\n%s", both, node, guard)
			}
		}
		if !strings.Contains(node, "--site-ceiling=5000 --budget=gridbid/oslo-ceiling") || strings.Contains(node, "--kubelet") != (sharing == "plugin") {
			t.Errorf("%s", node)
		}
		rules := at(t, o["Role/training/gridbid-node-oslo"], "rules").([]any)
		if got := fmt.Sprint(rules); got != "[map[apiGroups:[] resources:[pods] verbs:[list watch]] map[apiGroups:[] resources:[pods/status] verbs:[patch]]]" {
			t.Errorf("rules %s", got)
		}
	}
	o, err := render(t, values(map[string]any{"node": map[string]any{"enabled": false}}))
	if err != nil {
		t.Fatal(err)
	}
	for name := range o {
		if strings.Contains(name, "node") || strings.Contains(name, "ceiling") {
			t.Errorf("%s without the daemon", name)
		}
	}
	if text := fmt.Sprint(o["ConfigMap/gridbid/oslo"]); strings.Contains(text, "metered") {
		t.Errorf("an agent waits for a daemon that is not there: %s", text)
	}
}

// Clocks of unused GPUs are lowered if the site says so, and on its own nodes only.
func TestIdleClocksAreForOwnNodes(t *testing.T) {
	for _, c := range []struct {
		nodes, clocks string
		ceiling       any
		want          bool
	}{{"owned", "keep", nil, false}, {"owned", "lowest", nil, true}, {"owned", "lowest", 5000, true}} {
		o, err := render(t, values(map[string]any{"nodes": c.nodes, "node": map[string]any{"idleClocks": c.clocks, "ceilingWatts": c.ceiling}}))
		if err != nil {
			t.Fatal(err)
		}
		args := fmt.Sprint(at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "spec", "containers", 0, "args"))
		if strings.Contains(args, "--idle-clocks=lowest") != c.want || strings.Count(args, "--owned=oslo") != map[bool]int{true: 1}[c.want] || (o["ClusterRole//gridbid-node-oslo"] != nil) != c.want {
			t.Errorf("%+v: %s", c, args)
		}
	}
	for _, bad := range []map[string]any{
		{"nodes": "all", "node": map[string]any{"idleClocks": "lowest"}},
		{"nodes": "owned", "node": map[string]any{"idleClocks": "low"}},
	} {
		if _, err := render(t, values(bad)); err == nil {
			t.Errorf("%v is rendered", bad)
		}
	}
}

// On nodes that are not the site's a daemon holds no card below the ceiling; to know them
// it reads nodes, and only then.
func TestTheCeilingIsForTheNodesThatASiteUses(t *testing.T) {
	for nodes, want := range map[string]bool{"owned": true, "all": false} {
		o, err := render(t, values(map[string]any{"nodes": nodes, "node": map[string]any{"ceilingWatts": 5000}}))
		if err != nil {
			t.Fatal(err)
		}
		args := fmt.Sprint(at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "spec", "containers", 0, "args"))
		role := o["ClusterRole//gridbid-node-oslo"]
		if strings.Contains(args, "--owned=oslo") != want || (role != nil) != want || (o["ClusterRoleBinding//gridbid-node-oslo"] != nil) != want {
			t.Errorf("nodes: %s: %s, %v", nodes, args, role)
		}
		if want && fmt.Sprint(role["rules"]) != "[map[apiGroups:[] resources:[nodes] verbs:[list watch]]]" {
			t.Errorf("rules %v", role["rules"])
		}
	}
	o, err := render(t, values(nil))
	if err != nil || o["ClusterRole//gridbid-node-oslo"] != nil {
		t.Errorf("without a ceiling it reads nodes: %v", err)
	}
}

// Metrics are shown to who may read them, through a proxy that asks.
func TestMonitoringIsBehindAProxy(t *testing.T) {
	o, err := render(t, values(map[string]any{"monitoring": map[string]any{"enabled": true, "readers": []any{"monitoring"}, "labels": map[string]any{"release": "kps"}}}))
	if err != nil {
		t.Fatal(err)
	}
	monitor, service := o["ServiceMonitor/gridbid/oslo"], o["Service/gridbid/oslo"]
	if fmt.Sprint(at(t, monitor, "spec", "selector", "matchLabels")) != fmt.Sprint(at(t, service, "metadata", "labels")) ||
		at(t, monitor, "spec", "endpoints", 0, "port") != at(t, service, "spec", "ports", 0, "name") || at(t, monitor, "metadata", "labels", "release") != "kps" {
		t.Errorf("the monitor does not find the service: %v, %v", monitor, service)
	}
	proxy := at(t, o["StatefulSet/gridbid/oslo"], "spec", "template", "spec", "containers", 1)
	if at(t, proxy, "ports", 0, "name") != at(t, service, "spec", "ports", 0, "targetPort") || !strings.Contains(fmt.Sprint(proxy), "--upstream=http://127.0.0.1:9464/") {
		t.Errorf("%v", proxy)
	}
	if from := fmt.Sprint(at(t, o["NetworkPolicy/gridbid/oslo"], "spec", "ingress", 0, "from")); !strings.Contains(from, "monitoring") {
		t.Errorf("let in from %s", from)
	}
	boards, err := filepath.Glob(filepath.Join(chart, "dashboards", "*.json"))
	if err != nil || len(boards) == 0 {
		t.Fatal("no dashboards", err)
	}
	data := at(t, o["ConfigMap/gridbid/oslo-dashboards"], "data").(map[string]any)
	for _, file := range boards {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct{ Panels []struct{ Title string } }
		got, _ := data[filepath.Base(file)].(string)
		if strings.TrimSpace(got) != strings.TrimSpace(string(text)) || json.Unmarshal(text, &board) != nil || len(board.Panels) == 0 {
			t.Errorf("%s is not in the ConfigMap as it is, or no dashboard", file)
		}
		titles := make([]string, 0, len(board.Panels))
		for _, p := range board.Panels {
			if slices.Contains(titles, p.Title) {
				t.Errorf("%s: two panels %q", file, p.Title)
			}
			titles = append(titles, p.Title)
		}
	}
}

// A curve that the site measured reaches the agent, which bids by it, and the
// daemons, which keep its caps, as the same file.
func TestCurvesReachAgentAndDaemons(t *testing.T) {
	const text, file = "{\n \"schema\": 1\n}\n", "/etc/gridbid/agent/curve-H100.json"
	o, err := render(t, values(map[string]any{"curves": map[string]any{"H100": text}}))
	if err != nil {
		t.Fatal(err)
	}
	data := at(t, o["ConfigMap/gridbid/oslo"], "data").(map[string]any)
	if data["curve-H100.json"] != text || !strings.Contains(fmt.Sprint(data["agent.yaml"]), "H100: "+file) {
		t.Errorf("%v", data)
	}
	for kind, where := range map[string]string{"StatefulSet/gridbid/oslo": "", "DaemonSet/gridbid/oslo-node": "--curves=" + file} {
		pod := at(t, o[kind], "spec", "template", "spec").(map[string]any)
		mounts := fmt.Sprint(at(t, pod, "containers", 0, "volumeMounts"), pod["volumes"])
		if !strings.Contains(fmt.Sprint(at(t, pod, "containers", 0, "args")), where) || !strings.Contains(mounts, "mountPath:/etc/gridbid/agent") || !strings.Contains(mounts, "configMap:map[name:oslo]") {
			t.Errorf("%s: %v", kind, pod)
		}
	}
}

// The daemons read curves when they begin, as the agent does: new ones have both begin
// anew, and without any nothing does.
func TestANewCurveIsReadOnTheNodes(t *testing.T) {
	mark := func(curves map[string]any) string {
		o, err := render(t, values(map[string]any{"curves": curves}))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(at(t, o["DaemonSet/gridbid/oslo-node"], "spec", "template", "metadata"))
	}
	none, one, two := mark(nil), mark(map[string]any{"H100": `{"schema":1}`}), mark(map[string]any{"H100": `{"schema":2}`})
	if one == none || two == none || one == two {
		t.Errorf("the daemons' pods are %s, %s and %s", none, one, two)
	}
}
