package adversary

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
	"github.com/gridbid/gridbid/protocol"
)

// modelKey is the key of every model here; no surface may show it.
const modelKey = llm.Key("sk-attacked-0123456789abcdef")

// serverFaults returns what a server does that behaves as described. What is not
// recognized is tried in every way there is.
func serverFaults(what string) (ways []faultyserver.Misbehaviour, known bool) {
	what = strings.ToLower(what)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(what, w) })
	}
	named := func(words ...string) {
		for _, b := range append(faultyserver.CommonFaults(), faultyserver.OpenAIFaults()...) {
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(b.Name, w) }) {
				ways = append(ways, b)
			}
		}
	}
	says := func(name, text string) {
		ways = append(ways, faultyserver.Misbehaviour{Name: name, Do: faultyserver.FixedText(text)})
	}
	switch {
	case has("verdict", "bid") && has("infeasible", "outside", "not offered", "unknown", "another", "names"):
		says("a handle that was not offered", pickReply("k99"))
		says("a site's name", pickReply("coal"))
		says("a bid's number", pickReply("B-14-1"))
	case has("after the budget", "too late", "late verdict"):
		ways = append(ways, faultyserver.Misbehaviour{Name: "a verdict after the budget", Do: func(w http.ResponseWriter, r *http.Request, body []byte) {
			time.Sleep(3 * modelTimeout)
			faultyserver.FixedText(pickReply("k1"))(w, r, body)
		}})
	case has("order", "first shown", "position"):
		ways = append(ways, faultyserver.Misbehaviour{Name: "the first shown", Do: faultyserver.AnswerWith(firstShown)})
	case has("429", "500", "retry"):
		named("429", "500")
	case has("tool"):
		named("tool", "arguments")
	case has("echo", "api key", "prompt"):
		ways = append(ways, faultyserver.Misbehaviour{Name: "echoes all it knows", Do: echoRequest}, faultyserver.Misbehaviour{Name: "echoes in a verdict", Do: func(w http.ResponseWriter, r *http.Request, body []byte) {
			faultyserver.FixedText(fmt.Sprintf(`{"choice":%q,"reason":%q}`, r.Header.Get("Authorization"), body))(w, r, body)
		}})
	case has("html"):
		named("HTML")
	case has("null", "choices"):
		named("null", "choices", "{}")
	case has("hang", "never answers", "no answer"):
		named("hangs", "byte a second")
	case has("stream", "half", "cut", "closes", "partial"):
		named("streams", "half-way", "cuts", "most tokens")
	case has("empty", "nothing"):
		named("nothing", "empty", "{}")
	case has("mib", "megabyte", "large", "long", "huge", "big"):
		named("megabytes")
	case has("refus", "filter"):
		named("refuses", "filters")
	case has("connection", "closed port", "unreachable", "down"):
		named("closes at once")
	case has("json", "schema", "prose"):
		says("prose", "I would choose k1.")
		says("prose round the object", "Sure: "+pickReply("k1"))
		says("another field", `{"choice":"k1","reason":"operator_note","cost":0}`)
		named("JSON")
	default:
		return append(faultyserver.CommonFaults(), faultyserver.OpenAIFaults()...), false
	}
	return ways, true
}

// modelTimeout is the budget of days in which a server may hang.
const modelTimeout = 30 * time.Millisecond

func firstShown(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte("- k"))
	return pickReply("k" + string(after[:1]))
}

// echoRequest answers with the headers and the body of the request, as an error.
func echoRequest(w http.ResponseWriter, r *http.Request, body []byte) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, "%v %s", r.Header, body)
}

// tryFaultyServer plays a day beside a server that misbehaves, in each way that what
// describes, and holds its figures to those of a day without a model.
func tryFaultyServer(ctx context.Context, what string) (*attackFindings, error) {
	if strings.Contains(strings.ToLower(what), "narration") {
		return tryLyingNarration(ctx, what)
	}
	ways, _ := serverFaults(what)
	return replayBesideServers(ctx, ways)
}

