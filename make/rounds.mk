# Rounds that are larger than the connections of sites carry.
.PHONY: big-round

## big-round: one round of 1,000 jobs at 64 sites under a federation's payload, in memory, over NATS, and over a hub with an account a site and agents in four processes
big-round:
	$(GO) test ./lab/bigrounds -run BigRound -count 1 -timeout 20m -v -sites 64 -jobs 1000 -payload 524288
