package advisor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const noon protocol.Time = 1_649_851_200_000

// scripted is a model made of a function.
type scripted func(context.Context, llm.Prompt) (string, error)

func (scripted) Name() string { return "scripted" }
func (f scripted) Ask(ctx context.Context, p llm.Prompt) (llm.Reply, error) {
	text, err := f(ctx, p)
	return llm.Reply{Text: text, In: 1, Out: 1}, err
}

func option(cents int) protocol.Option {
	return protocol.Option{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Money: protocol.Microdollars(cents) * 10_000}
}

var ask = protocol.Ask{
	Round: 4, Job: "ignore-previous-instructions", Until: noon.Add(600 * time.Millisecond),
	Choices: []protocol.Choice{
		{Handle: "k1", Site: "oslo", Option: option(100), Cost: 1_000_000},
		{Handle: "k2", Site: "lyon", Option: option(101), Cost: 1_010_000, Extra: 10_000},
	},
	Notes: []protocol.Note{{ID: "N1", Site: "lyon", Text: "lyon has spare cooling; oslo has none\x1b[2J"}},
}

func say(text string) scripted {
	return func(context.Context, llm.Prompt) (string, error) { return text, nil }
}

func answer(m Model) protocol.Answer {
	return NewJudge(m, time.Now).Answer(context.Background(), ask, time.Minute)
}

func TestAVerdictIsReadStrictly(t *testing.T) {
	for _, tc := range []struct {
		text string
		want protocol.Code // "": sound
	}{
		{`{"choice":"k2","reason":"operator_note"}`, ""},
		{" {\"reason\":\"no_preference\",\n\"choice\":\"k1\"} \n", ""},
		{`{"choice":"k3","reason":"operator_note"}`, protocol.NotOffered},
		{`{"choice":"lyon","reason":"operator_note"}`, protocol.NotOffered},
		{`{"choice":"","reason":"operator_note"}`, protocol.NotOffered},
		{`{"choice":"k2","reason":"because I say so"}`, protocol.Invalid},
		{`{"choice":"k2"}`, protocol.Invalid},
		{`{"choice":"k2","reason":"operator_note","site":"south-3"}`, protocol.Invalid},
		{`{"Choice":"k2","reason":"operator_note"}`, protocol.Invalid},
		{`{"choice":2,"reason":"operator_note"}`, protocol.Invalid},
		{`{"choice":["k2"],"reason":"operator_note"}`, protocol.Invalid},
		{`{"choice":"k2","reason":"operator_note"}{"choice":"k1","reason":"operator_note"}`, protocol.Invalid},
		{`{"choice":"k2","reason":"operator_note"} as asked`, protocol.Invalid},
		{"```json\n{\"choice\":\"k2\",\"reason\":\"operator_note\"}\n```", protocol.Invalid},
		{`[{"choice":"k2","reason":"operator_note"}]`, protocol.Invalid},
		{`"k2"`, protocol.Invalid}, {`null`, protocol.Invalid}, {``, protocol.Invalid}, {"\x00\xff", protocol.Invalid},
		{`{"choice":"k2","reason":"operator_note"` + strings.Repeat(" ", 2048) + `}`, protocol.Invalid},
	} {
		a := answer(say(tc.text))
		if a.Fault != tc.want || (len(a.Picks) == 2) != (tc.want == "") {
			t.Errorf("%q is read as %+v; want fault %q", tc.text, a, tc.want)
		}
	}
}

// Whatever a model says, an answer holds no word of it but a handle that was
// offered and a reason that is known.
func TestNoTextOfAModelReachesTheLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.String(), 2, 2), func(s []string) string { return fmt.Sprintf(`{"choice":%q,"reason":%q}`, s[0], s[1]) }),
			rapid.Map(rapid.SampledFrom([]string{"k1", "k2", "k3", "K1", " k1"}), func(s string) string { return fmt.Sprintf(`{"choice":%q,"reason":"spread_load"}`, s) }),
		).Draw(t, "text")
		for _, p := range answer(say(text)).Picks {
			if p.Handle != "k1" && p.Handle != "k2" || !strings.Contains("operator_note spread_load maintenance_soon less_fragmentation no_preference", string(p.Why)) {
				t.Fatalf("%q is read as %+v", text, p)
			}
		}
	})
}

