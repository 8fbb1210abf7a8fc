package forecast

import "math"

// A regression of what Blend is off by, on what was known at the time: a ridge
// regression (A. E. Hoerl, R. W. Kennard 1970), solved anew from the hours told
// before each forecast. Its penalty draws it to Blend and not to nothing, so that
// what cannot be learnt from a short or wild history is left as it is.
// It has no constant: that learnt the last weeks' drift and made all leads beyond an hour worse.

const (
	learnt = 28 * day // hours it learns from
	enough = 3 * day  // of which as many must have been told: two days that differ, and one to learn from
	stride = 5        // between the hours that it learns from; prime to a day, so it sees all hours of it
	shrink = 20       // the penalty, by hour of lead: errors of forecasts that overlap are hardly independent
)

// blocks are leads that are learnt together: from each to the next.
var blocks = [...]hour{1, 2, 4, 7, 13, 25, 49, 97}

// clues are what a forecast's error is put down to.
type clues [5]float64

// A lesson is what a track teaches up to an hour. The zero teaches nothing.
type lesson struct {
	track   *track
	anchor  hour
	scale   float64 // of clues and errors
	done    [len(blocks) - 1]bool
	weights [len(blocks) - 1]clues
}

// lesson returns what can be learnt up to anchor of values that change by so much.
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

// unheard is more than any two values differ by.
const unheard = 1e9

// learn returns the weights of clues for leads up to, and without, to.
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

// clues returns what was known at origin of the value at h, and Blend's forecast.
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
