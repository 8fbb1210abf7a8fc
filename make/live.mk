# A live federation on this machine: what it takes, beside what NATS takes.
SITES ?= 4,16,64
RUNS ?= 5

.PHONY: bench-live bench-settle bench-memory bench-thousand

## bench-live: five times auctions a second and submit-to-award at SITES sites, beside the bare server's floor, with medians; then four sites beside four of which one is dead (20 minutes)
bench-live:
	$(GO) run ./lab/load -sites $(SITES) -runs $(RUNS)
	$(GO) run ./lab/load -sites 4 -dead 1 -runs $(RUNS)

## bench-settle: jobs a second from submission to settlement at 16 sites, for a minute, without and with a flush of each entry
bench-settle:
	$(GO) run ./lab/load -sites 16 -settle 60s -in-flight 8192

## bench-memory: have one market settle a million jobs, then 50,000 a day for 40 days, and print what memory it takes (minutes)
bench-memory:
	$(GO) run ./lab/load -jobs 1000000
	$(GO) run ./lab/load -daily 50000

## bench-thousand: rounds with 1,000 sites in one process, with message counts
bench-thousand:
	$(GO) run ./lab/load -direct 1000

# The acceptance cases of gangs, over processes, by a clock that waits for them. Those of g-b8 are two days.
GANGCASES := $(addprefix scenarios/acceptance/,g-*.yaml j[0-9]*.yaml e1-a-gang*.yaml e1-room*.yaml e2-a-site-without-gpus-has*.yaml \
	e4-two-gangs*.yaml min-available-*.yaml r4-*.yaml a-cancelled-job-stops-all-its-parts.yaml)
LONGCASE := scenarios/acceptance/g-b8-a-gang-is-promised-a-start-of-tomorrow.yaml
SPEED ?= 60

.PHONY: accept-live

## accept-live: play the acceptance cases of gangs with the coordinator and each site in a process of its own (25 minutes, a minute of CPU)
accept-live:
	$(GO) build -o bin/ ./cmd/gridbid
	@bin/gridbid scenario test --live=processes --speed $$((2 * $(SPEED))) $(LONGCASE) & long=$$!; \
	bin/gridbid scenario test --live=processes --speed $(SPEED) --parallel 16 $(filter-out $(LONGCASE),$(wildcard $(GANGCASES))); others=$$?; \
	wait $$long && exit $$others
