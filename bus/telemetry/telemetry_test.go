package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A party with a telemetry of its own, as if in a process of its own.
type party struct {
	*testing.T
	who   protocol.Party
	hub   *natsbus.Bus
	port  bus.Conn
	tele  *telemetry.Telemetry
	spans *tracetest.InMemoryExporter
	mouth protocol.Sender
}

func newParty(t *testing.T, srv *natsbus.Server, who protocol.Party) *party {
	t.Helper()
	p := &party{T: t, who: who, spans: tracetest.NewInMemoryExporter(), mouth: protocol.Sender{Party: who}}
	p.hub = dial(srv)
	var err error
	if p.tele, err = telemetry.New(t.Context(), telemetry.Config{Who: who, Exporter: keep{p.spans}}); err != nil {
		t.Fatal(err)
	}
	p.tele.WatchBus(p.hub)
	if p.port, err = p.hub.Connect(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.port.Close() })
	return p
}

// keep forgets nothing at the end.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

func (p *party) say(to protocol.Party, b protocol.Body) {
	p.Helper()
	m := p.mouth.NewMessage(1, to, b)
	if err := p.port.Send(p.Context(), m); err != nil {
		p.Fatal(err)
	}
	p.tele.CountMessages(nil, []protocol.Message{m})
}

func (p *party) hear() protocol.Message {
	p.Helper()
	select {
	case m := <-p.port.Messages():
		p.tele.CountMessages([]protocol.Message{m}, nil)
		return m
	case <-time.After(30 * time.Second):
		p.Fatal("heard nothing")
	}
	return protocol.Message{}
}

