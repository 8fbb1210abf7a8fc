package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/protocol"
)

func TestSignalsAreShown(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.AgentParty("oslo")})
	if err != nil {
		t.Fatal(err)
	}
	tele.RegisterSignals(func() []telemetry.SignalStatus {
		return []telemetry.SignalStatus{
			{Source: "entsoe/NO1", Quantity: "price", Known: true, Value: 61.5, Age: 60, Horizon: 7200},
			{Source: "entsoe/NO1", Quantity: "price", Known: true, Age: 99},
			{Source: "dead", Quantity: "carbon", Stale: true, Failures: map[string]int{"http-500": 7, "timeout": 1}},
		}
	})
	w := httptest.NewRecorder()
	tele.HTTPHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`gridbid_signal_age_seconds{source="entsoe/NO1",tells="price"} 60`,
		`gridbid_signal_value{source="entsoe/NO1",tells="price"} 61.5`,
		`gridbid_signal_horizon_seconds{source="entsoe/NO1",tells="price"} 7200`,
		`gridbid_signal_stale{source="entsoe/NO1",tells="price"} 0`,
		`gridbid_signal_stale{source="dead",tells="carbon"} 1`,
		`gridbid_signal_failures_total{source="dead",tells="carbon",why="http-500"} 7`,
		`gridbid_signal_failures_total{source="dead",tells="carbon",why="timeout"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(w.Body.String(), `age_seconds{source="dead"`) {
		t.Error("a source without a published value has an age")
	}
}
