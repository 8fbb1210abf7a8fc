# How far chance goes. Replays are kept in $(CHANCE), so each goes on where it was stopped.
CHANCE ?= .gridbid/bench-chance

# Ten small, busy days, four draws and six jitters each: a minute of one core. With recorded
# data: bin/gridbid bench chance --data $(DATA) --check
## bench-chance: of 200 intervals of the auction with itself 180 to 199 must hold 0, and a planted 3 % must be detected in 160 of 200 (minutes; not CI)
.PHONY: bench-chance
bench-chance:
	$(GO) run ./cmd/gridbid bench chance lab/bench/testdata/crowded.yaml --seeds 1,2,3,4,5,6,7,8,9,10 --out $(CHANCE) --check
