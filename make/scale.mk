# What a replay costs, and how that grows with its jobs.
SCALE ?= 2000 5000 10000 20000
DAY_OF_SCALE ?= real-days/ordinary_2022-04-13

.PHONY: bench-scale

## bench-scale: CPU-seconds of a recorded day with SCALE jobs, by the auction and by k8s-least-allocated (minutes; needs the data)
bench-scale: build
	@for jobs in $(SCALE); do for policy in auction k8s-least-allocated; do \
		GOMAXPROCS=1 bash -c 'TIMEFORMAT="%U %S"; time bin/gridbid replay $(DAY_OF_SCALE) --policy '$$policy' --bus mem --no-bound --max-jobs '$$jobs' --data $(DATA) --run bin/scale >bin/scale.out 2>bin/scale.err' 2>&1 \
			| awk -v jobs=$$jobs -v policy=$$policy '{ printf "%6d jobs  %-22s %8.1f CPU-s  %6.2f ms a job\n", jobs, policy, $$1 + $$2, ($$1 + $$2) * 1000 / jobs }'; \
	done; done; rm -rf bin/scale bin/scale.out bin/scale.err
