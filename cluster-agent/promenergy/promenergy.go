// Package promenergy reads the energy of pods and of a site from a Prometheus server
// that scrapes DCGM-exporter, Kepler, or the site's own meters.
//
// It integrates counters itself, hour by hour, from the server's samples: a counter
// reset loses at most the energy between two samples, and a run with too few samples
// is an error instead of a guess. Failed requests are not retried: the caller uses an
// estimate and marks it as such.
package promenergy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// Config selects the server and the energy to read from it. URL is required.
type Config struct {
	URL   string // http://prometheus:9090, say
	Token string // bearer token; "": none
	// MeterGPUs reads GPU energy from DCGM-exporter's counter.
	MeterGPUs bool
	// MeterCPUs reads CPU and memory energy from Kepler (0.10 or newer).
	MeterCPUs bool
	// Site is a PromQL expression for the site's power in watts, without the
	// facility's overhead, such as sum(pdu_outlet_watts). Empty: site power is not
	// read.
	Site   string
	Step   time.Duration // between samples; default 15s
	Client *http.Client  // default: a client with a timeout of 10s
}

// A PrometheusMeter reads one server. It is safe for concurrent use.
type PrometheusMeter struct{ cfg Config }

// Plausibility and size limits.
const (
	maxResponseBytes = 16 << 20
	maxPoints        = 10_000
	maxPower         = 1e9 // W of a site
	minCoverage      = 0.9 // share of a run that must lie between its first and last sample
)

// New validates a configuration and returns a meter.
func New(c Config) (*PrometheusMeter, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("promenergy: %q is not a Prometheus address: want a URL such as http://prometheus:9090", c.URL)
	}
	if c.Step == 0 {
		c.Step = 15 * time.Second
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: 10 * time.Second}
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	return &PrometheusMeter{c}, nil
}

// A MeteredRun is the period and the pods of one job.
type MeteredRun struct {
	Namespace string
	Pods      []string
	GPUs      int // number of GPUs of all pods
	// Idle is the power of a GPU without a job, which is not the run's.
	Idle         protocol.Milliwatts
	Since, Until protocol.Time
}

// GPUEnergy returns the energy of a run's GPUs above idle, by hour.
func (m *PrometheusMeter) GPUEnergy(ctx context.Context, r MeteredRun) ([]protocol.HourlyEnergy, error) {
	if !m.cfg.MeterGPUs {
		return nil, errors.New("promenergy: cards are not configured for this server")
	}
	// If the server keeps a target's own labels (honor_labels), the job's pod is in
	// pod; else pod is the exporter's and exported_pod the job's.
	const metric = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" // mJ since the driver was loaded
	q := fmt.Sprintf("%s{namespace=%q,pod=~%q} or %s{exported_namespace=%q,exported_pod=~%q}",
		metric, r.Namespace, r.podPattern(), metric, r.Namespace, r.podPattern())
	all, err := m.queryCounters(ctx, q, r.Since, r.Until)
	if err != nil {
		return nil, err
	}
	if len(all) != r.GPUs {
		return nil, fmt.Errorf("promenergy: DCGM-exporter has %d cards of pods %s, want %d: check that it maps cards to pods (--kubernetes)", len(all), r.podPattern(), r.GPUs)
	}
	var t podenergy.EnergyTally
	for _, s := range all {
		if err := s.addCounterEnergy(&t, r, 1, float64(r.Idle)); err != nil {
			return nil, fmt.Errorf("promenergy: %s: %w", metric, err)
		}
	}
	return t.Hours, nil
}

