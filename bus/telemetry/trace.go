package telemetry

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/gridbid/gridbid/protocol"
)

// The id of a job's trace is derived from the job's id, so that all parties write
// to the same trace and a forged header cannot redirect one. The header lists
// the sender's spans: one for each job of the message, in its order.
const (
	spansHeader   = "Gridbid-Spans"
	maxTracedJobs = 64     // jobs of one message that are traced
	maxOpenTraces = 10_000 // jobs whose last span is kept
)

// rootSpanContext returns the root span of a job's trace.
func rootSpanContext(id protocol.JobID) trace.SpanContext {
	sum := sha256.Sum256([]byte("gridbid job " + string(id)))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

type jobKey struct{}

// spanIDs generates span ids: the root span of a job has ids derived from the job's
// id, all others are random.
type spanIDs struct{}

// NewIDs implements sdk.IDGenerator.
func (spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if id, ok := ctx.Value(jobKey{}).(protocol.JobID); ok {
		o := rootSpanContext(id)
		return o.TraceID(), o.SpanID()
	}
	var t trace.TraceID
	for i := range t {
		t[i] = byte(rand.Uint32())
	}
	return t, spanIDs{}.NewSpanID(ctx, t)
}

// NewSpanID implements sdk.IDGenerator.
func (spanIDs) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	for s == (trace.SpanID{}) {
		for i := range s {
			s[i] = byte(rand.Uint32())
		}
	}
	return s
}

func newProvider(c Config, exporter sdk.SpanExporter) *sdk.TracerProvider {
	// One service for each role, with the party as its instance: else each site would be a service of
	// its own in a list of services.
	role, _, _ := strings.Cut(string(c.Who), "/")
	attributes := []attribute.KeyValue{attribute.String("service.name", "gridbid-"+role), attribute.String("service.instance.id", string(c.Who))}
	if site := c.Who.SiteName(); site != "" {
		attributes = append(attributes, attribute.String("gridbid.site", site))
	}
	return sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithIDGenerator(spanIDs{}),
		sdk.WithSampler(sdk.TraceIDRatioBased(c.Ratio)), // depends only on the trace's id, so all parties agree
		sdk.WithResource(resource.NewSchemaless(attributes...)),
	)
}

// A loggingExporter is an exporter that logs why spans are lost, at most once a minute. The
// library would report every batch, in its own format.
type loggingExporter struct {
	sdk.SpanExporter
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	lastLogged time.Time
}

// ExportSpans implements sdk.SpanExporter.
func (t *loggingExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); t.lastLogged.IsZero() || now.Sub(t.lastLogged) >= time.Minute {
		t.lastLogged = now
		t.log.Warn("telemetry: traces are lost", "err", err)
	}
	return nil
}

// A tracer makes spans for the messages of a job that a party receives and sends:
// one from a received message to the next one of that job, and an instant one
// for each sent message.
type tracer struct {
	to  trace.Tracer
	now func() time.Time

	mu   sync.Mutex
	jobs map[protocol.JobID]*list.Element // of *jobTrace
	age  list.List                        // jobs by last message, the oldest first
}

// A jobTrace is the position of a job's trace at this party.
type jobTrace struct {
	id   protocol.JobID
	last trace.SpanContext
	open trace.Span // since the last received message; or nil
}

func newTracer(p *sdk.TracerProvider, c Config) *tracer {
	return &tracer{to: p.Tracer("github.com/gridbid/gridbid/bus/telemetry"), now: c.Now, jobs: make(map[protocol.JobID]*list.Element)}
}

