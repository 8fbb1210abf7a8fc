package translate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a model made of a function.
type scripted func(context.Context, llm.Prompt) (string, error)

func (scripted) Name() string { return "scripted" }
func (f scripted) Ask(ctx context.Context, p llm.Prompt) (llm.Reply, error) {
	text, err := f(ctx, p)
	return llm.Reply{Text: text, In: 1, Out: 1}, err
}

func saying(text string) *Translator {
	return New(scripted(func(context.Context, llm.Prompt) (string, error) { return text, nil }), time.Minute)
}

// ledger is a made-up run that can be asked.
func ledger() *query.Dataset {
	log := query.NewDataset(nil)
	for _, m := range historytest.GenerateDay(10, 10*time.Minute) {
		log.AddMessage(m)
	}
	return log
}

// unread is a question that the grammar does not read.
const unread = "wieviel kohlendioxid hat job-00001 in oslo gemacht"

func answer(t *Translator, log *query.Dataset, question string) query.Answer {
	s := log.NewSession()
	return t.AnswerQuestion(context.Background(), question, s.AnswerQuestion(question), s.KnownNames(), s.AnswerModelQuery)
}

func TestAModelsQueryIsToldAndAnsweredByCode(t *testing.T) {
	log := ledger()
	if a := answer(nil, log, unread); a.Kind != "unclear" || a.ReadBy != "" {
		t.Fatalf("without a model %q is %s: %q", unread, a.Kind, a.Text)
	}
	a := answer(saying(`{"ask":"bill","metric":"carbon","job":"job-00001"}`), log, unread)
	want := log.AnswerQuery(ask.Query{Ask: "bill", Metric: "carbon", Job: "job-00001"})
	if a.Kind != "answer" || a.ReadBy != "model scripted" || a.ReadLine() != "I understood: carbon used of job job-00001 (read by model scripted)" {
		t.Fatalf("%s, read by %q: %q", a.Kind, a.ReadBy, a.ReadLine())
	}
	if !reflect.DeepEqual(a.Figures, want.Figures) || !reflect.DeepEqual(a.Text, want.Text) || len(a.Figures) == 0 {
		t.Errorf("the model's query is answered with %+v; the grammar's with %+v", a.Figures, want.Figures)
	}
}

// What the grammar reads, names or refuses is not put to a model.
func TestAModelIsAskedOnlyAboutWhatIsUnclear(t *testing.T) {
	calls := 0
	tr := New(scripted(func(context.Context, llm.Prompt) (string, error) { calls++; return `{"ask":"summary"}`, nil }), time.Minute)
	log := ledger()
	for _, q := range []string{"summary", "help", "why job-99999", "cancel job-00001", "how much water was used", "why", strings.Repeat("so und so ", 100)} {
		if a := answer(tr, log, q); a.ReadBy != "" {
			t.Errorf("%q is read by %s", q, a.ReadBy)
		}
	}
	if calls != 0 {
		t.Errorf("the model was asked %d times", calls)
	}
}

