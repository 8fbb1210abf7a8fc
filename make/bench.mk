## bench-services: replay the recorded days with a service beside the jobs, under several rules of division; needs the data, about eleven minutes of one core. Replays are kept: it goes on where it was stopped
.PHONY: bench-services
bench-services:
	$(GO) run ./cmd/gridbid bench services --data $(DATA)

# The benchmark. Rows are kept in $(DAYS), so it goes on where it was stopped.
DAYS ?= .gridbid/bench-days

## bench-days: replay the recorded days under every policy, against what none can beat
.PHONY: bench-days
bench-days:
	$(GO) run ./cmd/gridbid bench days --data $(DATA) --out $(DAYS)
