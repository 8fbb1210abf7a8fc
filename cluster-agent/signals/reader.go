package signals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/protocol"
)

// How far a source is asked about, and how it is asked again.
const (
	back      = 8 * 24 * time.Hour  // for forecasts of our own, which look a week back
	keeps     = 90 * 24 * time.Hour // as the agent does: the longest job is billed in its end
	forth     = 4 * 24 * time.Hour
	most      = 14 * 24 * time.Hour // ahead, of tariffs
	overlap   = 6 * time.Hour       // late corrections
	firstWait = 30 * time.Second
	mostWait  = time.Hour
	shutWait  = 15 * time.Minute // after a refused key
)

// A Reader keeps what one source tells. Its methods may be called from several
// goroutines; Read by one at a time.
type Reader struct {
	cfg   Config
	what  protocol.Quantity
	src   source
	door  *door
	every time.Duration
	file  string    // "": nothing is kept
	keys  [2]string // that src asks with: key and password
	now   func() time.Time
	luck  func() float64 // 0..1

	mu       sync.Mutex
	spans    []Span
	read     time.Time // when it last answered
	next     time.Time
	err      error
	failures map[string]int // by Why
	row      int            // failures since it last answered
}

// NewReader returns a reader of an opened configuration, which keeps what it read
// in a folder if one is given.
func NewReader(c Config, folder string) *Reader {
	k := kinds[c.From]
	r := &Reader{cfg: c, what: quantities[c.Tells], every: k.every, now: time.Now, luck: rand.Float64, err: errNone, failures: make(map[string]int)}
	if d, err := time.ParseDuration(c.Every); err == nil {
		r.every = d
	}
	patient, _ := time.ParseDuration(c.Timeout) // Open has looked at it
	r.door = newDoor(patient, func() time.Time { return r.now() })
	r.holds(c)
	if folder != "" {
		h := fnv.New64a()
		fmt.Fprint(h, c.Tells, "|", c.From, "|", c.Zone, "|", c.Market, "|", c.URL, "|", c.File, "|", c.Query, "|", c.Column, "|", c.Unit, "|", c.Currency, "|", c.Rate, "|", c.cooling())
		if c.Latitude != nil && c.Longitude != nil {
			fmt.Fprint(h, "|", *c.Latitude, "|", *c.Longitude)
		}
		if c.Timezone != "" {
			fmt.Fprint(h, "|", c.Timezone)
		}
		r.file = filepath.Join(folder, fmt.Sprintf("%s-%s-%x.json", c.Tells, c.From, h.Sum64()))
		r.recall()
	}
	return r
}

// holds has the source ask with the keys of a configuration. They are never shown, nor
// are those of before.
func (r *Reader) holds(c Config) {
	r.door.secrets = append(r.keys[:], c.key, c.password)
	r.src, r.keys = kinds[c.From].make(c), [2]string{c.key, c.password}
}

// renew takes up keys that changed in their files, as those of a Secret that is mounted
// do. While a file cannot be read the keys of before serve.
func (r *Reader) renew() {
	c := r.cfg
	if err := c.secrets(); err == nil && r.keys != [2]string{c.key, c.password} {
		r.holds(c)
	}
}

// Name tells one source from another, for people and metrics.
func (r *Reader) Name() string {
	if r.cfg.Zone != "" {
		return r.cfg.From + "/" + r.cfg.Zone
	}
	return r.cfg.From
}

// What is the quantity that the source tells.
func (r *Reader) What() protocol.Quantity { return r.what }

