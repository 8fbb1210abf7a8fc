package seat

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// A reply writes the lines that a learner reads. Its memory is reused from line to line.
type reply struct {
	plain bool   // arrays as numbers, not as base64
	env   int    // -1: the learner has one environment, and lines name none
	buf   []byte // the line
	raw   []byte // of an array before it is encoded
}

// begin begins a line.
func (w *reply) begin() {
	w.buf = append(w.buf[:0], '{')
	if w.env >= 0 {
		w.key("env")
		w.buf = strconv.AppendInt(w.buf, int64(w.env), 10)
	}
}

// end ends a line and returns it, valid until the next begin.
func (w *reply) end() []byte {
	w.buf = append(w.buf, '}', '\n')
	return w.buf
}

// key adds a key and a colon, after a comma unless an object or a list begins.
func (w *reply) key(name string) {
	w.separate()
	w.buf = append(strconv.AppendQuote(w.buf, name), ':')
}

// separate adds a comma unless an object or a list begins.
func (w *reply) separate() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.buf = append(w.buf, ',')
	}
}

// value adds any value as JSON. It is for what is not in every line.
func (w *reply) value(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null") // no value that is passed here can fail: strings, numbers and plain structs
	}
	w.buf = append(w.buf, text...)
}

// number adds a number in the fewest digits that read back as the same.
func (w *reply) number(v float64) { w.buf = strconv.AppendFloat(w.buf, v, 'g', -1, 64) }

// observation adds an observation, or zeros for nil, under the key obs.
func (w *reply) observation(o *learned.Observation) {
	if o == nil {
		o = &learned.Observation{}
		o.Mask[learned.Hold] = 1
	}
	w.key("obs")
	w.buf = append(w.buf, '{')
	w.key("job")
	w.floats(o.Job[:], len(o.Job))
	w.key("options")
	w.floats(o.Options[:], learned.MostOptions, len(learned.OptionFeatures))
	w.key("mask")
	w.flags(o.Mask[:])
	w.buf = append(w.buf, '}')
}

// floats adds an array of some shape.
func (w *reply) floats(v []float32, shape ...int) {
	if w.plain {
		w.plainFloats(v, shape)
		return
	}
	w.raw = w.raw[:0]
	for _, x := range v {
		w.raw = binary.LittleEndian.AppendUint32(w.raw, math.Float32bits(x))
	}
	w.encoded("f32")
	for i, n := range shape {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	}
	w.buf = append(w.buf, "]}"...)
}

// plainFloats is floats as numbers: lists of lists for each dimension.
func (w *reply) plainFloats(v []float32, shape []int) {
	w.separateValue()
	w.buf = append(w.buf, '[')
	if len(shape) > 1 {
		part := len(v) / max(shape[0], 1)
		for i := range shape[0] {
			w.plainFloats(v[i*part:(i+1)*part], shape[1:])
		}
	} else {
		for _, x := range v {
			w.separate()
			w.buf = strconv.AppendFloat(w.buf, float64(x), 'g', -1, 32)
		}
	}
	w.buf = append(w.buf, ']')
}

// separateValue adds a comma between the parts of a list; the value of a key has none before it.
func (w *reply) separateValue() {
	if w.buf[len(w.buf)-1] != ':' {
		w.separate()
	}
}

// flags adds an array of zeros and ones.
func (w *reply) flags(v []uint8) {
	if !w.plain {
		w.raw = append(w.raw[:0], v...)
		w.encoded("u8")
		w.buf = append(strconv.AppendInt(w.buf, int64(len(v)), 10), "]}"...)
		return
	}
	w.buf = append(w.buf, '[')
	for _, x := range v {
		w.separate()
		w.buf = append(w.buf, '0'+x)
	}
	w.buf = append(w.buf, ']')
}

// encoded adds the bytes of raw in base64 under the name of their type, and begins their shape.
func (w *reply) encoded(kind string) {
	w.buf = append(w.buf, '{')
	w.key(kind)
	w.buf = append(w.buf, '"')
	w.buf = base64.StdEncoding.AppendEncode(w.buf, w.raw)
	w.buf = append(w.buf, `","shape":[`...)
}

// A stepInfo is what a line says beside observation and reward.
type stepInfo struct {
	job     protocol.JobID // that is decided next; "" at the end
	now     protocol.Time  // of the decision, or of the end
	masked  bool           // the action was not allowed, and held the job
	late    bool           // the answer came too late, and the option that costs least was taken
	settled []settledJob
	totals  *history.Totals // at the end of the day
}

// fields adds the fields of x to an object that has begun.
func (w *reply) fields(x stepInfo) {
	if x.job != "" {
		w.key("job")
		w.value(x.job)
	}
	if x.now != 0 {
		w.key("at")
		w.value(x.now.String())
	}
	if x.masked {
		w.key("masked")
		w.buf = append(w.buf, "true"...)
	}
	if x.late {
		w.key("late")
		w.buf = append(w.buf, "true"...)
	}
	if len(x.settled) > 0 {
		w.key("settled")
		w.buf = append(w.buf, '[')
		for _, s := range x.settled {
			w.separate()
			w.buf = append(w.buf, '[')
			w.value(s.job)
			w.buf = append(w.buf, ',')
			w.number(s.cost.InDollars())
			w.buf = append(w.buf, ']')
		}
		w.buf = append(w.buf, ']')
	}
	if x.totals != nil {
		w.key("totals")
		w.value(x.totals)
	}
}

