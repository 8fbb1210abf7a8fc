# What a replay costs, and how that grows with its jobs.
SCALE ?= 2000,5000,10000,20000,50000
DAY_OF_SCALE ?= real-days/ordinary_2022-04-13
# A checkout of github.com/armadaproject/armada: its simulator runs the same jobs beside the replays.
ARMADA ?=

.PHONY: bench-scale

## bench-scale: CPU time, peak memory and ledger of a recorded day with SCALE jobs, by which power they grow, and a chart in bin/scale; with ARMADA=CHECKOUT Armada's simulator beside it (ten minutes and more; needs the data)
bench-scale: build
	$(GO) build -o bin/scale-of-replays ./lab/scale
	bin/scale-of-replays -jobs $(SCALE) -day $(DAY_OF_SCALE) -data $(DATA) $(if $(ARMADA),-armada $(ARMADA))

# The tree whose awards are compared, days, seeds, and jobs of each.
BEFORE ?= HEAD~1
DAYS_TO_COMPARE ?= ordinary_2022-04-13 heatwave_ca_2022-09-06 winddrought_de_gb_2022-12-11
SEEDS_TO_COMPARE ?= 1 2 3
JOBS_TO_COMPARE ?= 500

.PHONY: same-awards

## same-awards: replay three recorded days at three seeds with the program of commit BEFORE and with this one, and compare ledgers and, where they differ, awards (needs the data; minutes)
same-awards: build
	rm -rf bin/before && mkdir -p bin/before/tree && git archive $(BEFORE) | tar -x -C bin/before/tree
	cd bin/before/tree && $(GO) build -o ../gridbid ./cmd/gridbid
	rm -r bin/before/tree
	@differ=0; for day in $(DAYS_TO_COMPARE); do for seed in $(SEEDS_TO_COMPARE); do \
		for program in before/gridbid gridbid; do \
			bin/$$program replay real-days/$$day --quiet --data $(DATA) --policy auction --bus mem --no-bound --max-jobs $(JOBS_TO_COMPARE) --seed $$seed --run bin/before/run-$${program%%/*} > /dev/null || exit 2; \
			bin/$$program messages --run bin/before/run-$${program%%/*} --kind award > bin/before/awards-$${program%%/*}; \
		done; \
		awards=$$(wc -l < bin/before/awards-gridbid); \
		if cmp -s bin/before/run-before/auction.ledger bin/before/run-gridbid/auction.ledger; then echo "$$day, seed $$seed: equal ledgers, $$awards awards"; \
		elif cmp -s bin/before/awards-before bin/before/awards-gridbid && test $$awards -gt 0; then echo "$$day, seed $$seed: equal awards, $$awards of them"; \
		else echo "$$day, seed $$seed: awards differ: diff bin/before/awards-before bin/before/awards-gridbid"; differ=1; fi; \
	done; done; exit $$differ
