# A live federation on this machine: what it takes, beside what NATS takes.
SITES ?= 4,16,64

.PHONY: bench-live bench-memory bench-thousand

## bench-live: auctions a second and submit-to-award at SITES sites, beside the bare server's floor
bench-live:
	$(GO) run ./lab/load -sites $(SITES)

## bench-memory: have one market settle a million jobs, and print what memory it takes (minutes)
bench-memory:
	$(GO) run ./lab/load -jobs 1000000

## bench-thousand: rounds with 1,000 sites in one process, with message counts
bench-thousand:
	$(GO) run ./lab/load -direct 1000
