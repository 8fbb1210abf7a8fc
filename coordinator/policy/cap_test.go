package policy

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A cap looks at the hours that a site tells of, and at no others: a site may say
// that they began before all time.
func TestACapCountsNoHoursThatNobodyTells(t *testing.T) {
	p := protocol.Policy{Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Most: 50}}}
	o := protocol.BidOption{Start: friday, Finish: friday.Add(time.Hour)}
	for _, from := range []protocol.Time{math.MinInt64, 0, math.MaxInt64} {
		g := protocol.GridForecast{From: from, Price: []protocol.Microdollars{60, 60}}
		if by := EvaluateOption(p, protocol.Job{}, "oslo", o, g).Forbidden; by != "" {
			t.Errorf("an outlook from %d has the run forbidden by %s", from, by)
		}
	}
}
