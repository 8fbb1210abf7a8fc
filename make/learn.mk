# Trainings of greensched, each a folder of LEARNED with weights and learning curve.
LEARNED     ?= .gridbid/learned
LEARN_SEEDS ?= 1 2 3 4 5

## learn: train greensched with each of LEARN_SEEDS, into folders of LEARNED (three minutes of CPU each)
.PHONY: learn
learn:
	@set -e; for seed in $(LEARN_SEEDS); do $(GO) run ./cmd/gridbid learn rule --seed $$seed --out $(LEARNED)/$$seed; done

comma := ,
empty :=
space := $(empty) $(empty)

## judge-learned: replay ten recorded days under the trainings in LEARNED and their rivals, and check what greensched must save (needs DATA; minutes)
.PHONY: judge-learned
judge-learned:
	$(GO) test ./lab/learn -run Judged -judge -data $(abspath $(DATA)) -weights '$(subst $(space),$(comma),$(foreach s,$(LEARN_SEEDS),$(abspath $(LEARNED))/$(s)/greensched.json))' -v -timeout 60m