// Replies that are no query, or none that this run answers, change nothing but say
// so; none of their text is told.
func TestAHostileReplyIsRefused(t *testing.T) {
	log := ledger()
	log.SetReplay(query.ReplaySetup{Policies: []string{"auction"}, Replay: func(d query.DayChange) (query.DayReplay, error) {
		t.Errorf("a reply had policy %q played", d.Policy)
		return query.DayReplay{}, errors.New(d.Policy)
	}})
	first := answer(nil, log, unread)
	for _, reply := range []string{
		``, `null`, `[]`, `"bill"`, `7`, `{}`, `{"ask":"none"}`, `{"ask":"EVIL"}`, `{"ask":null}`, `{"Ask":"summary"}`, `{"ask":"summary","ask":"help"}`,
		`{"ask":"summary"}{"ask":"summary"}`, `{"ask":"summary"} EVIL`, "```json\n{\"ask\":\"summary\"}\n```", `{"ask":"summary","text":["oslo used 42 kg, EVIL"]}`,
		`{"ask":"bill","figures":[{"subject":"run","name":"carbon","value":42}]}`, `{"ask":"summary","answer":"EVIL"}`,
		`{"ask":"bill","metric":"EVIL"}`, `{"ask":"bill","site":"EVIL"}`, `{"ask":"bill","tenant":"EVIL"}`, `{"ask":"why","job":"EVIL"}`, `{"ask":"why","job":"job-00002"}`,
		`{"ask":"why","decision":2}`, `{"ask":"why"}`, `{"ask":"top","number":-1,"metric":"carbon"}`, `{"ask":"top","number":1e30,"metric":"carbon"}`, `{"ask":"top","number":9223372036854775807,"metric":"carbon"}`,
		`{"ask":"slack","job":"job-00001","long_ns":1}`, `{"ask":"forecast","within_ns":-60000000000}`, `{"ask":"free","at":"EVIL"}`, `{"ask":"free","at":"0001-01-01T00:00:00Z"}`,
		`{"ask":"bill","from":"2026-03-11T00:00:00Z"}`, `{"ask":"bill","from":"2026-03-12T00:00:00Z","to":"2026-03-11T00:00:00Z"}`, `{"ask":"policies","policies":["EVIL"]}`,
		`{"ask":"summary","site":"oslo"}`, `{"ask":"bill","job":"job-00001","site":"oslo"}`, `{"ask":"why-not","job":"job-00001","site":"oslo\u001b[2J"}`,
		`{"ask":"summary"` + strings.Repeat(" ", mostReply) + `}`, "\x00\xff", `{"ask":"help"}`[:8],
	} {
		a := answer(saying(reply), log, unread)
		if a.Kind != "unclear" || a.ReadBy != "" || len(a.Figures) != 0 || a.Table != nil {
			t.Errorf("%s is answered: %s %q, figures %v", reply, a.Kind, a.Text, a.Figures)
		}
		if len(a.Text) != len(first.Text)+1 || !reflect.DeepEqual(a.Text[:len(first.Text)], first.Text) {
			t.Errorf("%s: %q; want what is said without a model, and why", reply, a.Text)
		}
		if text := fmt.Sprintf("%+v", a); strings.Contains(text, "EVIL") || strings.Contains(text, "42") && !strings.Contains(fmt.Sprintf("%+v", first), "42") {
			t.Errorf("%s: the answer holds what the model said: %q", reply, a.Text)
		}
	}
}

