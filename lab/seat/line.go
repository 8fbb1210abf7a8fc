package seat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// Seats of a replay.
const (
	SeatRule = "rule" // speaks for the clearing
	SeatRoom = "room" // prices room, beside the auction
	SeatSite = "site" // chooses for each site what it says of its costs
)

// Seats lists the seats that a learner can take.
var Seats = []string{SeatRule, SeatRoom, SeatSite}

// linesVersion is the version of the lines, which a learner opens its seat with.
const linesVersion = 1

// maxLine bounds a line of a learner, in bytes: prices of the room of a large federation are the longest.
const maxLine = 1 << 16

// A request is one line of a learner. Exactly one of its parts is set.
type request struct {
	env   int
	open  *openRequest
	reset *resetRequest
	act   *int                 // at the seat of the clearing
	acts  map[string][]float64 // at the others, by agent
	close bool
}

// An openRequest opens a seat.
type openRequest struct {
	version int
	seat    string
	replan  bool         // asked about planned jobs in every full round, too
	day     resetRequest // its scenario or window: whose sites the agents are
}

// A resetRequest begins a day anew. Zero fields are the scenario's own.
type resetRequest struct {
	Seed     *uint64 `json:"seed"`
	Scenario string  `json:"scenario"`
	Jobs     int     `json:"jobs"`
	Draw     int     `json:"draw"`
	Window   string  `json:"window"`

	Pay accounts.Payment `json:"pay"` // by which sites are paid
}

// A lineError says what is wrong with a line, and what to do: it is answered, and ends nothing.
type lineError struct{ key, why, do string }

// Error implements error.
func (e *lineError) Error() string { return fmt.Sprintf("%s: %s: %s", e.key, e.why, e.do) }

// lineKeys are the keys of a line.
var lineKeys = []string{"env", "open", "seat", "replan", "scenario", "window", "reset", "act", "close"}

// parseRequest reads one line.
func parseRequest(line []byte) (q request, wrong *lineError) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return q, &lineError{"", "it is no JSON object: " + plainJSONError(err), `send one object a line, such as {"act":0}`}
	}
	// In the order of lineKeys, so that of several faults always the same is told.
	for _, key := range lineKeys {
		text, ok := raw[key]
		if !ok {
			continue
		}
		delete(raw, key)
		if wrong := q.readKey(key, text); wrong != nil {
			return q, wrong
		}
	}
	for key := range raw {
		return q, &lineError{shortText(key), "it is no key of a line", "use " + strings.Join(lineKeys, ", ")}
	}
	switch n := q.parts(); {
	case n == 0:
		return q, &lineError{"", "the line asks for nothing", "send open, reset, act or close"}
	case n > 1:
		return q, &lineError{"", "the line asks for several things", "send one of open, reset, act and close a line"}
	case q.open != nil && q.open.seat == "":
		return q, &lineError{"seat", "it is missing", `send {"open":1,"seat":"rule"}`}
	}
	return q, nil
}

// parts counts what a line asks for.
func (q *request) parts() (n int) {
	for _, set := range []bool{q.open != nil && q.open.version != 0, q.reset != nil, q.act != nil || q.acts != nil, q.close} {
		if set {
			n++
		}
	}
	return n
}