// A dayInfo is what the answer to a reset says of the day. A learner that is judged is not told what
// lies ahead: of the day it learns the unit of its rewards alone.
type dayInfo struct {
	Scenario string  `json:"scenario,omitempty"`
	Seed     uint64  `json:"seed,omitempty"`
	Jobs     int     `json:"jobs,omitempty"`
	UnitUSD  float64 `json:"unit_usd"` // of which a reward of -1 is the loss
}

// resetLine answers a reset.
func (w *reply) resetLine(o *learned.Observation, day dayInfo, x stepInfo) []byte {
	w.begin()
	w.observation(o)
	w.dayInfo(day, x)
	return w.end()
}

// dayInfo adds what the answer to a reset says beside what is seen.
func (w *reply) dayInfo(day dayInfo, x stepInfo) {
	w.key("info")
	w.buf = append(w.buf, '{')
	if day.Scenario != "" {
		w.key("scenario")
		w.value(day.Scenario)
		w.key("seed")
		w.value(day.Seed)
		w.key("jobs")
		w.value(day.Jobs)
	}
	w.key("unit_usd")
	w.number(day.UnitUSD)
	w.fields(x)
	w.buf = append(w.buf, '}')
}

// stepLine answers an act. The day is over if x has totals.
func (w *reply) stepLine(o *learned.Observation, reward float64, x stepInfo) []byte {
	w.begin()
	w.observation(o)
	w.key("reward")
	w.number(reward)
	return w.stepEnd(x)
}

// stepEnd adds to the answer to an act what follows the reward.
func (w *reply) stepEnd(x stepInfo) []byte {
	w.key("terminated")
	w.buf = strconv.AppendBool(w.buf, x.totals != nil)
	w.buf = append(w.buf, `,"truncated":false`...)
	w.key("info")
	w.buf = append(w.buf, '{')
	w.fields(x)
	w.buf = append(w.buf, '}')
	return w.end()
}

// errorLine answers a line that cannot be read or obeyed.
func (w *reply) errorLine(number int, wrong *lineError) []byte {
	w.begin()
	w.key("error")
	w.value(struct {
		Line int    `json:"line"`
		Key  string `json:"key,omitempty"`
		Why  string `json:"why"`
		Do   string `json:"do"`
	}{number, wrong.key, wrong.why, wrong.do})
	return w.end()
}

// A box says which numbers there are, and within which bounds.
type box struct {
	Shape []int    `json:"shape"`
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	Names []string `json:"names,omitempty"` // of the last dimension
}

// openLine answers an open: it says what the seat sees and may do.
func (w *reply) openLine(version string, boxes *boxSeat) []byte {
	seat, agents := SeatRule, []string{"market"}
	spaces := map[string]any{
		"observation": map[string]box{
			"job":     {[]int{len(learned.JobFeatures)}, -learned.FeatureBound, learned.FeatureBound, learned.JobFeatures},
			"options": {[]int{learned.MostOptions, len(learned.OptionFeatures)}, -learned.FeatureBound, learned.FeatureBound, learned.OptionFeatures},
			"mask":    {[]int{learned.MostOptions + 1}, 0, 1, nil},
		},
		"action": map[string]int{"n": learned.MostOptions + 1},
	}
	if boxes != nil {
		seat, agents = boxes.name, boxes.agents
		spaces = map[string]any{
			"observation": box{boxes.seen, -learned.FeatureBound, learned.FeatureBound, boxes.names},
			"action":      box{boxes.act, boxes.low, boxes.high, nil},
		}
	}
	w.begin()
	w.key("schema")
	w.value(linesVersion)
	w.key("seat")
	w.value(seat)
	w.key("spaces")
	w.value(spaces)
	w.key("agents")
	w.value(agents)
	w.key("version")
	w.value(version)
	return w.end()
}

// boxes adds what the agents of a seat see, or zeros for nil.
func (w *reply) boxes(b *boxSeat, q *learned.BoxQuestion) {
	w.key("obs")
	w.buf = append(w.buf, '{')
	for i, name := range b.agents {
		n := 1
		for _, d := range b.seen {
			n *= d
		}
		seen := make([]float32, n)
		if q != nil {
			seen = q.Seen[i]
		}
		w.key(name)
		w.floats(seen, b.seen...)
	}
	w.buf = append(w.buf, '}')
}

// boxResetLine answers a reset at a seat with boxes.
func (w *reply) boxResetLine(b *boxSeat, q *learned.BoxQuestion, day dayInfo) []byte {
	w.begin()
	w.boxes(b, q)
	w.dayInfo(day, stepInfo{now: q.Now})
	return w.end()
}

// boxStepLine answers an act at a seat with boxes.
func (w *reply) boxStepLine(b *boxSeat, q *learned.BoxQuestion, rewards []float64, x stepInfo) []byte {
	w.begin()
	w.boxes(b, q)
	w.key("reward")
	w.buf = append(w.buf, '{')
	for i, name := range b.agents {
		w.key(name)
		w.number(rewards[i])
	}
	w.buf = append(w.buf, '}')
	return w.stepEnd(x)
}
