package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is a run of so many jobs that is over.
func said(jobs int) *tail.Run {
	run := tail.StartReading(context.Background(), func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
		for _, m := range historytest.GenerateDay(jobs, 10*time.Minute) {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	<-run.ReadingDone()
	return run
}

// waiting is a run that goes on, and in which nothing more is said.
func waiting(t *testing.T, jobs int) *tail.Run {
	ctx, stop := context.WithCancel(context.Background())
	caught := make(chan struct{})
	run := tail.StartReading(ctx, func(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
		for _, m := range historytest.GenerateDay(jobs, 10*time.Minute) {
			if err := each(m); err != nil {
				return err
			}
		}
		close(caught)
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	<-caught
	t.Cleanup(func() { stop(); <-run.ReadingDone() })
	return run
}

// clients are the official client over both transports.
func clients(t *testing.T, run *tail.Run) map[string]*sdk.ClientSession {
	t.Helper()
	ctx := context.Background()
	here, there := sdk.NewInMemoryTransports()
	if _, err := New(run, "test", nil).Connect(ctx, there, nil); err != nil {
		t.Fatal(err)
	}
	pipe, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(HTTPHandler(New(run, "test", nil)))
	client := &http.Client{Transport: new(http.Transport)}
	web, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close(); web.Close(); client.CloseIdleConnections(); s.Close() })
	return map[string]*sdk.ClientSession{"pipe": pipe, "http": web}
}

func text(r *sdk.CallToolResult) (s string) {
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			s += t.Text + "\n"
		}
	}
	return s
}

func pictures(t *testing.T, r *sdk.CallToolResult) (n int) {
	t.Helper()
	for _, c := range r.Content {
		if p, ok := c.(*sdk.ImageContent); ok {
			if im, err := png.Decode(bytes.NewReader(p.Data)); err != nil || p.MIMEType != "image/png" || im.Bounds().Dx() != 2*chartWidth {
				t.Errorf("a picture: %v, %s", err, p.MIMEType)
			}
			n++
		}
	}
	return n
}

type args = map[string]any

// calls has one call of every tool, and what its answer holds.
var calls = []struct {
	tool     string
	args     args
	want     string
	pictures int
}{
	{"ask", args{"question": "carbon by site", "picture": true}, "carbon used by site", 1},
	{"ask", args{"question": "and by tenant", "before": "carbon by site"}, "by tenant", 0},
	{"query", args{"ask": "why", "decision": "d-2", "picture": true}, "oslo", 1},
	{"query", args{"ask": "why", "job": "job-00000"}, "D-2", 0},
	{"query", args{"ask": "why-not", "job": "job-00000", "site": "warsaw"}, "warsaw", 0},
	{"query", args{"ask": "elsewhere", "job": "job-00000"}, "warsaw", 0},
	{"query", args{"ask": "bill", "metric": "carbon", "by": "site", "picture": true}, "carbon used by site", 1},
	{"query", args{"ask": "bill", "metric": "energy", "from": "2026-03-11T00:00:00Z", "to": "2026-03-11T02:00:00Z"}, "kWh", 0},
	{"query", args{"ask": "weights"}, "$100 per tonne", 0},
	{"query", args{"ask": "pending", "at": "2026-03-11T00:40:00Z"}, "waiting", 0},
	{"query", args{"ask": "forecast", "site": "oslo", "at": "2026-03-11T02:00:00Z", "picture": true}, "oslo", 1},
	{"get_decision", args{"decision": "d-2", "picture": true}, `"D-2"`, 1},
	{"list_decisions", args{"kind": "hold", "limit": 3}, "hold", 0},
	{"wait_for_decisions", args{"after": 0}, "D-2", 0},
	{"chart", args{"chart": "day"}, "GPUs held", 1},
	{"chart", args{"chart": "job", "job": string(historytest.HostileText)}, "onerror", 1},
	{"sites", args{"at": "2026-03-11T01:00:00Z"}, "warsaw", 0},
}