// Due is when the source wants to be read next; the zero time is at once.
func (r *Reader) Due() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// Read asks the source, whenever it is called. What it had stays if that fails.
func (r *Reader) Read(ctx context.Context) error {
	r.renew()
	now := r.now().UTC()
	from := now.Add(-back)
	if known := r.told(); known.After(from.Add(overlap)) {
		from = known.Add(-overlap)
	}
	spans, err := r.src.read(ctx, r.door, from.Truncate(time.Hour), now.Add(forth).Truncate(time.Hour))
	if err == nil {
		spans, err = sound(r.what, spans, oldest(now, back), now.Add(most))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.err = fmt.Errorf("%s: %s: %w", r.Name(), r.cfg.Tells, r.door.hide(err))
		r.row++
		r.failures[Why(err)]++
		r.next = now.Add(r.wait(err))
		return r.err
	}
	r.spans = thin(merge(r.spans, spans, oldest(now, keeps)), oldest(now, back))
	r.read, r.err, r.row = now, nil, 0
	r.next = now.Add(time.Duration((0.9 + 0.2*r.luck()) * float64(r.every)))
	r.keep()
	return nil
}

// oldest is the first hour of so long. Hours go as a whole: what is left of one would
// be told as all of it.
func oldest(now time.Time, long time.Duration) time.Time {
	return now.UTC().Add(-long).Truncate(time.Hour)
}

// told returns the end of the last fact.
func (r *Reader) told() (t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, s := range r.spans {
		if !s.Guess && s.From.Before(now) {
			t = s.To
		}
	}
	if t.After(now) {
		return now
	}
	return t
}

// wait is how long to leave a source alone that failed: twice as long each time,
// and somewhere between half and all of that, so that sites do not come at once.
// What it asks for itself is kept to.
func (r *Reader) wait(err error) time.Duration {
	d := mostWait
	if r.row < 8 {
		d = min(firstWait<<(r.row-1), mostWait)
	}
	var x refusal
	if errors.As(err, &x) && (x.status == http.StatusUnauthorized || x.status == http.StatusForbidden) {
		d = max(d, shutWait)
	}
	d = d/2 + time.Duration(r.luck()*float64(d/2))
	return max(d, x.after)
}

// merge returns what is known when news have come. Old forecasts of what news tell
// of are dropped, and old facts of a time of which news have others; and so is what
// is over.
func merge(old, news []Span, oldest time.Time) []Span {
	var out []Span
	begins, rest := news[0].From, news
	for _, s := range old {
		for len(rest) > 0 && !rest[0].To.After(s.From) {
			rest = rest[1:]
		}
		told := len(rest) > 0 && !rest[0].Guess && !rest[0].From.After(s.From)
		if s.To.After(oldest) && !told && (!s.Guess || s.From.Before(begins)) {
			out = append(out, s)
		}
	}
	out = mend(append(out, news...))
	return out[max(0, len(out)-mostSpans):]
}

// thin makes one span of each hour before an instant: nobody asks for its parts.
func thin(spans []Span, before time.Time) []Span {
	n := 0
	for n < len(spans) && spans[n].From.Before(before) {
		n++
	}
	out := slices.Clone(spans[n:])
	for at, h := range hourly(spans[:n]) {
		out = append(out, Span{From: at, To: at.Add(time.Hour), Value: h.value, Guess: h.guess})
	}
	return mend(out)
}

// kept is the file of a reader.
type kept struct {
	Read  time.Time `json:"read"`
	Spans []Span    `json:"spans"`
}

// keep writes down what was read; that this may fail harms nobody.
func (r *Reader) keep() {
	if r.file == "" {
		return
	}
	text, err := json.Marshal(kept{r.read, r.spans})
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(r.file), 0o700) == nil {
		_ = atomicfile.Write(r.file, text, 0o600)
	}
}

// recall reads what was kept, if it makes sense. A source that was read a moment
// ago is not asked again because we were begun anew.
func (r *Reader) recall() {
	text, err := readFile(r.file)
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil {
		return
	}
	now := r.now()
	spans, err := sound(r.what, k.Spans, oldest(now, keeps), now.Add(most))
	if err == nil && !k.Read.After(now) {
		r.spans, r.read, r.err = spans, k.Read, nil
		r.next = k.Read.Add(r.every)
	}
}

// Why names the kind of a failure, for metrics.
func Why(err error) string {
	var r refusal
	var u unreached
	switch {
	case err == nil:
		return ""
	case errors.As(err, &u):
		return "unreachable"
	case errors.As(err, &r):
		return fmt.Sprintf("http-%d", r.status)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "unreadable"
}
