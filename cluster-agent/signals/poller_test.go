package signals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A service is a standin on loopback, with what befalls it.
type service struct {
	standin
	now     time.Time
	asked   int
	address string

	mu sync.Mutex // of what befalls it: who asked may have gone away meanwhile
	trouble
}

// A trouble is what befalls a service.
type trouble struct {
	before func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	change func(body string) string
	breaks bool
}

// befall has t befall s from the next question on.
func (s *service) befall(t trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = t
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	now := s.trouble
	s.mu.Unlock()
	if now.before != nil && now.before(w, r) {
		return
	}
	body := s.page(ask{r, s.now, r.URL.Query()})
	if body == "" {
		http.Error(w, "the standin does not know this question", http.StatusNotFound)
		return
	}
	if now.change != nil {
		body = now.change(body)
	}
	if s.pack != nil {
		body = s.pack(body)
	}
	if now.breaks {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write([]byte(body[:len(body)/2]))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte(body))
}

// noon is no special day.
var noon = time.Date(2026, 2, 10, 12, 20, 0, 0, time.UTC)

// begin starts a standin and a reader of it, in a time of the test's.
func begin(t *testing.T, s standin, folder string) (*service, *Source) {
	t.Helper()
	environment(t)
	sv := &service{standin: s, now: noon}
	server := httptest.NewServer(sv)
	t.Cleanup(server.Close)
	sv.address = server.URL
	return sv, sv.reader(t, folder)
}

func (sv *service) reader(t *testing.T, folder string) *Source {
	t.Helper()
	c := sv.cfg
	c.URL = sv.address
	c, err := c.ResolveAndValidate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := NewSource(c, "")
	r.now = func() time.Time { return sv.now }
	r.jitter = func() float64 { return 0.5 }
	if folder != "" {
		r = NewSource(c, folder)
		r.now, r.jitter = func() time.Time { return sv.now }, func() float64 { return 0.5 }
		r.loadSavedSpans()
	}
	return r
}

// holds holds a reader to the truth, hour by hour.
func (sv *service) holds(t *testing.T, r *Source, from, to time.Time) {
	t.Helper()
	hours := hourlyMeans(r.spans)
	every(from, to, time.Hour, func(at time.Time) {
		h, ok := hours[at.UTC()]
		if want := sv.truth(at); !ok || math.Abs(h.value-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("%s (%s) is %v, %t; want %g", at.Format(time.RFC3339), at.In(place(sv.where)), h.value, ok, want)
		}
		if ok && h.guess && !sv.estimates() && at.Add(time.Hour).Before(sv.now.Add(-time.Hour)) {
			t.Errorf("%s is over, and told as a forecast", at)
		}
	})
}

// estimates reports whether the service measures nothing.
func (s standin) estimates() bool { return s.cfg.From == "uk-carbon" && s.cfg.Zone != "" }

func each(t *testing.T, do func(t *testing.T, s standin)) {
	for _, s := range standins {
		t.Run(s.name, func(t *testing.T) { do(t, s) })
	}
}

func TestEachSourceIsRead(t *testing.T) {
	each(t, func(t *testing.T, s standin) {
		sv, r := begin(t, s, "")
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatalf("Read = %v", err)
		}
		until := sv.now.Truncate(time.Hour).Add(-time.Hour)
		if s.ahead {
			until = sv.now.Add(23 * time.Hour)
		}
		sv.holds(t, r, sv.now.Add(-22*time.Hour), until)
		st := r.StatusAt(sv.now)
		if st.Value == nil || st.Stale || st.Error != "" || s.ahead && st.Horizon < (11*time.Hour).Seconds() {
			t.Errorf("Status = %+v", st)
		}
		if next := r.NextRead().Sub(sv.now); next != r.interval {
			t.Errorf("it is read again after %v; want %v", next, r.interval)
		}
		// An hour later only news are asked for, and what was known is still.
		sv.now = sv.now.Add(time.Hour)
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatalf("Read = %v", err)
		}
		sv.holds(t, r, sv.now.Add(-22*time.Hour), until)
	})
}

