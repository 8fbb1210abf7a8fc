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

// Periods that are read and kept, and the backoff.
const (
	back      = 8 * 24 * time.Hour  // history that the agent's own forecasts need: they look back a week
	keeps     = 90 * 24 * time.Hour // as long as the agent keeps it: the longest job is billed at its end
	forth     = 4 * 24 * time.Hour  // future that is requested
	most      = 14 * 24 * time.Hour // future that is kept, for tariffs
	overlap   = 6 * time.Hour       // re-read before the last fact, for late corrections
	firstWait = 30 * time.Second
	mostWait  = time.Hour
	shutWait  = 15 * time.Minute // after status 401 or 403
)

// A Reader polls one source and keeps its values. Its methods may be called from several goroutines, Read by one at
// a time.
type Reader struct {
	cfg   Config
	what  protocol.Quantity
	src   source
	door  *door
	every time.Duration
	file  string    // cache; "": none
	keys  [2]string // key and password that src uses
	now   func() time.Time
	luck  func() float64 // uniform in [0, 1), for jitter

	// mu guards the fields below.
	mu       sync.Mutex
	spans    []Span
	read     time.Time // last successful reading
	next     time.Time // next reading
	err      error
	failures map[string]int // by kind: see Why
	row      int            // consecutive failures
}

// NewReader returns a reader for an opened configuration. If folder is not empty, the reader caches its values
// there.
func NewReader(c Config, folder string) *Reader {
	k := kinds[c.From]
	r := &Reader{cfg: c, what: quantities[c.Tells], every: k.every, now: time.Now, luck: rand.Float64, err: errNone, failures: make(map[string]int)}
	if d, err := time.ParseDuration(c.Every); err == nil {
		r.every = d
	}
	patient, _ := time.ParseDuration(c.Timeout) // Open has validated it
	r.door = newDoor(patient, func() time.Time { return r.now() })
	r.holds(c)
	if folder != "" {
		// The file name contains a hash of everything that changes the meaning of values, so that a changed
		// configuration does not read old ones. Secrets are not part of it.
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

// holds creates the source with the secrets of a configuration. Current and previous secrets are removed from
// errors.
func (r *Reader) holds(c Config) {
	r.door.secrets = append(r.keys[:], c.key, c.password)
	r.src, r.keys = kinds[c.From].make(c), [2]string{c.key, c.password}
}

// renew re-reads secrets from their files, which change when a mounted Kubernetes Secret is rotated. While a file
// cannot be read, the previous secrets stay in use.
func (r *Reader) renew() {
	c := r.cfg
	if err := c.secrets(); err == nil && r.keys != [2]string{c.key, c.password} {
		r.holds(c)
	}
}

// Name identifies a source in logs and metrics.
func (r *Reader) Name() string {
	if r.cfg.Zone != "" {
		return r.cfg.From + "/" + r.cfg.Zone
	}
	return r.cfg.From
}

// What returns the quantity that the source provides.
func (r *Reader) What() protocol.Quantity { return r.what }

// Due returns when the source is to be read next; the zero time means at once.
func (r *Reader) Due() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// Read reads the source, whether it is due or not. If that fails, earlier values stay.
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

// oldest returns the first whole hour of a period that ends now. Hours are cut as a whole: the rest of a cut one
// would be averaged as if it were the hour.
func oldest(now time.Time, long time.Duration) time.Time {
	return now.UTC().Add(-long).Truncate(time.Hour)
}

// told returns the end of the last fact, at most now.
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

// wait returns the backoff after a failure: doubled with each consecutive one up to mostWait, with random jitter of
// up to half so that sites do not retry in step. It is at least the service's Retry-After.
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

// merge returns old values with news applied. News replace old forecasts from their begin on, and old facts of the
// times for which they have facts. Values before oldest are dropped. News must not be empty.
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

// thin merges the values of each hour before an instant into one: only forecasts of the last days need finer
// values.
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

// kept is the format of the cache.
type kept struct {
	Read  time.Time `json:"read"`
	Spans []Span    `json:"spans"`
}

// keep writes the cache. Failures are ignored: the cache only saves requests after a restart.
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

// recall reads the cache if it is valid. It keeps the polling interval over a restart, so that restarts do not add
// requests.
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

// Why returns the kind of a failure, as a metric label.
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
