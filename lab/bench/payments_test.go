package bench

import (
	"context"
	"slices"
	"strings"
	"testing"

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
	PriceMarkups = PriceMarkups[:1]
	if again, err := RunPaymentStudy(context.Background(), lying, MisreportStudySites(s)[:1], t.Logf); err != nil || again[0] != rows[0] {
		t.Errorf("of a day of lies: %+v, %v; want what it is without, %+v", again, err, rows[0])
	}
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
	for _, l := range MisreportGains(rows) {
		if l.Rule == "first-price" && l.Gainers == 0 || l.Rule == "settled" && l.Gainers > 0 {
			t.Errorf("%+v", l)
		}
	}
	var out strings.Builder
	if err := WritePaymentsMarkdown(&out, rows); err != nil || strings.Count(out.String(), "\n") != 2+len(rows)+1+2+2+3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}
