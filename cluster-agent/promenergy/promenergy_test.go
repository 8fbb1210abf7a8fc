package promenergy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_767_355_200_000) // 2026-01-02T12:00:00Z

// A server answers as Prometheus does, by what is asked.
func server(t *testing.T, answer func(form url.Values) (int, string)) (string, *[]url.Values) {
	t.Helper()
	var asked []url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.ParseForm() != nil {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		asked = append(asked, r.Form)
		code, text := answer(r.Form)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL, &asked
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newMeter(t *testing.T, c Config) *PrometheusMeter {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run is the job of testdata/dcgm.json: two GPUs for a minute and a half across the
// hour, at 300 W and 250 W; one counter is reset.
var run = MeteredRun{Namespace: "training", Pods: []string{"train-0"}, GPUs: 2, Idle: 50_000, Since: noon.Add(-45 * time.Second), Until: noon.Add(45 * time.Second)}

func sum(slices []protocol.HourlyEnergy) (all protocol.Millijoules) {
	for _, s := range slices {
		all += s.Energy
	}
	return all
}

func TestCardsAreAddedUpAsDCGMExporterTells(t *testing.T) {
	at, asked := server(t, func(url.Values) (int, string) { return 200, recorded(t, "dcgm.json") })
	got, err := newMeter(t, Config{URL: at + "/", MeterGPUs: true}).GPUEnergy(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	// The counter that began anew loses what was before its first sample.
	want := protocol.Millijoules(90*(300-50)*1000 + 90*(250-50)*1000)
	if d := sum(got) - want; len(got) != 2 || d < -4_000_000 || d > 1000 || got[0].Hour != noon.Add(-time.Hour) || got[1].Hour != noon {
		t.Errorf("drew %v, %d mJ; want about %d", got, sum(got), want)
	}
	q := (*asked)[0]
	for _, part := range []string{`namespace="training"`, `pod=~"train-0"`, `exported_pod=~"train-0"`} {
		if !strings.Contains(q.Get("query"), part) {
			t.Errorf("asked %s", q.Get("query"))
		}
	}
	if q.Get("start") != "1767355155.000" || q.Get("end") != "1767355245.000" || q.Get("step") != "15" {
		t.Errorf("asked from %s to %s by %s", q.Get("start"), q.Get("end"), q.Get("step"))
	}
}

func TestCoresAreAddedUpAsKeplerTells(t *testing.T) {
	at, asked := server(t, func(url.Values) (int, string) { return 200, recorded(t, "kepler.json") })
	got, err := newMeter(t, Config{URL: at, MeterCPUs: true}).CPUEnergy(t.Context(), run)
	if err != nil || sum(got) != 90*(40+5)*1000 {
		t.Errorf("drew %v, %v; want 40 W and 5 W for 90 s", got, err)
	}
	if q := (*asked)[0].Get("query"); !strings.Contains(q, `zone=~"package|dram"`) || !strings.HasPrefix(q, "max by (pod_name, zone)") {
		t.Errorf("asked %s", q)
	}
}

func TestTheSitesHourIsItsMeanPower(t *testing.T) {
	at, asked := server(t, func(url.Values) (int, string) {
		return 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1767358800,"12345.6"]}]}}`
	})
	got, err := newMeter(t, Config{URL: at, Site: "sum(pdu_watts)"}).SiteEnergyInHour(t.Context(), noon)
	if err != nil || got != 44_444_160_000 {
		t.Errorf("Hour = %d, %v", got, err)
	}
	const query = "avg_over_time((sum(pdu_watts))[1h:1m]) and count_over_time((sum(pdu_watts))[1h:1m]) >= 54"
	if q := (*asked)[0]; q.Get("query") != query || q.Get("time") != "1767358800.000" {
		t.Errorf("asked %v", q)
	}
	empty, _ := server(t, func(url.Values) (int, string) {
		return 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`
	})
	if _, err := newMeter(t, Config{URL: empty, Site: "x"}).SiteEnergyInHour(t.Context(), noon); err == nil || !strings.Contains(err.Error(), "less than nine tenths") {
		t.Errorf("an hour that was not sampled: %v", err)
	}
}

