# The page, driven in a real Chromium; screenshots are kept in $(PAGE).
PAGE ?= .gridbid/page

.PHONY: test-page bench-page test-axe

## test-page: drive the page in Chromium, that of a coordinator in a process of its own too, and keep screenshots (needs chromium)
test-page: day
	mkdir -p $(PAGE)
	$(GO) test -tags browser -count 1 -timeout 8m -run Browser ./explain/page -pictures $(abspath $(PAGE)) -ledger $(abspath $(DAY))/run/auction.ledger
	$(GO) test -tags browser -count 1 -timeout 8m -run Browser ./lab/chaos -pictures $(abspath $(PAGE))

## bench-page: how fast a day of 10,000 decisions is shown, and a feed of 50 a second (needs chromium)
bench-page:
	$(GO) test -tags browser -count 1 -timeout 8m -v -run Speed ./explain/page

# axe-core finds what people with assistive technology would stumble over. Its licence is MPL-2.0;
# it is fetched into a cache for this test and is no part of what is shipped.
AXE_VERSION := 4.14.1
AXE ?= .gridbid/cache/axe-core-$(AXE_VERSION)/package/axe.min.js

$(AXE):
	@mkdir -p $(dir $(AXE)).. && cd $(dir $(AXE)).. && { npm pack --silent axe-core@$(AXE_VERSION) > /dev/null && tar xzf axe-core-*.tgz && rm axe-core-*.tgz; } || \
		echo "test-axe: no axe-core: install npm, or put axe.min.js of axe-core $(AXE_VERSION) at $(AXE)"

## test-axe: let axe-core look over the page in Chromium at both widths, light and dark (needs chromium; skipped without npm or network)
test-axe: $(AXE)
	$(GO) test -tags browser -count 1 -timeout 8m -v -run BrowserAxe ./explain/page -axe $(abspath $(AXE))