// RunModelFailureDays plays a day with the port of the model closed, one in which its server
// fails in every way, and one whose verdicts are played again without it.
func RunModelFailureDays(ctx context.Context) ([]AttackResult, error) {
	gone, err := faultyserver.StartServer(faultyserver.FixedText("{}"))
	if err != nil {
		return nil, err
	}
	closed := gone.BaseURL()
	gone.Close()
	s, advice := adversaryScenario(60)
	plain, err := replayRuleDay(ctx)
	if err != nil {
		return nil, err
	}
	model, err := llm.OpenModel(llm.Config{URL: closed, Model: "m", Key: modelKey})
	if err != nil {
		return nil, err
	}
	r, err := replayScenario(ctx, s, advice, advisor.NewJudge(model, time.Now).ForReplay(ctx))
	if err != nil {
		return nil, err
	}
	rows := []AttackResult{{ID: "closed", What: "a day with the model's port closed", Held: r.questionCount() > 0 && reflect.DeepEqual(r.res.Totals, plain.res.Totals),
		Detail: fmt.Sprintf("%d questions; every figure of the day compared with the rule's", r.questionCount())}}
	all, err := replayBesideServers(ctx, append(faultyserver.CommonFaults(), faultyserver.OpenAIFaults()...))
	if err != nil {
		return nil, err
	}
	again, err := replayJudgedDay(ctx)
	return append(append(rows, all.resultRows("faults", "a day beside each fault of a server")...), again), err
}

// replayJudgedDay plays a day with a judge that moves awards, and again from its
// verdicts.
func replayJudgedDay(ctx context.Context) (AttackResult, error) {
	row := AttackResult{ID: "replay", What: "a day from its verdicts, without the model"}
	s, advice := adversaryScenario(60)
	first, err := replayScenario(ctx, s, advice, advisor.NewJudge(constantReply(pickReply("k1")), zeroClock).ForReplay(ctx))
	if err != nil {
		return row, err
	}
	minutes, moved := advisor.NewRecordedAnswers(), 0
	for _, m := range first.messages {
		minutes.AddMessage(m)
		if a, ok := m.Body.(protocol.Award); ok && a.Why.Code == protocol.ChosenByJudge {
			moved++
		}
	}
	again, err := replayScenario(ctx, s, advice, minutes)
	if err != nil {
		return row, err
	}
	row.Held = moved > 0 && reflect.DeepEqual(first.messages, again.messages)
	row.Detail = fmt.Sprintf("%d messages the same, %d awards moved by verdicts", len(again.messages), moved)
	return row, nil
}

// replayRuleDay plays the day that the rule makes.
func replayRuleDay(ctx context.Context) (replayedDay, error) {
	s, advice := adversaryScenario(60)
	advice.Ease = 0
	return replayScenario(ctx, s, advice, nil)
}

// replayBesideServers plays a day beside a server for each way in which it misbehaves, and
// looks at all that is told of it.
func replayBesideServers(ctx context.Context, ways []faultyserver.Misbehaviour) (*attackFindings, error) {
	seen := newAttackFindings("")
	plain, err := replayRuleDay(ctx)
	if err != nil {
		return nil, err
	}
	for _, way := range ways {
		r, calls, err := replayBesideServer(ctx, way)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		complain := func(format string, args ...any) {
			seen.addFinding(surfaceOutcome, "%s: %s", way.Name, fmt.Sprintf(format, args...))
		}
		switch {
		case err != nil:
			complain("the day does not add up: %v", err)
		case !reflect.DeepEqual(r.res.Totals, plain.res.Totals):
			complain("the day is another")
		case r.questionCount() == 0 || calls > 2*r.questionCount():
			complain("%d questions, %d calls", r.questionCount(), calls)
		case countJudgeFaults(r) >= 3 && r.res.Counts["judge-paused"] == 0:
			complain("%d faults, and the breaker never opened", countJudgeFaults(r))
		}
		seen.findingsAt(surfaceOutcome).texts += r.questionCount()
		r.inspectAllSurfaces(ctx, seen, 3)
	}
	return seen, seen.inspectCoordinatorLogs(ctx, "")
}

// replayBesideServer plays the day beside one server, and returns how often that was
// called.
func replayBesideServer(ctx context.Context, way faultyserver.Misbehaviour) (r replayedDay, calls int, err error) {
	server, err := faultyserver.StartServer(way.Do)
	if err != nil {
		return r, 0, err
	}
	defer server.Close()
	model, err := llm.OpenModel(llm.Config{URL: server.BaseURL(), Model: "m", Key: modelKey})
	if err != nil {
		return r, 0, err
	}
	s, advice := adversaryScenario(60)
	advice.Budget = 5 * time.Second
	if way.Fault == "" || way.Fault == string(llm.Late) {
		advice.Budget = modelTimeout
	}
	r, err = replayScenario(ctx, s, advice, advisor.NewJudge(model, time.Now).ForReplay(ctx))
	return r, len(server.RequestBodies()), err
}

// countJudgeFaults returns how many answers of a run were faults that count.
func countJudgeFaults(r replayedDay) (n int) {
	for _, c := range []protocol.Code{protocol.AnswerLate, protocol.AnswerFailed, protocol.AnswerInvalid, protocol.NotAmongChoices} {
		n += r.res.Counts["judge-"+string(c)]
	}
	return n
}
