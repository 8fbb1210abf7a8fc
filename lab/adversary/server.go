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

// modelKey is the key of every model in this package; it must not appear on any surface.
const modelKey = llm.Key("sk-attacked-0123456789abcdef")

// serverFaults returns the server behaviours that a description selects; an unknown
// description selects all.
func serverFaults(what string) (ways []faultyserver.Misbehaviour, known bool) {
	what = strings.ToLower(what)
	// has looks for words in the description, named selects faults by name, says adds an answer.
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
	// The first case that matches counts, so the more specific ones stand first.
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

// modelTimeout is the budget in runs whose server may hang.
const modelTimeout = 30 * time.Millisecond

// firstShown returns an answer that chooses the first option of a prompt.
func firstShown(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte("- k"))
	return pickReply("k" + string(after[:1]))
}

// echoRequest returns the request's headers and body as an error.
func echoRequest(w http.ResponseWriter, r *http.Request, body []byte) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, "%v %s", r.Header, body)
}

// tryFaultyServer replays a day with each server behaviour of a description and compares its
// totals with a day without a model.
func tryFaultyServer(ctx context.Context, what string) (*attackFindings, error) {
	if strings.Contains(strings.ToLower(what), "narration") {
		return tryLyingNarration(ctx, what)
	}
	ways, _ := serverFaults(what)
	return replayWithServers(ctx, ways)
}

// RunModelFailureDays replays a day with the model's port closed, days with each fault of a model
// server, and a day from the verdicts of another, without a model.
func RunModelFailureDays(ctx context.Context) ([]AttackResult, error) {
	gone, err := faultyserver.StartServer(faultyserver.FixedText("{}"))
	if err != nil {
		return nil, err
	}
	// An address that was served a moment ago: its port is closed now.
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
	all, err := replayWithServers(ctx, append(faultyserver.CommonFaults(), faultyserver.OpenAIFaults()...))
	if err != nil {
		return nil, err
	}
	again, err := replayJudgedDay(ctx)
	return append(append(rows, all.resultRows("faults", "a day beside each fault of a server")...), again), err
}

// replayJudgedDay replays a day with a judge that changes awards, and again from its
// recorded verdicts; both must be equal.
func replayJudgedDay(ctx context.Context) (AttackResult, error) {
	row := AttackResult{ID: "replay", What: "a day from its verdicts, without the model"}
	s, advice := adversaryScenario(60)
	first, err := replayScenario(ctx, s, advice, advisor.NewJudge(constantReply(pickReply("k1")), zeroClock).ForReplay(ctx))
	if err != nil {
		return row, err
	}
	recorded, moved := advisor.NewRecordedAnswers(), 0
	for _, m := range first.messages {
		recorded.AddMessage(m)
		if a, ok := m.Body.(protocol.Award); ok && a.Why.Code == protocol.ChosenByJudge {
			moved++
		}
	}
	again, err := replayScenario(ctx, s, advice, recorded)
	if err != nil {
		return row, err
	}
	// A replay that moved no award would be equal without showing anything.
	row.Held = moved > 0 && reflect.DeepEqual(first.messages, again.messages)
	row.Detail = fmt.Sprintf("%d messages the same, %d awards moved by verdicts", len(again.messages), moved)
	return row, nil
}

// replayRuleDay replays the day without a judge.
func replayRuleDay(ctx context.Context) (replayedDay, error) {
	s, advice := adversaryScenario(60)
	advice.Ease = 0
	return replayScenario(ctx, s, advice, nil)
}

// replayWithServers replays a day with each server behaviour and checks everything shown about it.
func replayWithServers(ctx context.Context, ways []faultyserver.Misbehaviour) (*attackFindings, error) {
	seen := newAttackFindings("")
	plain, err := replayRuleDay(ctx)
	if err != nil {
		return nil, err
	}
	for _, way := range ways {
		r, calls, err := replayWithServer(ctx, way)
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
		// At most one retry a question.
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

// replayWithServer replays the day with one server, and returns the number of its requests.
func replayWithServer(ctx context.Context, way faultyserver.Misbehaviour) (r replayedDay, calls int, err error) {
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

// countJudgeFaults returns the number of answers that count as faults for the circuit breaker.
func countJudgeFaults(r replayedDay) (n int) {
	for _, c := range []protocol.Code{protocol.AnswerLate, protocol.AnswerFailed, protocol.AnswerInvalid, protocol.NotAmongChoices} {
		n += r.res.Counts["judge-"+string(c)]
	}
	return n
}
