package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A ForecastErrors is the forecast error of one rule for one quantity at some sites of a
// scenario.
type ForecastErrors struct {
	Quantity      protocol.Quantity
	DayAhead      bool     // published the day before; only unpublished hours are forecast
	Sites         []string // sites over which the errors are computed
	Rule          forecast.Rule
	UsesService   bool // the sites also received a service's forecasts
	IsDefaultRule bool // the sites use this rule by default
	Leads         []forecast.LeadError
}

// MeasureForecastErrors returns the error of each rule by lead time and, for sites with a forecast
// service, the error with its forecasts. Quantities with day-ahead publication, in
// real time, and with a service are reported separately. Bounds of lead times are in
// hours.
func MeasureForecastErrors(s spec.Scenario, bounds ...int) ([]ForecastErrors, error) {
	var out []ForecastErrors
	for _, what := range []protocol.Quantity{protocol.GridCarbon, protocol.GridPrice, protocol.GridPUE} {
		// Sites of one kind together: published a day ahead or not, with a service or not.
		for _, kind := range []struct{ ahead, service bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			sites := slices.DeleteFunc(slices.Clone(s.Sites), func(site spec.Site) bool {
				return len(site.Signals[what]) < 2 || publicationSchedule(site, what).Ahead != kind.ahead || (len(site.Forecasts[what]) > 0) != kind.service
			})
			if len(sites) == 0 {
				continue
			}
			all, err := forecastErrorsOfSites(sites, what, bounds)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
		}
	}
	return out, nil
}

// forecastErrorsOfSites returns the errors of all rules at sites of one kind.
func forecastErrorsOfSites(sites []spec.Site, what protocol.Quantity, bounds []int) ([]ForecastErrors, error) {
	var names []string
	var deaf, helped []forecast.Case
	for _, site := range sites {
		actual, err := forecast.NewSeries(site.Signals[what])
		if err != nil {
			return nil, err
		}
		c := forecast.Case{Series: actual, Market: publicationSchedule(site, what), Bulletins: site.Forecasts[what]}
		if len(c.Bulletins) > 0 {
			helped = append(helped, c)
		}
		// The same case without the service's bulletins compares the rules on equal
		// terms.
		c.IgnoresService = true
		names, deaf = append(names, site.Name), append(deaf, c)
	}
	market := deaf[0].Market
	usual := forecast.DefaultRule(what, market)
	var out []ForecastErrors
	tell := func(rule forecast.Rule, service, usual bool, cases []forecast.Case) {
		out = append(out, ForecastErrors{what, market.Ahead, names, rule, service, usual, forecast.MeasureErrors(what, rule, cases, bounds...)})
	}
	for _, rule := range forecast.Rules {
		tell(rule, false, rule == usual && len(helped) == 0, deaf)
	}
	if len(helped) > 0 {
		tell(usual, true, true, helped)
	}
	return out, nil
}
