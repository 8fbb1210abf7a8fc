package signals

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// standinOf is the standin of a name.
func standinOf(t *testing.T, name string) standin {
	t.Helper()
	for _, s := range standins {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no standin %q", name)
	return standin{}
}

// A subscription without forecasts answers 401 or 403 for them: the rest counts, and the source is
// asked again as usual.
func TestAForecastMayBeRefusedAlone(t *testing.T) {
	for _, name := range []string{"electricity-maps", "watttime"} {
		for _, status := range []int{401, 403, 500} {
			sv, r := begin(t, standinOf(t, name), "")
			sv.befall(trouble{before: func(w http.ResponseWriter, q *http.Request) bool {
				if !strings.Contains(q.URL.Path, "forecast") {
					return false
				}
				w.WriteHeader(status)
				return true
			}})
			if err := r.FetchAndStore(t.Context()); err != nil {
				t.Fatalf("%s, %d: %v", name, status, err)
			}
			sv.holds(t, r, sv.now.Add(-22*time.Hour), sv.now.Truncate(time.Hour))
			st := r.StatusAt(sv.now)
			if st.Stale || st.Value == nil || !strings.Contains(st.Error, "the forecast alone") || !strings.Contains(st.Error, "no_forecast: true") || st.Why[fmt.Sprintf("forecast-http-%d", status)] != 1 {
				t.Errorf("%s, %d: Status = %+v", name, status, st)
			}
			if next := r.NextRead().Sub(sv.now); next != r.interval {
				t.Errorf("%s, %d: it is read again after %v; want %v", name, status, next, r.interval)
			}
		}
	}
}

// While a forecast fails, the one that was read before counts on.
func TestAForecastThatFailsOnceIsKept(t *testing.T) {
	sv, r := begin(t, standinOf(t, "electricity-maps"), "")
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	sv.befall(trouble{before: func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.HasSuffix(q.URL.Path, "/forecast") {
			return false
		}
		w.WriteHeader(503)
		return true
	}})
	sv.now = sv.now.Add(2 * time.Hour)
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	sv.holds(t, r, sv.now.Add(-20*time.Hour), sv.now.Add(60*time.Hour))
	sv.befall(trouble{})
	if err := r.FetchAndStore(t.Context()); err != nil || r.StatusAt(sv.now).Error != "" {
		t.Errorf("it does not recover: %v, %q", err, r.StatusAt(sv.now).Error)
	}
}

// The forecast of Electricity Maps reaches 72 hours.
func TestElectricityMapsIsAskedForThreeDays(t *testing.T) {
	sv, r := begin(t, standinOf(t, "electricity-maps"), "")
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := r.StatusAt(sv.now); st.Horizon < (71 * time.Hour).Seconds() {
		t.Errorf("it knows %v ahead", time.Duration(st.Horizon)*time.Second)
	}
}

// One hour without a value is a gap: all others count.
func TestAnHourWithoutAValueIsAGap(t *testing.T) {
	for _, name := range []string{"electricity-maps", "electricity-maps price", "watttime", "energy-charts", "aemo"} {
		sv, r := begin(t, standinOf(t, name), "")
		gap := sv.now.Truncate(time.Hour).Add(-5 * time.Hour)
		sv.befall(trouble{change: func(body string) string {
			rows := strings.Split(body, "}")
			for i, row := range rows {
				for at := gap; at.Before(gap.Add(time.Hour)); at = at.Add(5 * time.Minute) {
					if strings.Contains(row, at.Format("2006-01-02T15:04:05")) || name == "aemo" && strings.Contains(row, at.Add(5*time.Minute).In(aemoClock).Format("2006-01-02T15:04:05")) {
						for _, key := range []string{"carbonIntensity", "value", "RRP"} {
							if a, rest, ok := strings.Cut(row, `"`+key+`":`); ok {
								_, b, more := strings.Cut(rest, ",")
								rows[i] = a + `"` + key + `":null`
								if more {
									rows[i] += "," + b
								}
							}
						}
					}
				}
			}
			body = strings.Join(rows, "}")
			if name == "energy-charts" {
				head, tail, _ := strings.Cut(body, `"price":[`)
				prices := strings.Split(tail, ",")
				first, _, _ := strings.Cut(strings.TrimPrefix(head[strings.Index(head, "["):], "["), ",")
				var begin int64
				fmt.Sscan(first, &begin)
				for i := range 4 {
					prices[int(gap.Unix()-begin)/900+i] = "null"
				}
				body = head + `"price":[` + strings.Join(prices, ",")
			}
			return body
		}})
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h, ok := hourlyMeans(r.spans)[gap]; ok {
			t.Errorf("%s: the hour without a value is %v", name, h)
		}
		sv.holds(t, r, gap.Add(time.Hour), sv.now.Truncate(time.Hour))
		sv.holds(t, r, gap.Add(-10*time.Hour), gap)
	}
}

