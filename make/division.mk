# How the replicas of services are divided over sites.
.PHONY: division-twin bench-division

## division-twin: divide 100,000 random services, and compare with a slow implementation from the definition alone
division-twin:
	$(GO) test ./coordinator/division -run SlowTwin -count 1 -inputs 100000 -v

## bench-division: divide 10,000 replicas over 64 and 1,000 sites, and 1,000 services in a round, on one core; with CPU time
bench-division:
	$(GO) test -run '^$$$$' -cpu 1 -bench . -benchmem ./coordinator/division
