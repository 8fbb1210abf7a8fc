package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

const topologyFile = `name: t
start: 2026-01-05T00:00:00Z
sites:
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    topology: [topology.kubernetes.io/zone, rack]
    fleet:
      - {name: n, model: A100, gpus: 8, cpu: 64, memory: 512, labels: {rack: r1, topology.kubernetes.io/zone: a}}
jobs: {list: [{id: j, gpus: 1, cpu: 1, memory: 1, run: 1h}]}
`

func TestLabelsOfAFleetAreLevelsOfItsSite(t *testing.T) {
	load := func(from, to string) (Scenario, error) {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(topologyFile, from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadScenario(file, Options{})
	}
	s, err := load("", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Sites[0].Nodes[0].Topology, []protocol.Label{{Key: "topology.kubernetes.io/zone", Value: "a"}, {Key: "rack", Value: "r1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the node stands at %v; want %v", got, want)
	}
	for _, c := range []struct{ from, to, want string }{
		{"rack: r1", "rak: r1", ":8: sites/0/fleet/0/labels/rak: is for no level of the site's topology"},
		{"rack: r1", "rack: 'r 1'", ":8: sites/0/fleet/0/labels/rack: "},
		{"    topology: [topology.kubernetes.io/zone, rack]\n", "", ":7: sites/0/fleet/0/labels/rack: is for a level, and the site has none"},
		{"zone, rack]", "zone, rack, kubernetes.io/hostname]", ":6: sites/0/topology/2: is kubernetes.io/hostname"},
		{"zone, rack]", "zone, rack, rack]", ":6: sites/0/topology"},
		{"zone, rack]", "zone, 'r k']", ":6: sites/0/topology/1: "},
	} {
		if _, err := load(c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q gives %v; want %q", c.to, c.from, err, c.want)
		}
	}
}
