package trace_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

func dated(text, source string, zone *time.Location, fill trace.GapPolicy) ([]trace.HourlyMean, error) {
	from := protocol.Time(1649808000000) // 2022-04-13T00:00:00Z
	return trace.ReadDatedSeries(strings.NewReader(text), "p.csv", source, protocol.GridPrice, zone, from, from.Add(2*time.Hour), fill)
}

// A public file's clock, currency and half hours become hours of UTC in dollars.
func TestAPublicFileBecomesHoursOfUTC(t *testing.T) {
	berlin := time.FixedZone("", 2*3600)
	text := "Datetime,Price (EUR/MWh)\n2022-04-13 01:00:00,9\n2022-04-13 02:00:00,10\n2022-04-13 02:30:00,20\n2022-04-13 03:00:00,-5\n2022-04-13 04:00:00,7\n"
	got, err := dated(text, "Price (EUR/MWh)*2", berlin, trace.RejectGaps)
	want := []trace.HourlyMean{{Point: protocol.Point{At: 1649808000000, Value: 30000}}, {Point: protocol.Point{At: 1649811600000, Value: -10000}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ReadDatedSeries = %+v, %v; want %+v", got, err, want)
	}
	short := "Datetime,p\n2022-04-13 00:00:00,1\n"
	if _, err = dated(short, "p", time.UTC, trace.RejectGaps); err == nil || !strings.Contains(err.Error(), "no p at 2022-04-13T01:00:00Z") {
		t.Errorf("a missing hour: %v", err)
	}
	if got, err = dated(short, "p", time.UTC, trace.PersistGaps); err != nil || !got[1].Filled || got[1].Value != 1000 {
		t.Errorf("a filled hour: %+v, %v", got, err)
	}
	for _, tc := range []struct{ text, source, want string }{
		{short, "q", `no column "q": want one of ["Datetime" "p"]`},
		{"Datetime,p\ntoday,1\n", "p", `p.csv:2: Datetime is "today"`},
		{"Datetime,p\n2022-04-13 00:00:00,NaN\n", "p", `p.csv:2: p is "NaN"`},
	} {
		if _, err := dated(tc.text, tc.source, time.UTC, trace.RejectGaps); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q = %v; want %q", tc.text, err, tc.want)
		}
	}
}

func FuzzDatedSeries(f *testing.F) {
	f.Add("Datetime,Price (EUR/MWh)\n2022-04-13 00:00:00,10\n2022-04-13 01:30:00,20\n", "Price (EUR/MWh)*1.08")
	f.Add("time_utc,p\n2022-04-13T00:00:00Z,1\n", "p")
	f.Fuzz(func(t *testing.T, text, source string) {
		got, err := dated(text, source, time.UTC, trace.PersistGaps)
		if err == nil && len(got) != 2 {
			t.Errorf("%d hours; want 2", len(got))
		}
	})
}