// TestClocksChange reads days of 23 and of 25 hours: each hour is published once, at
// its place.
func TestClocksChange(t *testing.T) {
	each(t, func(t *testing.T, s standin) {
		spring, autumn := "2026-03-29", "2026-10-25"
		if strings.HasPrefix(s.where, "America") {
			spring, autumn = "2026-03-08", "2026-11-01"
		}
		for day, hours := range map[string]int{spring: 23, autumn: 25} {
			midnight, err := time.ParseInLocation("2006-01-02", day, place(s.where))
			if err != nil {
				t.Fatal(err)
			}
			end := midnight.AddDate(0, 0, 1)
			if n := int(end.Sub(midnight).Hours()); n != hours {
				t.Fatalf("%s has %d hours", day, n)
			}
			sv, r := begin(t, s, "")
			sv.now = midnight.Add(12 * time.Hour).UTC()
			if !s.ahead {
				sv.now = end.Add(2 * time.Hour).UTC()
			}
			if s.name == "caiso real-time" { // it begins with a day of 24 hours
				sv.now = midnight.Add(23 * time.Hour).UTC()
				if err := r.FetchAndStore(t.Context()); err != nil {
					t.Fatal(err)
				}
				sv.now = end.Add(2 * time.Hour).UTC()
			}
			if err := r.FetchAndStore(t.Context()); err != nil {
				t.Fatalf("%s: Read = %v", day, err)
			}
			sv.holds(t, r, midnight, end)
			n := 0
			for at := range hourlyMeans(r.spans) {
				if !at.Before(midnight) && at.Before(end) {
					n++
				}
			}
			if n != hours {
				t.Errorf("%s has %d hours; want %d", day, n, hours)
			}
		}
	})
}

func TestFailuresAreTold(t *testing.T) {
	answer := func(status int, headers ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, "you asked %s with %v", r.URL, r.Header) // some do
			return true
		}
	}
	for _, tc := range []struct {
		name   string
		befall func(*service)
		why    string // by the metrics
		says   string
		least  time.Duration // until it is asked again
	}{
		{"401", func(s *service) { s.before = answer(401) }, "http-401", "check the key", refusedBackoff / 2},
		{"403", func(s *service) { s.before = answer(403) }, "http-403", "check the key", refusedBackoff / 2},
		{"429 with Retry-After", func(s *service) { s.before = answer(429, "Retry-After", "777") }, "http-429", "when the service allows", 777 * time.Second},
		{"429 until a date", func(s *service) {
			s.before = answer(429, "Retry-After", noon.Add(2*time.Hour).Format(http.TimeFormat))
		}, "http-429", "when the service allows", 2 * time.Hour},
		{"500", func(s *service) { s.before = answer(500) }, "http-500", "retried", initialBackoff / 2},
		{"slow", func(s *service) {
			s.before = func(_ http.ResponseWriter, r *http.Request) bool {
				_, _ = io.Copy(io.Discard, r.Body) // until then a server does not see that its client has gone
				<-r.Context().Done()
				return true
			}
		}, "timeout", "no answer within", initialBackoff / 2},
		{"truncated", func(s *service) { s.breaks = true }, "unreadable", "answer is incomplete", initialBackoff / 2},
		{"cut short without a word", func(s *service) {
			s.change = func(b string) string { return b[:len(b)*2/3] + "\x00" }
		}, "unreadable", "", initialBackoff / 2},
		{"changed schema", func(s *service) {
			s.change = func(b string) string { return strings.ReplaceAll(b, s.schema[0], s.schema[1]) }
		}, "unreadable", "", initialBackoff / 2},
		{"unit surprise", func(s *service) { s.change = s.otherUnit }, "unreadable", "", initialBackoff / 2},
		{"a page for people", func(s *service) {
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				fmt.Fprint(w, "<html><body>Sign in to the network</body></html>")
				return true
			}
		}, "unreadable", "", initialBackoff / 2},
		{"without end", func(s *service) {
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				for range 3 * maxResponseBytes / (64 << 10) {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						break
					}
				}
				return true
			}
		}, "unreadable", "MiB", initialBackoff / 2},
		{"moved elsewhere", func(s *service) { s.before = answer(302, "Location", "http://127.0.0.2:1/") }, "unreachable", "set url", initialBackoff / 2},
		{"empty", func(s *service) { s.before = answer(200) }, "unreadable", "", initialBackoff / 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, s standin) {
				sv, r := begin(t, s, "")
				if err := r.FetchAndStore(t.Context()); err != nil {
					t.Fatal(err)
				}
				before := len(r.spans)
				tc.befall(sv)
				if tc.why == "timeout" {
					r.service.timeout = 30 * time.Millisecond
				}
				err := r.FetchAndStore(t.Context())
				if err == nil {
					t.Fatal("Read says that all is well")
				}
				if FailureKind(err) != tc.why || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("Read = %v (%s); want %q, of %q", err, FailureKind(err), tc.why, tc.says)
				}
				if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "p4ss") || strings.Contains(err.Error(), "eyJ") {
					t.Errorf("the error shows a key: %v", err)
				}
				if wait := r.NextRead().Sub(sv.now); wait < tc.least || wait > max(tc.least, maxBackoff) {
					t.Errorf("it is asked again after %v; want %v at least", wait, tc.least)
				}
				if len(r.spans) != before {
					t.Errorf("%d spans are left of %d: what was known is lost", len(r.spans), before)
				}
				if st := r.StatusAt(sv.now.Add(12 * time.Hour)); st.Failures != 1 || st.Error == "" {
					t.Errorf("Status = %+v", st)
				}
				sv.befall(trouble{})
				r.service.timeout = requestTimeout
				if err := r.FetchAndStore(t.Context()); err != nil || r.StatusAt(sv.now).Error != "" {
					t.Errorf("it does not recover: %v", err)
				}
			})
		})
	}
}

