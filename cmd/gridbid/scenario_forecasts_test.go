package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestForecastErrorsAreByRuleAndLead(t *testing.T) {
	out, _, err := execute(newForecastsCommand())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"carbon: hydro-north, ", "price, real time: ", "price, published ahead: ", "pue: ", "to 48 h", "* regression", "* steady", "told"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _, err = execute(newForecastsCommand(), "--json", "six-regions")
	var all []forecastErrorRow
	if err != nil || json.Unmarshal([]byte(out), &all) != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	for _, f := range all {
		for i, e := range f.Leads {
			if e.To != leadTimes[i] || e.N+e.Published == 0 || e.MAE < 0 || (e.Mean > 0) != (e.N > 0) {
				t.Errorf("%s by %s: %+v", f.Quantity, f.Rule, e)
			}
		}
	}
	if len(all) != 4*5 {
		t.Errorf("%d rows; want five rules of four kinds", len(all))
	}
	for _, args := range [][]string{{"--window", "never.csv"}, {"--carbon", "blue"}, {"one", "two"}, {"--seed", "x"}} {
		if _, _, err := execute(newForecastsCommand(), args...); err == nil {
			t.Errorf("%v: taken", args)
		}
	}
}
