// Package telemetry exports metrics, readiness and traces of a party of a live
// federation; the trace of a job spans all sites. It only observes: no party
// decides by it. Package bus/eventlog holds the durable record.
//
// # Metrics and their cardinality
//
// For S sites (the first 1,024 have labels of their own, others share "others"):
//
//	gridbid_messages_total{kind,way}               2 for each of some 25 kinds
//	gridbid_dropped_total{speaker,code}            10 for each sender with a refused message, mostly 0
//	gridbid_refused_total{code}                    one for each reason of the market, some 25
//	gridbid_round_seconds                          1 histogram of 14 buckets
//	gridbid_award_seconds                          1 histogram of 14 buckets
//	gridbid_offer_seconds{site}                    S histograms of 14 buckets
//	gridbid_settled_total{site}                    S
//	gridbid_estimated_total{site}                  S; settled jobs whose energy was not measured
//	gridbid_energy_joules_total{site}              S
//	gridbid_carbon_grams_total{site}               S
//	gridbid_paid_dollars{site}                     S; a gauge, since energy prices can be negative
//	gridbid_waiting_jobs                           1
//	gridbid_leader                                 1
//	gridbid_site_{up,heard_age_seconds,gpus,gpus_held,gpus_free}{site}
//	                                               5 S, of the coordinator that leads
//	gridbid_site_state{site,state}                 7 S
//	gridbid_site_jobs{site,state}                  2 S
//	gridbid_site_{price_dollars_per_mwh,carbon_grams_per_kwh}{site}
//	                                               2 S, once the site has bid
//	gridbid_site_{power_watts,jobs_power_watts,power_cap_watts}{site}
//	                                               3 S, once an hour was metered and where a rule caps
//	gridbid_signal_{age_seconds,horizon_seconds,stale}{source,tells}, failures_total{source,tells,why}
//	gridbid_signal_value{source,tells}             4, and one for each kind of failure, for each source of an agent
//	gridbid_grid_{price_…,carbon_…,pue_ratio}{site}  3 of an agent: by what it bids in this hour
//	gridbid_agent_{gpus,held_gpus}{site,model}     2 for each GPU model of an agent
//	gridbid_agent_{idle_gpus,fragmented_gpus,running_jobs,capped_jobs,waiting_gangs,kept_gpu_hours,power_watts,power_ceiling_watts}{site}
//	                                               8 of an agent
//	gridbid_build_info{version,revision,goversion} 1
//
// and those of the Go runtime and the process. No label holds a job, a tenant or
// free text of a party.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// Config configures the telemetry of a party.
type Config struct {
	Who protocol.Party
	// Endpoint is the collector that receives traces by OTLP over HTTP, such as
	// http://127.0.0.1:4318; see [TracesEndpoint]. Empty: no traces.
	Endpoint string
	// Ratio is the share of jobs that are traced, 0..1; 0 means all. Every party
	// decides by the job's id alone, so a trace is either complete or absent.
	Ratio float64
	// Exporter, if set, receives the traces instead of Endpoint.
	Exporter sdk.SpanExporter
	// Now is the clock for spans and waiting times; nil is the system's.
	Now func() time.Time
	// Log receives a warning when traces are lost; nil: the library's handler does.
	Log *slog.Logger
}

// A Telemetry observes one party.
type Telemetry struct {
	*metrics
	registry *prometheus.Registry
	provider *sdk.TracerProvider // nil: no trace is made
	tracer   *tracer

	mu     sync.Mutex
	checks []func() error
}

// New returns a telemetry; the caller closes it. The error says which setting is
// invalid.
func New(ctx context.Context, c Config) (*Telemetry, error) {
	if c.Ratio < 0 || c.Ratio > 1 {
		return nil, fmt.Errorf("telemetry: ratio %v: want 0..1", c.Ratio)
	}
	if c.Ratio == 0 {
		c.Ratio = 1
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	t := &Telemetry{registry: prometheus.NewRegistry()}
	t.metrics = newMetrics(t.registry, c.Now)
	exporter := c.Exporter
	if exporter == nil && c.Endpoint != "" {
		at, err := TracesEndpoint(c.Endpoint)
		if err == nil {
			exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(at))
		}
		if err != nil {
			return nil, fmt.Errorf("telemetry: traces: %w", err)
		}
	}
	if exporter != nil && c.Log != nil {
		exporter = &loggingExporter{SpanExporter: exporter, log: c.Log, now: c.Now}
	}
	if exporter != nil {
		t.provider = newProvider(c, exporter)
		t.tracer = newTracer(t.provider, c)
	}
	return t, nil
}

// TracesEndpoint returns the URL to which traces are sent: address, with the usual
// path /v1/traces if it has none, because the exporter would post to the root,
// where collectors do not listen. An empty address stays empty.
func TracesEndpoint(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("endpoint %q: want a URL such as http://127.0.0.1:4318", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// WatchBus exports the messages that a bus drops, and traces the messages that pass over it. Call
// it before the first Connect.
func (t *Telemetry) WatchBus(natsBus *natsbus.Bus) {
	t.registry.MustRegister(droppedCollector{natsBus})
	if t.tracer != nil {
		natsBus.Tracer = t.tracer
	}
}

// AddReadinessCheck adds a readiness check; the party is ready when all checks return nil.
// ready must be safe for concurrent use.
func (t *Telemetry) AddReadinessCheck(ready func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checks = append(t.checks, ready)
}

func (t *Telemetry) checkReady() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all error
	for _, check := range t.checks {
		all = errors.Join(all, check())
	}
	return all
}

// HTTPHandler serves /metrics, /healthz (the process answers) and /readyz (503, with
// the reasons, if a check fails). It has no authentication: serve it on loopback.
func (t *Telemetry) HTTPHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := t.checkReady(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// Close ends open spans and sends what has not been sent.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	t.tracer.endAll()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: send the last traces: %w", err)
	}
	return nil
}

// CloseAndLog closes the telemetry at exit, within five seconds, and logs a failure.
func (t *Telemetry) CloseAndLog(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("telemetry: the last traces are lost", "err", err)
	}
}
