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
	lookBack           = 8 * 24 * time.Hour  // history that the agent's own forecasts need: they look back a week
	historyKept        = 90 * 24 * time.Hour // as long as the agent keeps it: the longest job is billed at its end
	forecastHorizon    = 4 * 24 * time.Hour  // future that is requested
	maxForecastHorizon = 14 * 24 * time.Hour // future that is kept, for tariffs
	readOverlap        = 6 * time.Hour       // re-read before the last fact, for late corrections
	initialBackoff     = 30 * time.Second
	maxBackoff         = time.Hour
	refusedBackoff     = 15 * time.Minute // after status 401 or 403
)

// A Source polls one source and keeps its values. Its methods may be called from
// several goroutines, FetchAndStore by one at a time.
type Source struct {
	cfg      Config
	quantity protocol.Quantity
	client   sourceClient
	service  *serviceClient
	interval time.Duration
	rates    *exchangeRates // nil: Config.Rate converts
	file     string         // cache; "": none
	keys     [2]string      // key and password that client uses
	now      func() time.Time
	jitter   func() float64 // uniform in [0, 1), for jitter

	// mu guards the fields below.
	mu                  sync.Mutex
	spans               []Span
	read                time.Time // last successful reading
	next                time.Time // next reading
	err                 error
	noForecast          error          // of the last reading, if the service gave all but its forecast
	failures            map[string]int // by kind: see FailureKind
	consecutiveFailures int            // consecutive failures
}

// NewSource returns the source of a configuration that ResolveAndValidate returned. If folder
// is not empty, the source caches its values there.
func NewSource(c Config, folder string) *Source {
	k := sourceKinds[c.From]
	r := &Source{cfg: c, quantity: quantitiesByName[c.Tells], interval: k.defaultInterval, now: time.Now, jitter: rand.Float64, err: errNothingReadYet, failures: make(map[string]int)}
	if d, err := time.ParseDuration(c.Every); err == nil {
		r.interval = d
	}
	patient, _ := time.ParseDuration(c.Timeout) // ResolveAndValidate has checked it
	r.service = newServiceClient(patient, func() time.Time { return r.now() })
	if c.RateFrom != "" {
		r.rates = &exchangeRates{now: func() time.Time { return r.now() }, get: newServiceClient(patient, func() time.Time { return r.now() })}
	}
	r.setSecrets(c)
	if folder != "" {
		// The file name contains a hash of everything that changes the meaning of
		// values, so that a changed configuration does not read old ones. Secrets are
		// not part of it.
		h := fnv.New64a()
		fmt.Fprint(h, c.Tells, "|", c.From, "|", c.Zone, "|", c.Market, "|", c.URL, "|", c.File, "|", c.Query, "|", c.Column, "|", c.Unit, "|", c.Currency, "|", c.Rate, "|", c.coolingOrDefault())
		if c.Latitude != nil && c.Longitude != nil {
			fmt.Fprint(h, "|", *c.Latitude, "|", *c.Longitude)
		}
		for _, more := range []string{c.Timezone, c.RateFrom} {
			if more != "" {
				fmt.Fprint(h, "|", more)
			}
		}
		r.file = filepath.Join(folder, fmt.Sprintf("%s-%s-%x.json", c.Tells, c.From, h.Sum64()))
		r.loadSavedSpans()
	}
	return r
}

// setSecrets creates the client with the secrets of a configuration. Current and previous
// secrets are removed from errors.
func (r *Source) setSecrets(c Config) {
	r.service.secrets = append(r.keys[:], c.key, c.password)
	r.client, r.keys = sourceKinds[c.From].newClient(c), [2]string{c.key, c.password}
}

// reloadSecrets re-reads secrets from their files, which change when a mounted Kubernetes
// Secret is rotated. While a file cannot be read, the previous secrets stay in use.
func (r *Source) reloadSecrets() {
	c := r.cfg
	if err := c.readSecrets(); err == nil && r.keys != [2]string{c.key, c.password} {
		r.setSecrets(c)
	}
}

// SourceName identifies a source in logs and metrics.
func (r *Source) SourceName() string {
	name := r.cfg.From
	if r.cfg.Zone != "" {
		name += "/" + r.cfg.Zone
	}
	if r.cfg.Forecast { // the prices that are paid may have the same service and zone
		name += "/forecast"
	}
	return name
}

// Quantity returns the quantity that the source provides.
func (r *Source) Quantity() protocol.Quantity { return r.quantity }

