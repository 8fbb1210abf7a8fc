package telemetry

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// A SignalStatus is the state of one source of price, carbon intensity or PUE.
type SignalStatus struct {
	Source, Quantity string
	Known            bool           // it has published a value
	Value            float64        // of this hour, or else the last one that it published: $/MWh, g/kWh or PUE
	Age              float64        // seconds since the last published hour; 0: this hour was published
	Horizon          float64        // seconds ahead for which it has any value
	Stale            bool           // its last value is older than its limit
	Failures         map[string]int // failed readings, by reason
}

// RegisterSignals exports the state of a site's sources. states must be safe for
// concurrent use.
func (t *Telemetry) RegisterSignals(states func() []SignalStatus) {
	t.registry.MustRegister(signalCollector(states))
}

type signalCollector func() []SignalStatus

var (
	ageDesc     = prometheus.NewDesc("gridbid_signal_age_seconds", "Time since the last hour that a source published; 0: it published this hour.", []string{"source", "tells"}, nil)
	horizonDesc = prometheus.NewDesc("gridbid_signal_horizon_seconds", "How far ahead a source has any value.", []string{"source", "tells"}, nil)
	staleDesc   = prometheus.NewDesc("gridbid_signal_stale", "1 if the last value of a source is older than its limit.", []string{"source", "tells"}, nil)
	valueDesc   = prometheus.NewDesc("gridbid_signal_value", "Value of a source for this hour, or else the last that it published: price in dollars per MWh, carbon in grams per kWh, PUE.", []string{"source", "tells"}, nil)
	failedDesc  = prometheus.NewDesc("gridbid_signal_failures_total", "Failed readings of a source, by reason.", []string{"source", "tells", "why"}, nil)
)

// Describe implements prometheus.Collector.
func (s signalCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ageDesc, horizonDesc, staleDesc, valueDesc, failedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Of two sources of one name it exports
// the first, since Prometheus refuses duplicates; a source without any published
// value has no age.
func (s signalCollector) Collect(out chan<- prometheus.Metric) {
	seen := make(map[[2]string]bool)
	for _, x := range s() {
		key := [2]string{x.Source, x.Quantity}
		if seen[key] {
			continue
		}
		seen[key] = true
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, x.Source, x.Quantity)
		}
		if x.Known {
			gauge(ageDesc, x.Age)
			gauge(valueDesc, x.Value)
		}
		gauge(horizonDesc, x.Horizon)
		gauge(staleDesc, oneIf(x.Stale))
		for _, why := range slices.Sorted(maps.Keys(x.Failures)) {
			out <- prometheus.MustNewConstMetric(failedDesc, prometheus.CounterValue, float64(x.Failures[why]), x.Source, x.Quantity, why)
		}
	}
}
