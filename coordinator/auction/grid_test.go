package auction

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

// overlap is how many hours of slot i lie within [start, finish).
func overlap(i int, start, finish protocol.Time) float64 {
	from := noon.Add(time.Duration(i) * usual.slot)
	return hoursBetween(min(finish, from.Add(usual.slot)), max(start, from))
}

func drawSpan(t *rapid.T) (start, finish protocol.Time) {
	start = noon + protocol.Time(rapid.Int64Range(-3_600_000, 80*3_600_000).Draw(t, "start"))
	return start, start + protocol.Time(rapid.Int64Range(0, 90*3_600_000).Draw(t, "run"))
}

func TestSpreadGivesEachSlotItsPartOfTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start, finish := drawSpan(t)
		gpus := rapid.Float64Range(-4, 16).Draw(t, "gpus")
		var l slotSeries
		usual.addGPUHours(&l, usual.slotPosition(start, noon), usual.slotPosition(finish, noon), gpus)
		for i, got := range l {
			if want := gpus * max(0, overlap(i, start, finish)); !near(got, want) {
				t.Fatalf("slot %d has %g GPU-hours, want %g", i, got, want)
			}
		}
	})
}

func TestASumOverASpanIsTheSumOfItsSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l slotSeries
		for i := range l {
			l[i] = float64((i*37)%11) * float64(i%5)
		}
		var s prefixSum
		usual.accumulateRates(&s, &l)
		start, finish := drawSpan(t)
		want := 0.0
		for i := range l {
			want += l[i] * max(0, overlap(i, start, finish))
		}
		if got := s.sumBetween(usual.slotPosition(start, noon), usual.slotPosition(finish, noon)); !near(got, want) {
			t.Fatalf("from %v to %v: %g, want %g", start, finish, got, want)
		}
	})
}

func TestAPositionIsHeldToThePlan(t *testing.T) {
	for _, c := range []struct {
		at   protocol.Time
		want float64
	}{
		{noon, 0}, {noon.Add(usual.slot), 1}, {noon.Add(usual.slot / 2), 0.5}, {noon - 1, 0}, {math.MinInt64 / 2, 0},
		{noon.Add(usualSlots * usual.slot), usualSlots}, {noon.Add(usualSlots*usual.slot + time.Hour), usualSlots}, {math.MaxInt64, usualSlots},
	} {
		if got := usual.slotPosition(c.at, noon); got != c.want {
			t.Errorf("%d is at %g, want %g", c.at, got, c.want)
		}
	}
}

func TestPricesMoveWithTheClockAndStayWhereASiteIsSilent(t *testing.T) {
	var k priceMemory
	p := newProblem(round(nil, Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000)}}), nil, &k)
	for i := range p.pools[0].price {
		p.pools[0].price[i] = float64(i)
	}
	k.rememberPrices(p)
	r := round(nil, Site{Name: "bern", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000)}})
	r.Now = noon.Add(time.Hour + time.Minute)
	k.rememberPrices(newProblem(r, nil, &k))
	oslo := k.pricesFrom(poolKey{"oslo", "V100"}, r.Now.Floor(usual.slot))
	if oslo[0] != 4 || oslo[10] != 14 || oslo[usualSlots-4] != 0 {
		t.Errorf("an hour later the prices are %v...", oslo[:12])
	}
	all := k.shadowPrices()
	if len(all) != 1 || all[0].Site != "oslo" || all[0].From != noon.Add(time.Hour) || len(all[0].Values) != usualSlots-4 {
		t.Errorf("announced %d prices; bern has none", len(all))
	}
}
