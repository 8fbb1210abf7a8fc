package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Foresight says how far some sites of a scenario would be off that forecast one
// quantity by one rule.
type Foresight struct {
	What     protocol.Quantity
	DayAhead bool     // published the day before; only what is not yet is forecast
	Sites    []string // that the errors are of
	Rule     forecast.Rule
	Service  bool // what services said was heard too
	Usual    bool // it is what sites go by
	Leads    []forecast.LeadError
}

// Foresee returns how far each rule is off, by how far ahead an hour lies; and of
// sites that hear a service, what they make of that. Quantities that are known ahead,
// in real time, and with a service are told apart. Bounds of leads are in hours.
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

// foresee returns how far rules are off at sites of one kind.
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
