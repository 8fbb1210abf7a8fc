package scenarios

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// With a perfect forecast service the sites' error is zero, and the errors of other
// rules for the same hours are reported beside it.
func TestForeseeTellsOwnRulesAndServicesApart(t *testing.T) {
	s := foretold(small(1))
	s.Sites[0].Forecasts = nil
	all, err := MeasureForecastErrors(s, 6, 24)
	if err != nil {
		t.Fatal(err)
	}
	type kind struct {
		what           protocol.Quantity
		ahead, service bool
	}
	usual := map[kind]ForecastErrors{}
	for _, f := range all {
		if len(f.Leads) != 2 {
			t.Fatalf("%+v: want two leads", f)
		}
		if f.IsDefaultRule {
			usual[kind{f.Quantity, f.DayAhead, f.UsesService}] = f
		}
		if f.UsesService && (f.Leads[0].MAE != 0 || f.Leads[1].MAE != 0 || f.Leads[1].N == 0) {
			t.Errorf("%s of %v by a service that says the truth: %+v", f.Quantity, f.Sites, f.Leads)
		}
	}
	for k, want := range map[kind]struct {
		rule  forecast.Rule
		sites []string
	}{
		{protocol.GridCarbon, false, false}: {forecast.Regression, []string{"coal"}},
		{protocol.GridCarbon, false, true}:  {forecast.Regression, []string{"hydro", "solar"}},
		{protocol.GridPrice, false, false}:  {forecast.Steady, []string{"coal"}},
		{protocol.GridPrice, true, true}:    {forecast.Blend, []string{"hydro", "solar"}},
	} {
		if got, ok := usual[k]; !ok || got.Rule != want.rule || !slices.Equal(got.Sites, want.sites) {
			t.Errorf("%+v: sites go by %s at %v; want %s at %v", k, got.Rule, got.Sites, want.rule, want.sites)
		}
		delete(usual, k)
	}
	if len(usual) > 0 { // PUE is constant there: nothing to forecast
		t.Errorf("more kinds than there are: %v", usual)
	}
}

func TestMovedGridsAreForetoldLaterToo(t *testing.T) {
	s := foretold(small(1))
	const by = 30 * 24 * time.Hour
	was, is := s.Sites[1].Forecasts[protocol.GridCarbon][3], ShiftScenario(s, by).Sites[1].Forecasts[protocol.GridCarbon][3]
	if is.Issued != was.Issued.Add(by) || is.Points[5].At != was.Points[5].At.Add(by) || is.Points[5].Value != was.Points[5].Value {
		t.Errorf("%v of %v became %v of %v", was.Issued, was.Points[5], is.Issued, is.Points[5])
	}
}

// Sites use a service's forecasts; with SignalOwnForecasts they ignore it, to the last byte.
func TestServicesAreHeardUnlessSitesGoByTheirOwn(t *testing.T) {
	sums := map[string][]byte{}
	for name, run := range map[string]struct {
		s      spec.Scenario
		policy string
	}{"plain": {small(20), PolicyAuction}, "deaf": {foretold(small(20)), "auction/own"}, "heard": {foretold(small(20)), PolicyAuction}} {
		sum := sha256.New()
		_, err := Replay(t.Context(), run.s, run.policy, new(membus.Bus), Options{Record: func(m protocol.Message) error {
			b, err := protocol.Encode(m)
			sum.Write(b)
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		sums[name] = sum.Sum(nil)
	}
	if !bytes.Equal(sums["plain"], sums["deaf"]) || bytes.Equal(sums["plain"], sums["heard"]) {
		t.Errorf("ledgers %x; want that of plain for deaf, and another for heard", sums)
	}
}
