# Kubernetes: a control plane of its own, built from Go modules and kept under
# ~/.cache, so that only the first run pays for it.
KUBETEST ?= .

.PHONY: kube-plane test-kube test-kueue bench-kube test-chart example-federation testbed

## kube-plane: build the Kubernetes control plane for tests (ten minutes, once), and say where it is
kube-plane:
	@internal/kubeenv/controlplane/build.sh

## test-kube: the site's executor against a real API server, with faults, and the real agent while it is killed (KUBETEST=pattern picks)
test-kube:
	GRIDBID_PLANE=$$(internal/kubeenv/controlplane/build.sh) GRIDBID_CONTROLLERS=$$(internal/kubeenv/controllers/build.sh jobset lws mpi-operator training-operator) $(GO) test -tags kube -count=1 -timeout 25m -p 1 -run '$(KUBETEST)' ./internal/kubeenv ./cluster-agent/kube/... ./lab/clusters ./lab/chaos

## test-kueue: Kueue itself on three planes, and our dispatcher (builds Kueue once: five minutes of one core)
test-kueue:
	GRIDBID_PLANE=$$(internal/kubeenv/controlplane/build.sh) GRIDBID_CONTROLLERS=$$(internal/kubeenv/controllers/build.sh kueue) $(GO) test -tags kube,kueue -count=1 -timeout 15m -run Kueue ./lab/clusters

## bench-kube: pods bound in a second, by us and by bare client-go in the same run
bench-kube:
	GRIDBID_PLANE=$$(internal/kubeenv/controlplane/build.sh) $(GO) test -tags kube -count=1 -timeout 25m -p 1 -run '^$$' -bench Bind ./cluster-agent/kube/executor

## test-chart: check the chart, its rights and the container file, with Helm's own code (CONTAINERS=1 also builds the latter)
test-chart:
	cd deploy/charttest && $(GO) test -count=1 ./...

## example-federation: three clusters and a market over them, from deploy/examples; EXAMPLE_HOLD=10m keeps it up
example-federation:
	GRIDBID_PLANE=$$(internal/kubeenv/controlplane/build.sh) $(GO) test -tags kube -count=1 -v -timeout 60m -run ExampleFederation ./lab/clusters

## testbed: the same jobs under Kubernetes' default scheduler and under Gridbid with greensched on one control plane, as a table (ten minutes, most of them waiting)
testbed:
	GRIDBID_PLANE=$$(internal/kubeenv/controlplane/build.sh) $(GO) test -tags kube -count=1 -v -timeout 60m -run TestbedOfTheLearnedRule ./lab/clusters -testbed
