package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const serviceFile = `name: services
start: 2026-01-05T00:00:00Z
sites:
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    fleet: [{count: 1, model: A100, gpus: 8, cpu: 64, memory: 512}]
services:
  - {id: llm, replicas: 4, gpus: 1, cpu: 1, memory: 4, sites: [east], division: static, weights: {east: 2}}
  - {id: other, replicas: 1, cpu: 1}
imports:
  - text: |
      apiVersion: policy.karmada.io/v1alpha1
      kind: PropagationPolicy
      metadata: {name: p}
      spec:
        resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
        placement: {clusterAffinity: {clusterNames: [east]}, replicaScheduling: {replicaSchedulingType: Divided}}
      ---
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: chat}
      spec: {replicas: 1, template: {spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}}}
events:
  - {at: 10m, scale: llm, replicas: 6}
  - {at: 20m, prices: east, price: 80}
expect:
  - {service: llm, divided: {at: 5m, sites: {east: 4}}}
`

// A service that is wrong is refused with file, line and field.
func TestErrorsOfServicesNameLineAndField(t *testing.T) {
	load := func(from, to string) error {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		text := strings.Replace(serviceFile, from, to, 1)
		if from != to && text == serviceFile {
			t.Fatalf("%q is not in the file", from)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadScenario(file, Options{})
		return err
	}
	if err := load("", ""); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"replicas: 4", "replicas: -4", ":8: services/0/replicas: "},
		{"weights: {east: 2}", "weights: {west: 2}", ":8: services/0: weights: name none of the sites that it may run at"},
		{"id: other", "id: llm", ":9: services/1/id: is \"llm\", as that of another service"},
		{"sites: [east]", "sites: [east, est]", ":8: services/0/sites/1: unknown site \"est\""},
		{"weights: {east: 2}", "weights: {east: 2, est: 2}", ":8: services/0/weights/est: unknown site \"est\""},
		{"weights: {east: 2}", "tiers: [[east]]", ":8: services/0: tiers: static weights ignore capacity"},
		{"division: static", "division: fair", ":8: services/0/division: "},
		{"memory: 4,", "memory: 4, models: [Z9],", ":8: services/0/models/0: "},
		{"{id: other, replicas: 1, cpu: 1}", "{id: other, replicas: 1}", ":9: services/1: cpu: "},
		{"clusterNames: [east]", "clusterNames: [est]", ":11: imports/0: unknown site \"est\""},
		{"metadata: {name: chat}", "metadata: {name: llm}", ":11: imports/0: is \"llm\", as that of another service"},
		{"Divided", "Duplicated", ":11: imports/0/text: text:6: spec/placement/replicaScheduling"},
		{"scale: llm, replicas: 6", "scale: lm, replicas: 6", ":24: events/0/scale: unknown service \"lm\""},
		{"scale: llm, replicas: 6", "scale: llm", ":24: events/0: want replicas together with scale"},
		{"prices: east, price: 80", "prices: east", ":25: events/1: want price or carbon"},
		{"service: llm, divided", "service: lm, divided", ":27: expect/0/service: unknown service \"lm\""},
		{"service: llm, divided", "job: llm, divided", ":27: expect/0: want service together with divided"},
		{"at: 5m", "at: 500h", ":27: expect/0/divided/at: "},
		{"{east: 4}}}", "{est: 4}}}", ":27: expect/0/divided/sites/est: unknown site"},
	} {
		if err := load(tc.from, tc.to); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v; want %q", tc.to, tc.from, err, tc.want)
		}
	}
}