// A secret in a service's answer is removed from the error.
func TestNoErrorShowsAKey(t *testing.T) {
	standin := standins[slices.IndexFunc(standins, func(s standin) bool { return s.name == "prometheus" })]
	for before := 110; before < 170; before++ { // around the end of what is quoted
		sv, r := begin(t, standin, "")
		sv.before = func(w http.ResponseWriter, q *http.Request) bool {
			w.WriteHeader(401)
			fmt.Fprint(w, strings.Repeat("x", before), " ", q.Header.Get("Authorization"))
			return true
		}
		if err := r.FetchAndStore(t.Context()); err == nil || strings.Contains(err.Error(), secret[:4]) {
			t.Fatalf("after %d letters: Read = %v", before, err)
		}
	}
	sv, r := begin(t, standin, "")
	sv.before = func(w http.ResponseWriter, q *http.Request) bool {
		fmt.Fprintf(w, `{"status":"error","error":"no such user: %s"}`, q.Header.Get("Authorization"))
		return true
	}
	if err := r.FetchAndStore(t.Context()); err == nil || strings.Contains(err.Error(), secret[:4]) || FailureKind(err) != "unreadable" {
		t.Errorf("Read = %v", err)
	}
}

// A query that divides by a meter returns NaN while the meter is off: a gap, not an
// error.
func TestPrometheusMayHaveNoValueForAWhile(t *testing.T) {
	sv, r := begin(t, standins[slices.IndexFunc(standins, func(s standin) bool { return s.name == "prometheus" })], "")
	from, to := sv.now.Add(-5*time.Hour).Truncate(time.Hour), sv.now.Add(-3*time.Hour).Truncate(time.Hour)
	sv.change = func(body string) string {
		for at := from; at.Before(to); at = at.Add(prometheusStep) {
			was := fmt.Sprintf(`[%d,"%g"]`, at.Unix(), grams(at))
			body = strings.ReplaceAll(body, was, fmt.Sprintf(`[%d,%q]`, at.Unix(), []string{"NaN", "+Inf", "-Inf"}[at.Minute()/5%3]))
		}
		return body
	}
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	sv.holds(t, r, sv.now.Add(-22*time.Hour), from)
	sv.holds(t, r, to, sv.now.Truncate(time.Hour))
	for at := range hourlyMeans(r.spans) {
		if !at.Before(from) && at.Before(to) {
			t.Errorf("%v is told", at)
		}
	}
	from, to = sv.now.Add(-lookBack-time.Hour).Truncate(time.Hour), sv.now.Add(time.Hour)
	if err := sv.reader(t, "").FetchAndStore(t.Context()); err == nil {
		t.Error("a query without any value is no failure")
	}
}

var figure = regexp.MustCompile(`(carbonIntensity":|actual":|forecast":|LMP,x,[^,]*,ALL,0,|HUBAVG",|:\d\d,|\[\d+,")(-?[0-9.]+)`)

// otherUnit has a service speak in another unit: as it calls it, or else in
// thousandths of the one before.
func (sv *service) otherUnit(body string) string {
	if sv.unit[0] != "" {
		return strings.ReplaceAll(body, sv.unit[0], sv.unit[1])
	}
	return figure.ReplaceAllString(body, "${1}${2}e3")
}

func TestBackOffGrowsAndIsSpread(t *testing.T) {
	sv, r := begin(t, standins[0], "")
	sv.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }
	last := time.Duration(0)
	for i := range 12 {
		_ = r.FetchAndStore(t.Context())
		wait := r.NextRead().Sub(sv.now)
		if wait < last || wait > maxBackoff {
			t.Errorf("after %d failures it waits %v, before %v", i+1, wait, last)
		}
		last = wait
		r.jitter = func() float64 { return 1 }
		high := r.backoffAfter(errNothingReadYet)
		r.jitter = func() float64 { return 0 }
		if low := r.backoffAfter(errNothingReadYet); high != 2*low {
			t.Errorf("it waits between %v and %v; want one to be twice the other", low, high)
		}
		r.jitter = func() float64 { return 0.5 }
	}
	if last < maxBackoff/2 {
		t.Errorf("after many failures it waits %v", last)
	}
}