func TestOneJobIsOneTraceAcrossSites(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	submitter, market := newParty(t, srv, protocol.Submitter), newParty(t, srv, protocol.Coordinator)
	oslo, lyon := newParty(t, srv, protocol.AgentParty("oslo")), newParty(t, srv, protocol.AgentParty("lyon"))
	hands := newParty(t, srv, protocol.ExecutorParty("oslo"))
	jobs := []protocol.Job{{ID: "train"}, {ID: "bake"}}
	for _, j := range jobs {
		submitter.say(protocol.Coordinator, protocol.Submit{Job: j})
		market.hear()
	}
	market.say("", protocol.CallForBids{Round: 1, Jobs: jobs})
	for _, site := range []*party{oslo, lyon} {
		site.hear()
		site.say(protocol.Coordinator, protocol.Bids{Round: 1, Jobs: []protocol.JobBids{{Job: "train"}, {Job: "bake"}}})
		market.hear()
	}
	market.say(oslo.who, protocol.Award{Job: "train", Epoch: 1})
	oslo.hear()
	oslo.say(protocol.Coordinator, protocol.Accept{Job: "train", Epoch: 1})
	market.hear()
	oslo.say(hands.who, protocol.Launch{Job: jobs[0], Epoch: 1})
	hands.hear()
	hands.say(oslo.who, protocol.Finished{Job: "train", Epoch: 1})
	oslo.hear()
	oslo.say(protocol.Coordinator, protocol.UsageReport{Job: "train", Epoch: 1})
	market.hear()
	market.say("", protocol.Settlement{Job: "train", Site: "oslo", Counted: protocol.Usage{Energy: 5000, Money: 7}, Paid: 7})
	oslo.hear()

	type place struct {
		parent trace.SpanID
		who    protocol.Party
		name   string
	}
	traces := make(map[trace.TraceID]map[trace.SpanID]place)
	about := make(map[string][]trace.TraceID)
	for _, p := range []*party{submitter, market, oslo, lyon, hands} {
		if err := p.tele.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.spans.GetSpans() {
			id := s.SpanContext.TraceID()
			if traces[id] == nil {
				traces[id] = make(map[trace.SpanID]place)
			}
			traces[id][s.SpanContext.SpanID()] = place{s.Parent.SpanID(), p.who, s.Name}
			for _, a := range s.Attributes {
				if a.Key == "gridbid.job" && !slices.Contains(about[a.Value.AsString()], id) {
					about[a.Value.AsString()] = append(about[a.Value.AsString()], id)
				}
			}
		}
	}
	if len(traces) != 2 || len(about["train"]) != 1 || len(about["bake"]) != 1 {
		t.Fatalf("%d traces; of jobs %v", len(traces), about)
	}
	spans := traces[about["train"][0]]
	roots, names := 0, make(map[string]int)
	for id, s := range spans {
		names[fmt.Sprintf("%s %s", s.who, s.name)]++
		if s.parent == (trace.SpanID{}) {
			roots++
			if s.who != protocol.Submitter {
				t.Errorf("the trace begins with %s of %s", s.name, s.who)
			}
		} else if _, ok := spans[s.parent]; !ok {
			t.Errorf("%s of %s (%s) follows from nothing", s.name, s.who, id)
		}
	}
	for _, s := range spans {
		if from := spans[s.parent]; s.who == oslo.who && s.name == "award" && (from.who != protocol.Coordinator || from.name != "award") {
			t.Errorf("oslo's award follows from %s of %s", from.name, from.who)
		}
	}
	if roots != 1 {
		t.Errorf("%d spans follow from nothing", roots)
	}
	for _, want := range []string{"submitter submit", "coordinator submit", "coordinator call", "agent/oslo call", "agent/lyon call", "agent/lyon offer",
		"coordinator award", "agent/oslo award", "agent/oslo accept", "hands/oslo launch", "hands/oslo exited", "agent/oslo done", "coordinator settled", "agent/oslo settled"} {
		if names[want] == 0 {
			t.Errorf("no span %q; there are %v", want, names)
		}
	}
	page := get(t, market.tele, "/metrics")
	for _, want := range []string{
		`gridbid_messages_total{kind="call",way="said"} 1`, `gridbid_messages_total{kind="offer",way="heard"} 2`, `gridbid_offer_seconds_count{site="lyon"} 1`,
		`gridbid_round_seconds_count 1`, `gridbid_award_seconds_count 1`, `gridbid_settled_total{site="oslo"} 1`, `gridbid_energy_joules_total{site="oslo"} 5`,
		`gridbid_waiting_jobs 1`, `go_goroutines`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func get(t *testing.T, tele *telemetry.Telemetry, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	tele.HTTPHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(w.Code, " ", string(body))
}

func dial(srv *natsbus.Server) *natsbus.Bus {
	return natsbus.Dial(srv.ClientURL(), natsbus.PasswordsOf(srv))
}

func TestReadiness(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("no lease")
	tele.AddReadinessCheck(func() error { return why })
	if got := get(t, tele, "/readyz"); !strings.HasPrefix(got, "503 no lease") {
		t.Error(got)
	}
	if got := get(t, tele, "/healthz"); got != "200 ok\n" {
		t.Error(got)
	}
	why = nil
	if got := get(t, tele, "/readyz"); got != "200 ready\n" {
		t.Error(got)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := telemetry.New(t.Context(), telemetry.Config{Ratio: 2}); err == nil {
		t.Error("traced twice of each job")
	}
}

// Whatever names and messages sites send, labels and memory stay bounded.
func TestCardinalityIsBounded(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	mouth := protocol.Sender{Party: protocol.Coordinator}
	for i := range 70_000 {
		id := protocol.JobID(fmt.Sprint(i))
		tele.CountMessages([]protocol.Message{mouth.NewMessage(1, "", protocol.Submit{Job: protocol.Job{ID: id}})},
			[]protocol.Message{mouth.NewMessage(1, "", protocol.Settlement{Job: "x" + id, Site: fmt.Sprint("s", i%2000)})})
	}
	tele.SetRefusalCounts(map[string]int{"said-twice": 3})
	page := get(t, tele, "/metrics")
	if n := strings.Count(page, "gridbid_settled_total{"); n != 1025 {
		t.Errorf("%d sites have a label; want 1,024 and the others", n)
	}
	for _, want := range []string{"gridbid_waiting_jobs 65536", `gridbid_refused_total{code="said-twice"} 3`} {
		if !strings.Contains(page, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// A coordinator takes the waiting jobs from the event log when it begins to lead, and
// exports none while it stands by: the leader exports them.
func TestJobsOfAnotherTermDoNotWait(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	desk, market := protocol.Sender{Party: protocol.OperatorAPI}, protocol.Sender{Party: protocol.Coordinator}
	submit := func(id protocol.JobID) protocol.Message {
		return desk.NewMessage(1, market.Party, protocol.Submit{Job: protocol.Job{ID: id}})
	}
	waits := func(want int) {
		t.Helper()
		if page := get(t, tele, "/metrics"); !strings.Contains(page, fmt.Sprintf("\ngridbid_waiting_jobs %d\n", want)) {
			i := strings.Index(page, "\ngridbid_waiting_jobs")
			t.Errorf("%.30q; want %d", page[i:], want)
		}
	}
	tele.CountMessages([]protocol.Message{submit("a"), submit("b")}, nil)
	waits(2)
	again := protocol.Reject{Job: "b", Why: protocol.Reason{Code: protocol.Duplicate}}
	tele.CountMessages([]protocol.Message{submit("b")}, []protocol.Message{market.NewMessage(1, desk.Party, again)})
	waits(2)
	tele.RestoreWaiting(nil)
	waits(0)
	tele.RestoreWaiting([]protocol.Message{submit("a"), submit("b"), submit("c"), market.NewMessage(1, "agent/oslo", protocol.Award{Job: "a"}), market.NewMessage(1, desk.Party, again)})
	waits(2)
	tele.CountMessages(nil, []protocol.Message{market.NewMessage(1, "agent/oslo", protocol.Award{Job: "b"})})
	waits(1)
	if page := get(t, tele, "/metrics"); !strings.Contains(page, "\ngridbid_award_seconds_count 0\n") {
		t.Error("how long a job of another term waited is not known, and counted")
	}
}

// A queue that restarts submits all its jobs once more, also those that run or ended.
func TestAJobThatIsSubmittedAgainDoesNotWait(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	queue, market := protocol.Sender{Party: protocol.QueueParty("oslo")}, protocol.Sender{Party: protocol.Coordinator}
	for id, stands := range map[protocol.JobID]protocol.Body{
		"oslo/runs":  protocol.JobStatus{Job: "oslo/runs", State: protocol.AcceptConfirmed, Site: "lyon"},
		"oslo/ended": protocol.Confirm{Job: "oslo/ended", Code: protocol.JobClosed},
		"oslo/waits": protocol.JobStatus{Job: "oslo/waits", State: protocol.Waiting},
	} {
		tele.CountMessages([]protocol.Message{queue.NewMessage(1, market.Party, protocol.Submit{Job: protocol.Job{ID: id}})}, []protocol.Message{market.NewMessage(1, queue.Party, stands)})
	}
	w := httptest.NewRecorder()
	tele.HTTPHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if text := w.Body.String(); !strings.Contains(text, "\ngridbid_waiting_jobs 1\n") {
		i := strings.Index(text, "\ngridbid_waiting_jobs")
		t.Errorf("%.30q waits; want one job", text[i:])
	}
}

// The sender is a label. On a server without authentication it may be invalid UTF-8;
// the metrics are served all the same.
func TestASpeakerWhoseNameIsNoTextIsCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := natsbus.ServeConfigFile(file, natsbus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	tele.WatchBus(&srv.Bus)
	port, err := srv.Connect(t.Context(), protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	conn, err := srv.RawConn(protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Publish("gridbid.v1.\xff.coordinator.hello", nil); err != nil {
		t.Fatal(err)
	}
	for len(srv.DropsBySender()) == 0 {
		time.Sleep(time.Millisecond)
	}
	answer := httptest.NewRecorder()
	tele.HTTPHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := "gridbid_dropped_total{code=\"unreadable\",speaker=\"\uFFFD\"} 1"; !strings.Contains(answer.Body.String(), want) {
		t.Errorf("%d: want %s:\n%s", answer.Code, want, answer.Body)
	}
}
