package forecast

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Config says how a site forecasts its grid. Its zero is what we measured to
// be best (docs/signals-and-power.md).
type Config struct {
	Price  Rule           // default: what is usual of a day-ahead market
	Carbon Rule           // default: what is usual
	PUE    Rule           // likewise
	NoPUE  protocol.Milli // when none was ever told; default 1200
	// Default is what a site bids with as long as none was ever told of price or
	// carbon, as far as it may be off as it is high. Nil is none: it does not bid.
	Default *Default
}

// Default is a price and an intensity to start from.
type Default struct {
	Price  protocol.Microdollars // per kWh
	Carbon protocol.Milligrams   // per kWh
}

// Known is what a site was told of its grid, and so knows.
type Known struct {
	cfg                Config
	price, carbon, pue track
}

// New returns a site's knowledge before it was told anything.
func New(cfg Config) *Known {
	def := func(r *Rule, to Rule) {
		if *r == "" {
			*r = to
		}
	}
	def(&cfg.Price, Usual(protocol.GridPrice, DayAhead()))
	def(&cfg.Carbon, Usual(protocol.GridCarbon, Market{}))
	def(&cfg.PUE, Usual(protocol.GridPUE, Market{}))
	if cfg.NoPUE == 0 {
		cfg.NoPUE = 1200
	}
	return &Known{cfg: cfg}
}

// limits are the least and the most that a quantity can be.
type limits struct{ least, most int64 }

func (l limits) clamp(v int64) int64 { return min(max(v, l.least), l.most) }

// Bounds of what is believed. Texas sold at 9 dollars per kWh in 2021.
var (
	priceLimits  = limits{-100_000_000, 100_000_000} // 100 dollars per kWh
	carbonLimits = limits{0, 5_000_000}              // 5 kg per kWh
	pueLimits    = limits{1000, 5000}
)

// What is kept: longer than the longest job runs, and further ahead than
// anybody publishes.
const (
	keep  = 90 * day
	ahead = 15 * day
)

// How far ahead, and how far back, anything that is told is believed.
const (
	Furthest = ahead * time.Hour
	Oldest   = keep * time.Hour
)

// about returns the track and the bounds of q, or nil if q is unknown.
func (k *Known) about(q protocol.Quantity) (*track, limits) {
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

// Hear remembers what a feed says. It returns how many points are not to be
// believed, and why the first of them is not; the others count. A point is of
// one hour, on the hour; said again, the later word counts.
func (k *Known) Hear(now protocol.Time, s protocol.Signal) (refused int, why string) {
	t, bound := k.about(s.What)
	if t == nil {
		return len(s.Points), fmt.Sprintf("%q is no quantity of the grid", s.What)
	}
	this := hourOf(now)
	t.forget(this - keep)
	for _, p := range s.Points {
		h := hourOf(p.At)
		problem := ""
		switch {
		case h < this-keep:
			problem = "is over 90 days old"
		case h > this+ahead:
			problem = "is over 15 days ahead"
		case p.At != h.start():
			problem = "is not on the hour"
		case p.Value != bound.clamp(p.Value):
			problem = fmt.Sprintf("is %d; want %d..%d", p.Value, bound.least, bound.most)
		default:
			t.put(h, p.Value, s.Guess)
			continue
		}
		if refused == 0 {
			why = fmt.Sprintf("%s of %v %s", s.What, p.At, problem)
		}
		refused++
	}
	return refused, why
}

// At returns the value that was told of the hour of t.
func (k *Known) At(q protocol.Quantity, t protocol.Time) (int64, bool) {
	track, _ := k.about(q)
	if track == nil {
		return 0, false
	}
	return track.at(hourOf(t))
}

// Age returns for how long q has not been told as a fact: nothing when this hour was.
// It is the longest duration there is when no hour up to now was.
func (k *Known) Age(q protocol.Quantity, now protocol.Time) time.Duration {
	if track, _ := k.about(q); track != nil {
		if h, ok := track.before(hourOf(now)); ok {
			return max(0, now.Sub((h + 1).start()))
		}
	}
	return math.MaxInt64
}

// Outlook returns the grid as it is known at now, and forecasts where it is
// not, for a number of hours of which that of now is the first; and how far what
// is not known may be off. Price and Carbon are empty as long as none was ever told
// and there is no default: such a site cannot bid.
func (k *Known) Outlook(now protocol.Time, hours int) protocol.Outlook {
	hours = min(max(hours, 0), 2*keep)
	h := hourOf(now)
	price, priceOff := k.price.outlook(k.cfg.Price, h, hours, priceLimits)
	carbon, carbonOff := k.carbon.outlook(k.cfg.Carbon, h, hours, carbonLimits)
	pue, _ := k.pue.outlook(k.cfg.PUE, h, hours, pueLimits)
	if d := k.cfg.Default; d != nil {
		price, priceOff = instead(price, priceOff, int64(d.Price), hours)
		carbon, carbonOff = instead(carbon, carbonOff, int64(d.Carbon), hours)
	}
	o := protocol.Outlook{
		From:  h.start(),
		Price: as[protocol.Microdollars](price), Carbon: as[protocol.Milligrams](carbon), PUE: as[protocol.Milli](pue),
		PriceOff: as[protocol.Microdollars](priceOff), CarbonOff: as[protocol.Milligrams](carbonOff),
	}
	if o.PUE == nil {
		o.PUE = make([]protocol.Milli, hours)
		for i := range o.PUE {
			o.PUE[i] = k.cfg.NoPUE
		}
	}
	return o
}

// instead returns a default at all hours if there is nothing better.
func instead(values, off []int64, otherwise int64, hours int) (v, o []int64) {
	if values != nil {
		return values, off
	}
	values, off = make([]int64, hours), make([]int64, hours)
	for i := range values {
		values[i], off[i] = otherwise, int64(size(otherwise))
	}
	return values, off
}

func as[T ~int64](values []int64) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}
