package signals

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// decoders are all readers of outside bytes.
var decoders = []func([]byte) ([]Span, error){
	func(b []byte) ([]Span, error) { return decodeElectricityMaps("history", "DE", b) },
	func(b []byte) ([]Span, error) { return decodeElectricityMaps("latest", "DE", b) },
	func(b []byte) ([]Span, error) { return decodeElectricityMaps("forecast", "DE", b) },
	func(b []byte) ([]Span, error) { return decodeWattTime("CAISO_NORTH", true, b) },
	func(b []byte) ([]Span, error) { return decodeUKIntensity("", noon, b) },
	func(b []byte) ([]Span, error) { return decodeUKIntensity("7", noon, b) },
	func(b []byte) ([]Span, error) { return decodeElectricityMapsPrices("DE", "EUR", b) },
	decodeEnergyCharts,
	func(b []byte) ([]Span, error) { return decodeElexon("APXMIDP", b) },
	func(b []byte) ([]Span, error) { return decodeAEMO("NSW1", false, b) },
	func(b []byte) ([]Span, error) { return decodeEntsoePrice(b, "EUR") },
	decodeEntsoeMix,
	func(b []byte) ([]Span, error) { s, _, err := decodeEIA("PJM", b); return intensityOfMix(s), err },
	func(b []byte) ([]Span, error) { return decodeCAISO("TH_NP15_GEN-APND", "DAM", b) },
	func(b []byte) ([]Span, error) { return decodeOASIS("TH_NP15_GEN-APND", "DAM", b) },
	func(b []byte) ([]Span, error) {
		s, _, err := decodeERCOT("HB_HUBAVG", place("America/Chicago"), b)
		return s, err
	},
	func(b []byte) ([]Span, error) { return decodeOpenMeteo(defaultCooling, noon, b) },
	func(b []byte) ([]Span, error) { return decodeTable("time", "value", nil, b) },
	func(b []byte) ([]Span, error) { return decodeTable("when", "price", place("Europe/Paris"), b) },
	decodePrometheus,
}

