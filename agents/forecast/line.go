package forecast

import "github.com/gridbid/gridbid/protocol"

// A Line says about what a run costs by a Curve, money and carbon in one number, some thirty times as fast as
// Span.CostOf says it exactly. It is for leaving out what costs more in any case; what is bid is priced exactly.
type Line struct {
	curve  *Curve
	carbon protocol.Microdollars // of a kilogram
	start  protocol.Time
	sums   []float64 // what a milliwatt costs from start until each hour, in microdollars
}

// LineOf returns the line of a curve at a price of a kilogram of carbon. It is l if that is the line, and
// else overwrites it.
func (l *Line) LineOf(c *Curve, carbon protocol.Microdollars) *Line {
	if l.curve == c && l.carbon == carbon {
		return l
	}
	l.curve, l.carbon, l.start = c, carbon, c.from.startTime()
	l.sums = l.sums[:0]
	for i := range c.sums {
		l.sums = append(l.sums, l.inMicrodollars(c.sums[i], rates{}))
	}
	return l
}

// inMicrodollars returns what a milliwatt costs in sums of whole hours and of milliseconds.
func (l *Line) inMicrodollars(hours, ms rates) float64 {
	carbon := float64(l.carbon) / 1e6 // of a milligram
	hourly, rest := float64(hours.money)+float64(carbon*float64(hours.carbon)), float64(ms.money)+float64(carbon*float64(ms.carbon))
	return (float64(hourly*msPerHour) + rest) / costUnits
}

// At returns what a milliwatt costs from the start of the forecast until an instant, in microdollars: less than
// 0 before it, or where power has a negative price.
func (l *Line) At(t protocol.Time) float64 {
	if gone := int64(t - l.start); gone >= 0 && gone < int64(len(l.sums)-1)*msPerHour {
		i := gone / msPerHour
		return l.sums[i] + float64((l.sums[i+1]-l.sums[i])*float64(gone-i*msPerHour))/msPerHour
	}
	return l.inMicrodollars(l.curve.sumUntil(t))
}

// Counted returns the power by which Span.CostOf prices, in milliwatts.
func Counted(power protocol.Milliwatts) float64 { return float64(min(max(power, 0), maxPower)) }