// CPUEnergy returns the CPU and memory energy of a run's pods, by hour.
func (m *PrometheusMeter) CPUEnergy(ctx context.Context, r MeteredRun) ([]protocol.HourlyEnergy, error) {
	if !m.cfg.MeterCPUs {
		return nil, errors.New("promenergy: cores are not configured for this server")
	}
	// A pod that has ended has two series for a while, running and terminated; max
	// selects one. Zone package includes core and uncore.
	q := fmt.Sprintf("max by (pod_name, zone) (kepler_pod_cpu_joules_total{pod_namespace=%q,pod_name=~%q,zone=~\"package|dram\"})", r.Namespace, r.podPattern())
	all, err := m.queryCounters(ctx, q, r.Since, r.Until)
	if err != nil {
		return nil, err
	}
	if len(all) < len(r.Pods) {
		return nil, fmt.Errorf("promenergy: Kepler has %d counters for %d pods: want at least one each", len(all), len(r.Pods))
	}
	var t podenergy.EnergyTally
	for _, s := range all {
		if err := s.addCounterEnergy(&t, r, 1000, 0); err != nil {
			return nil, fmt.Errorf("promenergy: kepler_pod_cpu_joules_total: %w", err)
		}
	}
	return t.Hours, nil
}

// SiteEnergyInHour returns the energy of the whole site in the hour that begins at hour. It is an
// error if more than a tenth of the hour was not sampled.
func (m *PrometheusMeter) SiteEnergyInHour(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error) {
	if m.cfg.Site == "" {
		return 0, errors.New("promenergy: no expression for the site's power is configured")
	}
	end := hour.Add(time.Hour)
	all, err := m.queryServer(ctx, "/api/v1/query", url.Values{
		"query": {fmt.Sprintf("avg_over_time((%[1]s)[1h:1m]) and count_over_time((%[1]s)[1h:1m]) >= %[2]d", m.cfg.Site, int(minCoverage*60))}, "time": {formatSeconds(end)},
	})
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errors.New("promenergy: the site's power has samples for less than nine tenths of the hour, or its expression has no result: check the expression")
	}
	if len(all) != 1 || len(all[0].points) != 1 {
		return 0, fmt.Errorf("promenergy: the site's power has %d series, want one: use sum()", len(all))
	}
	watts := all[0].points[0].value
	if !(watts >= 0 && watts < maxPower) {
		return 0, fmt.Errorf("promenergy: the site's power is %v W, want 0 to 1 GW: check that the expression is in watts", watts)
	}
	return protocol.Millijoules(math.Round(watts * 3_600_000)), nil
}

// podPattern returns a regular expression that matches exactly a run's pods; PromQL
// anchors it.
func (r MeteredRun) podPattern() string {
	quoted := make([]string, len(r.Pods))
	for i, p := range r.Pods {
		quoted[i] = regexp.QuoteMeta(p)
	}
	return strings.Join(quoted, "|")
}

// A counterSeries is the samples of one counter, by time.
type counterSeries struct{ points []counterPoint }

// A counterPoint is one sample of a counter.
type counterPoint struct {
	at    protocol.Time
	value float64
}

