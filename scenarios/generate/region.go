package generate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Region is a grid that does not exist, described by its usual day.
type Region struct {
	Price  Daily   // dollars per MWh
	Carbon Daily   // grams of CO2-equivalent per kWh, life cycle
	Match  float64 // rank correlation of price and carbon within a day, -1..1
	PUE    float64 // mean; it swings by two hundredths with the afternoon
	Peak   int     // hour of the day, UTC, at which price is usually highest
}

// Daily is a quantity's usual day: its mean, and from lowest to highest hour.
type Daily struct{ Mean, Swing float64 }

// Least values that a grid can have.
const (
	leastPrice  = -100 // dollars per MWh: below it producers switch off
	leastCarbon = 10   // grams per kWh: the life cycle of wind and water
)

// Signals returns the region's hourly price, carbon and PUE from an instant on,
// for seed and name. Price is microdollars per kWh, carbon milligrams per kWh,
// PUE thousandths: see [protocol.Quantity].
//
// Price and carbon are mixed from two waves that have nothing in common, so
// that Match says how far they go together.
func (r Region) Signals(seed uint64, name string, from protocol.Time, hours int) map[protocol.Quantity][]protocol.Point {
	first := int(from.Go().Hour())
	own := wave(Dice(seed, name, "price"), first-r.Peak, 0, hours)
	other := wave(Dice(seed, name, "carbon"), first-r.Peak, apart, hours)
	days := Dice(seed, name, "days")
	out := make(map[protocol.Quantity][]protocol.Point, 3)
	put := func(q protocol.Quantity, at protocol.Time, v float64) {
		out[q] = append(out[q], protocol.Point{At: at, Value: int64(math.Round(v))})
	}
	// Ranks see less of what is common than the mixture has; measured.
	lean := r.Match * (1.2 - float64(0.2*float64(r.Match*r.Match)))
	rest := math.Sqrt(max(0, 1-float64(lean*lean)))
	var price, carbon float64
	for h := range hours {
		if h == 0 || (first+h)%24 == 0 {
			price = r.Price.Mean * (1 + float64(0.08*bell(days)))
			carbon = r.Carbon.Mean * (1 + float64(0.05*bell(days)))
		}
		mixed := float64(lean*own[h]) + float64(rest*other[h])
		at := from.Add(time.Duration(h) * time.Hour)
		put(protocol.GridPrice, at, 1000*max(leastPrice, price+float64(r.Price.Swing*own[h])))
		put(protocol.GridCarbon, at, 1000*max(leastCarbon, carbon+float64(r.Carbon.Swing*mixed)))
		put(protocol.GridPUE, at, 1000*max(1, r.PUE+float64(0.01*turn(first+h-r.Peak+4))))
	}
	return out
}

// apart, in hours, moves a wave by a quarter of its day, and its second harmonic
// by a quarter of half a day: the moved wave has nothing in common with the
// other one.
const apart = 6

// wave is a day's rise and fall, a second harmonic at half its height, and
// weather that lasts some hours; scaled so that a day's swing is about 1.
func wave(d *rand.Rand, phase, moved, hours int) []float64 {
	const (
		swing   = 2.72 // of what follows, median over a day; a test holds it
		lasting = 0.8  // of the weather, from hour to hour
	)
	weather := 0.3 * bell(d)
	out := make([]float64, hours)
	for h := range out {
		day := turn(phase+h-moved) + float64(0.5*turn(2*(phase+h)-moved))
		out[h] = (day + weather) / swing
		weather = float64(lasting*weather) + float64(0.18*bell(d))
	}
	return out
}

// turn is the cosine of an hour as an angle of the day.
func turn(hour int) float64 {
	h := ((hour % 24) + 24) % 24
	if h > 12 {
		h = 24 - h
	}
	if h > 6 {
		return -cosines[12-h]
	}
	return cosines[h]
}

// cosines of 0, 15, .. 90 degrees: a table, since processors differ in the last
// digit of a computed one.
var cosines = [7]float64{1, 0.9659258262890683, 0.8660254037844387, 0.7071067811865476, 0.5, 0.25881904510252074, 0}
