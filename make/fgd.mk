# Packing: parity with the published results, and speed. OPENB is the folder of
# the published traces and their summary.
OPENB ?= ../shared/data/openb
WORKLOAD ?= ../shared/data/workload

.PHONY: fgd-parity fgd-study bench-fgd gangs-exhaustive

## fgd-parity: replay every published trace and write the table into docs/fgd.md
fgd-parity:
	go run ./cmd/gridbid placement parity $(OPENB) --write docs/fgd.md

## fgd-study: measure policies with departures, and write the table into docs/fgd.md
fgd-study:
	go run ./cmd/gridbid placement study $(WORKLOAD)/alibaba_gpu_v2023.csv.gz --nodes $(OPENB)/openb_node_list_gpu_node.csv --write docs/fgd.md

## bench-fgd: nanoseconds per decision, on the published traces and in clusters of 1,213 to 121,300 nodes; and of sets of pods, beside a scan of all nodes
bench-fgd:
	go test -run '^$$' -cpu 1 -bench 'Trace|SteadyState|Quote|Set|RequiredLevel' ./agents/fgd ./agents/capacity ./lab/packing

# As many as is claimed: where one seed finds nothing, RAPID_SEED=0 draws other clusters.
## gangs-exhaustive: place sets of equal pods in 10,000 random clusters, and compare with exhaustive search; and of those that require a domain of nested levels
gangs-exhaustive:
	$(GO) test -timeout 30m ./agents/fgd -run 'ASetIsPlacedAsExhaustiveSearchWould' -count 1 -rapid.checks=10000 -v
	$(GO) test -timeout 30m ./agents/capacity -run 'TopologyIsKeptAsExhaustiveSearchWould|GroupsOfPodsArePlacedAsExhaustiveSearchWould' -count 1 -rapid.checks=10000 -v