// A zip of many tables takes no more memory than one of a single table may.
func TestAZipIsBoundedAsAWhole(t *testing.T) {
	const head, row = "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,NODE,MARKET_RUN_ID,LMP_TYPE,MW\n", "2026-02-10T08:00:00-00:00,2026-02-10T09:00:00-00:00,X,DAM,LMP,31\n"
	table := head + strings.Repeat(row, maxResponseBytes/2/len(row))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 3 {
		w, err := z.Create(fmt.Sprintf("%d.csv", i))
		if err == nil {
			_, err = w.Write([]byte(table))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if spans, err := decodeCAISO("X", "DAM", b.Bytes()); err == nil || !strings.Contains(err.Error(), "unpacked") {
		t.Errorf("%d bytes become %d spans, %v", b.Len(), len(spans), err)
	}
}

// Where the clocks change at midnight, a day begins at one.
func TestADayMayHaveNoMidnight(t *testing.T) {
	for zone, day := range map[string]string{"America/Santiago": "2026-09-06", "America/Havana": "2026-03-08", "Africa/Cairo": "2026-04-24", "Atlantic/Azores": "2026-03-29"} {
		text := "time,value\n"
		for h := 1; h < 24; h++ {
			text += fmt.Sprintf("%sT%02d:00,%d\n", day, h, h)
		}
		spans, err := decodeTable("time", "value", place(zone), []byte(text))
		if err != nil || len(spans) != 23 {
			t.Errorf("%s: %d hours, %v; want 23", zone, len(spans), err)
			continue
		}
		for _, s := range spans {
			if at := s.From.In(place(zone)); at.Format("2006-01-02") != day || at.Hour() != int(s.Value) {
				t.Errorf("%s: hour %g of %s is read as %v", zone, s.Value, day, at)
			}
		}
	}
}

// Electricity Maps can leave out what it takes to build a plant, which is another
// quantity than the one that others tell.
func TestDirectEmissionsAreNotThoseOfALifeCycle(t *testing.T) {
	for factor, want := range map[string]int{"": 1, `,"emissionFactorType":"lifecycle"`: 1, `,"emissionFactorType":"direct"`: 0} {
		spans, err := decodeElectricityMaps("latest", "DE", []byte(`{"zone":"DE","carbonIntensity":300,"datetime":"2026-02-10T12:00:00Z"`+factor+`}`))
		if len(spans) != want || want == 0 && (err == nil || !strings.Contains(err.Error(), "lifecycle")) {
			t.Errorf("%q: %d values, %v; want %d", factor, len(spans), err, want)
		}
	}
}

// Gateways quote the header that they refuse: what a log has of it opens nothing.
func TestNoErrorShowsAHeaderThatOpensSomething(t *testing.T) {
	for _, s := range standins {
		if s.cfg.User == "" {
			continue
		}
		var header string
		sv, r := begin(t, s, "")
		sv.before = func(w http.ResponseWriter, q *http.Request) bool {
			if header = q.Header.Get("Authorization"); header == "" { // a login by form
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"no key=value pair in Authorization header: '%s'"}`, header)
			return true
		}
		err := r.FetchAndStore(t.Context())
		if _, proof, ok := strings.Cut(header, " "); !ok || err == nil || strings.Contains(err.Error(), proof) {
			t.Errorf("%s: Read = %v after %q", s.name, err, header)
		}
	}
}

// FuzzDecoders: whatever a service answers, accepted values are in order, within the
// requested period and plausible.
func FuzzDecoders(f *testing.F) {
	from, to := noon.Add(-lookBack), noon.Add(maxForecastHorizon)
	for _, s := range standins {
		q := url.Values{
			"start": {"2026-02-10T08"}, "zone": {"DE"}, "api_key": {secret}, "respondent": {"PJM"}, "facets[respondent][]": {"PJM"}, "frequency": {"hourly"},
			"securityToken": {secret}, "documentType": {"A44"}, "in_Domain": {"x"}, "out_Domain": {"x"}, "processType": {"A16"},
			"periodStart": {"202602092300"}, "periodEnd": {"202602102300"}, "startdatetime": {"20260210T08:00-0000"}, "enddatetime": {"20260210T10:00-0000"},
			"resultformat": {"6"}, "market_run_id": {"DAM"}, "node": {"TH_NP15_GEN-APND"}, "deliveryDateFrom": {"2026-02-10"}, "deliveryDateTo": {"2026-02-10"},
			"latitude": {"59.9100"}, "timezone": {"GMT"}, "hourly": {"wet_bulb_temperature_2m"}, "past_days": {"1"}, "step": {"300"}, "end": {"0"},
		}
		if s.name == "entsoe carbon" {
			q.Set("documentType", "A75")
		}
		for _, path := range []string{
			"/carbon-intensity/history", "/carbon-intensity/latest", "/v3/forecast", "/intensity/2026-02-10T08:00Z/2026-02-10T10:00Z",
			"/np4-190-cd/dam_stlmnt_pnt_prices", "/api/v1/query_range", "/",
		} {
			r := httptest.NewRequest("GET", path+"?"+q.Encode(), nil)
			r.Header.Set("auth-token", secret)
			r.Header.Set("Ocp-Apim-Subscription-Key", secret)
			r.Header.Set("Authorization", "Bearer eyJ.of.now")
			page := ""
			func() {
				defer func() { _ = recover() }() // the standin was asked something else
				page = s.page(ask{r, noon, q})
			}()
			if s.pack != nil && page != "" {
				for i := range decoders {
					f.Add(i, []byte(s.pack(page)))
				}
			}
			for i := range decoders {
				if page != "" && len(page) < 20_000 {
					f.Add(i, []byte(page))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, i int, body []byte) {
		decode := decoders[uint(i)%uint(len(decoders))]
		spans, err := decode(body)
		if err != nil {
			return
		}
		again, err := decode(body)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(spans) {
			t.Fatalf("the same bytes are read as %d spans, and then as %d others, %v", len(spans), len(again), err)
		}
		for q, b := range boundsByQuantity {
			good, err := validateSpans(q, spans, from, to)
			if err != nil {
				continue
			}
			for k, s := range good {
				if s.From.Before(from) || s.To.After(to) || !s.To.After(s.From) || s.To.Sub(s.From) > time.Hour || k > 0 && s.From.Before(good[k-1].To) {
					t.Fatalf("span %d of %v is out of order", k, good)
				}
			}
			for at, h := range hourlyMeans(good) {
				if h.value < b.lower-1e-6 || h.value > b.upper+1e-6 {
					t.Fatalf("%s of %s is %g", q, at, h.value)
				}
			}
		}
	})
}
