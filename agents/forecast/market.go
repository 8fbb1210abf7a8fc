package forecast

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Market is the time at which values become known. Its zero is a real-time
// market without delay: the value of an hour is known from the beginning of that
// hour, and no value ahead of it.
type Market struct {
	// Ahead: each day a market publishes the whole of the next delivery day.
	Ahead     bool
	Publishes int // hour of the day at which, in UTC
	Ends      int // hour of the day at which a delivery day ends, in UTC

	// Lag is how late a real-time value comes: an hour's value is known Lag
	// after the hour begins. The mean of an hour can be known at its end at the
	// earliest, which is a Lag of an hour: with it the value of the current hour
	// is a forecast. A negative Lag is foresight, for comparisons.
	Lag time.Duration
}

// DayAheadMarket is the market assumed where no better is known: at 12:00 UTC it
// publishes all hours until the end of tomorrow.
func DayAheadMarket() Market { return Market{Ahead: true, Publishes: 12} }

// KnownUntil returns the first hour that is not known at now.
func (m Market) KnownUntil(now protocol.Time) protocol.Time {
	if !m.Ahead {
		return now.Add(-m.Lag).Floor(time.Hour).Add(time.Hour)
	}
	// The last publication was of the delivery day after its own.
	clock := func(t protocol.Time, hour int) protocol.Time {
		shift := time.Duration(hour) * time.Hour
		return t.Add(-shift).Floor(day * time.Hour).Add(shift)
	}
	last := clock(now, m.Publishes)
	return clock(last, m.Ends).Add(2 * day * time.Hour)
}

// DefaultRule returns the rule that forecasts best a quantity that m makes known. A
// day-ahead market sells tomorrow at the level of today, so Blend is far better
// for its prices. A high real-time price often lasts only an hour, which Blend
// would extend, and seldom returns at the same hour, which Average would expect.
func DefaultRule(q protocol.Quantity, m Market) Rule {
	switch {
	case q == protocol.GridCarbon:
		return Regression
	case q == protocol.GridPrice && !m.Ahead:
		return Steady
	}
	return Blend
}

// nextPublication returns the first instant at which an hour from published on becomes known.
func (m Market) nextPublication(published protocol.Time) protocol.Time {
	if !m.Ahead {
		return published.Add(m.Lag)
	}
	at := published.Add(-3 * day * time.Hour).Floor(day * time.Hour).Add(time.Duration(m.Publishes) * time.Hour)
	for m.KnownUntil(at) <= published {
		at = at.Add(day * time.Hour)
	}
	return at
}

// MarketOf returns the power market of a zone, named as Electricity Maps names
// it, and whether the zone is listed. Where clocks change, publication follows
// winter time and the end of the day summer time, so that no value is known too
// early. Zones with real-time prices: PJM's Dominion, New South Wales, Ontario,
// Singapore.
func MarketOf(zone string) (Market, bool) {
	switch zone {
	case "DE", "FR", "ES", "PT", "BE", "NL", "CH", "AT", "GB", "SE-SE3", "SE-SE4":
		return Market{Ahead: true, Publishes: 12, Ends: 22}, true // 13:00 in Brussels
	case "US-CAL-CISO":
		return Market{Ahead: true, Publishes: 21, Ends: 7}, true // 13:00 in California
	case "US-TEX-ERCO":
		return Market{Ahead: true, Publishes: 20, Ends: 5}, true // 13:30 in Texas
	case "US-NY-NYIS":
		return Market{Ahead: true, Publishes: 16, Ends: 4}, true // 11:00 in New York
	case "JP-TK":
		return Market{Ahead: true, Publishes: 2, Ends: 15}, true // 10:30 in Tokyo
	case "IN-WE":
		return Market{Ahead: true, Publishes: 9, Ends: 18}, true // 14:00 in Delhi, whose day ends at 18:30
	case "BR-CS", "ZA": // set a day and a year ahead
		return Market{Ahead: true, Publishes: 22, Ends: 0}, true
	case "US-MIDA-PJM", "AU-NSW", "CA-ON", "SG":
		return Market{}, true
	}
	return Market{}, false
}
