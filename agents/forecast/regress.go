package forecast

import "math"

// A regression of Blend's errors on what was known at the time: a ridge
// regression (A. E. Hoerl, R. W. Kennard 1970), solved before each forecast from
// the hours published so far. Its penalty shrinks the correction to zero, that
// is, the forecast to Blend, so a short or wild history changes nothing. It has
// no constant term: one that was tried learnt the drift of the last weeks and
// made all leads beyond an hour worse.

const (
	learningHours    = 28 * day // hours of history that it learns from
	minLearningHours = 3 * day  // published hours that it needs of these: two days that differ, and one to learn from
	learningStride   = 5        // distance of the hours that it learns from; prime to 24, so that it sees every hour of the day
	ridgePenalty     = 20       // the penalty by hour of lead: forecasts that overlap have dependent errors
)

// leadBlocks are the bounds of ranges of leads that share weights, in hours.
var leadBlocks = [...]hour{1, 2, 4, 7, 13, 25, 49, 97}

// features are the explanatory variables of a forecast's error.
type features [5]float64

// A regressionFit is a regression on a track up to an hour. The zero corrects nothing.
type regressionFit struct {
	track   *track
	anchor  hour
	scale   float64                   // unit of clues and errors: the usual change within a day
	done    [len(leadBlocks) - 1]bool // which weights are computed
	weights [len(leadBlocks) - 1]features
}

// newRegressionFit returns the regression up to anchor for values that usually change by restless.
func (t *track) newRegressionFit(rule Rule, anchor hour, restless int64) *regressionFit {
	l, knownHours := &regressionFit{track: t, anchor: anchor}, 0
	for h := max(anchor-learningHours+1, t.first); h <= anchor && rule == Regression; h++ {
		if _, ok := t.factAt(h); ok {
			knownHours++
		}
	}
	if knownHours >= minLearningHours {
		l.scale = float64(restless)
	}
	return l
}

// correctionAt returns what to add to Blend's forecast of h.
func (l *regressionFit) correctionAt(h hour) int64 {
	lead := h - l.anchor
	if l.scale <= 0 || lead < leadBlocks[0] || lead >= leadBlocks[len(leadBlocks)-1] {
		return 0
	}
	b := 0
	for lead >= leadBlocks[b+1] {
		b++
	}
	if !l.done[b] {
		l.weights[b], l.done[b] = l.fitWeights(leadBlocks[b], leadBlocks[b+1]), true
	}
	x, _ := l.featuresAt(h, l.anchor)
	v := 0.0
	for i, w := range l.weights[b] {
		v += float64(w * x[i])
	}
	return int64(math.Round(min(max(float64(v*l.scale), -maxDifference), maxDifference)))
}

// maxDifference exceeds the difference of any two valid values.
const maxDifference = 1e9

// fitWeights returns the weights for leads from (included) to to (excluded).
func (l *regressionFit) fitWeights(from, to hour) features {
	var n normalEquations
	first := max(l.anchor-learningHours, l.track.first) + day
	for i := hour(0); ; i++ {
		at := l.anchor - learningStride*i
		lead := from + (i+i/day)%(to-from) // shifted by one after each pass over the hours of the day
		if at-lead < first {
			break
		}
		value, ok := l.track.factAt(at)
		_, was := l.track.factAt(at - lead)
		if ok && was {
			x, blend := l.featuresAt(at, at-lead)
			n.addCase(x, float64(value-blend)/l.scale)
		}
	}
	return n.solveRidge(ridgePenalty * float64(from+to-1) / 2 / learningStride)
}

// featuresAt returns the variables known at origin for the value at h, and Blend's forecast of h.
func (l *regressionFit) featuresAt(h, origin hour) (x features, blend int64) {
	t := l.track
	usual, missed := t.typicalValue(Average, h, origin), t.lastMiss(Blend, origin)
	left := fadeMiss(missed, Blend, h-origin)
	x[0] = float64(left)
	if _, ok := t.factAt(origin - 1); ok {
		x[1] = float64(missed - t.lastMiss(Blend, origin-1)) // is it growing?
	}
	x[2] = float64(t.typicalValue(Persistence, h, origin) - usual) // the day before
	if v, ok := t.factAt(h - averageDays*day); ok {
		x[3] = float64(v - usual) // the week before; blocks end sooner than a week ahead
	}
	x[4] = float64(usual - t.typicalValue(Average, origin, origin-1)) // up or down the day's curve
	for i := range x {
		x[i] /= l.scale
	}
	return x, usual + left
}
