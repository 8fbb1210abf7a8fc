package charttest

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// policy reads a rendered NetworkPolicy as the API server would.
func policy(t *testing.T, v map[string]any, name string) (p networkingv1.NetworkPolicy) {
	t.Helper()
	o, err := render(t, values(v))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(o["NetworkPolicy/gridbid/"+name])
	if err == nil {
		err = yaml.UnmarshalStrict(text, &p)
	}
	if err != nil || len(p.Spec.Egress) == 0 {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return p
}

// lets reports whether a policy lets a connection out: some rule names its port,
// and its address if the rule names any.
func lets(t *testing.T, p networkingv1.NetworkPolicy, protocol corev1.Protocol, address string, port int) bool {
	t.Helper()
	ip := netip.MustParseAddr(address)
	for _, rule := range p.Spec.Egress {
		there := len(rule.To) == 0
		for _, to := range rule.To {
			if to.IPBlock == nil {
				t.Fatalf("a rule by labels: %+v", to)
			}
			there = there || netip.MustParsePrefix(to.IPBlock.CIDR).Contains(ip)
		}
		for _, x := range rule.Ports {
			if there && x.Protocol != nil && *x.Protocol == protocol && x.Port != nil && x.Port.IntValue() == port {
				return true
			}
		}
	}
	return false
}

// hub is the port on which a hub takes the parties of sites, as gridbid sets it up.
func hub(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("../nats/hub.conf")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^listen: "[^"]*:(\d+)"`).FindSubmatch(text)
	if m == nil {
		t.Fatal("hub.conf names no port")
	}
	port, _ := strconv.Atoi(string(m[1]))
	return port
}

// Whatever the agent has to reach, it may reach, and nothing beside that.
func TestTheAgentReachesWhatItMust(t *testing.T) {
	const tcp, udp, api, away = corev1.ProtocolTCP, corev1.ProtocolUDP, "10.0.0.1", "203.0.113.9"
	type call struct {
		protocol corev1.Protocol
		address  string
		port     int
	}
	always := []call{{udp, api, 53}, {tcp, api, 53}, {tcp, api, 443}, {tcp, api, 6443}, {tcp, away, hub(t)}}
	never := []call{{tcp, away, 22}, {tcp, away, 25}, {tcp, away, 7422}, {tcp, api, 2379}, {tcp, api, 10250}, {udp, away, 443}}
	within := map[string]any{"apiServer": map[string]any{"cidr": "10.0.0.0/24"}}
	source := func(more map[string]any) map[string]any {
		s := map[string]any{"tells": "carbon", "from": "electricity-maps"}
		for k, v := range more {
			s[k] = v
		}
		return map[string]any{"price": 55, "carbon": 30, "sources": []any{s}}
	}
	for _, tc := range []struct {
		name     string
		more     map[string]any
		may, not []call
	}{
		{"no sources", nil, nil, []call{{tcp, away, 443}, {tcp, away, 9090}}},
		{"a live source", map[string]any{"grid": source(nil)}, []call{{tcp, away, 443}}, []call{{tcp, away, 9090}, {tcp, away, 80}}},
		{"a mirror of it", map[string]any{"grid": source(map[string]any{"url": "http://mirror.example:8080/v3"})}, []call{{tcp, away, 8080}}, []call{{tcp, away, 443}}},
		{"a plain address", map[string]any{"grid": source(map[string]any{"from": "csv", "url": "http://files.example/p.csv"})}, []call{{tcp, away, 80}}, []call{{tcp, away, 443}}},
		{"a file", map[string]any{"grid": source(map[string]any{"from": "csv", "file": "/data/p.csv"})}, nil, []call{{tcp, away, 443}}},
		{"a Prometheus", map[string]any{"prometheus": map[string]any{"url": "http://prometheus.monitoring:9090", "cards": true}}, []call{{tcp, away, 9090}}, []call{{tcp, away, 443}}},
		{"one more port", map[string]any{"networkPolicy": map[string]any{"ports": []any{3128}}}, []call{{tcp, away, 3128}}, nil},
	} {
		v := map[string]any{"networkPolicy": within}
		for k, x := range tc.more {
			v[k] = x
		}
		if n, ok := tc.more["networkPolicy"].(map[string]any); ok {
			n["apiServer"] = within["apiServer"]
		}
		p := policy(t, v, "oslo")
		for _, c := range append(always, tc.may...) {
			if !lets(t, p, c.protocol, c.address, c.port) {
				t.Errorf("%s: %s to %s:%d is not let out", tc.name, c.protocol, c.address, c.port)
			}
		}
		for _, c := range append(never, tc.not...) {
			if lets(t, p, c.protocol, c.address, c.port) {
				t.Errorf("%s: %s to %s:%d is let out", tc.name, c.protocol, c.address, c.port)
			}
		}
	}
	if p := policy(t, nil, "oslo-node"); !lets(t, p, tcp, api, 6443) || !lets(t, p, udp, api, 53) || lets(t, p, tcp, away, hub(t)) {
		t.Errorf("the daemon may reach %+v", p.Spec.Egress)
	}
}

// The policy lets sources out on 443 where their url is not given, because that is
// where all of them are.
func TestServicesOfTheGridAreOn443(t *testing.T) {
	files, err := filepath.Glob("../../cluster-agent/signals/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	bases := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`s\.baseURL\("([a-z]+)://([^"/]+)`).FindAllSubmatch(text, -1) {
			if bases++; string(m[1]) != "https" || regexp.MustCompile(`:\d`).Match(m[2]) {
				t.Errorf("%s: %s", file, m[0])
			}
		}
	}
	if bases < 8 {
		t.Errorf("%d services were found", bases)
	}
}
