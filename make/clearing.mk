.PHONY: bench-clearing

## bench-clearing: clear rounds of up to 2,000 jobs and 128 sites on one core, beside selling job by job
bench-clearing:
	$(GO) test -run '^$$' -cpu 1 -bench Clearing -benchtime 3x ./coordinator/auction
