package forecast

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/protocol"
)

// LearnedName is the name in a file of weights that correct forecasts.
const LearnedName = "grid"

// A Learned corrects what the usual rules forecast of price and carbon by what a net learned of other
// grids: by how much the rule will be off. It is guarded and bounded, whatever its weights are:
//   - it moves no forecast by more than half of what the site says the forecast may be off;
//   - it is silent with less than a day of history or a gap in it, and where the last published hour
//     is over a quarter of a day old;
//   - it is silent where over the last three days it would have been worse than the usual rule.
type Learned struct{ file net.File }

const (
	guardHours   = 3 * day // back, over which its own errors are compared with the usual rule's
	guardStride  = day / 2 // distance of the forecasts that are compared
	staleHours   = day / 4 // age of the last published hour from which on it is silent
	mostClip     = 5       // standard deviations of training beyond which an input counts as so many
	clipsOfBand  = 2       // its correction is at most this part of the stated error
	kindsOfGrid  = 3       // carbon, price published ahead, price in real time
	blocksOfLead = len(leadBlocks) - 1
	// LearnedOutputs is how many numbers the net puts out: one for each kind and range of leads, so
	// that a row of zeros is the usual rule there.
	LearnedOutputs = kindsOfGrid * blocksOfLead
)

// LearnedInputNames are the names of the net's inputs, in order. All but leads, phases and flags are
// in the usual change of the series within a day; values are less the usual rule's forecast.
func LearnedInputNames() []string {
	return []string{
		"lead_days", "lead_root", "last", "last_1h", "last_2h", "last_5h", "last_11h", "last_23h",
		"day_1", "day_2", "day_3", "week", "mean_day", "mean_week", "most_day", "least_day",
		"average", "miss", "miss_1h", "curve", "phase", "phase_last", "weekend_last", "weekend",
		"level", "negative", "swing", "hourly_change", "history", "is_carbon", "is_real_time",
	}
}

// lastHours are the distances to the last published hour whose values are inputs.
var lastHours = [...]hour{0, 1, 2, 5, 11, 23}

// ParseLearned reads a file of weights. It refuses what net.Parse refuses, and a net for anything else.
func ParseLearned(text []byte) (*Learned, error) {
	f, err := net.Parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Name != LearnedName:
		return nil, fmt.Errorf("forecast: name: %q: want %q: weights as `gridbid learn grid` writes them", f.Name, LearnedName)
	case !slices.Equal(f.Features, LearnedInputNames()):
		return nil, fmt.Errorf("forecast: features: %q: this program's are %q: train the weights anew with it", f.Features, LearnedInputNames())
	case len(f.Layers[len(f.Layers)-1].Bias) != LearnedOutputs:
		return nil, fmt.Errorf("forecast: layers: %d outputs: want %d: train the weights anew", len(f.Layers[len(f.Layers)-1].Bias), LearnedOutputs)
	}
	return &Learned{f}, nil
}

// NewLearned returns the corrections of a net, which has as many inputs and outputs as LearnedInputNames
// and LearnedOutputs say.
func NewLearned(n net.Net) *Learned { return &Learned{net.File{Net: n}} }

// NoLearned corrects nothing: where weights are refused, the usual rules are in force.
func NoLearned() *Learned { return NewLearned(*net.New(len(LearnedInputNames()), LearnedOutputs)) }

// File returns the file of the weights.
func (l *Learned) File() net.File { return l.file }

// kindOf returns the index of a kind of series; ok is false of PUE, which nothing corrects.
func kindOf(q protocol.Quantity, rule Rule) (kind int, ok bool) {
	switch {
	case q == protocol.GridCarbon:
		return 0, true
	case q == protocol.GridPrice && rule == Steady:
		return 2, true
	case q == protocol.GridPrice:
		return 1, true
	}
	return 0, false
}

// blockOf returns the index of the range of leads that lead is in.
func blockOf(lead hour) (block int, ok bool) {
	if lead < leadBlocks[0] || lead >= leadBlocks[blocksOfLead] {
		return 0, false
	}
	for lead >= leadBlocks[block+1] {
		block++
	}
	return block, true
}

// correctForecast returns what forecastHours does, corrected by l if it is not nil and its guard lets it.
func (t *track) correctForecast(l *Learned, q protocol.Quantity, rule Rule, h hour, n int, bound limits) (values, off []int64) {
	values, off = t.forecastHours(rule, h, n, bound)
	anchor, told := t.lastFactBefore(h + hour(n) - 1)
	kind, ok := kindOf(q, rule)
	if l == nil || !ok || !told || values == nil || anchor < h-staleHours {
		return values, off
	}
	if l.hasBeenWorse(t, kind, rule, anchor, bound) {
		return values, off
	}
	l.correct(t, kind, h, anchor, values, off, bound)
	return values, off
}

// correct adds l's corrections to forecasts from hour h on, of which those after anchor, the last
// published hour, were made by the usual rule alone.
func (l *Learned) correct(t *track, kind int, h, anchor hour, values, off []int64, bound limits) {
	v, ok := t.until(anchor).newVantage(kind)
	if !ok {
		return
	}
	acts := l.file.NewActivation()
	var x []float64
	for i := max(0, int(anchor+1-h)); i < len(values); i++ {
		at := h + hour(i)
		block, ok := blockOf(at - anchor)
		if !ok || t.cellAt(at).guess {
			continue
		}
		x = ClipInputs(&l.file.Net, v.appendInputs(x[:0], at, values[i]))
		out := l.file.Forward(x, acts)[kind*blocksOfLead+block]
		values[i] = bound.clampValue(values[i] + boundedCorrection(out*v.scale, off[i]))
	}
}

// ClipInputs bounds each input of a net to what it may have met in training, in place.
func ClipInputs(n *net.Net, x []float64) []float64 {
	for i := range x {
		reach := float64(mostClip * n.Scale[i])
		x[i] = min(max(x[i], n.Mean[i]-reach), n.Mean[i]+reach)
	}
	return x
}

// boundedCorrection rounds a correction and bounds it to half of what a forecast may be off. What is no
// number corrects nothing.
func boundedCorrection(v float64, off int64) int64 {
	if math.IsNaN(v) {
		return 0
	}
	most := float64(off / clipsOfBand)
	return int64(math.Round(min(max(v, -most), most)))
}

// hasBeenWorse reports whether corrections up to the hour anchor would have been no better than the usual
// rule, over the published hours of the last three days. Without an hour to compare it is false.
func (l *Learned) hasBeenWorse(t *track, kind int, rule Rule, anchor hour, bound limits) bool {
	var usual, corrected, compared int64
	for origin := anchor - guardStride; origin >= anchor-guardHours; origin -= guardStride {
		past, n := t.until(origin), int(min(day, anchor-origin))
		if !past.isWholeDay() {
			break
		}
		values, off := past.forecastHours(rule, origin+1, n, bound)
		was := slices.Clone(values)
		l.correct(past, kind, origin+1, origin, values, off, bound)
		for i := range values {
			if fact, ok := t.factAt(origin + 1 + hour(i)); ok {
				usual += int64(absValue(fact - was[i]))
				corrected += int64(absValue(fact - values[i]))
				compared++
			}
		}
	}
	return compared > 0 && corrected >= usual && corrected > 0
}