func TestEveryToolIsListedAndCalled(t *testing.T) {
	for transport, c := range clients(t, said(30)) {
		t.Run(transport, func(t *testing.T) {
			ctx := context.Background()
			all, err := c.ListTools(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range all.Tools {
				if a := tool.Annotations; a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
					t.Errorf("%s does not say that it only reads: %+v", tool.Name, tool.Annotations)
				}
				if !slices.ContainsFunc(calls, func(c struct {
					tool     string
					args     args
					want     string
					pictures int
				}) bool {
					return c.tool == tool.Name
				}) {
					t.Errorf("%s is not called by this test", tool.Name)
				}
			}
			for _, tc := range calls {
				r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: tc.tool, Arguments: tc.args})
				if err != nil {
					t.Errorf("%s %v: %v", tc.tool, tc.args, err)
					continue
				}
				said := text(r)
				if r.IsError || !strings.Contains(said, tc.want) || r.StructuredContent == nil {
					t.Errorf("%s %v: error %v, content %v; want %q in\n%s", tc.tool, tc.args, r.IsError, r.StructuredContent != nil, tc.want, said)
				}
				if n := pictures(t, r); n != tc.pictures {
					t.Errorf("%s %v: %d pictures; want %d", tc.tool, tc.args, n, tc.pictures)
				}
				if strings.ContainsAny(said, "\x1b\u202e") {
					t.Errorf("%s %v: the text holds what moves a cursor", tc.tool, tc.args)
				}
			}
		})
	}
}

// What a picture shows stands beside it in figures.
func TestAPictureComesWithItsFigures(t *testing.T) {
	c := clients(t, said(10))["pipe"]
	r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "chart", Arguments: args{"chart": "site-carbon"}})
	if err != nil {
		t.Fatal(err)
	}
	var figures struct{ Rows [][]string }
	raw, _ := json.Marshal(r.StructuredContent)
	if err := json.Unmarshal(raw, &figures); err != nil || len(figures.Rows) != 3 {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, row := range figures.Rows {
		for _, cell := range row {
			if !strings.Contains(text(r), cell) {
				t.Errorf("%q is not in the text:\n%s", cell, text(r))
			}
		}
	}
}

func TestWrongCallsSayWhatToDo(t *testing.T) {
	c := clients(t, said(10))["http"]
	for _, tc := range []struct {
		tool string
		args args
		want string
	}{
		{"ask", args{"question": "the colour of the moon"}, "colour"},
		{"ask", args{}, "question"},
		{"ask", args{"question": 7}, "question"},
		{"query", args{"ask": "why", "decision": "D-99999"}, "D-99999"},
		{"query", args{"ask": "why", "decision": "seven"}, "decision"},
		{"query", args{"ask": "why", "job": `x"; drop it`}, "No job"},
		{"query", args{"ask": "immediate"}, "job or decision: name one of the two"},
		{"query", args{"ask": "magic", "job": "job-00000"}, "magic"},
		{"query", args{"ask": "why", "decision": "D-4", "job": "job-00000"}, "name one of the two"},
		{"query", args{"ask": "bill", "metric": "entropy"}, "entropy"},
		{"query", args{"ask": "bill", "from": "yesterday", "to": "2026-03-11T02:00:00Z"}, "yesterday"},
		{"query", args{"ask": "bill", "from": "2026-03-11T02:00:00Z"}, "want from before to"},
		{"query", args{"ask": "bill", "colour": "red"}, "colour"},
		{"get_decision", args{"decision": "D-1"}, "list_decisions"},
		{"sites", args{"site": "atlantis"}, "no site"},
		{"sites", args{"at": "2001-01-01T00:00:00Z"}, "not in the record, which goes from"},
		{"chart", args{"chart": "carbon", "at": "2001-01-01T00:00:00Z"}, "not in the record, which goes from"},
		{"chart", args{"chart": "price", "at": "2099-01-01T00:00:00Z"}, "not in the record, which goes from"},
		{"chart", args{"chart": "pie"}, "there are"},
		{"chart", args{"chart": "offers", "job": "nobody"}, "no decision"},
	} {
		r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tc.tool, Arguments: tc.args})
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s %v: %v; want %q in it", tc.tool, tc.args, err, tc.want)
			}
			continue
		}
		if !r.IsError || !strings.Contains(text(r), tc.want) {
			t.Errorf("%s %v: error %v; want %q in\n%s", tc.tool, tc.args, r.IsError, tc.want, text(r))
		}
	}
}