// NextRead returns when the source is to be read next; the zero time means at once.
func (r *Source) NextRead() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// FetchAndStore reads the source, whether it is due or not. If that fails, earlier values stay.
func (r *Source) FetchAndStore(ctx context.Context) error {
	r.reloadSecrets()
	now := r.now().UTC()
	from := now.Add(-lookBack)
	// Read on from the last fact, with some overlap for corrections.
	if known := r.endOfFacts(); known.After(from.Add(readOverlap)) {
		from = known.Add(-readOverlap)
	}
	// Request whole hours: a mean over a part of one would count as the hour's.
	spans, err := r.fetchInDollars(ctx, from.Truncate(time.Hour), now.Add(forecastHorizon).Truncate(time.Hour))
	var noForecast missingForecastError
	if errors.As(err, &noForecast) && ctx.Err() == nil && len(spans) > 0 {
		err = nil
	}
	if err == nil {
		spans, err = validateSpans(r.quantity, spans, oldestHour(now, lookBack), now.Add(maxForecastHorizon))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		// The end of ctx is no failure of the source.
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.err = fmt.Errorf("%s: %s: %w", r.SourceName(), r.cfg.Tells, r.service.redactError(err))
		r.consecutiveFailures++
		r.failures[FailureKind(err)]++
		r.noForecast = nil
		r.next = now.Add(r.backoffAfter(err))
		return r.err
	}
	r.noForecast = nil
	if noForecast.error != nil {
		r.noForecast = fmt.Errorf("%s: %s: %w", r.SourceName(), r.cfg.Tells, r.service.redactError(noForecast))
		r.failures["forecast-"+FailureKind(noForecast)]++
		spans = keepForecasts(r.spans, spans)
	}
	r.spans = thinToHours(mergeSpans(r.spans, spans, oldestHour(now, historyKept)), oldestHour(now, lookBack))
	r.read, r.err, r.consecutiveFailures = now, nil, 0
	// Jitter of 10 % keeps sites from polling in step.
	r.next = now.Add(time.Duration((0.9 + 0.2*r.jitter()) * float64(r.interval)))
	r.saveSpans()
	return nil
}

// fetchInDollars fetches the spans of a period, prices in dollars.
func (r *Source) fetchInDollars(ctx context.Context, from, to time.Time) ([]Span, error) {
	if r.rates == nil {
		return r.client.fetchSpans(ctx, r.service, from, to)
	}
	if err := r.rates.refresh(ctx); err != nil {
		return nil, err
	}
	spans, err := r.client.fetchSpans(ctx, r.service, from, to)
	if err != nil {
		return spans, err
	}
	return r.rates.convert(r.cfg.usedCurrency(), spans)
}

// oldestHour returns the first whole hour of a period that ends now. Hours are cut as a
// whole: the rest of a cut one would be averaged as if it were the hour.
func oldestHour(now time.Time, long time.Duration) time.Time {
	return now.UTC().Add(-long).Truncate(time.Hour)
}

// endOfFacts returns the end of the last fact, at most now.
func (r *Source) endOfFacts() (t time.Time) {
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

// backoffAfter returns the backoff after a failure: doubled with each consecutive one up to
// maxBackoff, with random jitter of up to half so that sites do not retry in step. It
// is at least the service's Retry-After.
func (r *Source) backoffAfter(err error) time.Duration {
	d := maxBackoff
	if r.consecutiveFailures < 8 {
		d = min(initialBackoff<<(r.consecutiveFailures-1), maxBackoff)
	}
	var x httpRefusal
	if errors.As(err, &x) && (x.status == http.StatusUnauthorized || x.status == http.StatusForbidden) {
		d = max(d, refusedBackoff)
	}
	d = d/2 + time.Duration(r.jitter()*float64(d/2))
	return max(d, x.after)
}

// mergeSpans returns old values with news applied. News replace old forecasts from their
// begin on, and old facts of the times for which they have facts. Values before
// oldest are dropped. News must not be empty.
func mergeSpans(old, news []Span, oldest time.Time) []Span {
	var out []Span
	// rest are the news that may cover the old value; both lists ascend.
	begins, rest := news[0].From, news
	for _, s := range old {
		for len(rest) > 0 && !rest[0].To.After(s.From) {
			rest = rest[1:]
		}
		replaced := len(rest) > 0 && !rest[0].Guess && !rest[0].From.After(s.From)
		if s.To.After(oldest) && !replaced && (!s.Guess || s.From.Before(begins)) {
			out = append(out, s)
		}
	}
	out = sortAndTrimSpans(append(out, news...))
	return out[max(0, len(out)-maxSpans):]
}

// thinToHours merges the values of each hour before an instant into one: only forecasts of
// the last days need finer values.
func thinToHours(spans []Span, before time.Time) []Span {
	n := 0
	for n < len(spans) && spans[n].From.Before(before) {
		n++
	}
	out := slices.Clone(spans[n:])
	for at, h := range hourlyMeans(spans[:n]) {
		out = append(out, Span{From: at, To: at.Add(time.Hour), Value: h.value, Guess: h.guess})
	}
	return sortAndTrimSpans(out)
}

// savedSpans is the format of the cache.
type savedSpans struct {
	Read  time.Time `json:"read"`
	Spans []Span    `json:"spans"`
}

// saveSpans writes the cache. Failures are ignored: the cache only saves requests after a
// restart.
func (r *Source) saveSpans() {
	if r.file == "" {
		return
	}
	text, err := json.Marshal(savedSpans{r.read, r.spans})
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(r.file), 0o700) == nil {
		_ = atomicfile.ReplaceFile(r.file, text, 0o600)
	}
}

// loadSavedSpans reads the cache if it is valid. It keeps the polling interval over a
// restart, so that restarts do not add requests.
func (r *Source) loadSavedSpans() {
	text, err := readLimitedFile(r.file)
	var k savedSpans
	if err != nil || json.Unmarshal(text, &k) != nil {
		return
	}
	now := r.now()
	spans, err := validateSpans(r.quantity, k.Spans, oldestHour(now, historyKept), now.Add(maxForecastHorizon))
	if err == nil && !k.Read.After(now) {
		r.spans, r.read, r.err = spans, k.Read, nil
		r.next = k.Read.Add(r.interval)
	}
}

// FailureKind returns the kind of a failure, as a metric label.
func FailureKind(err error) string {
	var r httpRefusal
	var u unreachableError
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
