# What explains and advises, asked and attacked. BENCH_SETS is the folder of the
# sets of questions and attacks; without it, what needs no set is tried.
BENCH_SETS ?= ../shared/bench
AUCTIONS   ?= 200000

# The default day under two policies, with a mark that names the program which replayed it.
DAY := .gridbid/day

.PHONY: bench-explain day

## day: replay the default day into .gridbid/day, once for each build of the program
day:
	$(GO) build -o bin/ ./cmd/gridbid
	@mark=$(DAY)/$$(sha256sum bin/gridbid | cut -c1-16); test -e $$mark || { rm -rf $(DAY) && mkdir -p $(DAY) && \
		bin/gridbid replay --policy auction,home-fifo --bus mem --no-bound --run $(DAY)/run > $(DAY)/table.txt && touch $$mark; }

## bench-explain: replay the default day, ask it every question, and attack what explains and advises
bench-explain: day
	bin/gridbid bench explain --run $(DAY)/run --auctions $(AUCTIONS) \
		$(if $(wildcard $(BENCH_SETS)/questions.yaml),--questions $(BENCH_SETS)/questions.yaml) \
		$(if $(wildcard $(BENCH_SETS)/adversarial.yaml),--adversarial $(BENCH_SETS)/adversarial.yaml)
