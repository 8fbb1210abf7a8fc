# The federation under faults: in simulated time, by seed; then real processes.
SEEDS ?= 20000

# How long seeds are played, at most.
SIM ?= 5m

# How long real processes are killed, stopped and cut off.
CHAOS ?= 60s

.PHONY: sim chaos

## sim: play SEEDS of the federation under faults, for SIM at most; a seed that fails says how to see it again
sim:
	$(GO) test ./lab/faults -run 'Nothing|Planted' -count 1 -seeds $(SEEDS) -for $(SIM) -timeout 30m -v

## chaos: run a federation in processes of its own; kill, stop and cut them off for CHAOS; check how each job ended
chaos:
	$(GO) test ./lab/chaos -count 1 -chaos $(CHAOS) -timeout 30m -v
