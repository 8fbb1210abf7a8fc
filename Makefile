# What can be made of Gridbid. Everything but `race` needs Go alone; what reads
# recorded data says so and passes over it where there is none. CONTRIBUTING.md says which
# targets CI runs for every change, and which by night.

GO        ?= go
PKG       ?= ./...
BENCH     ?= .
COUNT     ?= 10
FUZZTIME  ?= 50000x
FUZZNOT   ?= none
CHECKS    ?= 2000
DATA      ?= ../shared/data

# All build tags, so that one run of a linter sees every file that Linux with cgo builds.
TAGS := browser,gpu,kube,kueue

# lint vets everything once. Go would vet all that is tested again, with all that it
# needs: in each build of its own (fuzzing, the race detector) for minutes.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -vet=off)

# Property tests start from this seed, so that a change is not blamed for what chance found;
# RAPID_SEED=0 draws a new one each time.
export RAPID_SEED ?= 1

# NVIDIA's header marks some of its own calls as deprecated, which a C compiler would report for
# pages at the first build of cluster-agent.
export CGO_CFLAGS := $(strip $(shell $(GO) env CGO_CFLAGS 2>/dev/null) -Wno-deprecated-declarations)

.DEFAULT_GOAL := help

## help: say what make can do
.PHONY: help
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  %-18s %s\n", $$1, $$2 }'

## test: all that must hold: format, vet, every test (ten minutes of two cores at most, once all is built)
.PHONY: test
test: lint
	$(GO) test -timeout 25m ./...

## check: what to run before a commit: test, staticcheck, and the race detector where there are goroutines
.PHONY: check
check: test staticcheck race

## lint: format and vet
.PHONY: lint
lint:
	@bad=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); test -z "$$bad" || { echo "gofmt: run gofmt -w on"; echo "$$bad"; exit 1; }
	$(GO) vet -tags $(TAGS) ./...

# Run by its version and not named in go.mod, so that the product requires nothing of it.
## staticcheck: find dead code, deprecated calls and mistakes in every package and test
.PHONY: staticcheck
staticcheck:
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags $(TAGS) ./...

## vuln: look for known vulnerabilities in what the programs call (needs https://vuln.go.dev or VULNDB)
.PHONY: vuln
vuln:
	@bash .ci/vuln

## slow: property tests with CHECKS cases each, forecasts of a whole year, drawn questions by the ten thousand, reasons, sets of pods, and services (minutes)
.PHONY: slow
slow:
	$(GO) test -timeout 60m $$(grep -rl --include='*_test.go' 'pgregory.net/rapid"' . | xargs -n1 dirname | grep -v '^./deploy' | sort -u) -rapid.checks=$(CHECKS)
	$(GO) test -timeout 60m ./agents/forecast -year
	$(GO) test -timeout 60m ./explain/ask -asked 40000
	$(MAKE) reasons
	$(MAKE) gangs-exhaustive
	$(MAKE) division-twin

## reasons: over DECISIONS decisions of crowded recorded days, no award stands beside a cheaper alternative without a reason (all but 1,000 need DATA; a minute)
.PHONY: reasons
DECISIONS ?= 10000
reasons:
	$(GO) test ./coordinator/auction -run 'NoMoveOrExchange|SomethingStood' -rapid.checks=$(CHECKS)
	$(GO) test -timeout 60m ./lab/bench -run 'NothingStandsFree|CheaperAlternative' -decisions $(DECISIONS) -data $(abspath $(DATA)) -v

# Not federation: nats-server 2.15 itself races when it is reloaded while others connect.
## race: the packages that start goroutines, under the race detector (needs a C compiler)
.PHONY: race
race:
	$(GO) test -race -timeout 25m $$($(GO) list ./bus/... | grep -v natsbus/federation) ./llm ./coordinator/advisor ./explain/timeline/tail ./explain/page ./explain/mcp ./coordinator/leader ./coordinator/api ./cluster-agent/signals ./scenarios/sim/loop

# Go itself knows the commit of a plain checkout, and not that of every worktree or container.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)

## build: the binaries, in bin/
.PHONY: build
build:
	$(GO) build -trimpath -ldflags "-X main.commit=$(COMMIT)" -o bin/ ./cmd/...

## man: the manual pages of gridbid, in bin/man
.PHONY: man
man:
	$(GO) run ./cmd/gridbid man --folder bin/man

## notices: the licences of what the programs link, into bin/NOTICES
.PHONY: notices
notices:
	@mkdir -p bin
	@GO=$(GO) bash deploy/containers/notices > bin/NOTICES

## bench: benchmarks of PKG that match BENCH, COUNT times, for benchstat
.PHONY: bench
bench:
	@echo "commit: $$(git describe --always --dirty 2>/dev/null || echo unknown)"
	@echo "go: $$($(GO) version | cut -d' ' -f3)"
	@echo "cores: $$(getconf _NPROCESSORS_ONLN)"
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m $(PKG)

# By inputs, not by time: when time is over while a worker is busy, the engine may
# call that a failure ("context deadline exceeded"). Inputs that are kept need not be
# short: half of the time went into that.
## fuzz: every fuzz target for FUZZTIME, a number of inputs (50000x) or a time (10s), but for folders FUZZNOT
.PHONY: fuzz
fuzz:
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | grep -v '$(FUZZNOT)' | sort -u); do \
		for target in $$(cat $$dir/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			echo "$$dir $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$dir; \
		done; \
	done

## stories: rewrite the golden files of stories, pages and the plan; read the diff before you commit
.PHONY: stories
stories:
	$(GO) test ./explain/query ./scenarios/report ./internal/arch -update
	git diff --stat

## real: replay ten recorded days under every policy, and judge the auction (needs DATA; minutes)
.PHONY: real
real:
	$(GO) test ./scenarios/real-days -run Judged -judge -data $(abspath $(DATA)) -v -timeout 50m

include make/*.mk
