package forecast

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Config sets how a site forecasts its grid. The zero value selects the rules
// that measured best (docs/signals-and-power.md).
type Config struct {
	Price  Rule           // default: DefaultRule of a day-ahead market
	Carbon Rule           // default: DefaultRule of carbon
	PUE    Rule           // default: DefaultRule of PUE
	NoPUE  protocol.Milli // PUE while no value was received; default 1200
	// Learned corrects the forecasts of price and carbon, within its bounds; nil: nothing does.
	Learned *Learned
	// Default is what a site bids with until it has received a price or a
	// carbon intensity. Its uncertainty is as large as the value itself. nil:
	// the site does not bid until then.
	Default *DefaultSignal
}

// DefaultSignal is a price and a carbon intensity to start from.
type DefaultSignal struct {
	Price  protocol.Microdollars // per kWh
	Carbon protocol.Milligrams   // per kWh
}

// GridState stores the signals that a site received and forecasts from them.
type GridState struct {
	cfg                Config
	price, carbon, pue track
}

// New returns a GridState that has received nothing yet.
func New(cfg Config) *GridState {
	def := func(r *Rule, to Rule) {
		if *r == "" {
			*r = to
		}
	}
	def(&cfg.Price, DefaultRule(protocol.GridPrice, DayAheadMarket()))
	def(&cfg.Carbon, DefaultRule(protocol.GridCarbon, Market{}))
	def(&cfg.PUE, DefaultRule(protocol.GridPUE, Market{}))
	if cfg.NoPUE == 0 {
		cfg.NoPUE = 1200
	}
	return &GridState{cfg: cfg}
}

// limits are the smallest and the largest valid value of a quantity.
type limits struct{ least, most int64 }

func (l limits) clampValue(v int64) int64 { return min(max(v, l.least), l.most) }

// Bounds of valid values. Texas sold power at 9 dollars per kWh in 2021, so the
// price bound leaves a factor of ten above the highest price seen.
var (
	priceLimits  = limits{-100_000_000, 100_000_000} // 100 dollars per kWh
	carbonLimits = limits{0, 5_000_000}              // 5 kg per kWh
	pueLimits    = limits{1000, 5000}
)

// How much is kept: longer than the longest job runs, and further ahead than
// any market publishes.
const (
	keptHours  = 90 * day
	aheadHours = 15 * day
)

// MaxAhead and MaxAge bound the hours of accepted signals, ahead of now and back.
const (
	MaxAhead = aheadHours * time.Hour
	MaxAge   = keptHours * time.Hour
)

// trackOf returns the track and the limits of q; the track is nil if q is unknown.
func (k *GridState) trackOf(q protocol.Quantity) (*track, limits) {
	switch q {
	case protocol.GridPrice:
		return &k.price, priceLimits
	case protocol.GridCarbon:
		return &k.carbon, carbonLimits
	case protocol.GridPUE:
		return &k.pue, pueLimits
	}
	return nil, limits{}
}

// RecordSignal stores the points of a signal. It returns how many points it refused and
// why it refused the first of them; it stores the others. A point covers one
// hour and must be on the hour; a later value of an hour replaces an earlier one.
func (k *GridState) RecordSignal(now protocol.Time, s protocol.Signal) (refused int, why string) {
	t, bound := k.trackOf(s.What)
	if t == nil {
		return len(s.Points), fmt.Sprintf("%q is no quantity of the grid", s.What)
	}
	this := hourOf(now)
	t.forgetBefore(this - keptHours)
	for _, p := range s.Points {
		h := hourOf(p.At)
		problem := ""
		switch {
		case h < this-keptHours:
			problem = "is over 90 days old"
		case h > this+aheadHours:
			problem = "is over 15 days ahead"
		case p.At != h.startTime():
			problem = "is not on the hour"
		case p.Value != bound.clampValue(p.Value):
			problem = fmt.Sprintf("is %d; want %d..%d", p.Value, bound.least, bound.most)
		default:
			t.putValue(h, p.Value, s.Guess)
			continue
		}
		if refused == 0 {
			why = fmt.Sprintf("%s of %v %s", s.What, p.At, problem)
		}
		refused++
	}
	return refused, why
}

// FactAt returns the published value of the hour of t.
func (k *GridState) FactAt(q protocol.Quantity, t protocol.Time) (int64, bool) {
	track, _ := k.trackOf(q)
	if track == nil {
		return 0, false
	}
	return track.factAt(hourOf(t))
}

// FactAge returns the time since the end of the last published hour of q; 0 if this
// hour was published, and the longest duration if no hour up to now was.
func (k *GridState) FactAge(q protocol.Quantity, now protocol.Time) time.Duration {
	if track, _ := k.trackOf(q); track != nil {
		if h, ok := track.lastFactBefore(hourOf(now)); ok {
			return max(0, now.Sub((h + 1).startTime()))
		}
	}
	return math.MaxInt64
}

// ForecastFrom returns the grid for a number of hours, of which the first is that of
// now: published values where they exist, forecasts elsewhere, and how far the
// forecasts may be off. Price and Carbon are empty until a value of each was
// received, unless a default is configured: such a site cannot bid.
func (k *GridState) ForecastFrom(now protocol.Time, hours int) protocol.GridForecast {
	hours = min(max(hours, 0), 2*keptHours)
	h := hourOf(now)
	price, priceOff := k.price.correctForecast(k.cfg.Learned, protocol.GridPrice, k.cfg.Price, h, hours, priceLimits)
	carbon, carbonOff := k.carbon.correctForecast(k.cfg.Learned, protocol.GridCarbon, k.cfg.Carbon, h, hours, carbonLimits)
	pue, _ := k.pue.forecastHours(k.cfg.PUE, h, hours, pueLimits)
	if d := k.cfg.Default; d != nil {
		price, priceOff = defaultIfNone(price, priceOff, int64(d.Price), hours)
		carbon, carbonOff = defaultIfNone(carbon, carbonOff, int64(d.Carbon), hours)
	}
	o := protocol.GridForecast{
		From:  h.startTime(),
		Price: convertValues[protocol.Microdollars](price), Carbon: convertValues[protocol.Milligrams](carbon), PUE: convertValues[protocol.Milli](pue),
		PriceOff: convertValues[protocol.Microdollars](priceOff), CarbonOff: convertValues[protocol.Milligrams](carbonOff),
	}
	if o.PUE == nil {
		o.PUE = make([]protocol.Milli, hours)
		for i := range o.PUE {
			o.PUE[i] = k.cfg.NoPUE
		}
	}
	return o
}

// defaultIfNone returns values and off, or the default for all hours if values is nil.
func defaultIfNone(values, off []int64, otherwise int64, hours int) (v, o []int64) {
	if values != nil {
		return values, off
	}
	values, off = make([]int64, hours), make([]int64, hours)
	for i := range values {
		values[i], off[i] = otherwise, int64(absValue(otherwise))
	}
	return values, off
}

func convertValues[T ~int64](values []int64) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}
