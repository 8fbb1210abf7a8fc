package main

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// A quote shows of each site the soonest and the cheapest start, the one that the market would
// take if it is neither, and in words why a site has none; what is late says so.
func TestAQuoteShowsEachSiteAndWhatTheMarketWouldTake(t *testing.T) {
	const noon = protocol.Time(1_773_230_400_000)
	start := func(site string, hours int, price float64) *api.QuotedStart {
		at := noon + protocol.Time(hours)*3_600_000
		return &api.QuotedStart{Site: site, Model: "V100", Start: at, Finish: at + 3_600_000, Energy: 1.5, Carbon: 0.25, Price: price, Cost: 2 * price}
	}
	late := start("oslo", 20, 0.05)
	late.Late = true
	q := api.Quote{Job: "my", At: noon, Verdict: "award", Why: string(protocol.Cheapest), Takes: start("lyon", 1, 0.2), Sites: []api.SiteQuote{
		{Site: "bern", Why: string(protocol.FitsNoNode)},
		{Site: "lyon", Earliest: start("lyon", 0, 0.3), Cheapest: start("lyon", 2, 0.1)},
		{Site: "oslo", Earliest: late, Cheapest: late},
		{Site: "rome", Why: "drained"},
		{Site: "york", Why: string(protocol.NoAnswer)},
	}}
	var out strings.Builder
	if err := quoteListing([]api.Quote{q}).Print(&out, printer.Table); err != nil {
		t.Fatal(err)
	}
	want := `SITE  START                 GPU   BEGINS          ENDS            KWH    KG CO2E  USD     NOTE
bern  none                  -     -               -               -      -        -       no node of the site is large enough
lyon  soonest               V100  03-11 12:00:00  03-11 13:00:00  1.500  0.250    0.3000  -
lyon  cheapest              V100  03-11 14:00:00  03-11 15:00:00  1.500  0.250    0.1000  -
lyon  chosen                V100  03-11 13:00:00  03-11 14:00:00  1.500  0.250    0.2000  the market would take it
oslo  soonest and cheapest  V100  03-12 08:00:00  03-12 09:00:00  1.500  0.250    0.0500  ends after its deadline
rome  none                  -     -               -               -      -        -       it gets no more jobs
york  none                  -     -               -               -      -        -       the site did not answer in time
`
	if got := out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	for verdict, want := range map[string]string{
		"award":  "award it to lyon now, to begin at 03-11 13:00:00 for $0.2000, or $0.4000 with carbon",
		"wait":   "would wait: it plans it for 03-11 13:00:00 at lyon",
		"refuse": "would refuse it: it costs least",
	} {
		if q.Verdict = verdict; !strings.Contains(verdictText(q), want) {
			t.Errorf("%s: %q; want %q", verdict, verdictText(q), want)
		}
	}
	if text := verdictText(api.Quote{}); !strings.Contains(text, "No site is registered") {
		t.Errorf("without a site: %q", text)
	}
}

// A quote of a job in parts shows each part by its name, and where all of them would go together.
func TestAQuoteOfAJobInPartsShowsItsParts(t *testing.T) {
	const noon = protocol.Time(1_773_230_400_000)
	at := func(site string, price float64) *api.QuotedStart {
		return &api.QuotedStart{Site: site, Model: "V100", Start: noon, Finish: noon + 3_600_000, Energy: 1.5, Carbon: 0.25, Price: price, Cost: 2 * price}
	}
	q := api.Quote{Job: "my", At: noon, Verdict: "award", Why: string(protocol.Cheapest), Sites: []api.SiteQuote{}, Parts: []api.PartQuote{
		{Part: "my.1", Takes: at("lyon", 0.2), Sites: []api.SiteQuote{{Site: "lyon", Earliest: at("lyon", 0.2), Cheapest: at("lyon", 0.2)}, {Site: "oslo", Why: string(protocol.NoCapacity)}}},
		{Part: "my.2", Takes: at("oslo", 0.3), Sites: []api.SiteQuote{{Site: "oslo", Earliest: at("oslo", 0.3), Cheapest: at("oslo", 0.3)}}},
	}}
	var out strings.Builder
	if err := quoteListing([]api.Quote{q}).Print(&out, printer.Table); err != nil {
		t.Fatal(err)
	}
	want := `SITE  JOB   START                 GPU   BEGINS          ENDS            KWH    KG CO2E  USD     NOTE
lyon  my.1  soonest and cheapest  V100  03-11 12:00:00  03-11 13:00:00  1.500  0.250    0.2000  the market would take it
oslo  my.1  none                  -     -               -               -      -        -       the site has no room in time
oslo  my.2  soonest and cheapest  V100  03-11 12:00:00  03-11 13:00:00  1.500  0.250    0.3000  the market would take it
`
	if got := out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if text, want := verdictText(q), "all parts now, my.1 to lyon to begin at 03-11 12:00:00 and my.2 to oslo to begin at 03-11 12:00:00, for $0.5000 and 0.500 kg CO2e together, or $1.0000"; !strings.Contains(text, want) {
		t.Errorf("%q; want %q", text, want)
	}
	q.Verdict, q.Why = "wait", string(protocol.PartsApart)
	if text := verdictText(q); !strings.HasPrefix(text, "The market would wait: ") {
		t.Errorf("%q", text)
	}
}
