package signals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

func TestFeedTellsTheAgent(t *testing.T) {
	// The feed publishes by hours of the clock; no hour may end before it has
	// published.
	if left := time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)); left < 30*time.Second {
		time.Sleep(left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	carbon, first := begin(t, standins[0], "")
	dead, second := begin(t, standins[4], "")
	carbon.now = time.Now().UTC()
	first.now, second.now = time.Now, time.Now
	dead.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }
	f := &Poller{
		Site: "oslo", Sources: []*Source{second, first}, Log: slog.New(slog.DiscardHandler),
		Fixed: map[protocol.Quantity]float64{protocol.GridPrice: 61.5},
	}
	hub := new(membus.Bus)
	agent, err := hub.Connect(ctx, protocol.AgentParty("oslo"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx, hub, 3) }()
	told := map[protocol.Quantity]map[protocol.Time]int64{protocol.GridPrice: {}, protocol.GridCarbon: {}, protocol.GridPUE: {}}
	guessed := map[protocol.Time]bool{}
	this := protocol.FromStdTime(time.Now()).Floor(time.Hour)
	for tries := 0; len(guessed) == 0 || len(told[protocol.GridCarbon]) < 90; tries++ {
		m := <-agent.Messages()
		s, ok := m.Body.(protocol.Signal)
		if !ok || m.From != protocol.SignalParty("oslo") || m.Seq>>40 != 3 {
			t.Fatalf("heard %+v", m)
		}
		for _, p := range s.Points {
			if p.At != p.At.Floor(time.Hour) {
				t.Errorf("a point at %v", p.At)
			}
			told[s.What][p.At] = p.Value
			if s.Guess {
				guessed[p.At] = true
			}
		}
	}
	if v := told[protocol.GridPrice][this]; v != 61_500 {
		t.Errorf("the fixed price is told as %d microdollars per kWh", v)
	}
	for at, v := range told[protocol.GridCarbon] {
		if want := int64(grams(at.StdTime())) * 1000; v != want {
			t.Errorf("carbon of %v is told as %d; want %d", at, v, want)
		}
		if guessed[at] != (at > this) {
			t.Errorf("%v is told as a guess: %t", at, guessed[at])
		}
	}
	if len(told[protocol.GridPUE]) != 0 {
		t.Error("PUE is told, of which nobody knows")
	}
	for second.StatusAt(time.Now()).Failures == 0 {
		time.Sleep(time.Millisecond)
	}
	st := f.SourceStatuses(time.Now())
	if len(st) != 2 || st[0].Why["http-500"] != 1 || st[0].Value != nil || !st[0].Stale || st[1].Failures != 0 || st[1].Value == nil || st[1].Stale {
		t.Errorf("Status = %+v", st)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestFactsComeBeforeGuesses(t *testing.T) {
	at := noon.Truncate(time.Hour)
	span := func(h int, v float64, guess bool) Span {
		return Span{From: at.Add(time.Duration(h) * time.Hour), To: at.Add(time.Duration(h+1) * time.Hour), Value: v, Guess: guess}
	}
	reader := func(spans ...Span) *Source { return &Source{quantity: protocol.GridCarbon, spans: spans} }
	f := &Poller{Sources: []*Source{
		reader(span(0, 1, false), span(1, 1, true), span(2, 1, true)),
		reader(span(0, 2, false), span(1, 2, false), span(2, 2, true), span(3, 2, true)),
	}}
	for h, want := range map[int]hourValue{0: {1, false}, 1: {2, false}, 2: {1, true}, 3: {2, true}} {
		if got := f.knownHours(protocol.GridCarbon, noon)[at.Add(time.Duration(h)*time.Hour)]; got != want {
			t.Errorf("hour %d is %v; want %v", h, got, want)
		}
	}
	if n := len(f.unpublishedSignals(noon)); n != 2 {
		t.Errorf("%d signals; want facts and guesses", n)
	}
	if again := f.unpublishedSignals(noon); len(again) != 0 {
		t.Errorf("it says again: %v", again)
	}
}

func TestConfigurationIsHeldToWhatServicesNeed(t *testing.T) {
	environment(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "\n", "two": "a\nb", "key": "abc\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := func(change func(*Config)) Config {
		c := Config{Tells: "price", From: "entsoe", Zone: "10Y1001A1001A82H", KeyEnv: "FEED_KEY", Rate: 1.1}
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name string
		c    Config
		key  string // "" is right
		says string
	}{
		{"as it should be", good(func(*Config) {}), "", ""},
		{"a key of a file", good(func(c *Config) { c.KeyEnv, c.KeyFile = "", "key" }), "", ""},
		{"an unknown service", good(func(c *Config) { c.From = "tarot" }), "from", "electricity-maps"},
		{"another quantity", good(func(c *Config) { c.Tells = "pue" }), "tells", "price and carbon"},
		{"no key", good(func(c *Config) { c.KeyEnv = "" }), "key_env", "key_file"},
		{"no variable", good(func(c *Config) { c.KeyEnv = "FEED_NONE" }), "key_env", "FEED_NONE"},
		{"two keys", good(func(c *Config) { c.KeyFile = "key" }), "key_env", "remove one"},
		{"an empty key", good(func(c *Config) { c.KeyEnv, c.KeyFile = "", "empty" }), "key_file", "empty"},
		{"a key of two lines", good(func(c *Config) { c.KeyEnv, c.KeyFile = "", "two" }), "key_file", "one line"},
		{"no file of a key", good(func(c *Config) { c.KeyEnv, c.KeyFile = "", "nokey" }), "key_file", "nokey"},
		{"no place", good(func(c *Config) { c.Zone = "" }), "zone", "requires it"},
		{"euros without a rate", good(func(c *Config) { c.Rate = 0 }), "rate", "EUR"},
		{"a key over http", good(func(c *Config) { c.URL = "http://example.org" }), "url", "https"},
		{"an address with a user", good(func(c *Config) { c.URL = "https://a:b@example.org" }), "url", "without user"},
		{"no time", good(func(c *Config) { c.Every = "often" }), "every", "15m"},
		{"too often", good(func(c *Config) { c.Every = "1ms" }), "every", "1s"},
		{"no market", good(func(c *Config) { c.Market = "spot" }), "market", "day-ahead"},
		{"a market that its service has not", good(func(c *Config) { c.Market = "real-time" }), "market", "remove the key"},
		{"no unit", Config{Tells: "carbon", From: "csv", File: "x.csv"}, "unit", "requires it"},
		{"another unit", Config{Tells: "carbon", From: "csv", File: "x.csv", Unit: "stone/therm"}, "unit", "lb/MWh"},
		{"pounds without a rate", Config{Tells: "price", From: "csv", File: "x.csv", Unit: "GBP/MWh"}, "rate", "GBP"},
		{"dollars with a rate", Config{Tells: "price", From: "csv", File: "x.csv", Unit: "USD/MWh", Rate: 1.08}, "rate", "remove the key"},
		{"dollars of entsoe with a rate", good(func(c *Config) { c.Currency = "USD" }), "rate", "remove the key"},
		{"dollars of entsoe", good(func(c *Config) { c.Currency, c.Rate = "USD", 0 }), "", ""},
		{"dollars by the bank's rate", good(func(c *Config) { c.Currency, c.Rate, c.RateFrom = "USD", 0, "ecb" }), "rate_from", "remove the key"},
		{"the bank's rate", good(func(c *Config) { c.Rate, c.RateFrom = 0, "ecb" }), "", ""},
		{"two rates", good(func(c *Config) { c.RateFrom = "ecb" }), "rate_from", "remove one"},
		{"another bank's", good(func(c *Config) { c.Rate, c.RateFrom = 0, "fed" }), "rate_from", "want ecb"},
		{"pounds of the exchange", Config{Tells: "price", From: "elexon"}, "rate", "GBP"},
		{"day-ahead prices of a real-time market", Config{Tells: "price", From: "aemo", Zone: "NSW1", Rate: 0.6, Market: "day-ahead"}, "market", "real-time prices only"},
		{"a region of Britain", Config{Tells: "carbon", From: "uk-carbon", Zone: "13"}, "", ""},
		{"a region that is none", Config{Tells: "carbon", From: "uk-carbon", Zone: "london"}, "zone", "1..17"},
		{"a forecast", good(func(c *Config) { c.Forecast, c.Published, c.Ends = true, new(18), new(5) }), "", ""},
		{"a publication of facts", good(func(c *Config) { c.Published = new(18) }), "published", "add forecast: true"},
		{"an hour that is none", good(func(c *Config) { c.Forecast, c.Published = true, new(24) }), "published", "0..23"},
		{"an end of no publication", good(func(c *Config) { c.Forecast, c.Ends = true, new(5) }), "ends", "without published"},
		{"no file", Config{Tells: "pue", From: "csv", Unit: "ratio"}, "file", "either"},
		{"no such clocks", Config{Tells: "pue", From: "csv", Unit: "ratio", File: "x", Timezone: "Europe/Atlantis"}, "timezone", "Atlantis"},
		{"no place on earth", Config{Tells: "pue", From: "open-meteo", Latitude: new(91.0), Longitude: new(0.0)}, "latitude", "90"},
		{"a strange building", Config{Tells: "pue", From: "open-meteo", Latitude: new(1.0), Longitude: new(0.0), Cooling: &Cooling{Base: 0.9}}, "cooling", "base"},
	} {
		_, err := tc.c.ResolveAndValidate(dir)
		var f ConfigFault
		if tc.key == "" && err != nil || tc.key != "" && (!errors.As(err, &f) || f.Key != tc.key || !strings.Contains(f.Problem, tc.says)) {
			t.Errorf("%s: Open = %v; want %q, of %q", tc.name, err, tc.key, tc.says)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the key", tc.name)
		}
	}
}

// tariff is a reader of tariff.csv in a folder, at noon.
func tariff(t *testing.T, dir string) *Source {
	t.Helper()
	c, err := Config{Tells: "price", From: "csv", File: "tariff.csv", Unit: "USD/MWh"}.ResolveAndValidate(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := NewSource(c, "")
	r.now = func() time.Time { return noon }
	return r
}

// TestTariffOfAFile reads a tariff from a file, as it stands.
func TestTariffOfAFile(t *testing.T) {
	dir := t.TempDir()
	text := "\ufefftime,value\n2026-02-01T00:00:00Z,80\n2026-02-10T18:00:00+01:00,120.5\n2026-02-10T20:00:00+01:00,80\n2026-03-01T00:00:00Z,90\n"
	if err := os.WriteFile(filepath.Join(dir, "tariff.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := tariff(t, dir)
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	hours := hourlyMeans(r.spans)
	for h, want := range map[int]float64{-100: 80, 0: 80, 4: 80, 5: 120.5, 6: 120.5, 7: 80, 100: 80} {
		if got := hours[noon.Truncate(time.Hour).Add(time.Duration(h)*time.Hour)]; got.value != want || got.guess {
			t.Errorf("hour %d is %v; want %g", h, got, want)
		}
	}
}

// TestATariffIsChanged: the file is written anew while the agent runs, without the
// hours that began at half past.
func TestATariffIsChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(rows string) {
		if err := os.WriteFile(filepath.Join(dir, "tariff.csv"), []byte("time,value\n2026-02-01T00:00:00Z,80\n"+rows+"2026-03-01T00:00:00Z,90\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := tariff(t, dir)
	for rows, want := range map[string][]float64{"2026-02-10T18:30:00Z,120\n2026-02-10T20:00:00Z,80\n": {100, 120}, "": {80, 80}} {
		write("2026-02-10T18:30:00Z,120\n2026-02-10T20:00:00Z,80\n")
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(rows)
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		for h, v := range want {
			at := time.Date(2026, 2, 10, 18+h, 0, 0, 0, time.UTC)
			if got := hourlyMeans(r.spans)[at]; got.value != v || got.guess {
				t.Errorf("after %q the hour of %v is %v; want %g", rows, at, got, v)
			}
		}
	}
}

// minutes tells every five minutes, up to now, which minute of its hour it is.
type minutes func() time.Time

func (now minutes) fetchSpans(_ context.Context, _ *serviceClient, from, _ time.Time) (spans []Span, _ error) {
	for at := from; at.Before(now()); at = at.Add(5 * time.Minute) {
		spans = append(spans, Span{From: at, To: at.Add(5 * time.Minute), Value: float64(at.Minute())})
	}
	return spans, nil
}

// An hour at the end of the kept period is published with its full mean, not with that
// of its rest.
func TestHoursAreForgottenWhole(t *testing.T) {
	now := noon
	r := NewSource(Config{Tells: "price", From: "csv"}, "")
	r.now = func() time.Time { return now }
	r.client = minutes(r.now)
	for range 8 {
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		for at, h := range hourlyMeans(r.spans) {
			if at.Add(time.Hour).Before(now) && h.value != 27.5 {
				t.Errorf("at %v the hour of %v is %v; want 27.5", now, at, h)
			}
		}
		now = now.Add(20 * time.Minute)
	}
}

// An agent that is begun anew bills a job that ran for months by what its hours cost.
func TestWhatWasReadIsKeptForMonths(t *testing.T) {
	now, folder := noon, t.TempDir()
	begin := func() *Source {
		r := NewSource(Config{Tells: "price", From: "csv"}, folder)
		r.now = func() time.Time { return now }
		r.client = minutes(r.now)
		return r
	}
	r := begin()
	for range 92 {
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(24 * time.Hour)
	}
	again := begin()
	again.loadSavedSpans()
	hours := hourlyMeans(again.spans)
	for at := now.Add(-historyKept).Truncate(time.Hour); at.Before(now.Add(-25 * time.Hour)); at = at.Add(time.Hour) {
		if h, ok := hours[at]; !ok || h.value != 27.5 {
			t.Fatalf("of %v it knows %v, %t; want 27.5", at, h, ok)
		}
	}
	if n := len(again.spans); n > 90*24+9*24*12 {
		t.Errorf("%d spans are kept; want hours, and five minutes of the last days", n)
	}
}

// A key that is rotated, as one that runs out each hour, is taken up from its file; while
// that cannot be read the one of before serves.
func TestAKeyThatChangesInItsFileIsTakenUp(t *testing.T) {
	dir, held := t.TempDir(), "first"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+held {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "no: "+r.Header.Get("Authorization"))
			return
		}
		_, _ = fmt.Fprintf(w, "time,value\n%s,80\n", time.Now().UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	write := func(key string) {
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(held)
	c, err := Config{Tells: "price", From: "csv", URL: server.URL, Unit: "USD/MWh", KeyFile: "key"}.ResolveAndValidate(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := NewSource(c, "")
	read := func(when string) {
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	read("at first")
	held = "second"
	write(held)
	read("when it changed")
	if err := os.Remove(filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	read("when its file is gone for a moment")
	held = "third"
	if err := r.FetchAndStore(t.Context()); err == nil || strings.Contains(err.Error(), "second") {
		t.Errorf("refused it says %v", err)
	}
}