// A half hour without trades has no price, though the exchange reports 0.
func TestAHalfHourWithoutTradesHasNoPrice(t *testing.T) {
	spans, err := decodeElexon("APXMIDP", []byte(`{"data":[{"startTime":"2026-02-10T10:00:00Z","dataProvider":"APXMIDP","price":0,"volume":0},{"startTime":"2026-02-10T10:30:00Z","dataProvider":"APXMIDP","price":0,"volume":12}]}`))
	if err != nil || len(spans) != 1 || spans[0].Value != 0 || spans[0].From.Minute() != 30 {
		t.Errorf("%v, %v", spans, err)
	}
}

// An estimate is published as a forecast, so that no job is settled by it as by a fact; the source
// is not stale while it estimates; a measurement replaces the estimate.
func TestAnEstimateIsNoFact(t *testing.T) {
	sv, r := begin(t, standinOf(t, "electricity-maps"), "")
	sv.befall(trouble{change: func(body string) string {
		return strings.ReplaceAll(body, `"isEstimated":false`, `"isEstimated":true`)
	}})
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	for at, h := range hourlyMeans(r.spans) {
		if !h.guess {
			t.Errorf("the estimate of %v is told as a fact", at)
		}
	}
	f := &Poller{Sources: []*Source{r}}
	for _, s := range f.unpublishedSignals(sv.now) {
		if !s.Guess {
			t.Errorf("%d estimates are published as facts", len(s.Points))
		}
	}
	if st := r.StatusAt(sv.now); st.Stale || st.Age != 0 || !st.Guess {
		t.Errorf("Status = %+v", st)
	}
	if st := r.StatusAt(sv.now.Add(5 * time.Hour)); !st.Stale {
		t.Errorf("five hours later: Status = %+v", st)
	}
	sv.befall(trouble{})
	sv.now = sv.now.Add(time.Hour)
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := hourlyMeans(r.spans)[sv.now.Truncate(time.Hour).Add(-4*time.Hour)]; h.guess {
		t.Error("the measurement does not replace the estimate")
	}
}

// Prices that Electricity Maps models itself are forecasts.
func TestAModelledPriceIsAForecast(t *testing.T) {
	spans, err := decodeElectricityMapsPrices("DE", "EUR", []byte(`{"data":[{"datetime":"2026-02-10T10:00:00Z","value":50,"unit":"EUR/MWh","source":"nordpool.com"},{"datetime":"2026-02-10T11:00:00Z","value":51,"unit":"EUR/MWh","source":"Electricity Maps"}]}`))
	if err != nil || len(spans) != 2 || spans[0].Guess || !spans[1].Guess {
		t.Errorf("%+v, %v", spans, err)
	}
}

// Open-Meteo's server for paying customers is another one, and takes the key.
func TestOpenMeteoTakesAKey(t *testing.T) {
	s := standinOf(t, "open-meteo")
	free := s.page
	s.page = func(a ask) string {
		if a.q.Get("apikey") != secret {
			return ""
		}
		return free(a)
	}
	s.cfg.KeyEnv = "FEED_KEY"
	_, r := begin(t, s, "")
	if err := r.FetchAndStore(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Each price is converted by the rate of its day, and a bank that does not answer for a while
// stops nothing.
func TestEachPriceHasTheRateOfItsDay(t *testing.T) {
	closed, asked := false, 0
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; closed {
			w.WriteHeader(503)
			return
		}
		fmt.Fprint(w, `<?xml version="1.0"?><gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><gesmes:subject>Reference rates</gesmes:subject><Cube>`+
			`<Cube time="2026-02-10"><Cube currency="USD" rate="1.2"/><Cube currency="GBP" rate="0.8"/></Cube>`+
			`<Cube time="2026-02-09"><Cube currency="USD" rate="1.1"/><Cube currency="GBP" rate="0.88"/></Cube></Cube></gesmes:Envelope>`)
	}))
	t.Cleanup(bank.Close)
	s := standinOf(t, "elexon")
	s.cfg.Rate, s.cfg.RateFrom = 0, "ecb"
	sv, r := begin(t, s, "")
	r.rates.url = bank.URL
	sv.now = time.Date(2026, 2, 10, 20, 20, 0, 0, time.UTC)
	for range 2 {
		if err := r.FetchAndStore(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for at, rate := range map[string]float64{"2026-02-10T12:00:00Z": 1.1 / 0.88, "2026-02-10T17:00:00Z": 1.2 / 0.8, "2026-02-06T12:00:00Z": 1.1 / 0.88} {
		hour, _ := time.Parse(time.RFC3339, at)
		if got, want := hourlyMeans(r.spans)[hour].value, rate*dollars(hour); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %s: %g; want %g", at, got, want)
		}
	}
	if asked != 1 {
		t.Errorf("the bank was asked %d times", asked)
	}
	closed, sv.now = true, sv.now.Add(7*time.Hour)
	if err := r.FetchAndStore(t.Context()); err != nil || asked != 2 {
		t.Errorf("while the bank is closed: %v, asked %d times", err, asked)
	}
	_, fresh := begin(t, s, "")
	fresh.rates.url = bank.URL
	if err := fresh.FetchAndStore(t.Context()); err == nil || !strings.Contains(err.Error(), "exchange rates") {
		t.Errorf("without any rate: %v", err)
	}
}
