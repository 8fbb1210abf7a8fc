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
