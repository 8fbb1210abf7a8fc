# What explains and advises, asked and attacked. BENCH_SETS is the folder of the
# sets of questions and attacks; without it, what needs no set is tried.
BENCH_SETS ?= ../shared/bench
AUCTIONS   ?= 200000

.PHONY: bench-explain

## bench-explain: replay the default day, ask it every question, and attack what explains and advises
bench-explain:
	$(GO) build -o bin/ ./cmd/gridbid
	bin/gridbid replay --policy auction,home-fifo --bus mem --no-bound --run bin/explained > /dev/null
	bin/gridbid bench explain --run bin/explained --auctions $(AUCTIONS) \
		$(if $(wildcard $(BENCH_SETS)/questions.yaml),--questions $(BENCH_SETS)/questions.yaml) \
		$(if $(wildcard $(BENCH_SETS)/adversarial.yaml),--adversarial $(BENCH_SETS)/adversarial.yaml)
