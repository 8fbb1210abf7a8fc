# The page, driven in a real Chromium; screenshots are kept in $(PAGE).
PAGE ?= .gridbid/page

.PHONY: test-page bench-page

## test-page: drive the page in Chromium, that of a coordinator in a process of its own too, and keep screenshots (needs chromium)
test-page: day
	mkdir -p $(PAGE)
	$(GO) test -tags browser -count 1 -timeout 8m -run Browser ./explain/page -pictures $(abspath $(PAGE)) -ledger $(abspath $(DAY))/run/auction.ledger
	$(GO) test -tags browser -count 1 -timeout 8m -run Browser ./lab/chaos -pictures $(abspath $(PAGE))

## bench-page: how fast a day of 10,000 decisions is shown, and a feed of 50 a second (needs chromium)
bench-page:
	$(GO) test -tags browser -count 1 -timeout 8m -v -run Speed ./explain/page
