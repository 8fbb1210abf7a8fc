.PHONY: bench-env

## bench-env: steps per second of a learner on the small day, in one environment and in several of one process, over pipes
bench-env:
	$(GO) test -run '^$$' -bench 'Steps|Lines' -benchtime 20x ./lab/seat

# What a learner was trained to, the Python that it is written in, and the program that it talks to.
LEARNER ?= .gridbid/learner
PYTHON  ?= python3

## learner: train the learner of docs/learners in Python with numpy (two to ten minutes), and compare it with greedy on 600 days that it was not trained on (five to thirty) (skipped with a message without numpy)
.PHONY: learner
learner:
	@if ! $(PYTHON) -c 'import numpy'; then echo "learner: skipped: it needs Python 3.8 and numpy: apt-get install python3-numpy, and PYTHON=/usr/bin/python3 where another one is first"; \
	else set -e; \
		$(GO) build -o bin/ ./cmd/gridbid; \
		mkdir -p $(LEARNER); \
		cd docs/learners; export PATH="$(CURDIR)/bin:$$PATH"; \
		$(PYTHON) -B cross_entropy.py train $(abspath $(LEARNER))/weights.json; \
		$(PYTHON) -B cross_entropy.py check $(abspath $(LEARNER))/weights.json; \
	fi
