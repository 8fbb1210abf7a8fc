package forecast

import "math"

// A regression of Blend's errors on what was known at the time: a ridge
// regression (A. E. Hoerl, R. W. Kennard 1970), solved before each forecast from
// the hours published so far. Its penalty shrinks the correction to zero, that
// is, the forecast to Blend, so a short or wild history changes nothing. It has
// no constant term: one that was tried learnt the drift of the last weeks and
// made all leads beyond an hour worse.

const (
	learnt = 28 * day // hours of history that it learns from
	enough = 3 * day  // published hours that it needs of these: two days that differ, and one to learn from
	stride = 5        // distance of the hours that it learns from; prime to 24, so that it sees every hour of the day
	shrink = 20       // the penalty by hour of lead: forecasts that overlap have dependent errors
)

// blocks are the bounds of ranges of leads that share weights, in hours.
var blocks = [...]hour{1, 2, 4, 7, 13, 25, 49, 97}

// clues are the explanatory variables of a forecast's error.
type clues [5]float64

// A lesson is a regression on a track up to an hour. The zero corrects nothing.
type lesson struct {
	track   *track
	anchor  hour
	scale   float64               // unit of clues and errors: the usual change within a day
	done    [len(blocks) - 1]bool // which weights are computed
	weights [len(blocks) - 1]clues
}

// lesson returns the regression up to anchor for values that usually change by restless.
func (t *track) lesson(rule Rule, anchor hour, restless int64) *lesson {
	l, told := &lesson{track: t, anchor: anchor}, 0
	for h := max(anchor-learnt+1, t.first); h <= anchor && rule == Regression; h++ {
		if _, ok := t.at(h); ok {
			told++
		}
	}
	if told >= enough {
		l.scale = float64(restless)
	}
	return l
}

// amend returns what to add to Blend's forecast of h.
func (l *lesson) amend(h hour) int64 {
	lead := h - l.anchor
	if l.scale <= 0 || lead < blocks[0] || lead >= blocks[len(blocks)-1] {
		return 0
	}
	b := 0
	for lead >= blocks[b+1] {
		b++
	}
	if !l.done[b] {
		l.weights[b], l.done[b] = l.learn(blocks[b], blocks[b+1]), true
	}
	x, _ := l.clues(h, l.anchor)
	v := 0.0
	for i, w := range l.weights[b] {
		v += float64(w * x[i])
	}
	return int64(math.Round(min(max(float64(v*l.scale), -unheard), unheard)))
}

// unheard exceeds the difference of any two valid values.
const unheard = 1e9

// learn returns the weights for leads from (included) to to (excluded).
func (l *lesson) learn(from, to hour) clues {
	var n normal
	first := max(l.anchor-learnt, l.track.first) + day
	for i := hour(0); ; i++ {
		at := l.anchor - stride*i
		lead := from + (i+i/day)%(to-from) // shifted by one each time the hours of the day begin again
		if at-lead < first {
			break
		}
		value, ok := l.track.at(at)
		_, was := l.track.at(at - lead)
		if ok && was {
			x, blend := l.clues(at, at-lead)
			n.add(x, float64(value-blend)/l.scale)
		}
	}
	return n.solve(shrink * float64(from+to-1) / 2 / stride)
}

// clues returns the variables known at origin for the value at h, and Blend's forecast of h.
func (l *lesson) clues(h, origin hour) (x clues, blend int64) {
	t := l.track
	usual, missed := t.usual(Average, h, origin), t.missed(Blend, origin)
	left := fade(missed, Blend, h-origin)
	x[0] = float64(left)
	if _, ok := t.at(origin - 1); ok {
		x[1] = float64(missed - t.missed(Blend, origin-1)) // is it growing?
	}
	x[2] = float64(t.usual(Persistence, h, origin) - usual) // the day before
	if v, ok := t.at(h - days*day); ok {
		x[3] = float64(v - usual) // the week before; blocks end sooner than a week ahead
	}
	x[4] = float64(usual - t.usual(Average, origin, origin-1)) // up or down the day's curve
	for i := range x {
		x[i] /= l.scale
	}
	return x, usual + left
}
