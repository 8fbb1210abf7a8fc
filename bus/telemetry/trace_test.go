package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/gridbid/gridbid/protocol"
)

// Jobs that never end, and headers that lie, cost bounded memory and lead no
// trace astray.
func TestTracesOfStrangersAreBounded(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tele, err := New(t.Context(), Config{Who: protocol.AgentParty("oslo"), Exporter: spans, Ratio: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	mouth := protocol.Sender{Party: protocol.Coordinator}
	for i := range maxOpenTraces + 100 {
		id := protocol.JobID(fmt.Sprint(i))
		m := mouth.NewMessage(1, "", protocol.Started{Job: id})
		for _, lie := range []string{"", "x", "0000000000000000", "zzzzzzzzzzzzzzzz", ",,,,", "00f067aa0ba902b7,00f067aa0ba902b7"} {
			tele.tracer.OnReceive(m, func(string) string { return lie })
		}
		if w := tele.tracer.jobs[id].Value.(*jobTrace); w.last.TraceID() != rootSpanContext(id).TraceID() {
			t.Fatalf("job %s is in trace %s", id, w.last.TraceID())
		}
	}
	if len(tele.tracer.jobs) != maxOpenTraces || tele.tracer.age.Len() != maxOpenTraces {
		t.Errorf("%d jobs are remembered; want %d", len(tele.tracer.jobs), maxOpenTraces)
	}
	call := protocol.CallForBids{Jobs: make([]protocol.Job, 1000)}
	for i := range call.Jobs {
		call.Jobs[i].ID = protocol.JobID(fmt.Sprint("j", i/2))
	}
	if n := len(jobsOf(mouth.NewMessage(1, "", call))); n != maxTracedJobs/2 {
		t.Errorf("%d jobs of a call are traced; want %d", n, maxTracedJobs/2)
	}
	if err := tele.Close(t.Context()); err != nil || len(tele.tracer.jobs) != 0 {
		t.Errorf("%d jobs are remembered at the end, %v", len(tele.tracer.jobs), err)
	}
}

// Names of jobs come from outside: one that is no text would cost the spans of all
// jobs that are sent with it.
func TestANameThatIsNoTextCostsNobodyHisTrace(t *testing.T) {
	sent := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent <- string(text)
	}))
	defer srv.Close()
	tele, err := New(t.Context(), Config{Who: protocol.Coordinator, Endpoint: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	mouth := protocol.Sender{Party: protocol.AgentParty("oslo")}
	for _, id := range []protocol.JobID{"train-7", "\xff"} {
		tele.tracer.OnReceive(mouth.NewMessage(1, protocol.Coordinator, protocol.Decline{Job: id}), func(string) string { return "" })
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Fatalf("nothing is sent: %v", err)
	}
	close(sent)
	if text := <-sent; !strings.Contains(text, "train-7") {
		t.Errorf("sent %q", text)
	}
}

// Collectors take traces at a path of their own, and nothing at the root.
func TestWhereACollectorTakesTraces(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:4318":        "http://127.0.0.1:4318/v1/traces",
		"https://traces.example/":      "https://traces.example/v1/traces",
		"http://127.0.0.1:4318/a/b":    "http://127.0.0.1:4318/a/b",
		"http://127.0.0.1:4318?team=a": "http://127.0.0.1:4318/v1/traces?team=a",
		"":                             "",
		"127.0.0.1:4318":               "", "localhost:4318": "", "http://": "", "grpc://127.0.0.1:4317": "", "nonsense": "",
	} {
		if got, err := TracesEndpoint(given); got != want || (err == nil) != (want != "" || given == "") {
			t.Errorf("Endpoint(%q) = %q, %v; want %q", given, got, err, want)
		}
	}
	if _, err := New(t.Context(), Config{Who: "coordinator", Endpoint: "localhost:4318"}); err == nil {
		t.Error("traces are sent to nowhere in silence")
	}
}

// A deaf is a collector that takes nothing.
type deaf struct{ sdk.SpanExporter }

func (deaf) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	return errors.New("nobody is there")
}

// A collector that is away for a night is logged once a minute, in the log's own format.
func TestTracesThatAreLostAreToldOfOnceAMinute(t *testing.T) {
	var text strings.Builder
	now := time.Unix(0, 0)
	tele, err := New(t.Context(), Config{
		Who: protocol.Coordinator, Exporter: deaf{tracetest.NewInMemoryExporter()}, Log: slog.New(slog.NewTextHandler(&text, nil)), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tele.Close(t.Context()) }()
	mouth := protocol.Sender{Party: protocol.Coordinator}
	for _, lines := range []int{1, 1, 2} {
		tele.tracer.OnSend(mouth.NewMessage(1, "", protocol.Started{Job: "train"}), func(string, string) {})
		if err := tele.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "nobody is there"); n != lines {
			t.Errorf("%d lines, want %d: %s", n, lines, text.String())
		}
		now = now.Add(40 * time.Second)
	}
}

// All agents are one service, and each is an instance of it.
func TestARoleIsOneService(t *testing.T) {
	for who, want := range map[protocol.Party]string{protocol.AgentParty("oslo"): "gridbid-agent", protocol.Coordinator: "gridbid-coordinator"} {
		spans := tracetest.NewInMemoryExporter()
		tele, err := New(t.Context(), Config{Who: who, Exporter: spans})
		if err != nil {
			t.Fatal(err)
		}
		_, span := tele.provider.Tracer("test").Start(t.Context(), "x")
		span.End()
		if err := tele.provider.ForceFlush(t.Context()); err != nil || len(spans.GetSpans()) != 1 {
			t.Fatalf("%d spans, %v", len(spans.GetSpans()), err)
		}
		got := make(map[string]string)
		for _, a := range spans.GetSpans()[0].Resource.Attributes() {
			got[string(a.Key)] = a.Value.AsString()
		}
		if got["service.name"] != want || got["service.instance.id"] != string(who) {
			t.Errorf("%s is %v; want %s", who, got, want)
		}
		if err := tele.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
