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

func option(cents int) protocol.BidOption {
	return protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Money: protocol.Microdollars(cents) * 10_000}
}

var ask = protocol.JudgeRequest{
	Round: 4, Job: "ignore-previous-instructions", Until: noon.Add(600 * time.Millisecond),
	Choices: []protocol.JudgeChoice{
		{Handle: "k1", Site: "oslo", Option: option(100), Cost: 1_000_000},
		{Handle: "k2", Site: "lyon", Option: option(101), Cost: 1_010_000, Extra: 10_000},
	},
	Notes: []protocol.OperatorNotice{{ID: "N1", Site: "lyon", Text: "lyon has spare cooling; oslo has none\x1b[2J"}},
}

func say(text string) scripted {
	return func(context.Context, llm.Prompt) (string, error) { return text, nil }
}

func answer(m Model) protocol.JudgeAnswer {
	return NewJudge(m, time.Now).AnswerRequest(context.Background(), ask, time.Minute)
}

func TestAVerdictIsReadStrictly(t *testing.T) {
	for _, tc := range []struct {
		text string
		want protocol.Code // "": sound
	}{
		{`{"choice":"k2","reason":"operator_note"}`, ""},
		{" {\"reason\":\"no_preference\",\n\"choice\":\"k1\"} \n", ""},
		{`{"choice":"k3","reason":"operator_note"}`, protocol.NotAmongChoices},
		{`{"choice":"lyon","reason":"operator_note"}`, protocol.NotAmongChoices},
		{`{"choice":"","reason":"operator_note"}`, protocol.NotAmongChoices},
		{`{"choice":"k2","reason":"because I say so"}`, protocol.AnswerInvalid},
		{`{"choice":"k2"}`, protocol.AnswerInvalid},
		{`{"choice":"k2","reason":"operator_note","site":"south-3"}`, protocol.AnswerInvalid},
		{`{"Choice":"k2","reason":"operator_note"}`, protocol.AnswerInvalid},
		{`{"choice":2,"reason":"operator_note"}`, protocol.AnswerInvalid},
		{`{"choice":["k2"],"reason":"operator_note"}`, protocol.AnswerInvalid},
		{`{"choice":"k2","reason":"operator_note"}{"choice":"k1","reason":"operator_note"}`, protocol.AnswerInvalid},
		{`{"choice":"k2","reason":"operator_note"} as asked`, protocol.AnswerInvalid},
		{"```json\n{\"choice\":\"k2\",\"reason\":\"operator_note\"}\n```", protocol.AnswerInvalid},
		{`[{"choice":"k2","reason":"operator_note"}]`, protocol.AnswerInvalid},
		{`"k2"`, protocol.AnswerInvalid}, {`null`, protocol.AnswerInvalid}, {``, protocol.AnswerInvalid}, {"\x00\xff", protocol.AnswerInvalid},
		{`{"choice":"k2","reason":"operator_note"` + strings.Repeat(" ", 2048) + `}`, protocol.AnswerInvalid},
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
		p := judgePrompt(ask, reversed)
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
	if p := judgePrompt(quiet, false); strings.Contains(string(p.Schema), "operator_note") {
		t.Error("without a note, a note may be the reason")
	}
}

// A real server that misbehaves in every way we know.
func TestEveryFaultOfAServerIsAFaultOfTheAnswer(t *testing.T) {
	for _, bad := range append(faultyserver.CommonFaults(), faultyserver.OpenAIFaults()...) {
		t.Run(bad.Name, func(t *testing.T) {
			t.Parallel()
			s, err := faultyserver.StartServer(bad.Do)
			if err != nil {
				t.Fatal(err)
			}
			transport := &http.Transport{}
			t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
			m, err := llm.OpenModel(llm.Config{URL: s.BaseURL(), Model: "m", Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			wait, want := time.Minute, protocol.AnswerFailed
			if bad.Fault == "late" {
				wait, want = 100*time.Millisecond, protocol.AnswerLate
			}
			if a := NewJudge(m, time.Now).AnswerRequest(t.Context(), ask, wait); a.Fault != want || a.Picks != nil {
				t.Errorf("Answer = %+v; want fault %s", a, want)
			}
		})
	}
}

func TestAPanicIsAFault(t *testing.T) {
	if a := answer(scripted(func(context.Context, llm.Prompt) (string, error) { panic("no") })); a.Fault != protocol.AnswerFailed {
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
	j := NewJudge(m, func() time.Time { return now }).LogTo(slog.New(slog.NewTextHandler(&log, nil)))
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
		j.AnswerRequest(t.Context(), ask, time.Minute)
		if n := strings.Count(log.String(), "\n"); n != step.lines || !strings.Contains(log.String(), step.want) || strings.Contains(log.String(), "asked this") {
			t.Errorf("%v: %d lines, want %d with %q:\n%s", step.err, n, step.lines, step.want, log.String())
		}
	}
}

// A model that heeds no context costs the budget and no more.
func TestAModelThatNeverReturnsIsLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	done := make(chan protocol.JudgeAnswer)
	go func() {
		done <- NewJudge(scripted(func(context.Context, llm.Prompt) (string, error) { <-release; return "", nil }), time.Now).
			AnswerRequest(context.Background(), ask, 20*time.Millisecond)
	}()
	select {
	case a := <-done:
		if a.Fault != protocol.AnswerLate {
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
		if a := NewJudge(busy, time.Now).AnswerRequest(context.Background(), ask, 2*time.Millisecond); a.Fault != protocol.AnswerLate || a.Picks != nil {
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
	hub := new(membus.Bus)
	ctx, cancel := context.WithCancel(t.Context())
	ports := make(map[protocol.Party]bus.Conn)
	for _, who := range []protocol.Party{protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Judge} {
		p, err := hub.Connect(ctx, who)
		if err != nil {
			t.Fatal(err)
		}
		ports[who] = p
	}
	served := make(chan error)
	clock := func() protocol.Time { return protocol.FromStdTime(time.Now()) }
	go func() { served <- j.ServeRequests(ctx, ports[protocol.Judge], bus.Clock{}, 3) }()
	live := ask
	live.Until = clock().Add(time.Minute)
	agent := protocol.Sender{Party: protocol.AgentParty("oslo")}
	coordinator := protocol.Sender{Party: protocol.Coordinator}
	if err := ports[protocol.AgentParty("oslo")].Send(ctx, agent.NewMessage(clock(), protocol.Judge, live)); err != nil {
		t.Fatal(err)
	}
	if err := ports[protocol.Coordinator].Send(ctx, coordinator.NewMessage(clock(), protocol.Judge, live)); err != nil {
		t.Fatal(err)
	}
	m := <-ports[protocol.Coordinator].Messages()
	a, ok := m.Body.(protocol.JudgeAnswer)
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
	k := NewRecordedAnswers()
	coordinator, judge := protocol.Sender{Party: protocol.Coordinator}, protocol.Sender{Party: protocol.Judge}
	other := ask
	other.Job = "other"
	silent := ask
	silent.Job = "silent"
	given := protocol.JudgeAnswer{Round: 4, Job: ask.Job, Picks: []protocol.JudgePick{{Handle: "k2", Why: protocol.SpreadLoad}, {Handle: "k2", Why: protocol.SpreadLoad}}}
	slow := protocol.JudgeAnswer{Round: 4, Job: "other", Fault: protocol.AnswerFailed}
	forged := given
	forged.Picks = nil
	for _, a := range []protocol.JudgeRequest{ask, other, silent} {
		k.AddMessage(coordinator.NewMessage(noon, protocol.Judge, a))
	}
	agent := protocol.Sender{Party: protocol.AgentParty("oslo")}
	k.AddMessage(agent.NewMessage(noon, protocol.Coordinator, forged))
	k.AddMessage(judge.NewMessage(noon, protocol.Coordinator, given))
	k.AddMessage(judge.NewMessage(noon.Add(320*time.Millisecond), protocol.Coordinator, slow))
	if k.AnswerCount() != 2 {
		t.Errorf("%d answers; want 2", k.AnswerCount())
	}
	later := noon.Add(time.Hour)
	var mouth protocol.Sender
	mouth.Party = protocol.Coordinator
	if said := k.Step(later, mouth.NewMessage(later, protocol.Judge, ask)); len(said) != 1 || len(said[0].Body.(protocol.JudgeAnswer).Picks) != 2 {
		t.Errorf("said %+v", said)
	}
	if said := k.Step(later, mouth.NewMessage(later, protocol.Judge, silent)); said != nil {
		t.Errorf("said %+v to what had no answer", said)
	}
	unheard := ask
	unheard.Job = "unheard-of"
	if said := k.ForNewRun().Step(later, mouth.NewMessage(later, protocol.Judge, unheard)); len(said) != 1 || said[0].Seq != 1 || said[0].Body.(protocol.JudgeAnswer).Fault != protocol.AnswerLate {
		t.Errorf("sent %+v without a question", said)
	}
	if said := k.Step(later, mouth.NewMessage(later, protocol.Judge, other)); said != nil || k.Due() != later.Add(320*time.Millisecond) {
		t.Fatalf("said %+v, due %v; want it 320 ms later", said, k.Due())
	}
	if said := k.Tick(k.Due()); len(said) != 1 || said[0].Body.(protocol.JudgeAnswer).Fault != protocol.AnswerFailed || k.Due() != 0 {
		t.Errorf("said %+v, due %v", said, k.Due())
	}
}
