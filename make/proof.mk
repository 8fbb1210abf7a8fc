# The coordinator's log, and its verification.
.PHONY: honest-rounds

ROUNDS ?= 101000

## honest-rounds: ROUNDS (101,000) of honest hubs, restarts included, each verified as two sites, a tenant and an auditor, from world FIRST (0) on, of 25 rounds each: some five minutes of one core
honest-rounds:
	$(GO) test ./lab/lies -run HonestRounds -count 1 -timeout 4h -v -rounds $(ROUNDS) -world $(FIRST) $(FEW_COLLECTIONS)

.PHONY: bench-proof

## bench-proof: what the log costs: commit, append, prove, check, sign, and a round of 64 bids
bench-proof:
	$(GO) test ./protocol/proof ./coordinator/notary -run '^$$' -bench . -benchtime 1s -count 3
