package market

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// A kilowatt-hour is 5 cents from 12:00 and 10 from 13:00, and the building takes
// a fifth more from then on. An option that draws 0.72 kWh evenly from 12:30 to
// 13:30 thus costs 0.72 (5·1 + 10·1.2) / (1 + 1.2) = 5.5636 cents.
func TestBidMoneyMustMatchTheForecastOfTheSameBid(t *testing.T) {
	const energy, right = protocol.Millijoules(2_592_000_000), protocol.Microdollars(55_636)
	grid := protocol.GridForecast{From: noon.Floor(time.Hour), Price: []protocol.Microdollars{50_000, 100_000}, PUE: []protocol.Milli{1000, 1200}}
	for _, c := range []struct {
		name       string
		pay        accounts.Payment
		sent, want protocol.Microdollars
		late       time.Duration
		times      int
	}{
		{"right amounts stay", accounts.Settled, right, right, 0, 0},
		{"so is what is off by less than a hundredth", accounts.Settled, right + 500, right + 500, 0, 0},
		{"too little is put right", accounts.Settled, right * 7 / 10, right, 0, 1},
		{"so is too much", "", right * 13 / 10, right, 0, 1},
		{"where bids are paid money is a price", accounts.FirstPrice, right * 13 / 10, right * 13 / 10, 0, 0},
		{"beyond the forecast amounts stay", accounts.Settled, right * 7 / 10, right * 7 / 10, time.Hour, 0},
	} {
		k := New(Config{Pay: accounts.PaymentRule{Pay: c.pay}}, &soonest{})
		start := noon.Floor(time.Hour).Add(30*time.Minute + c.late)
		got := k.recomputeMoney(&protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Energy: energy, Money: c.sent}, &grid)
		if got != c.want || k.counts["money-not-as-told"] != c.times {
			t.Errorf("%s: %d taken as %d, want %d; %v", c.name, c.sent, got, c.want, k.counts)
		}
	}
}

// The amount of an option is that of a look at each hour of the forecast.
func TestMoneyIsThatOfALookAtEachHour(t *testing.T) {
	const hour = protocol.Time(time.Hour / time.Millisecond)
	rapid.Check(t, func(t *rapid.T) {
		g := protocol.GridForecast{From: noon.Floor(time.Hour)}
		for range rapid.IntRange(1, 8).Draw(t, "hours") {
			g.Price = append(g.Price, protocol.Microdollars(rapid.IntRange(-90_000, 300_000).Draw(t, "price")))
		}
		for range rapid.IntRange(0, len(g.Price)).Draw(t, "metered hours") {
			g.PUE = append(g.PUE, protocol.Milli(rapid.IntRange(1000, 2000).Draw(t, "pue")))
		}
		end := protocol.Time(len(g.Price)) * hour
		o := protocol.BidOption{Start: g.From + protocol.Time(rapid.Int64Range(0, int64(end-1)).Draw(t, "start")), Energy: 7_200_000_000}
		o.Finish = o.Start + protocol.Time(rapid.Int64Range(1, int64(g.From+end-o.Start)).Draw(t, "run"))
		o.Money = -protocol.MaxMoney // never right: it is recomputed
		cost, weight, pue := 0.0, 0.0, 1.0
		for i := range protocol.Time(len(g.Price)) {
			if int(i) < len(g.PUE) {
				pue = float64(g.PUE[i])
			}
			if part := min(o.Finish, g.From+(i+1)*hour) - max(o.Start, g.From+i*hour); part > 0 {
				weight += float64(float64(part) * pue)
				cost += float64(float64(part) * pue * float64(g.Price[i]))
			}
		}
		want := protocol.Microdollars(math.Round(float64(o.Energy) / 3.6e9 * cost / max(weight, 1)))
		if got := New(Config{}, &soonest{}).recomputeMoney(&o, &g); got != want {
			t.Fatalf("%+v at %+v costs %d; want %d", o, g, got, want)
		}
	})
}
