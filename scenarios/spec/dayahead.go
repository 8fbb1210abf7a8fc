package spec

import (
	"io"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// isSeries reports whether forecasts are an hourly series with a rule of publication, such as the
// day-ahead prices of a market whose real-time prices are paid. Otherwise their file says when
// each of them was issued.
func (f *seriesSpec) isSeries() bool { return f.Published != nil || f.Lead != nil }

// publicationRule returns when the values of a series of forecasts become known.
func (f *seriesSpec) publicationRule() forecast.Market {
	if f.Lead != nil {
		return forecast.Market{Lag: -time.Duration(*f.Lead) * time.Hour}
	}
	m := forecast.Market{Ahead: true, Publishes: *f.Published}
	if f.Ends != nil {
		m.Ends = *f.Ends
	}
	return m
}

// validatePublication checks the keys that say when forecasts are published.
func (f *seriesSpec) validatePublication(at faultLocator) error {
	switch {
	case f.Published != nil && f.Lead != nil:
		return at("both published and lead_hours: drop one")
	case f.Ends != nil && f.Published == nil:
		return at("ends without published: add the hour at which the next delivery day is published, or drop ends")
	}
	return nil
}

// readForecasts reads the forecasts of one quantity as bulletins.
func (f *seriesSpec) readForecasts(r io.Reader, q protocol.Quantity) ([]forecast.Bulletin, error) {
	if !f.isSeries() {
		return trace.ReadBulletins(r, f.File, f.Column, q)
	}
	points, _, err := trace.ReadSeries(r, f.File, f.Column, q, trace.RejectGaps)
	if err != nil {
		return nil, err
	}
	s, err := forecast.NewSeries(points)
	if err != nil {
		return nil, err
	}
	return seriesBulletins(s, f.publicationRule()), nil
}

// seriesBulletins returns a series as one bulletin for each publication.
func seriesBulletins(s forecast.Series, m forecast.Market) (all []forecast.Bulletin) {
	p := forecast.NewSeriesPublisher(s, m)
	for due := p.Due(); due != 0; due = p.Due() {
		all = append(all, forecast.Bulletin{Issued: due, Points: p.Publish(due)})
	}
	return all
}
