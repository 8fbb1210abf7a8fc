# Rounds that are larger than the connections of sites carry.
.PHONY: big-round

## big-round: one round of 1,000 jobs at 64 sites under a federation's payload, in memory, over NATS, and over a hub with an account a site and agents in four processes
big-round:
	$(GO) test ./lab/bigrounds -run BigRound -count 1 -timeout 20m -v -sites 64 -jobs 1000 -payload 524288

.PHONY: many-sites

## many-sites: 400 and 2,000 jobs wait at 1,000 sites of a market over NATS, at 100,000 bids a round (the default); and how it fares without a bound
many-sites:
	$(GO) test ./lab/bigrounds -run ManyJobsWait -count 1 -timeout 30m -v -many-sites 1000 -waiting 400 -most-bids 100000
	$(GO) test ./lab/bigrounds -run ManyJobsWait -count 1 -timeout 30m -v -many-sites 1000 -waiting 2000 -most-bids 100000
	-$(GO) test ./lab/bigrounds -run ManyJobsWait -count 1 -timeout 30m -v -many-sites 1000 -waiting 400 -most-bids 100000000

.PHONY: best-sites
## best-sites: what it costs to ask 64 of 160 sites for each job, each round decided with their bids and with those of all, by 24 draws of 500 jobs, and 3 at 1,000 sites; then the work, for 10,000 jobs of a day at 1,000 sites (minutes)
best-sites:
	$(GO) test ./lab/bench -run EachRoundWithTheBids -count 1 -timeout 90m -v -many-sites 160 -many-sites-jobs 500 -many-sites-draws 24 -most-regret 0.5
	$(GO) test ./lab/bench -run EachRoundWithTheBids -count 1 -timeout 90m -v -many-sites 1000 -many-sites-jobs 500 -many-sites-draws 3
	$(GO) test ./lab/bench -run AskingTheBestSites -count 1 -timeout 90m -v -many-sites 1000 -many-sites-jobs 10000 -only-some

# A folder for a CPU profile and a heap profile of each tenth of the jobs of busy-sites; empty: none.
BUSY_PROFILES ?=

.PHONY: busy-sites
## busy-sites: 10,000 and then 100,000 jobs of a day at 1,000 sites of three nodes, with CPU time and memory after each tenth, and profiles of each in BUSY_PROFILES (half an hour of one core)
busy-sites:
	$(GO) test ./lab/bench -run AskingTheBestSites -count 1 -timeout 180m -v -many-sites 1000 -many-sites-nodes 3000 -many-sites-jobs 10000 -only-some
	$(GO) test ./lab/bench -run AskingTheBestSites -count 1 -timeout 180m -v -many-sites 1000 -many-sites-nodes 3000 -many-sites-jobs 100000 -only-some $(if $(BUSY_PROFILES),-many-sites-profiles $(abspath $(BUSY_PROFILES)))
