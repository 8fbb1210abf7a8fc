# The coordinator's log, and its verification.
.PHONY: honest-rounds

## honest-rounds: 100,000 rounds of honest hubs, restarts included, each verified as two sites, a tenant and an auditor (some five minutes of one core)
honest-rounds:
	$(GO) test ./lab/lies -run HonestRounds -count 1 -timeout 60m -v -rounds 100800

.PHONY: bench-proof

## bench-proof: what the log costs: commit, append, prove, check, sign, and a round of 64 bids
bench-proof:
	$(GO) test ./protocol/proof ./coordinator/notary -run '^$$' -bench . -benchtime 1s -count 3
