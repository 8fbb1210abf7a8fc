package published

import (
	"math"
	"slices"
)

// A TickSpan is the half-open range of ticks [From, To).
type TickSpan struct{ From, To int }

// LowestSlot returns the first tick of lowest value in [now, now+wait], independent
// of the job's length.
func LowestSlot(c Curve, now, wait int) int {
	best, least := now, math.Inf(1)
	for _, p := range c.splitAtSteps(now, min(now+wait+1, c.EndTick())) {
		if p.value < least {
			best, least = p.From, p.value
		}
	}
	return best
}

// LowestWindow returns the start with the lowest sum over length ticks, among now,
// now+every, .. now+wait; the first of equals. Windows that pass the end of the curve
// are not considered.
func LowestWindow(c Curve, now, wait, length, every int) int {
	best, least := now, math.Inf(1)
	for t := now; t <= now+wait && t+length <= c.EndTick(); t += every {
		if v := c.SumOver(t, t+length); v < least {
			best, least = t, v
		}
	}
	return best
}

// CarbonTime returns the start with the largest saving per tick until completion,
// (sum now - sum then) / (wait + length), among the starts of [LowestWindow] (GAIA,
// Hanafy et al., ASPLOS 2024).
func CarbonTime(c Curve, now, wait, length, every int) int {
	if now+length > c.EndTick() {
		return now
	}
	best, most, atOnce := now, math.Inf(-1), c.SumOver(now, now+length)
	for t := now; t <= now+wait && t+length <= c.EndTick(); t += every {
		saved := (atOnce - c.SumOver(t, t+length)) / float64(t-now+length)
		if saved > most {
			best, most = t, saved
		}
	}
	return best
}

// RunBelowThreshold returns the segments in which a job of length ticks runs if it is suspended
// while the value is at or above threshold, for at most wait ticks in total.
func RunBelowThreshold(c Curve, now, wait, length int, threshold float64) (runs []TickSpan) {
	for _, p := range c.splitAtSteps(now, min(now+wait+length, c.EndTick())) {
		if length == 0 {
			break
		}
		at := p.From
		if p.value >= threshold {
			sleep := min(wait, p.To-p.From)
			wait -= sleep
			at += sleep
		}
		if n := min(length, p.To-at); n > 0 {
			length -= n
			runs = appendSpan(runs, TickSpan{at, at + n})
		}
	}
	return runs
}

// CheapestSegments returns the segments of a job of length ticks that may be suspended at any
// time and must be done by now+wait+length: the ticks of lowest value, the first of
// equals. No other schedule has a smaller sum.
func CheapestSegments(c Curve, now, wait, length int) (runs []TickSpan) {
	all := c.splitAtSteps(now, min(now+wait+length, c.EndTick()))
	slices.SortStableFunc(all, compareByValue)
	var taken []TickSpan
	for _, p := range all {
		n := min(length, p.To-p.From)
		if n == 0 {
			break
		}
		length -= n
		taken = append(taken, TickSpan{p.From, p.From + n})
	}
	slices.SortFunc(taken, func(x, y TickSpan) int { return x.From - y.From })
	for _, s := range taken {
		runs = appendSpan(runs, s)
	}
	return runs
}

// appendSpan appends a span, or extends the last one if they touch.
func appendSpan(runs []TickSpan, s TickSpan) []TickSpan {
	if n := len(runs); n > 0 && runs[n-1].To == s.From {
		runs[n-1].To = s.To
		return runs
	}
	return append(runs, s)
}
