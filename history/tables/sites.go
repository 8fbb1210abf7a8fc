package tables

import (
	"iter"
	"slices"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// sitesTable has one row for each site. Energy, carbon and money of its jobs are their bills; late
// signals changed them by the correction, which is no single job's.
func sitesTable() Table {
	return newTable("sites", []field[history.SiteRecord]{
		{"site", Text, func(s history.SiteRecord) any { return text(s.Site) }},
		{"awards", Integer, func(s history.SiteRecord) any { return integer(s.Awards) }},
		{"jobs_ended", Integer, func(s history.SiteRecord) any { return integer(s.Ran) }},
		{"jobs_late", Integer, func(s history.SiteRecord) any { return integer(s.Late) }},
		{"jobs_energy_kwh", Number, func(s history.SiteRecord) any { return kwh(s.Jobs.Energy - s.Corrections.Energy) }},
		{"jobs_carbon_kg", Number, func(s history.SiteRecord) any { return kilograms(s.Jobs.Carbon - s.Corrections.Carbon) }},
		{"jobs_energy_usd", Number, func(s history.SiteRecord) any { return dollars(s.Jobs.Money - s.Corrections.Money) }},
		{"correction_carbon_kg", Number, func(s history.SiteRecord) any { return kilograms(s.Corrections.Carbon) }},
		{"correction_energy_usd", Number, func(s history.SiteRecord) any { return dollars(s.Corrections.Money) }},
		{"idle_energy_kwh", Number, func(s history.SiteRecord) any { return kwh(s.Idle.Energy) }},
		{"idle_carbon_kg", Number, func(s history.SiteRecord) any { return kilograms(s.Idle.Carbon) }},
		{"idle_energy_usd", Number, func(s history.SiteRecord) any { return dollars(s.Idle.Money) }},
		{"paid_usd", Number, func(s history.SiteRecord) any { return dollars(s.Paid) }},
	}, func(r Run) iter.Seq[history.SiteRecord] { return slices.Values(r.History.MeteredSites(r.Meta)) })
}

// roundsTable has one row for each clearing round.
func roundsTable() Table {
	return newTable("rounds", []field[history.RoundRecord]{
		{"round", Integer, func(c history.RoundRecord) any { return integer(c.Round) }},
		{"call_time", Instant, func(c history.RoundRecord) any { return instant(c.Called.At) }},
		{"close_time", Instant, func(c history.RoundRecord) any { return instant(c.Closes) }},
		{"jobs", Integer, func(c history.RoundRecord) any { return integer(c.Jobs) }},
		{"awards", Integer, func(c history.RoundRecord) any { return integer(c.Awards) }},
		{"holds", Integer, func(c history.RoundRecord) any { return integer(c.Holds) }},
		{"refused", Integer, func(c history.RoundRecord) any { return integer(c.Refused) }},
		{"sites_answered", Integer, func(c history.RoundRecord) any { return integer(len(c.Offered)) }},
		{"sites_silent", Integer, func(c history.RoundRecord) any { return integer(len(c.Silent)) }},
		{"cost_usd", Number, func(c history.RoundRecord) any { return dollars(c.Proof.Primal) }},
		{"bound_usd", Number, func(c history.RoundRecord) any { return dollars(c.Proof.Bound) }},
	}, func(r Run) iter.Seq[history.RoundRecord] { return slices.Values(r.History.RoundRecords()) })
}

// A signalRow is what a site knew of one hour of its grid, from an instant on.
type signalRow struct {
	site, source       string
	known, hour        protocol.Time
	price, carbon, pue any
}

// Sources of signals.
const (
	published = "published"        // by the grid, its market or the site's own meter
	forecast  = "service forecast" // by a service
	withBid   = "bid"              // the current hour, as the site stated it with a bid
)

// signalsTable has one row for each value that a site was told, or that it stated with a bid if the
// ledger has only those, as that of a coordinator.
func signalsTable() Table {
	return newTable("signals", []field[signalRow]{
		{"site", Text, func(s signalRow) any { return text(s.site) }},
		{"source", Text, func(s signalRow) any { return text(s.source) }},
		{"known_time", Instant, func(s signalRow) any { return instant(s.known) }},
		{"hour_time", Instant, func(s signalRow) any { return instant(s.hour) }},
		{"price_usd_per_mwh", Number, func(s signalRow) any { return s.price }},
		{"carbon_g_per_kwh", Number, func(s signalRow) any { return s.carbon }},
		{"pue", Number, func(s signalRow) any { return s.pue }},
	}, signalRows)
}

// signalRows returns the signals of all sites, by name and then as they came.
func signalRows(r Run) iter.Seq[signalRow] {
	return func(yield func(signalRow) bool) {
		for _, s := range r.History.SiteRecords() {
			for _, x := range r.History.SignalsOf(s.Site) {
				row := signalRow{site: s.Site, source: published, known: x.At}
				if x.Guess {
					row.source = forecast
				}
				for _, p := range x.Points {
					row.hour, row.price, row.carbon, row.pue = p.At, nil, nil, nil
					switch v := float64(p.Value) / 1000; x.What {
					case protocol.GridPrice:
						row.price = v
					case protocol.GridCarbon:
						row.carbon = v
					case protocol.GridPUE:
						row.pue = v
					}
					if !yield(row) {
						return
					}
				}
			}
			if len(r.History.SignalsOf(s.Site)) > 0 {
				continue
			}
			for _, f := range s.Forecasts {
				row := signalRow{site: s.Site, source: withBid, known: f.At, hour: f.From.Floor(time.Hour)}
				row.price, row.carbon, row.pue = firstOf(f.Price), firstOf(f.Carbon), firstOf(f.PUE)
				if !yield(row) {
					return
				}
			}
		}
	}
}

// firstOf returns the value of the current hour of a forecast, in units of its column; nil if it
// has none.
func firstOf[V ~int64](series []V) any {
	if len(series) == 0 {
		return nil
	}
	return float64(series[0]) / 1000
}
