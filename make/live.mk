# A live federation on this machine: what it takes, beside what NATS takes.
SITES ?= 4,16,64

.PHONY: bench-live bench-settle bench-memory bench-thousand

## bench-live: auctions a second and submit-to-award at SITES sites, beside the bare server's floor; then with a dead one of four
bench-live:
	$(GO) run ./lab/load -sites $(SITES)
	$(GO) run ./lab/load -sites 4 -dead 1

## bench-settle: jobs a second from submission to settlement at 16 sites, for a minute, without and with a flush of each entry
bench-settle:
	$(GO) run ./lab/load -sites 16 -settle 60s

## bench-memory: have one market settle a million jobs, then 50,000 a day for 40 days, and print what memory it takes (minutes)
bench-memory:
	$(GO) run ./lab/load -jobs 1000000
	$(GO) run ./lab/load -daily 50000

## bench-thousand: rounds with 1,000 sites in one process, with message counts
bench-thousand:
	$(GO) run ./lab/load -direct 1000
