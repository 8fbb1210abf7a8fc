package servicefile_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

func TestAServiceFileIsReadInItsUnits(t *testing.T) {
	got, err := servicefile.Parse("chat.yaml", []byte(`
id: chat
tenant: web
replicas: 12
max: 30
gpus: 1
share: 0.5
gpu_memory: 8
cpu: 1.5
memory: 32
sites: [lyon, oslo]
tiers: [[oslo], [lyon]]
move: {cost: 0.3, horizon: 2h}
variants:
  - {gpu: H100, goodput: 11.3, power: 560.5, start: 2m}
`))
	want := protocol.Service{
		ID: "chat", Tenant: "web", Wanted: 12, Max: 30, GPUs: 1, Share: 500, GPUMemory: 8192, CPU: 1500, Memory: 32768, Sites: []string{"lyon", "oslo"},
		Division: protocol.Division{Tiers: []protocol.SiteTier{{Sites: []string{"oslo"}}, {Sites: []string{"lyon"}}}},
		Move:     protocol.MoveSettings{Cost: 300_000, Horizon: 2 * time.Hour},
		Variants: []protocol.Variant{{Model: "H100", Goodput: 11_300, Power: 560_500, Start: 2 * time.Minute}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v; want %+v", got, err, want)
	}
}

func TestABadServiceFileIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"id: a\nreplicas: -1\n": "chat.yaml:2: replicas",
		"id: a\n":               "replicas",
		"id: a\nreplicas: 1\ncpu: 1\nmove: {horizon: 0h}\n":                                "chat.yaml:4: move/horizon",
		"id: a\nreplicas: 1\ncpu: 1\nvariants: [{gpu: H100, start: 30h}]\n":                "variants: want a goodput",
		"id: a\nreplicas: 1\ncpu: 1\nvariants: [{goodput: 3}]\n":                           "chat.yaml:4: variants/0",
		"id: a\nreplicas: 3\nmax: 2\ncpu: 1\n":                                             "replicas: outside of min and max",
		"id: a\nreplicas: 1\ncpu: 1\nweights: {oslo: 1}\n":                                 "weights: only rule static has them",
		"id: a\nreplicas: 1\ncpu: 1\ndivision: best\n":                                     "chat.yaml:4: division",
		"id: a\nreplicas: 1\ncpu: 1\nnodes: 3\n":                                           "nodes",
		"id: a\nreplicas: 1\n---\nid: b\nreplicas: 1\n":                                    "a second document",
		"id: a\nreplicas: 1\ncpu: 1\nsites: [Oslo]\n":                                      "chat.yaml:4: sites/0",
		"id: a\nreplicas: 1\ncpu: 1\nsites: [oslo]\ntiers: [[lyon]]":                       "one that the service may not use",
		"id: a\nreplicas: 1\ncpu: 1\nsites: [oslo]\ndivision: static\nweights: {lyon: 3}":  "weights: name none of the sites that it may run at",
		"id: a\nreplicas: 1\ncpu: 1\nsites: [oslo]\ndivision: static\nweights: {oslo: -3}": "chat.yaml:6: weights/oslo",
		"id: a\nreplicas: 1\ncpu: 1\nsites: [oslo]\nmin_sites: 2":                          "min_sites: is 2, and it may run at 1 sites",
		"id: a\nreplicas: 1\ncpu: 1\nmin_regions: 3\nmax_regions: 2":                       "min_regions or max_regions",
		"id: a\nreplicas: 1\ncpu: 1\nmax_sites: 2\nmin_providers: 3":                       "max_sites: fewer than the regions or providers that it asks for",
		"id: a\nreplicas: 1\ncpu: 1\nmax_providers: -1":                                    "chat.yaml:4: max_providers",
		"id: a\nreplicas: 1\ncpu: 1\naffinity: shop\nanti_affinity: shop":                  "affinity and anti_affinity: the same group",
	} {
		if _, err := servicefile.Parse("chat.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v; want it to name %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("id: chat\nreplicas: 3\ngpus: 1\ntiers: [[a], [b]]\n"))
	f.Add([]byte("id: chat\nreplicas: 3\ngpus: 1\nmin_regions: 2\nmax_providers: 1\naffinity: a\nanti_affinity: b\n"))
	f.Add([]byte(`{"id": "x", "replicas": 1, "division": "static", "weights": {"a": 3}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := servicefile.Parse("f", text); err == nil && s.InvalidReason() != "" {
			t.Errorf("Parse(%q) = %+v, which is invalid: %s", text, s, s.InvalidReason())
		}
	})
}
