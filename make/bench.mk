# The benchmark. Rows are kept in $(DAYS), so it goes on where it was stopped.
DAYS ?= .gridbid/bench-days

## bench-days: replay the recorded days under every policy, against what none can beat
.PHONY: bench-days
bench-days:
	$(GO) run ./cmd/gridbid bench days --data $(DATA) --out $(DAYS)
