package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request is one request to an inference service.
type Request struct {
	At             time.Duration // since the first request of its trace
	Prompt, Output int           // tokens
}

// RequestStats say what was read of a trace of requests.
type RequestStats struct {
	Format string // of the file, in words
	Rows   int    // requests, those dropped included
	Failed int    // dropped: they have no answer, as failed ones
	Span   time.Duration
}

// RequestColumns say where the columns of a trace of requests are that is in no known format: at, in
// seconds, prompt and output, each as JobColumns does, as "at": "t_ms/1000".
type RequestColumns map[string]string

// A requestFormat is a table of requests that is known by its columns.
type requestFormat struct {
	name               string
	at, prompt, output string
	clock              bool // at is a date and time, not seconds
}

// requestFormats are the known tables, each with columns that no other has.
var requestFormats = []requestFormat{
	{name: "requests by the second", at: "submit_s", prompt: "prompt_tokens", output: "output_tokens"},
	{name: "Azure LLM", at: "TIMESTAMP", prompt: "ContextTokens", output: "GeneratedTokens", clock: true},
	{name: "BurstGPT", at: "Timestamp", prompt: "Request tokens", output: "Response tokens"},
}

// Bounds of one request.
const (
	maxTokens      = 10_000_000
	maxRequestSpan = 400 * 24 * time.Hour
)

// EachRequest reads a trace of requests row by row, and passes each on in the order of the file: CSV of
// a known format or with columns that the caller names, or JSON lines as Mooncake publishes them; plain
// or gzipped. It keeps none in memory. Times that go back are an error with their line: to sort them
// would hide a broken file. Requests without an answer are counted and dropped. An error of each ends it.
func EachRequest(r io.Reader, file string, columns RequestColumns, each func(Request) error) (RequestStats, error) {
	text, err := openUnpacked(r, file)
	if err != nil {
		return RequestStats{}, err
	}
	q := &requestReader{file: file, each: each}
	if strings.HasPrefix(text.firstLine(), "{") {
		err = q.readLines(text, columns)
	} else {
		err = q.readTable(text, columns)
	}
	switch {
	case err != nil:
	case q.stats.Rows == 0:
		err = fmt.Errorf("trace: %s: no requests: want rows after the header, or JSON lines", file)
	}
	return q.stats, err
}

// A requestReader reads one trace of requests.
type requestReader struct {
	file        string
	each        func(Request) error
	stats       RequestStats
	first, last time.Duration // in the trace's own clock
}

// errTimesGoBack is what is wrong with a request that comes before the one in the row above.
var errTimesGoBack = errors.New("the time is before that of the row above: sort the file by time")

// take passes a request on, whose time is in the trace's own clock.
func (q *requestReader) take(at time.Duration, prompt, output int) error {
	if q.stats.Rows == 0 {
		q.first, q.last = at, at
	}
	switch {
	case at < q.last:
		return errTimesGoBack
	case at-q.first > maxRequestSpan:
		return fmt.Errorf("the time is over %v after the first: check its unit, or split the file", maxRequestSpan)
	}
	q.stats.Rows++
	q.last, q.stats.Span = at, at-q.first
	if output == 0 {
		q.stats.Failed++
		return nil
	}
	return q.each(Request{At: at - q.first, Prompt: prompt, Output: output})
}

// A requestLine is a request of a JSON line, as Mooncake publishes them; other keys are ignored.
type requestLine struct {
	Timestamp *float64 `json:"timestamp"` // ms
	Input     *float64 `json:"input_length"`
	Output    *float64 `json:"output_length"`
}

// readLines reads JSON lines.
func (q *requestReader) readLines(text unpackedFile, columns RequestColumns) error {
	q.stats.Format = "Mooncake"
	if len(columns) > 0 {
		return fmt.Errorf("trace: %s: JSON lines have timestamp, input_length and output_length: name no columns, or convert the file to CSV", q.file)
	}
	lines := newLineRows(text, func(s string) []string { return []string{s} })
	t := &csvTable{file: q.file, text: text, rows: lines} // for its limits and errors; a row is one line
	for t.nextRow() {
		var x requestLine
		if err := json.Unmarshal([]byte(t.row[0]), &x); err != nil {
			t.failAtRow("%w: want one JSON object a line", err)
			break
		}
		at := t.requestNumber("timestamp", x.Timestamp, 1e15)
		prompt, output := t.requestNumber("input_length", x.Input, maxTokens), t.requestNumber("output_length", x.Output, maxTokens)
		if t.err != nil {
			break
		}
		if err := q.take(time.Duration(min(at, maxMillis)*float64(time.Millisecond)), int(prompt), int(output)); err != nil {
			t.failAtRow("%w", err)
		}
	}
	return t.err
}

// maxMillis is the largest time in milliseconds that fits a Duration.
const maxMillis = float64(math.MaxInt64/int64(time.Millisecond)) / 2

// requestNumber returns a number of a JSON line, of 0..hi.
func (t *csvTable) requestNumber(key string, v *float64, hi float64) float64 {
	switch {
	case v == nil:
		t.failAtRow("lacks %s: want timestamp (ms), input_length and output_length", key)
	case !(*v >= 0 && *v <= hi):
		t.failAtRow("%s is %g: want %s; correct the line or drop it", key, *v, numberWanted(0, hi))
	default:
		return *v
	}
	return 0
}