// queryCounters requests the samples of counters in a period.
func (m *PrometheusMeter) queryCounters(ctx context.Context, query string, since, until protocol.Time) ([]counterSeries, error) {
	// A server returns at most 11,000 points a series, so long runs get a larger step.
	step := max(m.cfg.Step, until.Sub(since)/maxPoints).Truncate(time.Second) + time.Second
	if m.cfg.Step >= step-time.Second {
		step = m.cfg.Step
	}
	return m.queryServer(ctx, "/api/v1/query_range", url.Values{
		"query": {query}, "start": {formatSeconds(since)}, "end": {formatSeconds(until)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

// addCounterEnergy adds the increase of a counter (unit millijoules per count), less idle power.
// Before the first and after the last sample the mean power is extrapolated; if
// samples cover less than nine tenths of the run, it is an error.
func (s counterSeries) addCounterEnergy(t *podenergy.EnergyTally, r MeteredRun, unit, idle float64) error {
	if len(s.points) < 2 {
		return fmt.Errorf("%d samples in %v: want at least two", len(s.points), r.Until.Sub(r.Since))
	}
	first, last := s.points[0].at, s.points[len(s.points)-1].at
	span, all := float64(last-first), float64(r.Until-r.Since)
	if span < minCoverage*all {
		return fmt.Errorf("samples cover %v of %v: want nine tenths", last.Sub(first), r.Until.Sub(r.Since))
	}
	total := 0.0
	for i := 1; i < len(s.points); i++ {
		a, b := s.points[i-1], s.points[i]
		rise := (b.value - a.value) * unit
		if rise < 0 { // counter reset: the new value is the increase since then
			rise = b.value * unit
		}
		rise = max(0, rise-idle*float64(b.at-a.at)/1000)
		total += rise
		t.AddEnergy(a.at, b.at, protocol.Millijoules(math.Round(rise)))
	}
	mean := total / span
	t.AddEnergy(r.Since, first, protocol.Millijoules(math.Round(mean*float64(first-r.Since))))
	t.AddEnergy(last, r.Until, protocol.Millijoules(math.Round(mean*float64(r.Until-last))))
	return nil
}

// formatSeconds formats a time as the query API expects it.
func formatSeconds(t protocol.Time) string { return strconv.FormatFloat(float64(t)/1000, 'f', 3, 64) }

// queryServer sends a query and parses the answer.
func (m *PrometheusMeter) queryServer(ctx context.Context, path string, form url.Values) ([]counterSeries, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.cfg.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("promenergy: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if m.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Token)
	}
	resp, err := m.cfg.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("promenergy: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("promenergy: %s: the answer is incomplete: %w", path, err)
	case len(body) > maxResponseBytes:
		return nil, fmt.Errorf("promenergy: %s: the answer is larger than %d MiB", path, maxResponseBytes>>20)
	}
	all, err := parseQueryResponse(body)
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("promenergy: %s: %s: %w", path, resp.Status, errors.Join(err))
	}
	if err != nil {
		return nil, fmt.Errorf("promenergy: %s: %w", path, err)
	}
	return all, nil
}

// parseQueryResponse parses an answer of the query API: a matrix or a vector.
func parseQueryResponse(body []byte) ([]counterSeries, error) {
	var a struct {
		Status, ErrorType, Error string
		Data                     struct {
			ResultType string
			Result     []struct {
				Value  *wireSample
				Values []wireSample
			}
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("not an answer of the Prometheus API: %w", err)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%s: %.300s", a.ErrorType, a.Error)
	}
	if t := a.Data.ResultType; t != "matrix" && t != "vector" {
		return nil, fmt.Errorf("result type %q: want a matrix or a vector", t)
	}
	var all []counterSeries
	for _, r := range a.Data.Result {
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		var s counterSeries
		for _, v := range r.Values {
			p := counterPoint(v)
			// add integrates between neighbours and relies on ascending times.
			if n := len(s.points); n > 0 && p.at <= s.points[n-1].at {
				return nil, errors.New("samples are not in order of time")
			}
			s.points = append(s.points, p)
		}
		all = append(all, s)
	}
	return all, nil
}

// A wireSample is encoded as [seconds, "value"].
type wireSample counterPoint

// UnmarshalJSON decodes a sample and rejects values that a counter cannot have.
func (s *wireSample) UnmarshalJSON(text []byte) error {
	var row []any
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	if len(row) != 2 {
		return fmt.Errorf("sample with %d elements: want [seconds, \"value\"]", len(row))
	}
	at, ok1 := row[0].(float64)
	words, ok2 := row[1].(string)
	value, err := strconv.ParseFloat(words, 64)
	if !ok1 || !ok2 || err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 || value > 1e18 || !(at > 0 && at < 1e11) {
		return fmt.Errorf("sample %.100s: want [seconds, \"value\"] of a counter", text)
	}
	s.at, s.value = protocol.Time(math.Round(at*1000)), value
	return nil
}
