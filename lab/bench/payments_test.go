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
	s, err := spec.Load("six-regions", spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	was := Shades
	defer func() { Shades = was }()
	Shades = []protocol.Milli{1000, 1300}
	rows, err := Payments(context.Background(), s, Telling(s)[:1], t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	lying := s // what a day has its sites say is no truth to compare with
	lying.Sites = slices.Clone(s.Sites)
	for i := range lying.Sites {
		lying.Sites[i].Bids = spec.Bids{Price: 1500}
	}
	Shades = Shades[:1]
	if again, err := Payments(context.Background(), lying, Telling(s)[:1], t.Logf); err != nil || again[0] != rows[0] {
		t.Errorf("of a day of lies: %+v, %v; want what it is without, %+v", again, err, rows[0])
	}
	truth := truths(rows)
	for _, r := range rows {
		t0 := truth[r.key()]
		if r.Jobs == 0 || t0.Jobs == 0 {
			t.Fatalf("the site ran nothing: %+v", r)
		}
		if off := r.Settled/t0.Settled - 1; r.Paid == byMeasurement && (r.Jobs != t0.Jobs || max(off, -off) > 0.01) {
			t.Errorf("a lie made %+v of %+v", r, t0)
		}
	}
	for _, l := range Temptations(rows) {
		if l.Rule == "first-price" && l.Gainers == 0 || l.Rule == "settled" && l.Gainers > 0 {
			t.Errorf("%+v", l)
		}
	}
	var out strings.Builder
	if err := PaymentsMarkdown(&out, rows); err != nil || strings.Count(out.String(), "\n") != 2+len(rows)+1+2+2+3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}
