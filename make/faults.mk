# The federation under faults: in simulated time, by seed; then real processes.
SEEDS ?= 20000

# How long seeds are played, at most.
SIM ?= 5m

# How long real processes are killed, stopped and cut off.
CHAOS ?= 60s

# The program that test-prometheus starts.
PROMETHEUS ?= prometheus

.PHONY: sim sim-preempt sim-outage sim-quotas sim-parts sim-services chaos test-prometheus

## sim: play SEEDS of the federation under faults, for SIM at most; a seed that fails says how to see it again
sim:
	$(GO) test ./lab/faults -run 'Nothing|Planted' -count 1 -seeds $(SEEDS) -for $(SIM) -timeout 30m -v

## sim-preempt: play 1,000 seeds in which jobs have others stopped; a seed that fails says how to see it again
sim-preempt:
	$(GO) test ./lab/faults -run 'RoomIsMade' -count 1 -preempting 1000 -timeout 30m -v

## sim-outage: play 1,000 seeds in which no coordinator is heard for a while, and sites start their own jobs
sim-outage:
	$(GO) test ./lab/faults -run 'InAnOutage' -count 1 -outages 1000 -timeout 30m -v

# Histories and worlds are small, and their garbage is cheaper to collect seldom.
FEW_COLLECTIONS = -exec 'env GOGC=1600'

## sim-quotas: play HISTORIES (100,000) random histories of quotas and preemption, from FIRST (0) on: some seven minutes of one core; one that fails says how to see it again
FIRST ?= 0
HISTORIES ?= 100000
sim-quotas:
	$(GO) test ./coordinator/market -run 'RandomHistories' -count 1 -histories $(HISTORIES) -history $(FIRST) -timeout 4h -v $(FEW_COLLECTIONS)

## sim-parts: play 10,000 seeds in which jobs have parts at several sites; a seed that fails says how to see it again
sim-parts:
	$(GO) test ./lab/faults -run 'PartsStand' -count 1 -dividing 10000 -timeout 30m -v

## sim-services: play 10,000 seeds with services beside jobs, of which every fourth has a site that lies; a seed that fails says how to see it again
sim-services:
	$(GO) test ./lab/faults -run 'ServicesStand' -count 1 -serving 10000 -timeout 30m -v

## chaos: run a federation in processes of its own; kill, stop and cut them off for CHAOS; check how each job ended
chaos:
	$(GO) test ./lab/chaos -count 1 -chaos $(CHAOS) -timeout 30m -v

## test-prometheus: a real Prometheus scrapes real coordinators, and each alert of deploy/prometheus fires for its cause (needs prometheus, as Debian has it; skipped without)
test-prometheus:
	@if ! command -v $(PROMETHEUS) >/dev/null; then echo "test-prometheus: skipped: it needs Prometheus: apt-get install prometheus"; \
	else $(GO) test ./lab/chaos -run Prometheus -count 1 -timeout 15m -v -prometheus $(PROMETHEUS); fi
