package signals

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func init() {
	standins = append(standins, standin{
		name: "gridstatus", where: "America/New_York", ahead: true, truth: dollars,
		cfg:    Config{Tells: "price", From: "gridstatus", Zone: "WESTERN HUB", Query: "pjm_lmp_day_ahead_hourly", KeyEnv: "FEED_KEY"},
		schema: [2]string{`"lmp"`, `"price"`}, unit: [2]string{`"lmp":`, `"lmp":1e5`},
		page: func(a ask) string {
			from, err := time.Parse(time.RFC3339, a.q.Get("start_time"))
			to, err2 := time.Parse(time.RFC3339, a.q.Get("end_time"))
			if err != nil || err2 != nil || a.Header.Get("x-api-key") != secret || a.q.Get("filter_column") != "location" || a.URL.Path != "/datasets/pjm_lmp_day_ahead_hourly/query" {
				return ""
			}
			return `{"status_code":200,"data":` + list(from, to, time.Hour, func(t time.Time) string {
				return fmt.Sprintf(`{"interval_start_utc":"%s","interval_end_utc":"%s","market":"DAY_AHEAD_HOURLY","location":"%s","location_type":"HUB","lmp":%g,"energy":-777,"congestion":1,"loss":0.2}`,
					t.UTC().Format("2006-01-02T15:04:05+00:00"), t.Add(time.Hour).UTC().Format("2006-01-02T15:04:05+00:00"), a.q.Get("filter_value"), dollars(t))
			}) + `,"meta":{"page":1,"limit":50000,"page_size":50000,"hasNextPage":false,"cursor":null}}`
		},
	})
	decoders = append(decoders, func(b []byte) ([]Span, error) { return decodeGridStatus("WESTERN HUB", "lmp", b) })
}

// A row of another location, one without the column and an answer of several pages are refused; null
// is a gap.
func TestGridStatusIsHeldToItsForm(t *testing.T) {
	row := `{"interval_start_utc":"2026-02-10T10:00:00+00:00","interval_end_utc":"2026-02-10T10:05:00+00:00","location":"DOM","spp":31.5,"lmp":null}`
	page := func(more string) []byte { return []byte(`{"data":[` + row + `],"meta":{"hasNextPage":` + more + `}}`) }
	for _, tc := range []struct {
		location, column, more, says string
		spans                        int
	}{
		{"DOM", "spp", "false", "", 1}, {"DOM", "lmp", "false", "", 0}, {"PEPCO", "spp", "false", "location is", 0}, {"DOM", "price", "false", "field price is missing", 0}, {"DOM", "spp", "true", "over 50000 rows", 0},
	} {
		spans, err := decodeGridStatus(tc.location, tc.column, page(tc.more))
		if len(spans) != tc.spans || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %v, %v", tc, spans, err)
		}
	}
}
