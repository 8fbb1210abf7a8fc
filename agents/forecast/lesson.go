package forecast

import "github.com/gridbid/gridbid/protocol"

// A Lesson is one forecast of the usual rule with what came: what a Learned is trained by.
type Lesson struct {
	Hour   protocol.Time
	Inputs []float64 // as LearnedInputNames
	Output int       // the net's output that corrects such a forecast
	Off    float64   // what came, less the usual rule's forecast, in Unit
	Most   float64   // the largest correction that the bounds allow, in Unit
	Unit   float64   // thousandths of the quantity's unit
}

// A Teacher makes lessons of a series.
type Teacher struct {
	quantity protocol.Quantity
	rule     Rule
	market   Market
	bound    limits
	whole    *track
}

// NewTeacher returns a teacher of a quantity's series, which a market makes known.
func NewTeacher(q protocol.Quantity, m Market, points []protocol.Point) *Teacher {
	t := &Teacher{quantity: q, rule: DefaultRule(q, m), market: m, whole: &track{}}
	_, t.bound = New(Config{}).trackOf(q)
	for _, p := range points {
		t.whole.putValue(hourOf(p.At), p.Value, false)
	}
	return t
}

// pastAt returns what a site knows at an instant that has listened for some hours before the last
// published one.
func (t *Teacher) pastAt(now protocol.Time, history int) (past *track, anchor hour) {
	anchor = hourOf(t.market.KnownUntil(now)) - 1
	return t.whole.between(anchor-hour(history)+1, anchor), anchor
}

// Lessons returns the lessons of the forecasts that a site makes at an instant for some hours of lead,
// after it has listened for some hours; none if its last day has a gap.
func (t *Teacher) Lessons(now protocol.Time, history int, leads []int) (out []Lesson) {
	past, anchor := t.pastAt(now, history)
	kind, ok := kindOf(t.quantity, t.rule)
	v, whole := past.newVantage(kind)
	if !ok || !whole || past.endHour() != anchor+1 {
		return nil
	}
	most := 0
	for _, lead := range leads {
		most = max(most, lead)
	}
	values, off := past.forecastHours(t.rule, anchor+1, most, t.bound)
	for _, lead := range leads {
		h := anchor + hour(lead)
		block, ok := blockOf(hour(lead))
		actual, known := t.whole.factAt(h)
		if !ok || !known {
			continue
		}
		usual := values[lead-1]
		out = append(out, Lesson{
			Hour: h.startTime(), Inputs: v.appendInputs(nil, h, usual), Output: kind*blocksOfLead + block,
			Off: float64(actual-usual) / v.scale, Most: float64(off[lead-1]/clipsOfBand) / v.scale, Unit: v.scale,
		})
	}
	return out
}

// An Examined is one forecast, with and without correction, and what came.
type Examined struct{ Lead, Default, Corrected, Actual int64 }

// Examine returns the forecasts of the hours of lead 1 to hours that a site makes at an instant, after it
// has listened for some hours, as far as the series goes.
func (t *Teacher) Examine(l *Learned, now protocol.Time, history, hours int) (out []Examined) {
	past, anchor := t.pastAt(now, history)
	if past.endHour() != anchor+1 {
		return nil
	}
	usual, _ := past.forecastHours(t.rule, anchor+1, hours, t.bound)
	corrected, _ := past.correctForecast(l, t.quantity, t.rule, anchor+1, hours, t.bound)
	for i := range usual {
		if actual, ok := t.whole.factAt(anchor + 1 + hour(i)); ok {
			out = append(out, Examined{int64(i + 1), usual[i], corrected[i], actual})
		}
	}
	return out
}
