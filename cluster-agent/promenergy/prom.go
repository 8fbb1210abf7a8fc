// Package promenergy reads what pods and a site drew from a Prometheus server that
// scrapes DCGM-exporter, Kepler, or meters of the site's own.
//
// It adds up counters itself, hour by hour, from the samples that the server has:
// a counter that begins anew loses nothing but what was between two samples, and
// a run of which too little was sampled is an error, not a guess. Nothing is
// asked twice: who asked falls back to an estimate, and says so.
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

// Config says which server is asked, and for what. URL is required.
type Config struct {
	URL   string // http://prometheus:9090, say
	Token string // bearer token, where the server wants one
	// Cards takes what cards drew from DCGM-exporter's energy counter.
	Cards bool
	// Cores takes what cores and memory drew from Kepler (0.10 or newer).
	Cores bool
	// Site is an expression for the watts of the whole site, without the
	// facility's share: sum(pdu_outlet_watts), say. Empty: it is not asked for.
	Site   string
	Step   time.Duration // between samples; default 15s
	Client *http.Client  // default: one of its own, with a limit of 10s
}

// A Meter asks one server. It is for any number of goroutines.
type Meter struct{ cfg Config }

// Bounds of what is believed.
const (
	mostBytes  = 16 << 20
	mostPoints = 10_000
	mostPower  = 1e9 // W of a site
	covered    = 0.9 // of a run must be between its first and last sample
)

// New checks a configuration.
func New(c Config) (*Meter, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("prom: %q is no address of a Prometheus; want http://prometheus:9090, say", c.URL)
	}
	if c.Step == 0 {
		c.Step = 15 * time.Second
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: 10 * time.Second}
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	return &Meter{c}, nil
}

// A Run is what is asked for: the pods of one job that hold cards.
type Run struct {
	Namespace    string
	Pods         []string
	Cards        int // that they hold in all
	Idle         protocol.Milliwatts
	Since, Until protocol.Time
}

// Cards returns what a run's cards drew above what they draw idle, by hour.
func (m *Meter) Cards(ctx context.Context, r Run) ([]protocol.Slice, error) {
	if !m.cfg.Cards {
		return nil, errors.New("prom: cards are not read from this server")
	}
	// A server that keeps the target's own labels tells the exporter's pod as
	// pod, and the job's as exported_pod.
	const metric = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" // mJ since the driver was loaded
	q := fmt.Sprintf("%s{namespace=%q,pod=~%q} or %s{exported_namespace=%q,exported_pod=~%q}",
		metric, r.Namespace, r.pattern(), metric, r.Namespace, r.pattern())
	all, err := m.counters(ctx, q, r.Since, r.Until)
	if err != nil {
		return nil, err
	}
	if len(all) != r.Cards {
		return nil, fmt.Errorf("prom: DCGM-exporter tells of %d cards of pods %s; want %d: does it map cards to pods (--kubernetes)?", len(all), r.pattern(), r.Cards)
	}
	var t podenergy.Tally
	for _, s := range all {
		if err := s.add(&t, r, 1, float64(r.Idle)); err != nil {
			return nil, fmt.Errorf("prom: %s: %w", metric, err)
		}
	}
	return t.Drew, nil
}

// Cores returns what a run's pods drew of processors and memory, by hour.
func (m *Meter) Cores(ctx context.Context, r Run) ([]protocol.Slice, error) {
	if !m.cfg.Cores {
		return nil, errors.New("prom: cores are not read from this server")
	}
	// A pod that has ended is told twice for a while, as running and as
	// terminated; package holds core and uncore.
	q := fmt.Sprintf("max by (pod_name, zone) (kepler_pod_cpu_joules_total{pod_namespace=%q,pod_name=~%q,zone=~\"package|dram\"})", r.Namespace, r.pattern())
	all, err := m.counters(ctx, q, r.Since, r.Until)
	if err != nil {
		return nil, err
	}
	if len(all) < len(r.Pods) {
		return nil, fmt.Errorf("prom: Kepler tells of %d counters of %d pods", len(all), len(r.Pods))
	}
	var t podenergy.Tally
	for _, s := range all {
		if err := s.add(&t, r, 1000, 0); err != nil {
			return nil, fmt.Errorf("prom: kepler_pod_cpu_joules_total: %w", err)
		}
	}
	return t.Drew, nil
}

// Hour returns what the whole site drew in the hour that begins at an instant. One of
// which more than a tenth was not sampled was not measured.
func (m *Meter) Hour(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error) {
	if m.cfg.Site == "" {
		return 0, errors.New("prom: no expression for the site's power is configured")
	}
	end := hour.Add(time.Hour)
	all, err := m.ask(ctx, "/api/v1/query", url.Values{
		"query": {fmt.Sprintf("avg_over_time((%[1]s)[1h:1m]) and count_over_time((%[1]s)[1h:1m]) >= %[2]d", m.cfg.Site, int(covered*60))}, "time": {seconds(end)},
	})
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errors.New("prom: the site's power was not sampled for nine tenths of the hour, or its expression tells of nothing")
	}
	if len(all) != 1 || len(all[0].points) != 1 {
		return 0, fmt.Errorf("prom: the site's power is %d series; want one: sum it up", len(all))
	}
	watts := all[0].points[0].value
	if !(watts >= 0 && watts < mostPower) {
		return 0, fmt.Errorf("prom: the site's power is %v W; want 0 to 1 GW: is the expression in watts?", watts)
	}
	return protocol.Millijoules(math.Round(watts * 3_600_000)), nil
}