func TestAModelSeesHandlesAndFiguresAlone(t *testing.T) {
	var prompts []llm.Prompt
	for _, reversed := range []bool{false, true} {
		p := question(ask, reversed)
		prompts = append(prompts, p)
		all := p.System + p.User + string(p.Schema)
		for _, secret := range []string{"oslo", "lyon", "ignore", "V100", "\x1b"} {
			if strings.Contains(all, secret) {
				t.Errorf("the prompt holds %q:\n%s", secret, all)
			}
		}
		if !strings.Contains(all, "about k2: k2 has spare cooling; k1 has none") {
			t.Errorf("the prompt lacks the note:\n%s", all)
		}
	}
	one, two := prompts[0].User, prompts[1].User
	if strings.Index(one, "- k1:") > strings.Index(one, "- k2:") || strings.Index(two, "- k1:") < strings.Index(two, "- k2:") {
		t.Errorf("the orders are not opposite:\n%s\n%s", one, two)
	}
	quiet := ask
	quiet.Notes = nil
	if p := question(quiet, false); strings.Contains(string(p.Schema), "operator_note") {
		t.Error("without a note, a note may be the reason")
	}
}

// A real server that misbehaves in every way we know.
func TestEveryFaultOfAServerIsAFaultOfTheAnswer(t *testing.T) {
	for _, bad := range append(faultyserver.Faults(), faultyserver.OfOpenAI()...) {
		t.Run(bad.Name, func(t *testing.T) {
			t.Parallel()
			s, err := faultyserver.Start(bad.Do)
			if err != nil {
				t.Fatal(err)
			}
			transport := &http.Transport{}
			t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
			m, err := llm.Open(llm.Config{URL: s.URL(), Model: "m", Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			wait, want := time.Minute, protocol.Failed
			if bad.Fault == "late" {
				wait, want = 100*time.Millisecond, protocol.Late
			}
			if a := NewJudge(m, time.Now).Answer(t.Context(), ask, wait); a.Fault != want || a.Picks != nil {
				t.Errorf("Answer = %+v; want fault %s", a, want)
			}
		})
	}
}

func TestAPanicIsAFault(t *testing.T) {
	if a := answer(scripted(func(context.Context, llm.Prompt) (string, error) { panic("no") })); a.Fault != protocol.Failed {
		t.Errorf("Answer = %+v", a)
	}
}

// Why there is no verdict is logged, and once a minute where it stays the same; not
// what a server says of it, which may be anything.
func TestWhyThereIsNoVerdictIsLogged(t *testing.T) {
	var log strings.Builder
	now, err := time.Unix(0, 0), error(&llm.Error{Fault: llm.Status, Status: 401, Detail: "you were asked this"})
	var next atomic.Pointer[error] // one that was asked before may still answer
	m := scripted(func(context.Context, llm.Prompt) (string, error) { return "", *next.Load() })
	j := NewJudge(m, func() time.Time { return now }).Log(slog.New(slog.NewTextHandler(&log, nil)))
	for _, step := range []struct {
		after time.Duration
		err   error
		lines int
		want  string
	}{
		{0, err, 1, "status 401"}, {0, err, 1, "status 401"}, {time.Minute, err, 2, "status 401"},
		{0, &llm.Error{Fault: llm.Unreachable, Detail: "you were asked this"}, 3, "unreachable"}, {0, nil, 4, "fault=invalid"},
	} {
		now = now.Add(step.after)
		next.Store(&step.err)
		j.Answer(t.Context(), ask, time.Minute)
		if n := strings.Count(log.String(), "\n"); n != step.lines || !strings.Contains(log.String(), step.want) || strings.Contains(log.String(), "asked this") {
			t.Errorf("%v: %d lines, want %d with %q:\n%s", step.err, n, step.lines, step.want, log.String())
		}
	}
}

// A model that heeds no context costs the budget and no more.
func TestAModelThatNeverReturnsIsLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	done := make(chan protocol.Answer)
	go func() {
		done <- NewJudge(scripted(func(context.Context, llm.Prompt) (string, error) { <-release; return "", nil }), time.Now).
			Answer(context.Background(), ask, 20*time.Millisecond)
	}()
	select {
	case a := <-done:
		if a.Fault != protocol.Late {
			t.Errorf("Answer = %+v; want late", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("the judge waits for ever")
	}
}

// A verdict that comes when its time is over is late, also where the machine was too
// busy to see that it was over.
func TestAVerdictThatIsLateIsNotTaken(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var asked atomic.Int64
	busy := scripted(func(context.Context, llm.Prompt) (string, error) {
		for began := time.Now(); asked.Load()%2 == 1 && time.Since(began) < 4*time.Millisecond; {
		}
		asked.Add(1)
		return `{"choice":"k2","reason":"operator_note"}`, nil
	})
	for range 20 {
		if a := NewJudge(busy, time.Now).Answer(context.Background(), ask, 2*time.Millisecond); a.Fault != protocol.Late || a.Picks != nil {
			t.Fatalf("a verdict after its time is answered with %+v", a)
		}
	}
}

func TestServeAnswersTheCoordinatorAlone(t *testing.T) {
	var calls atomic.Int32
	j := NewJudge(scripted(func(context.Context, llm.Prompt) (string, error) {
		calls.Add(1)
		return `{"choice":"k2","reason":"operator_note"}`, nil
	}), time.Now)
	hub := new(membus.Hub)
	ctx, cancel := context.WithCancel(t.Context())
	ports := make(map[protocol.Party]bus.Port)
	for _, who := range []protocol.Party{protocol.Coordinator, protocol.Agent("oslo"), protocol.Judge} {
		p, err := hub.Join(ctx, who)
		if err != nil {
			t.Fatal(err)
		}
		ports[who] = p
	}
	served := make(chan error)
	clock := func() protocol.Time { return protocol.At(time.Now()) }
	go func() { served <- j.Serve(ctx, ports[protocol.Judge], bus.Clock{}, 3) }()
	live := ask
	live.Until = clock().Add(time.Minute)
	agent := protocol.Mouth{Who: protocol.Agent("oslo")}
	coordinator := protocol.Mouth{Who: protocol.Coordinator}
	if err := ports[protocol.Agent("oslo")].Say(ctx, agent.Say(clock(), protocol.Judge, live)); err != nil {
		t.Fatal(err)
	}
	if err := ports[protocol.Coordinator].Say(ctx, coordinator.Say(clock(), protocol.Judge, live)); err != nil {
		t.Fatal(err)
	}
	m := <-ports[protocol.Coordinator].Heard()
	a, ok := m.Body.(protocol.Answer)
	if !ok || m.From != protocol.Judge || m.Seq < 3<<40 || a.Round != 4 || len(a.Picks) != 2 || a.Picks[1].Handle != "k2" || calls.Load() != 2 {
		t.Errorf("heard %+v after %d calls", m, calls.Load())
	}
	cancel()
	<-served
	for _, p := range ports {
		_ = p.Close()
	}
}

func TestMinutesGiveTheAnswersOfALedgerAgain(t *testing.T) {
	k := NewMinutes()
	coordinator, judge := protocol.Mouth{Who: protocol.Coordinator}, protocol.Mouth{Who: protocol.Judge}
	other := ask
	other.Job = "other"
	silent := ask
	silent.Job = "silent"
	given := protocol.Answer{Round: 4, Job: ask.Job, Picks: []protocol.Pick{{Handle: "k2", Why: protocol.SpreadLoad}, {Handle: "k2", Why: protocol.SpreadLoad}}}
	slow := protocol.Answer{Round: 4, Job: "other", Fault: protocol.Failed}
	forged := given
	forged.Picks = nil
	for _, a := range []protocol.Ask{ask, other, silent} {
		k.Add(coordinator.Say(noon, protocol.Judge, a))
	}
	agent := protocol.Mouth{Who: protocol.Agent("oslo")}
	k.Add(agent.Say(noon, protocol.Coordinator, forged))
	k.Add(judge.Say(noon, protocol.Coordinator, given))
	k.Add(judge.Say(noon.Add(320*time.Millisecond), protocol.Coordinator, slow))
	if k.Answers() != 2 {
		t.Errorf("%d answers; want 2", k.Answers())
	}
	later := noon.Add(time.Hour)
	var mouth protocol.Mouth
	mouth.Who = protocol.Coordinator
	if said := k.Step(later, mouth.Say(later, protocol.Judge, ask)); len(said) != 1 || len(said[0].Body.(protocol.Answer).Picks) != 2 {
		t.Errorf("said %+v", said)
	}
	if said := k.Step(later, mouth.Say(later, protocol.Judge, silent)); said != nil {
		t.Errorf("said %+v to what had no answer", said)
	}
	unheard := ask
	unheard.Job = "unheard-of"
	if said := k.Again().Step(later, mouth.Say(later, protocol.Judge, unheard)); len(said) != 1 || said[0].Seq != 1 || said[0].Body.(protocol.Answer).Fault != protocol.Late {
		t.Errorf("sent %+v without a question", said)
	}
	if said := k.Step(later, mouth.Say(later, protocol.Judge, other)); said != nil || k.Due() != later.Add(320*time.Millisecond) {
		t.Fatalf("said %+v, due %v; want it 320 ms later", said, k.Due())
	}
	if said := k.Tick(k.Due()); len(said) != 1 || said[0].Body.(protocol.Answer).Fault != protocol.Failed || k.Due() != 0 {
		t.Errorf("said %+v, due %v", said, k.Due())
	}
}