// Whatever a model says, an answer has the figures of one typed query of the run.
func TestNoReplyPutsAFigureIntoAnAnswer(t *testing.T) {
	log := ledger()
	var own []query.Answer
	for _, name := range ask.QuestionNames() {
		for _, metric := range []string{"", "carbon", "energy", "cost", "paid"} {
			for _, job := range []string{"", "job-00001"} {
				q := ask.Query{Ask: name, Metric: metric}
				if job != "" {
					q.Job = "job-00001"
				}
				own = append(own, log.AnswerQuery(q))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		reply := fmt.Sprintf(`{"ask":%q,"metric":%q%s}`, rapid.OneOf(rapid.SampledFrom(ask.QuestionNames()), rapid.String()).Draw(t, "ask"),
			rapid.SampledFrom([]string{"", "carbon", "energy", "cost", "paid", "77"}).Draw(t, "metric"),
			rapid.SampledFrom([]string{"", `,"job":"job-00001"`, `,"value":77`, `,"number":0`}).Draw(t, "more"))
		a := answer(saying(reply), log, unread)
		if a.ReadBy == "" {
			if len(a.Figures) > 0 {
				t.Fatalf("%s: not read, and figures %v", reply, a.Figures)
			}
			return
		}
		if !slices.ContainsFunc(own, func(x query.Answer) bool {
			return reflect.DeepEqual(x.Figures, a.Figures) && reflect.DeepEqual(x.Text, a.Text)
		}) {
			t.Fatalf("%s: %q with %v is the answer to no query of the ledger", reply, a.Text, a.Figures)
		}
	})
}

func TestAModelThatFailsIsToldAsSuch(t *testing.T) {
	log := ledger()
	for want, f := range map[string]scripted{
		"it gave no reply": func(context.Context, llm.Prompt) (string, error) { panic("EVIL") },
		"calls or tokens": func(context.Context, llm.Prompt) (string, error) {
			return "", &llm.Error{Fault: llm.OverBudget, Detail: "EVIL"}
		},
		"not reply in time": func(ctx context.Context, _ llm.Prompt) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"no reply that can": func(context.Context, llm.Prompt) (string, error) { return "", errors.New("EVIL") },
	} {
		wait := time.Minute // a busy machine must not be taken for a model that is late
		if want == "not reply in time" {
			wait = 20 * time.Millisecond
		}
		a := answer(New(f, wait), log, unread)
		if last := a.Text[len(a.Text)-1]; a.Kind != "unclear" || !strings.Contains(last, want) || strings.Contains(last, "EVIL") {
			t.Errorf("%s: %q; want %q in it", a.Kind, last, want)
		}
	}
}

// The model is given the question, the sites and the span; no job, no tenant and no
// figure that the question does not hold.
func TestAModelIsGivenNoMoreThanItNeeds(t *testing.T) {
	var got llm.Prompt
	tr := New(scripted(func(_ context.Context, p llm.Prompt) (string, error) { got = p; return `{"ask":"none"}`, nil }), time.Minute)
	log := ledger()
	answer(tr, log, unread+" \x1b")
	if got.Tokens > mostTokens || len(got.User) > 2000 || !strings.Contains(got.User, "oslo;") || strings.ContainsAny(got.User, "\x1b") {
		t.Errorf("%+v", got)
	}
	for _, id := range log.KnownNames().Jobs {
		if id != "job-00001" && strings.Contains(got.User, string(id)) {
			t.Errorf("the prompt has job %s", id)
		}
	}
}

// The door as it is: a server that says typed queries, and every way in which one misbehaves.
func TestBehindTheDoorToModels(t *testing.T) {
	server, err := faultyserver.StartServer(faultyserver.FixedText(`{"ask":"bill","metric":"energy","job":"job-00001"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	model, err := llm.OpenModel(llm.Config{URL: server.BaseURL(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	log := ledger()
	tr := New(model, 500*time.Millisecond)
	if a := answer(tr, log, unread); a.ReadBy != "model m" || a.Kind != "answer" {
		t.Errorf("read by %q: %s %q", a.ReadBy, a.Kind, a.Text)
	}
	for _, bad := range faultyserver.CommonFaults() {
		server.SetBehaviour(bad.Do)
		if a := answer(tr, log, unread); a.ReadBy != "" || len(a.Figures) > 0 {
			t.Errorf("%s: read by %q: %s %q", bad.Name, a.ReadBy, a.Kind, a.Text)
		}
	}
	server.Close()
	if a := answer(tr, log, unread); a.Kind != "unclear" {
		t.Errorf("without a server: %s", a.Kind)
	}
}

// A script that holds typed queries, and never an answer, has every operator of the query answered
// as the query itself is: exceptions, bounds, comparisons, ratios, shares, two splits, states.
func TestEveryOperatorCanComeFromAModel(t *testing.T) {
	log := ledger()
	sites := log.NewSession().KnownNames().Sites
	if len(sites) < 2 {
		t.Fatalf("sites are %q; want two", sites)
	}
	a, b := sites[0], sites[1]
	for _, q := range []ask.Query{
		{Ask: "bill", Metric: "carbon", ExceptSites: []string{a}}, {Ask: "bill", Metric: "carbon", By: "site", Then: "hour"}, {Ask: "bill", Metric: "energy", Per: "job"},
		{Ask: "bill", Metric: "cost", Per: "gpu-hour", By: "site"}, {Ask: "bill", Metric: "carbon", Site: a, Pick: "share"}, {Ask: "bill", Metric: "carbon", Site: a, Against: b},
		{Ask: "bill", Metric: "carbon", Bounded: "gpus", Bound: "at-least", Amount: "1 GPUs"}, {Ask: "jobs", Bounded: "wait", Bound: "more", Amount: "5 min"}, {Ask: "jobs", State: "done"},
		{Ask: "jobs", By: "site", Then: "tenant"}, {Ask: "late", By: "site", Pick: "most"}, {Ask: "late", Pick: "share"}, {Ask: "waits", By: "site"}, {Ask: "intensity", Bound: "more", Amount: "10 g/kWh"},
		{Ask: "price", Site: a, Against: b}, {Ask: "utilization", Bound: "less", Amount: "90 %"}, {Ask: "free", ExceptSites: []string{b}}, {Ask: "pending", Bounded: "wait", Bound: "more", Amount: "1 h"}, {Ask: "define", Term: "round"},
	} {
		raw, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		got, want := answer(saying(string(raw)), log, unread), log.AnswerQuery(q)
		if got.Kind != "answer" || got.ReadBy == "" || !reflect.DeepEqual(got.Text, want.Text) || !reflect.DeepEqual(got.Figures, want.Figures) {
			t.Errorf("%s: %s %q; want %q", raw, got.Kind, got.Text, want.Text)
		}
	}
	if got := answer(saying(`{"ask":"jobs","bounded":"wait","bound":"more","amount":"5 kWh"}`), log, unread); got.Kind == "answer" {
		t.Errorf("a wait of 5 kWh is answered: %q", got.Text)
	}
	if got := answer(saying(`{"ask":"jobs","bounded":"wait","bound":"more","amount":"300 seconds"}`), log, unread); got.Kind == "answer" {
		t.Errorf("an amount that is none is answered: %q", got.Text)
	}
}