// pattern matches a run's pods and no other.
func (r Run) pattern() string {
	quoted := make([]string, len(r.Pods))
	for i, p := range r.Pods {
		quoted[i] = regexp.QuoteMeta(p)
	}
	return strings.Join(quoted, "|")
}

// A series is one counter's samples in order.
type series struct{ points []point }

type point struct {
	at    protocol.Time
	value float64
}

// counters asks for the samples of counters in a time.
func (m *Meter) counters(ctx context.Context, query string, since, until protocol.Time) ([]series, error) {
	step := max(m.cfg.Step, until.Sub(since)/mostPoints).Truncate(time.Second) + time.Second
	if m.cfg.Step >= step-time.Second {
		step = m.cfg.Step
	}
	return m.ask(ctx, "/api/v1/query_range", url.Values{
		"query": {query}, "start": {seconds(since)}, "end": {seconds(until)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

// add counts what a counter rose, in units of so many millijoules, less what is
// drawn idle. Before the first sample and after the last the rise is taken to go
// on as it was; if that is more than a tenth of the run, it was not measured.
func (s series) add(t *podenergy.Tally, r Run, unit, idle float64) error {
	if len(s.points) < 2 {
		return fmt.Errorf("%d samples in %v; want two at least", len(s.points), r.Until.Sub(r.Since))
	}
	first, last := s.points[0].at, s.points[len(s.points)-1].at
	span, all := float64(last-first), float64(r.Until-r.Since)
	if span < covered*all {
		return fmt.Errorf("samples cover %v of %v", last.Sub(first), r.Until.Sub(r.Since))
	}
	total := 0.0
	for i := 1; i < len(s.points); i++ {
		a, b := s.points[i-1], s.points[i]
		rise := (b.value - a.value) * unit
		if rise < 0 { // it began anew
			rise = b.value * unit
		}
		rise = max(0, rise-idle*float64(b.at-a.at)/1000)
		total += rise
		t.Add(a.at, b.at, protocol.Millijoules(math.Round(rise)))
	}
	mean := total / span
	t.Add(r.Since, first, protocol.Millijoules(math.Round(mean*float64(first-r.Since))))
	t.Add(last, r.Until, protocol.Millijoules(math.Round(mean*float64(r.Until-last))))
	return nil
}

func seconds(t protocol.Time) string { return strconv.FormatFloat(float64(t)/1000, 'f', 3, 64) }

// ask asks the server, and reads what it says.
func (m *Meter) ask(ctx context.Context, path string, form url.Values) ([]series, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.cfg.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if m.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Token)
	}
	resp, err := m.cfg.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("prom: %s: the answer breaks off: %w", path, err)
	case len(body) > mostBytes:
		return nil, fmt.Errorf("prom: %s: an answer of over %d MiB", path, mostBytes>>20)
	}
	all, err := parse(body)
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("prom: %s: %s: %w", path, resp.Status, errors.Join(err))
	}
	if err != nil {
		return nil, fmt.Errorf("prom: %s: %w", path, err)
	}
	return all, nil
}

// parse reads an answer of the query API: a matrix or a vector.
func parse(body []byte) ([]series, error) {
	var a struct {
		Status, ErrorType, Error string
		Data                     struct {
			ResultType string
			Result     []struct {
				Value  *sample
				Values []sample
			}
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("no answer of Prometheus: %w", err)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%s: %.300s", a.ErrorType, a.Error)
	}
	if t := a.Data.ResultType; t != "matrix" && t != "vector" {
		return nil, fmt.Errorf("a result of type %q; want a matrix or a vector", t)
	}
	var all []series
	for _, r := range a.Data.Result {
		if r.Value != nil {
			r.Values = append(r.Values, *r.Value)
		}
		var s series
		for _, v := range r.Values {
			p := point(v)
			if n := len(s.points); n > 0 && p.at <= s.points[n-1].at {
				return nil, errors.New("samples that are not in order")
			}
			s.points = append(s.points, p)
		}
		all = append(all, s)
	}
	return all, nil
}

// A sample travels as [seconds, "value"].
type sample point

// UnmarshalJSON reads a sample; one that is no number is an error.
func (s *sample) UnmarshalJSON(text []byte) error {
	var row []any
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	if len(row) != 2 {
		return fmt.Errorf("a sample of %d parts; want [seconds, \"value\"]", len(row))
	}
	at, ok1 := row[0].(float64)
	words, ok2 := row[1].(string)
	value, err := strconv.ParseFloat(words, 64)
	if !ok1 || !ok2 || err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 || value > 1e18 || !(at > 0 && at < 1e11) {
		return fmt.Errorf("a sample %.100s; want [seconds, \"value\"] of a counter", text)
	}
	s.at, s.value = protocol.Time(math.Round(at*1000)), value
	return nil
}