// No tool writes, whatever it is asked: the run is what it was.
func TestNothingCanBeWritten(t *testing.T) {
	run := said(10)
	look := func() (s string) {
		_ = run.ViewTimeline(context.Background(), func(d *timeline.Timeline) {
			_, last := d.TimeSpan()
			raw, _ := json.Marshal([]any{d.InstantAt(last), d.DecisionsUntil(last, 0, 1000), d.MessageCount()})
			s = string(raw)
		})
		return s
	}
	before := look()
	c := clients(t, run)["http"]
	for _, tc := range calls {
		_, _ = c.CallTool(context.Background(), &sdk.CallToolParams{Name: tc.tool, Arguments: tc.args})
	}
	for _, name := range []string{"submit", "cancel", "policy_apply", "write", "shell"} {
		if _, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args{"job": "x"}}); err == nil {
			t.Errorf("there is a tool %s", name)
		}
	}
	r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "ask", Arguments: args{"question": "cancel job-00001"}})
	if err != nil || !r.IsError {
		t.Errorf("ask to cancel: %v, error %v; want it refused", err, r.IsError)
	}
	if after := look(); after != before {
		t.Errorf("the run is\n%s\nand was\n%s", after, before)
	}
}

// A call that its client gives up ends at once, and others go on meanwhile.
func TestALongCallIsCancelled(t *testing.T) {
	for transport, c := range clients(t, waiting(t, 10)) {
		t.Run(transport, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "wait_for_decisions", Arguments: args{"after": 1 << 40, "seconds": 50}})
				ended <- err
			}()
			if r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "sites"}); err != nil || r.IsError {
				t.Errorf("another call meanwhile: %v", err)
			}
			stop()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the call has an answer; want it to be cancelled")
				}
			case <-time.After(time.Minute):
				t.Fatal("the call goes on after it was cancelled")
			}
		})
	}
}

// What takes long is ended where it works, not only given up: a replay of the
// whole run stops, and the run can be looked at again.
func TestAReplayStopsWhenItsCallerGoes(t *testing.T) {
	run := said(10)
	began, ended := make(chan struct{}, 1), make(chan struct{})
	turn := run.ViewerContext()
	_ = run.ViewTimeline(context.Background(), func(d *timeline.Timeline) {
		d.SetReplay(query.ReplaySetup{Replay: func(query.DayChange) (query.DayReplay, error) {
			began <- struct{}{}
			<-turn.Done()
			close(ended)
			return query.DayReplay{}, turn.Err()
		}})
	})
	c := clients(t, run)["http"]
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = c.CallTool(ctx, &sdk.CallToolParams{Name: "query", Arguments: args{"ask": "day-without", "site": "oslo"}})
	}()
	<-began
	stop()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the replay goes on after its caller went")
	}
	if err := run.ViewTimeline(context.Background(), func(*timeline.Timeline) {}); err != nil {
		t.Error(err)
	}
}