// readTable reads a CSV.
func (q *requestReader) readTable(text unpackedFile, columns RequestColumns) error {
	t, err := newTable(text, q.file, newCSVRows(text))
	if err != nil {
		return err
	}
	sources, clock, err := t.requestColumns(columns, &q.stats)
	if err != nil {
		return err
	}
	for t.nextRow() {
		for _, c := range sources {
			if t.textField(c.column) == "" {
				t.failField(c.column, "a value")
			}
		}
		at := time.Duration(0)
		if clock {
			at = t.clockField(sources[0].column)
		} else {
			at = time.Duration(t.numberOf(sources[0], 0, maxMillis/1000) * float64(time.Second))
		}
		prompt, output := t.numberOf(sources[1], 0, maxTokens), t.numberOf(sources[2], 0, maxTokens)
		if t.err != nil {
			break
		}
		if err := q.take(at, int(prompt), int(output)); err != nil {
			t.failAtRow("%w", err)
		}
	}
	return t.err
}

// requestColumns returns where time, prompt and output of a table are: as the caller says, or by its
// format.
func (t *csvTable) requestColumns(columns RequestColumns, stats *RequestStats) (out [3]columnSource, clock bool, err error) {
	keys := []string{"at", "prompt", "output"}
	if len(columns) > 0 {
		stats.Format = "columns as named"
		for _, own := range slices.Sorted(maps.Keys(columns)) {
			if !slices.Contains(keys, own) {
				return out, false, fmt.Errorf("trace: %s: %q is no column of a request: want at, prompt and output", t.file, own)
			}
		}
		for i, own := range keys {
			if out[i], err = t.parseSource(columns[own]); err != nil || out[i].column == "" || out[i].more != nil {
				return out, false, fmt.Errorf("trace: %s: %s comes from %q: want one of its columns, perhaps times or divided by a number; it has %q", t.file, own, columns[own], t.cols)
			}
		}
		return out, false, nil
	}
	for _, f := range requestFormats {
		if t.hasColumn(f.at) && t.hasColumn(f.prompt) && t.hasColumn(f.output) {
			stats.Format = f.name
			return [3]columnSource{{column: f.at, factor: 1}, {column: f.prompt, factor: 1}, {column: f.output, factor: 1}}, f.clock, nil
		}
	}
	return out, false, fmt.Errorf("trace: %s:1: unknown trace of requests: want submit_s, prompt_tokens and output_tokens, Azure's TIMESTAMP, ContextTokens and GeneratedTokens, or say where at, prompt and output are; it has %q", t.file, t.cols)
}

// clockField returns a date and time without offset, with parts of a second, since 1970.
func (t *csvTable) clockField(col string) time.Duration {
	text := strings.Replace(strings.TrimSuffix(t.textField(col), "Z"), "T", " ", 1)
	at, err := time.Parse("2006-01-02 15:04:05", strings.TrimSuffix(text, "+00:00"))
	if err != nil || at.Year() < 1971 || at.Year() > 2200 {
		t.failField(col, "a time as 2023-11-16 18:17:03.9799600")
		return 0
	}
	return time.Duration(at.UnixNano())
}

// A RateTrace is how many requests came per second, minute by minute.
type RateTrace struct {
	PerSecond []float64 // of each minute from the first that has a value
	Missing   int       // minutes without a value, which repeat the one before
}

// ReadRates reads requests per second by the minute: a column minute_s, and one that the caller names,
// such as generative_requests_qps of Alibaba's trace of 2026. Minutes before the first value are left
// out; later ones without a value repeat the one before, and are counted.
func ReadRates(r io.Reader, file, column string) (out RateTrace, err error) {
	t, err := openTable(r, file, "minute_s", column)
	if err != nil {
		return out, err
	}
	last := int64(-60)
	for t.nextRow() {
		at := t.integerField("minute_s", 0, int64(maxRequestSpan/time.Second))
		switch {
		case t.err != nil:
			return out, t.err
		case at%60 != 0 || at <= last:
			t.failAtRow("minute_s is %d after %d: want whole minutes in rising order", at, last)
			return out, t.err
		}
		if n := len(out.PerSecond); n > 0 {
			for range (at-last)/60 - 1 { // lines that are not there
				out.PerSecond, out.Missing = append(out.PerSecond, out.PerSecond[n-1]), out.Missing+1
			}
		}
		last = at
		switch n := len(out.PerSecond); {
		case t.textField(column) != "":
			v, err := strconv.ParseFloat(t.textField(column), 64)
			if err != nil || !(v >= 0 && v <= 1e6) {
				t.failField(column, numberWanted(0, 1e6))
				return out, t.err
			}
			out.PerSecond = append(out.PerSecond, v)
		case n > 0:
			out.PerSecond, out.Missing = append(out.PerSecond, out.PerSecond[n-1]), out.Missing+1
		}
	}
	if t.err == nil && len(out.PerSecond) == 0 {
		t.err = fmt.Errorf("trace: %s: no value in %s: name another column", file, column)
	}
	return out, t.err
}
