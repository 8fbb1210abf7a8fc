package generate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A SyntheticRegion is a synthetic grid, described by its typical day.
type SyntheticRegion struct {
	Price  DailyProfile // dollars per MWh
	Carbon DailyProfile // grams of CO2-equivalent per kWh, life cycle
	Match  float64      // rank correlation of price and carbon within a day, -1..1
	PUE    float64      // mean; it varies by 0.01 up and down with the afternoon heat
	Peak   int          // hour of the day, UTC, at which price is usually highest
}

// DailyProfile is the typical day of a quantity: its mean, and the range from its lowest to
// its highest hour.
type DailyProfile struct{ Mean, Swing float64 }

// Lower bounds of grid values.
const (
	minPrice  = -100 // dollars per MWh: producers switch off below it
	minCarbon = 10   // grams per kWh: life-cycle emissions of wind and water
)

// GenerateSignals returns the region's hourly price, carbon and PUE from an instant on, for
// seed and name. Price is in microdollars per kWh, carbon in milligrams per kWh, PUE
// in thousandths: see [protocol.Quantity].
//
// Price follows one wave; carbon mixes it with a second, uncorrelated wave, so that
// Match sets their correlation.
func (r SyntheticRegion) GenerateSignals(seed uint64, name string, from protocol.Time, hours int) map[protocol.Quantity][]protocol.Point {
	first := int(from.StdTime().Hour())
	own := dailyWave(SeededRand(seed, name, "price"), first-r.Peak, 0, hours)
	other := dailyWave(SeededRand(seed, name, "carbon"), first-r.Peak, quarterDayHours, hours)
	days := SeededRand(seed, name, "days")
	out := make(map[protocol.Quantity][]protocol.Point, 3)
	put := func(q protocol.Quantity, at protocol.Time, v float64) {
		out[q] = append(out[q], protocol.Point{At: at, Value: int64(math.Round(v))})
	}
	// Rank correlation is lower than the linear correlation of the mixture; the
	// factor is a measured correction.
	lean := r.Match * (1.2 - float64(0.2*float64(r.Match*r.Match)))
	rest := math.Sqrt(max(0, 1-float64(lean*lean)))
	var price, carbon float64
	for h := range hours {
		if h == 0 || (first+h)%24 == 0 {
			price = r.Price.Mean * (1 + float64(0.08*drawNormal(days)))
			carbon = r.Carbon.Mean * (1 + float64(0.05*drawNormal(days)))
		}
		mixed := float64(lean*own[h]) + float64(rest*other[h])
		at := from.Add(time.Duration(h) * time.Hour)
		put(protocol.GridPrice, at, 1000*max(minPrice, price+float64(r.Price.Swing*own[h])))
		put(protocol.GridCarbon, at, 1000*max(minCarbon, carbon+float64(r.Carbon.Swing*mixed)))
		put(protocol.GridPUE, at, 1000*max(1, r.PUE+float64(0.01*cosineOfHour(first+h-r.Peak+4))))
	}
	return out
}

// quarterDayHours, in hours, shifts a wave by a quarter of a day and its second harmonic by a
// quarter of half a day. The shifted wave is orthogonal to the unshifted one.
const quarterDayHours = 6

// dailyWave returns a daily cosine with a second harmonic of half its amplitude and
// weather noise that persists for some hours, scaled so that a day's range is about
// 1.
func dailyWave(d *rand.Rand, phase, moved, hours int) []float64 {
	const (
		swing   = 2.72 // median daily range of the unscaled sum; a test checks it
		lasting = 0.8  // autocorrelation of the weather from hour to hour
	)
	weather := 0.3 * drawNormal(d)
	out := make([]float64, hours)
	for h := range out {
		day := cosineOfHour(phase+h-moved) + float64(0.5*cosineOfHour(2*(phase+h)-moved))
		out[h] = (day + weather) / swing
		weather = float64(lasting*weather) + float64(0.18*drawNormal(d))
	}
	return out
}

// cosineOfHour returns the cosine of an hour as an angle of the day.
func cosineOfHour(hour int) float64 {
	h := ((hour % 24) + 24) % 24
	if h > 12 {
		h = 24 - h
	}
	if h > 6 {
		return -cosineTable[12-h]
	}
	return cosineTable[h]
}

// cosineTable of 0, 15, .. 90 degrees: a table, because math.Cos may differ in the last
// digit between processors.
var cosineTable = [7]float64{1, 0.9659258262890683, 0.8660254037844387, 0.7071067811865476, 0.5, 0.25881904510252074, 0}
