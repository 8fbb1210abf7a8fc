.PHONY: bench-env

## bench-env: steps per second of a learner on the small day, in one environment and in several of one process, over pipes
bench-env:
	$(GO) test -run '^$$' -bench 'Steps|Lines' -benchtime 20x ./lab/seat
