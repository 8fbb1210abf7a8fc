# The federation under faults: in simulated time, by seed; then real processes.
SEEDS ?= 20000

.PHONY: sim
## sim: play SEEDS of the federation under faults, for five minutes at most; a seed that fails says how to see it again
sim:
	$(GO) test ./scenarios/faults -run 'Nothing|Planted' -count 1 -seeds $(SEEDS) -for 5m -timeout 10m -v