// OnSend implements natsbus.Tracer.
func (t *tracer) OnSend(m protocol.Message, set func(key, value string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var spans []string
	for _, id := range jobsOf(m) {
		w := t.traceOf(id)
		span := t.startSpan(w, m, trace.SpanKindProducer)
		span.End(trace.WithTimestamp(t.now()))
		w.endOpenSpan(t.now())
		w.last = span.SpanContext()
		spans = append(spans, w.last.SpanID().String())
		t.dropTraceIfOver(m, id)
	}
	if len(spans) > 0 {
		set(spansHeader, strings.Join(spans, ","))
	}
}

// OnReceive implements natsbus.Tracer.
func (t *tracer) OnReceive(m protocol.Message, get func(key string) string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spans := strings.Split(get(spansHeader), ",")
	for i, id := range jobsOf(m) {
		w := t.traceOf(id)
		w.endOpenSpan(t.now())
		if i < len(spans) && len(spans[i]) == 16 {
			var from trace.SpanID
			if _, err := hex.Decode(from[:], []byte(spans[i])); err == nil && from.IsValid() {
				w.last = rootSpanContext(id).WithSpanID(from)
			}
		}
		w.open = t.startSpan(w, m, trace.SpanKindConsumer)
		w.last = w.open.SpanContext()
		t.dropTraceIfOver(m, id)
	}
}

// startSpan begins a span of a job as a child of the last known one. It makes the
// job's id valid UTF-8: other parties choose ids, and the collector refuses the
// whole batch of an invalid string.
func (t *tracer) startSpan(w *jobTrace, m protocol.Message, kind trace.SpanKind) trace.Span {
	ctx := context.Background()
	name := m.KindName()
	if _, first := m.Body.(protocol.Submit); first && !w.last.IsValid() {
		ctx = context.WithValue(ctx, jobKey{}, w.id)
	} else if !w.last.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, rootSpanContext(w.id))
	} else {
		ctx = trace.ContextWithRemoteSpanContext(ctx, w.last)
	}
	_, span := t.to.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(t.now()), trace.WithAttributes(
		attribute.String("gridbid.job", strings.ToValidUTF8(string(w.id), "\uFFFD")), attribute.String("gridbid.from", string(m.From)), attribute.String("gridbid.to", string(m.To)),
	))
	return span
}

// traceOf returns the position of a job's trace. When there are too many jobs it
// drops the one whose last message is oldest.
func (t *tracer) traceOf(id protocol.JobID) *jobTrace {
	if e := t.jobs[id]; e != nil {
		t.age.MoveToBack(e)
		return e.Value.(*jobTrace)
	}
	if len(t.jobs) >= maxOpenTraces {
		t.dropTrace(t.age.Front())
	}
	w := &jobTrace{id: id}
	t.jobs[id] = t.age.PushBack(w)
	return w
}

func (t *tracer) dropTrace(e *list.Element) {
	w := t.age.Remove(e).(*jobTrace)
	w.endOpenSpan(t.now())
	delete(t.jobs, w.id)
}

// dropTraceIfOver drops a job when m ends it.
func (t *tracer) dropTraceIfOver(m protocol.Message, id protocol.JobID) {
	switch m.Body.(type) {
	case protocol.Settlement, protocol.Reject:
		t.dropTrace(t.jobs[id])
	}
}

func (t *tracer) endAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.age.Len() > 0 {
		t.dropTrace(t.age.Front())
	}
}

func (w *jobTrace) endOpenSpan(now time.Time) {
	if w.open != nil {
		w.open.End(trace.WithTimestamp(now))
		w.open = nil
	}
}

// jobsOf returns the jobs that m is about, each once.
func jobsOf(m protocol.Message) (all []protocol.JobID) {
	switch b := m.Body.(type) {
	case protocol.Submit:
		return []protocol.JobID{b.Job.ID}
	case protocol.Launch:
		return []protocol.JobID{b.Job.ID}
	case protocol.CallForBids:
		for _, j := range b.Jobs[:min(len(b.Jobs), maxTracedJobs)] {
			all = append(all, j.ID)
		}
	case protocol.Bids:
		for _, menu := range b.Jobs[:min(len(b.Jobs), maxTracedJobs)] {
			all = append(all, menu.Job)
		}
	case protocol.JobStatus: // it repeats the content of other messages
	default:
		if id, ok := m.OneJob(); ok {
			return []protocol.JobID{id}
		}
	}
	return uniqueJobs(all)
}

// uniqueJobs removes duplicates, which a hostile message can contain.
func uniqueJobs(all []protocol.JobID) []protocol.JobID {
	seen := make(map[protocol.JobID]bool, len(all))
	kept := all[:0]
	for _, id := range all {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}
