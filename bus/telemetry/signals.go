package telemetry

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// A Signal is how one source of price, carbon or PUE stands.
type Signal struct {
	Source, Tells string
	Known         bool           // it has told a fact
	Age           float64        // seconds since the last hour that it told as a fact; 0: it told of this one
	Horizon       float64        // seconds ahead of which it tells anything
	Stale         bool           // it has told no fact for too long
	Failures      map[string]int // readings that failed, by why
}

// Signals has the sources of a site shown; states is asked from several
// goroutines.
func (t *Telemetry) Signals(states func() []Signal) { t.registry.MustRegister(signals(states)) }

type signals func() []Signal

var (
	ageDesc     = prometheus.NewDesc("gridbid_signal_age_seconds", "Since the last hour that a source told as a fact; 0: it told of this one.", []string{"source", "tells"}, nil)
	horizonDesc = prometheus.NewDesc("gridbid_signal_horizon_seconds", "For how long ahead a source tells anything.", []string{"source", "tells"}, nil)
	staleDesc   = prometheus.NewDesc("gridbid_signal_stale", "1 if a source has told no fact for too long.", []string{"source", "tells"}, nil)
	failedDesc  = prometheus.NewDesc("gridbid_signal_failures_total", "Readings of a source that failed, by why.", []string{"source", "tells", "why"}, nil)
)

// Describe implements prometheus.Collector.
func (s signals) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ageDesc, horizonDesc, staleDesc, failedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Of two sources of one name the first is
// shown; one that never told has no age.
func (s signals) Collect(out chan<- prometheus.Metric) {
	seen := make(map[[2]string]bool)
	for _, x := range s() {
		key := [2]string{x.Source, x.Tells}
		if seen[key] {
			continue
		}
		seen[key] = true
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, x.Source, x.Tells)
		}
		if x.Known {
			gauge(ageDesc, x.Age)
		}
		gauge(horizonDesc, x.Horizon)
		stale := 0.0
		if x.Stale {
			stale = 1
		}
		gauge(staleDesc, stale)
		for _, why := range slices.Sorted(maps.Keys(x.Failures)) {
			out <- prometheus.MustNewConstMetric(failedDesc, prometheus.CounterValue, float64(x.Failures[why]), x.Source, x.Tells, why)
		}
	}
}
