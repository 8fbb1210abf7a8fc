package api

import (
	"slices"
	"testing"
)

// The page's quote has a line for each site, and of a part its name before.
func TestAQuoteHasALineForEachSiteAndPart(t *testing.T) {
	at := &QuotedStart{Site: "oslo", Start: 1_773_230_400_000, Price: 0.2}
	got := siteLines("wide.1 at ", []SiteQuote{{Site: "oslo", Earliest: at, Cheapest: at}, {Site: "rome", Why: "no-capacity"}})
	want := []string{"wide.1 at oslo: from $0.2000, to start 11 Mar 12:00; soonest 11 Mar 12:00 for $0.2000", "wide.1 at rome: no-capacity"}
	if !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