func TestDecisionsHaveAddresses(t *testing.T) {
	c := clients(t, said(10))["http"]
	r, err := c.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "ledger://decisions/D-2"})
	if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, `"D-2"`) {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := c.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "ledger://decisions/D-9999"}); err == nil {
		t.Error("a decision that is not there has an address")
	}
	p, err := c.GetPrompt(context.Background(), &sdk.GetPromptParams{Name: "explain-decision", Arguments: map[string]string{"decision": "D-2"}})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("%v, %+v", err, p)
	}
}

// A call that breaks is an error of that call, and ends neither the program, which
// may be a market, nor the next one.
func TestACallThatBreaksEndsAlone(t *testing.T) {
	run := said(10)
	_ = run.ViewTimeline(context.Background(), func(d *timeline.Timeline) {
		d.SetReplay(query.ReplaySetup{Replay: func(query.DayChange) (query.DayReplay, error) { panic("a broken stage") }})
	})
	for transport, c := range clients(t, run) {
		r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "query", Arguments: args{"ask": "day-without", "site": "oslo"}})
		if err != nil || !r.IsError || !strings.Contains(text(r), "a broken stage") {
			t.Errorf("%s: %v, %+v; want an error of the tool", transport, err, r)
		}
		if r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "sites"}); err != nil || r.IsError {
			t.Errorf("%s: the next call: %v", transport, err)
		}
	}
}

// Behind a proxy on the same machine, a call comes from loopback and asks for the
// proxy's name. Who may ask, and by which name, is for whoever mounts the handler.
func TestACallMayComeThroughAProxy(t *testing.T) {
	s := httptest.NewServer(HTTPHandler(New(said(3), "test", nil)))
	defer s.Close()
	r, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "gridbid.example"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	client := &http.Client{Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if body, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusOK || !strings.Contains(string(body), "list_decisions") {
		t.Errorf("%s: %.200s; want the tools", a.Status, body)
	}
}

// Whoever asks for what came after the position that he was given last is told
// every decision, however many there were at once.
func TestWaitingSkipsNothing(t *testing.T) {
	run := said(300)
	c, want := clients(t, run)["pipe"], 0
	_ = run.ViewTimeline(context.Background(), func(d *timeline.Timeline) { want = len(d.DecisionsSince(0, 1<<20)) })
	seen := make(map[string]bool)
	for after := 0; len(seen) < want; {
		r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "wait_for_decisions", Arguments: args{"after": after}})
		if err != nil || r.IsError {
			t.Fatalf("%v: %+v", err, r)
		}
		raw, _ := json.Marshal(r.StructuredContent)
		var l list
		if err := json.Unmarshal(raw, &l); err != nil || len(l.Decisions) == 0 {
			t.Fatalf("after %d there is nothing (%v), and %d of %d decisions were told", after, err, len(seen), want)
		}
		for _, e := range l.Decisions {
			seen[e.ID] = true
		}
		after = int(l.Position)
	}
}

// scripted is a model that always replies the same.
type scripted string

func (scripted) Name() string { return "scripted" }
func (s scripted) Ask(context.Context, llm.Prompt) (llm.Reply, error) {
	return llm.Reply{Text: string(s)}, nil
}

// Where a model takes part, a question that is not read is answered by the query that it
// made, and says so; a hostile reply changes no figure.
func TestAModelMayReadAQuestion(t *testing.T) {
	for reply, want := range map[string]string{`{"ask":"bill","metric":"carbon","by":"site"}`: "I understood: carbon used by site", `{"ask":"bill","carbon":42}`: "A model was asked"} {
		here, there := sdk.NewInMemoryTransports()
		serving, err := New(said(10), "test", translate.New(scripted(reply), time.Minute)).Connect(context.Background(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(context.Background(), here, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "ask", Arguments: args{"question": "kohlendioxid nach standorten"}})
		if err != nil || !strings.Contains(text(r), want) || r.IsError == strings.HasPrefix(want, "I understood") {
			t.Errorf("%s: %v, error %v; want %q in\n%s", reply, err, r.IsError, want, text(r))
		}
		c.Close()
		serving.Close()
	}
}
