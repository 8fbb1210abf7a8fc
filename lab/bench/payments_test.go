package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A site that asks more or less than its energy costs gains by it where it is
// paid what it asks, and neither gains nor moves a job where it is paid what was
// measured.
func TestALieGainsNothingWhereWhatWasMeasuredIsPaid(t *testing.T) {
	s, err := spec.LoadScenario("six-regions", spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	was := PriceMarkups
	defer func() { PriceMarkups = was }()
	PriceMarkups = []protocol.Milli{1000, 1300}
	rows, err := RunPaymentStudy(context.Background(), s, MisreportStudySites(s)[:1], t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	lying := s // what a day has its sites say is no truth to compare with
	lying.Sites = slices.Clone(s.Sites)
	for i := range lying.Sites {
		lying.Sites[i].Bids = spec.Misreport{Price: 1500}
	}
	all := PriceMarkups
	PriceMarkups = all[:1]
	if again, err := RunPaymentStudy(context.Background(), lying, MisreportStudySites(s)[:1], t.Logf); err != nil || again[0] != rows[0] {
		t.Errorf("of a day of lies: %+v, %v; want what it is without, %+v", again, err, rows[0])
	}
	PriceMarkups = all
	truth := honestRows(rows)
	for _, r := range rows {
		t0 := truth[r.rowKey()]
		if r.Jobs == 0 || t0.Jobs == 0 {
			t.Fatalf("the site ran nothing: %+v", r)
		}
		if off := r.Settled/t0.Settled - 1; r.Paid == paidByMeasurement && (r.Jobs != t0.Jobs || max(off, -off) > 0.01) {
			t.Errorf("a lie made %+v of %+v", r, t0)
		}
	}
	if err := gainsAreOf(rows); err != nil {
		t.Error(err)
	}
	var out strings.Builder
	if err := WritePaymentsMarkdown(&out, rows); err != nil || strings.Count(out.String(), "\n") != 2+len(rows)+1+2+2+4+2 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// gainsAreOf checks what a misreport of 1.3 gains: more where the bid is paid, nothing where the measured
// cost is, and less under VCG than where the bid is paid.
func gainsAreOf(rows []MisreportRow) error {
	gained := make(map[string]float64)
	gains := MisreportGains(rows)
	for _, g := range gains {
		gained[g.Rule] = g.GainedUSD.Mean
	}
	if gained["first-price"] <= 0.005 || math.Abs(gained["settled"]) > 0.005 || gained["VCG"] >= gained["first-price"] {
		return fmt.Errorf("gains %+v", gains)
	}
	return nil
}

// Clarke's payment in worked cases: a site is paid what the jobs that it takes would cost elsewhere, with the room
// that there is.
func TestCostWithoutASite(t *testing.T) {
	at := protocol.Time(1_649_851_200_000)
	option := func(money protocol.Microdollars) []protocol.BidOption {
		return []protocol.BidOption{{Start: at, Finish: at.Add(time.Hour), Model: "V100", Money: money}}
	}
	room := func(gpus protocol.Milli) []protocol.CapacityProfile {
		return []protocol.CapacityProfile{{Model: "V100", From: at, Slot: time.Hour, Free: []protocol.Milli{gpus}, Total: gpus}}
	}
	lot := func(id protocol.JobID, bids ...auction.SiteBids) auction.Lot {
		return auction.Lot{Job: protocol.Job{ID: id, GPUs: 1, Share: 1000, Arrival: at, Run: time.Hour, Deadline: at.Add(2 * time.Hour)}, Bids: bids}
	}
	round := func(sites []auction.Site, lots ...auction.Lot) auction.Round {
		return auction.Round{Number: 1, Now: at, Next: at.Add(10 * time.Minute), Full: true, Sites: sites, Lots: lots}
	}
	site := func(name string, gpus protocol.Milli) auction.Site {
		return auction.Site{Name: name, Capacity: room(gpus), Trust: 1000}
	}
	bid := func(site string, money protocol.Microdollars) auction.SiteBids {
		return auction.SiteBids{Site: site, Options: option(money)}
	}
	for _, c := range []struct {
		name string
		in   auction.Round
		won  []string
		more map[string]protocol.Microdollars
	}{
		{"x would cost 2,000 more at b; y has no other place", round([]auction.Site{site("a", 2000), site("b", 1000)},
			lot("x", bid("a", 3_000), bid("b", 5_000)), lot("y", bid("a", 2_000))), []string{"a", "a"}, map[string]protocol.Microdollars{"a": 2_000, "b": 0}},
		// a is paid 2,000 and 4,000, b 5,000 and 5,000: for x to wait costs 10,000, and c stands for that.
		{"R-V1", round([]auction.Site{site("a", 1000), site("b", 2000), site("c", 1000)},
			lot("x", bid("a", 3_000), bid("b", 5_000), bid("c", 10_000)), lot("y", bid("a", 2_000), bid("b", 6_000), bid("c", 10_000))), []string{"b", "a"}, map[string]protocol.Microdollars{"a": 4_000, "b": 5_000}},
		{"R-V2", round([]auction.Site{site("a", 1000), site("b", 1000), site("c", 1000)},
			lot("x", bid("a", 3_000), bid("b", 5_000), bid("c", 6_000))), []string{"a"}, map[string]protocol.Microdollars{"a": 2_000}},
	} {
		out := auction.New(auction.Config{}).Clear(c.in)
		for i, d := range out.Decisions {
			if d.Site != c.won[i] {
				t.Errorf("%s: job %d goes to %q; want %s", c.name, i, d.Site, c.won[i])
			}
		}
		for site, want := range c.more {
			if got := costWithout(c.in, out, site); got != want {
				t.Errorf("%s: without %s the round costs %d more; want %d", c.name, site, got, want)
			}
		}
	}
}