// readKey reads the value of one key.
func (q *request) readKey(key string, text json.RawMessage) *lineError {
	switch key {
	case "env":
		if json.Unmarshal(text, &q.env) != nil || q.env < 0 || bytes.Equal(text, []byte("null")) {
			return &lineError{key, "it is " + shortText(string(text)), "number environments from 0"}
		}
	case "open":
		q.open = &openRequest{}
		if json.Unmarshal(text, &q.open.version) != nil || q.open.version != linesVersion {
			return &lineError{key, "it is " + shortText(string(text)), fmt.Sprintf("send %d, the version of the lines", linesVersion)}
		}
	case "seat":
		if q.open == nil {
			return &lineError{key, "the line opens no seat", `name the seat beside open: {"open":1,"seat":"rule"}`}
		}
		if json.Unmarshal(text, &q.open.seat) != nil || !slices.Contains(Seats, q.open.seat) {
			return &lineError{key, "there is no seat " + shortText(string(text)), "take " + strings.Join(Seats, ", ")}
		}
	case "replan":
		if q.open == nil {
			return &lineError{key, "the line opens no seat", `say it beside open: {"open":1,"seat":"rule","replan":true}`}
		}
		if json.Unmarshal(text, &q.open.replan) != nil {
			return &lineError{key, "it is " + shortText(string(text)), "send true or false"}
		}
	case "scenario", "window":
		return q.readScenario(key, text)
	case "reset":
		return q.readReset(text)
	case "act":
		if text[0] == '{' {
			return q.readActs(text)
		}
		q.act = new(int)
		if json.Unmarshal(text, q.act) != nil || *q.act < 0 || *q.act > learned.Hold || bytes.Equal(text, []byte("null")) {
			return &lineError{key, "it is " + shortText(string(text)), fmt.Sprintf("send a whole number from 0 to %d; %d holds the job", learned.Hold, learned.Hold)}
		}
	case "close":
		q.close = true
	}
	return nil
}

// readScenario reads of which scenario or window the agents are.
func (q *request) readScenario(key string, text json.RawMessage) *lineError {
	if q.open == nil {
		return &lineError{key, "the line opens no seat", `name it in the reset: {"reset":{"scenario":"six-regions"}}`}
	}
	to := &q.open.day.Scenario
	if key == "window" {
		to = &q.open.day.Window
	}
	if json.Unmarshal(text, to) != nil {
		return &lineError{key, "it is " + shortText(string(text)), `name it as for gridbid replay: {"open":1,"seat":"site","scenario":"six-regions"}`}
	}
	return nil
}

// readActs reads what agents do.
func (q *request) readActs(text json.RawMessage) *lineError {
	if json.Unmarshal(text, &q.acts) != nil {
		return &lineError{"act", "it is " + shortText(string(text)), `send a list of numbers of each agent: {"act":{"market":[0,0.5]}}`}
	}
	return nil
}

// readReset reads the value of reset.
func (q *request) readReset(text json.RawMessage) *lineError {
	const do = `send {"reset":{"seed":7,"scenario":"six-regions","jobs":300}}; each key may be left out`
	q.reset = &resetRequest{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(q.reset); err != nil || bytes.Equal(text, []byte("null")) {
		return &lineError{"reset", "it is no set of seed, scenario, window, jobs, draw and pay: " + plainJSONError(err), do}
	}
	if why := (accounts.PaymentRule{Pay: q.reset.Pay}).InvalidReason(); why != "" {
		return &lineError{"reset", why, do}
	}
	return nil
}

// plainJSONError words an error of a JSON decoder.
func plainJSONError(err error) string {
	if err == nil {
		return "null"
	}
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		return fmt.Sprintf("%s cannot be %s", shortText(wrong.Field), wrong.Value)
	}
	return shortText(strings.TrimPrefix(err.Error(), "json: "))
}

// shortText cuts a text that a learner wrote to what an error needs of it.
func shortText(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// A lineReader reads lines of bounded length.
type lineReader struct {
	in     *bufio.Reader
	number int // of the line read last, from 1
}

// newLineReader returns a reader of the lines of in.
func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, maxLine)}
}

// next returns the next line without its end. Blank lines are skipped; of a line that is too long
// nothing is kept. At the end of the input it returns an error of the reader: what follows the last
// line end is no line.
func (r *lineReader) next() (line []byte, wrong *lineError, err error) {
	for {
		line, err = r.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.in.ReadSlice('\n')
			}
			if err != nil {
				return nil, nil, err
			}
			r.number++
			return nil, &lineError{"", fmt.Sprintf("it has over %d bytes", maxLine), "send shorter lines"}, nil
		}
		if err != nil {
			return nil, nil, err
		}
		r.number++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil, nil
		}
	}
}