// An answer that is not valid is an error with a reason, never a figure.
func TestFaultsAreSaid(t *testing.T) {
	good := recorded(t, "dcgm.json")
	for name, tc := range map[string]struct {
		code       int
		text, want string
	}{
		"no right":          {401, "Unauthorized", "401"},
		"too many":          {429, "slow down", "429"},
		"broken":            {500, `{"status":"error","errorType":"internal","error":"out of memory"}`, "out of memory"},
		"a bad query":       {400, `{"status":"error","errorType":"bad_data","error":"parse error"}`, "parse error"},
		"cut short":         {200, good[:len(good)/2], "not an answer"},
		"a page":            {200, "<html>", "not an answer"},
		"another schema":    {200, `{"status":"success","data":{"resultType":"streams","result":[]}}`, "streams"},
		"nothing":           {200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "0 cards"},
		"a card too few":    {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"1"],[1767355245,"2"]]}]}}`, "1 cards"},
		"one sample":        {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"1"]]},{"values":[[1767355155,"1"]]}]}}`, "1 samples"},
		"half of it":        {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"1"],[1767355200,"2"]]},{"values":[[1767355155,"1"],[1767355200,"2"]]}]}}`, "cover 45s of 1m30s"},
		"no number":         {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"NaN"]]}]}}`, "sample"},
		"a negative one":    {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"-1"]]}]}}`, "sample"},
		"a number in words": {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,7]]}]}}`, "sample"},
		"out of order":      {200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"1"],[1767355155,"2"]]}]}}`, "order"},
	} {
		at, _ := server(t, func(url.Values) (int, string) { return tc.code, tc.text })
		if got, err := newMeter(t, Config{URL: at, MeterGPUs: true}).GPUEnergy(t.Context(), run); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v; want an error with %q", name, got, err, tc.want)
		}
	}
	late := make(chan struct{})
	slow, _ := server(t, func(url.Values) (int, string) { <-late; return 200, good })
	m := newMeter(t, Config{URL: slow, MeterGPUs: true, Client: &http.Client{Timeout: 20 * time.Millisecond}})
	if _, err := m.GPUEnergy(t.Context(), run); err == nil {
		t.Error("an answer that is too late counts")
	}
	close(late)
	if _, err := newMeter(t, Config{URL: "http://127.0.0.1:1", MeterGPUs: true}).GPUEnergy(t.Context(), run); err == nil {
		t.Error("nobody is there, and answers")
	}
	for _, watts := range []string{"-5", "5e12"} {
		at, _ := server(t, func(url.Values) (int, string) {
			return 200, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"value":[1767358800,%q]}]}}`, watts)
		})
		if _, err := newMeter(t, Config{URL: at, Site: "x"}).SiteEnergyInHour(t.Context(), noon); err == nil {
			t.Errorf("a site of %s W", watts)
		}
	}
	for _, u := range []string{"", "prometheus:9090", "ftp://x", "http://"} {
		if _, err := New(Config{URL: u}); err == nil {
			t.Errorf("New takes %q", u)
		}
	}
	none := newMeter(t, Config{URL: slow})
	if _, err := none.GPUEnergy(t.Context(), run); err == nil {
		t.Error("cards are read though nobody asked for that")
	}
	if _, err := none.SiteEnergyInHour(t.Context(), noon); err == nil {
		t.Error("the site is read though nobody said how")
	}
}

func TestATokenIsSentAndPodsAreMatchedAsTheyAreCalled(t *testing.T) {
	var header string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header.Get("Authorization") }))
	defer s.Close()
	_, _ = newMeter(t, Config{URL: s.URL, Token: "secret", MeterGPUs: true}).GPUEnergy(t.Context(), run)
	if header != "Bearer secret" {
		t.Errorf("Authorization: %q", header)
	}
	if got := (MeteredRun{Pods: []string{"a.b", "c"}}).podPattern(); got != `a\.b|c` {
		t.Errorf("pattern %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355155,"1"],[1767355245,"2"]]}]}}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"2"]}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		all, err := parseQueryResponse(body)
		for _, s := range all {
			for i, p := range s.points {
				if err == nil && (p.value < 0 || i > 0 && p.at <= s.points[i-1].at) {
					t.Errorf("%s: %v", body, s)
				}
			}
		}
	})
}