// TestTokensEnd has a token that is over at the second reading.
func TestTokensEnd(t *testing.T) {
	for _, s := range standins {
		if s.cfg.User == "" {
			continue
		}
		sv, r := begin(t, s, "")
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		over := true
		sv.before = func(w http.ResponseWriter, q *http.Request) bool {
			if strings.HasSuffix(q.URL.Path, "/login") || strings.HasSuffix(q.URL.Path, "/token") {
				over = false
			}
			if over {
				w.WriteHeader(401)
			}
			return over
		}
		if err := r.FetchAndStore(t.Context()); err != nil || over {
			t.Errorf("%s: Read = %v; want it to log in again", s.name, err)
		}
	}
}

func TestWhatWasReadIsKept(t *testing.T) {
	folder := t.TempDir()
	sv, r := begin(t, standins[0], folder)
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := sv.reader(t, folder)
	if len(again.spans) != len(r.spans) || !again.NextRead().After(sv.now) {
		t.Errorf("begun anew it knows %d spans of %d, and reads again at %v", len(again.spans), len(r.spans), again.NextRead())
	}
	sv.holds(t, again, sv.now.Add(-22*time.Hour), sv.now.Add(20*time.Hour))
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	text, _ := os.ReadFile(files[0])
	if strings.Contains(string(text), secret) {
		t.Error("the file has the key")
	}
	for _, bad := range []string{"", "{", `{"read":"2026-02-10T11:00:00Z","spans":[{"from":"2026-02-10T11:00:00Z","to":"2026-02-10T12:00:00Z","value":1e9}]}`} {
		if err := os.WriteFile(files[0], []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := sv.reader(t, folder); len(r.spans) != 0 {
			t.Errorf("it believes %q", bad)
		}
	}
}

// What was read of one place, or by the clocks of one, is not taken for another's.
func TestWhatIsKeptIsOfItsPlace(t *testing.T) {
	folder, seen := t.TempDir(), map[string]Config{}
	for _, c := range []Config{
		{Tells: "pue", From: "open-meteo", Latitude: new(59.9), Longitude: new(10.7)}, {Tells: "pue", From: "open-meteo", Latitude: new(59.9), Longitude: new(-10.7)},
		{Tells: "pue", From: "open-meteo", Latitude: new(0.0), Longitude: new(10.7)},
		{Tells: "price", From: "csv", File: "x", Timezone: "Europe/Oslo"}, {Tells: "price", From: "csv", File: "x", Timezone: "Europe/London"}, {Tells: "price", From: "csv", File: "x"},
	} {
		file := NewSource(c, folder).file
		if other, ok := seen[file]; ok {
			t.Errorf("%+v is kept where %+v is", c, other)
		}
		seen[file] = c
	}
}

func TestOldValuesAreKnownToBeOld(t *testing.T) {
	sv, r := begin(t, standins[0], "")
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		later time.Duration
		stale bool
		guess bool
	}{{0, false, false}, {time.Hour, false, true}, {5 * time.Hour, true, true}, {90 * time.Hour, true, false}} {
		st := r.StatusAt(sv.now.Add(tc.later))
		if st.Stale != tc.stale || st.Value == nil || st.Guess != tc.guess {
			t.Errorf("%v later: %+v; want stale %t, guess %t", tc.later, st, tc.stale, tc.guess)
		}
		if age := max(tc.later-40*time.Minute, 0).Seconds(); st.Age != age {
			t.Errorf("%v later the age is %v s; want %v", tc.later, st.Age, age)
		}
	}
}

func TestSlowReadingEndsWithItsContext(t *testing.T) {
	sv, r := begin(t, standins[0], "")
	ctx, cancel := context.WithCancel(t.Context())
	sv.before = func(_ http.ResponseWriter, q *http.Request) bool { cancel(); <-q.Context().Done(); return true }
	if err := r.FetchAndStore(ctx); !errors.Is(err, context.Canceled) || r.StatusAt(sv.now).Failures != 0 {
		t.Errorf("Read = %v, and %d failures; want none of an end that we asked for", err, r.StatusAt(sv.now).Failures)
	}
}
