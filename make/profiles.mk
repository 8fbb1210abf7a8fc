# How well sites foretell how long jobs run, on public traces.
WORKLOAD ?= ../shared/data/workload

.PHONY: bench-profiles

## bench-profiles: foretell the durations of public traces, and count how often it was right (seconds; needs WORKLOAD)
bench-profiles:
	$(GO) run ./cmd/gridbid bench profiles --data $(WORKLOAD)
