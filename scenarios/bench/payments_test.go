package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/script"
)

// A site that asks more or less than its energy costs gains by it where it is
// paid what it asks, and neither gains nor moves a job where it is paid what was
// measured.
func TestALieGainsNothingWhereWhatWasMeasuredIsPaid(t *testing.T) {
	s, err := script.Load("six-regions", script.Options{MaxJobs: 60})
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
