.PHONY: bench-env

## bench-env: steps per second of a learner on the small day, in one environment and in several of one process, over pipes
bench-env:
	$(GO) test -run '^$$' -bench 'Steps|Lines' -benchtime 20x ./lab/seat

# What a learner was trained to, and the program that it talks to.
LEARNER ?= .gridbid/learner

## learner: train the learner of docs/learners in standard-library Python (minutes), and compare it with greedy on days that it was not trained on
.PHONY: learner
learner:
	$(GO) build -o bin/ ./cmd/gridbid
	mkdir -p $(LEARNER)
	cd docs/learners && export PATH="$(CURDIR)/bin:$$PATH" && python3 cross_entropy.py train $(abspath $(LEARNER))/weights.json && python3 cross_entropy.py check $(abspath $(LEARNER))/weights.json
