package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Foresight is the forecast error of one rule for one quantity at some sites of a scenario.
type Foresight struct {
	What     protocol.Quantity
	DayAhead bool     // published the day before; only unpublished hours are forecast
	Sites    []string // sites over which the errors are computed
	Rule     forecast.Rule
	Service  bool // the sites also received a service's forecasts
	Usual    bool // the sites use this rule by default
	Leads    []forecast.LeadError
}

// Foresee returns the error of each rule by lead time and, for sites with a forecast service, the error with its
// forecasts. Quantities with day-ahead publication, in real time, and with a service are reported separately.
// Bounds of lead times are in hours.
func Foresee(s spec.Scenario, bounds ...int) ([]Foresight, error) {
	var out []Foresight
	for _, what := range []protocol.Quantity{protocol.GridCarbon, protocol.GridPrice, protocol.GridPUE} {
		for _, kind := range []struct{ ahead, service bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			sites := slices.DeleteFunc(slices.Clone(s.Sites), func(site spec.Site) bool {
				return len(site.Signals[what]) < 2 || publishes(site, what).Ahead != kind.ahead || (len(site.Forecasts[what]) > 0) != kind.service
			})
			if len(sites) == 0 {
				continue
			}
			all, err := foresee(sites, what, bounds)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
		}
	}
	return out, nil
}

// foresee returns the errors of all rules at sites of one kind.
func foresee(sites []spec.Site, what protocol.Quantity, bounds []int) ([]Foresight, error) {
	var names []string
	var deaf, helped []forecast.Case
	for _, site := range sites {
		actual, err := forecast.NewSeries(site.Signals[what])
		if err != nil {
			return nil, err
		}
		c := forecast.Case{Series: actual, Market: publishes(site, what), Said: site.Forecasts[what]}
		if len(c.Said) > 0 {
			helped = append(helped, c)
		}
		// The same case without the service's bulletins compares the rules on equal terms.
		c.Deaf = true
		names, deaf = append(names, site.Name), append(deaf, c)
	}
	market := deaf[0].Market
	usual := forecast.Usual(what, market)
	var out []Foresight
	tell := func(rule forecast.Rule, service, usual bool, cases []forecast.Case) {
		out = append(out, Foresight{what, market.Ahead, names, rule, service, usual, forecast.Errors(what, rule, cases, bounds...)})
	}
	for _, rule := range forecast.Rules {
		tell(rule, false, rule == usual && len(helped) == 0, deaf)
	}
	if len(helped) > 0 {
		tell(usual, true, true, helped)
	}
	return out, nil
}
