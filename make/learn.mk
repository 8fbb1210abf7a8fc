# Trainings of greensched, each a folder of LEARNED with weights and learning curve.
LEARNED     ?= .gridbid/learned
LEARN_SEEDS ?= 1 2 3 4 5

## learn: train greensched with each of LEARN_SEEDS, into folders of LEARNED (three minutes of CPU each)
.PHONY: learn
learn:
	@set -e; for seed in $(LEARN_SEEDS); do $(GO) run ./cmd/gridbid learn rule --seed $$seed --out $(LEARNED)/$$seed; done

# Trainings of the corrections of forecasts, in the same folders. The one of the median error is copied
# to agents/forecast/learned.json by hand, and `gridbid learn check` says what it is.
## learn-grid: train what sites correct forecasts by with each of LEARN_SEEDS, and measure it on unseen zones and weeks (needs DATA; a minute of CPU each)
.PHONY: learn-grid
learn-grid:
	@set -e; for seed in $(LEARN_SEEDS); do mkdir -p $(LEARNED)/$$seed; $(GO) run ./cmd/gridbid learn grid --data $(DATA) --seed $$seed --out $(LEARNED)/$$seed | tee $(LEARNED)/$$seed/grid.txt; done

# Draws of each recorded day, jobs of each, and the folder in which replays are kept.
JUDGED_DRAWS  ?= 7
FORECAST_JOBS ?= 1000

## judge-forecasts: the auction with corrected forecasts beside the auction and the row chance, over JUDGED_DRAWS draws of ten recorded days and the stress days; goes on where it was stopped (needs DATA)
.PHONY: judge-forecasts
judge-forecasts:
	$(GO) run ./cmd/gridbid bench days --data $(DATA) --policies auction,auction/learned,chance --draws $(JUDGED_DRAWS) --jobs $(FORECAST_JOBS) --steps 20 --out $(LEARNED)/judge

comma := ,
empty :=
space := $(empty) $(empty)

# Jobs of each day that greensched is judged on, and what else its judge is told: -heldout for windows
# that are held out in place of the recorded days.
JUDGED_JOBS  ?= 5000
JUDGED_FLAGS ?=

## judge-learned: replay ten recorded days under the trainings in LEARNED and their rivals, and check what greensched must save (needs DATA; half an hour of one core)
.PHONY: judge-learned judge-heldout
judge-learned:
	$(GO) test ./lab/learn -run Judged -judge $(JUDGED_FLAGS) -jobs $(JUDGED_JOBS) -data $(abspath $(DATA)) -weights '$(subst $(space),$(comma),$(foreach s,$(LEARN_SEEDS),$(abspath $(LEARNED))/$(s)/greensched.json))' -v -timeout 120m

## judge-heldout: the same on ten windows that nothing was trained, tuned or chosen on
judge-heldout:
	$(MAKE) judge-learned JUDGED_FLAGS=-heldout

## oracle: gradients of the nets that are trained here against those of gomlx, in a module of its own
.PHONY: oracle
oracle:
	cd lab/oracle && $(GO) vet ./... && $(GO) test -count=1 -v ./...
