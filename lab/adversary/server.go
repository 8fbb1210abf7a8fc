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

// secret is the key of every model here; no surface may show it.
const secret = llm.Key("sk-attacked-0123456789abcdef")

// manners returns what a server does that behaves as described. What is not
// recognized is tried in every way there is.
func manners(what string) (ways []faultyserver.Bad, known bool) {
	what = strings.ToLower(what)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(what, w) })
	}
	named := func(words ...string) {
		for _, b := range append(faultyserver.Faults(), faultyserver.OfOpenAI()...) {
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(b.Name, w) }) {
				ways = append(ways, b)
			}
		}
	}
	says := func(name, text string) { ways = append(ways, faultyserver.Bad{Name: name, Do: faultyserver.Say(text)}) }
	switch {
	case has("verdict", "bid") && has("infeasible", "outside", "not offered", "unknown", "another", "names"):
		says("a handle that was not offered", pick("k99"))
		says("a site's name", pick("coal"))
		says("a bid's number", pick("B-14-1"))
	case has("after the budget", "too late", "late verdict"):
		ways = append(ways, faultyserver.Bad{Name: "a verdict after the budget", Do: func(w http.ResponseWriter, r *http.Request, body []byte) {
			time.Sleep(3 * patience)
			faultyserver.Say(pick("k1"))(w, r, body)
		}})
	case has("order", "first shown", "position"):
		ways = append(ways, faultyserver.Bad{Name: "the first shown", Do: faultyserver.Answer(firstShown)})
	case has("429", "500", "retry"):
		named("429", "500")
	case has("tool"):
		named("tool", "arguments")
	case has("echo", "api key", "prompt"):
		ways = append(ways, faultyserver.Bad{Name: "echoes all it knows", Do: echo}, faultyserver.Bad{Name: "echoes in a verdict", Do: func(w http.ResponseWriter, r *http.Request, body []byte) {
			faultyserver.Say(fmt.Sprintf(`{"choice":%q,"reason":%q}`, r.Header.Get("Authorization"), body))(w, r, body)
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
		says("prose round the object", "Sure: "+pick("k1"))
		says("another field", `{"choice":"k1","reason":"operator_note","cost":0}`)
		named("JSON")
	default:
		return append(faultyserver.Faults(), faultyserver.OfOpenAI()...), false
	}
	return ways, true
}

// patience is the budget of days in which a server may hang.
const patience = 30 * time.Millisecond

func firstShown(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte("- k"))
	return pick("k" + string(after[:1]))
}

// echo answers with the headers and the body of the request, as an error.
func echo(w http.ResponseWriter, r *http.Request, body []byte) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, "%v %s", r.Header, body)
}

// server plays a day beside a server that misbehaves, in each way that what
// describes, and holds its figures to those of a day without a model.
func server(ctx context.Context, what string) (*sights, error) {
	if strings.Contains(strings.ToLower(what), "narration") {
		return narration(ctx, what)
	}
	ways, _ := manners(what)
	return beside(ctx, ways)
}

// Day plays a day with the port of the model closed, one in which its server
// fails in every way, and one whose verdicts are played again without it.
func Day(ctx context.Context) ([]Row, error) {
	gone, err := faultyserver.Start(faultyserver.Say("{}"))
	if err != nil {
		return nil, err
	}
	closed := gone.URL()
	gone.Close()
	s, advice := stage(60)
	plain, err := rules(ctx)
	if err != nil {
		return nil, err
	}
	model, err := llm.Open(llm.Config{URL: closed, Model: "m", Key: secret})
	if err != nil {
		return nil, err
	}
	r, err := play(ctx, s, advice, advisor.NewJudge(model, time.Now).Sit(ctx))
	if err != nil {
		return nil, err
	}
	rows := []Row{{ID: "closed", What: "a day with the model's port closed", Held: r.asked() > 0 && reflect.DeepEqual(r.res.Totals, plain.res.Totals),
		Detail: fmt.Sprintf("%d questions; every figure of the day compared with the rule's", r.asked())}}
	all, err := beside(ctx, append(faultyserver.Faults(), faultyserver.OfOpenAI()...))
	if err != nil {
		return nil, err
	}
	again, err := replayed(ctx)
	return append(append(rows, all.rows("faults", "a day beside each fault of a server")...), again), err
}

// replayed plays a day with a judge that moves awards, and again from its
// verdicts.
func replayed(ctx context.Context) (Row, error) {
	row := Row{ID: "replay", What: "a day from its verdicts, without the model"}
	s, advice := stage(60)
	first, err := play(ctx, s, advice, advisor.NewJudge(say(pick("k1")), never).Sit(ctx))
	if err != nil {
		return row, err
	}
	minutes, moved := advisor.NewMinutes(), 0
	for _, m := range first.said {
		minutes.Add(m)
		if a, ok := m.Body.(protocol.Award); ok && a.Why.Code == protocol.Judged {
			moved++
		}
	}
	again, err := play(ctx, s, advice, minutes)
	if err != nil {
		return row, err
	}
	row.Held = moved > 0 && reflect.DeepEqual(first.said, again.said)
	row.Detail = fmt.Sprintf("%d messages the same, %d awards moved by verdicts", len(again.said), moved)
	return row, nil
}

// rules plays the day that the rule makes.
func rules(ctx context.Context) (run, error) {
	s, advice := stage(60)
	advice.Ease = 0
	return play(ctx, s, advice, nil)
}

// beside plays a day beside a server for each way in which it misbehaves, and
// looks at all that is told of it.
func beside(ctx context.Context, ways []faultyserver.Bad) (*sights, error) {
	seen := newSights("")
	plain, err := rules(ctx)
	if err != nil {
		return nil, err
	}
	for _, way := range ways {
		r, calls, err := besideOne(ctx, way)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		complain := func(format string, args ...any) {
			seen.complain(onOutcome, "%s: %s", way.Name, fmt.Sprintf(format, args...))
		}
		switch {
		case err != nil:
			complain("the day does not add up: %v", err)
		case !reflect.DeepEqual(r.res.Totals, plain.res.Totals):
			complain("the day is another")
		case r.asked() == 0 || calls > 2*r.asked():
			complain("%d questions, %d calls", r.asked(), calls)
		case faults(r) >= 3 && r.res.Counts["judge-paused"] == 0:
			complain("%d faults, and the breaker never opened", faults(r))
		}
		seen.at(onOutcome).texts += r.asked()
		r.everywhere(ctx, seen, 3)
	}
	return seen, seen.logs(ctx, "")
}

// besideOne plays the day beside one server, and returns how often that was
// called.
func besideOne(ctx context.Context, way faultyserver.Bad) (r run, calls int, err error) {
	server, err := faultyserver.Start(way.Do)
	if err != nil {
		return r, 0, err
	}
	defer server.Close()
	model, err := llm.Open(llm.Config{URL: server.URL(), Model: "m", Key: secret})
	if err != nil {
		return r, 0, err
	}
	s, advice := stage(60)
	advice.Budget = 5 * time.Second
	if way.Fault == "" || way.Fault == string(llm.Late) {
		advice.Budget = patience
	}
	r, err = play(ctx, s, advice, advisor.NewJudge(model, time.Now).Sit(ctx))
	return r, len(server.Requests()), err
}

// faults returns how many answers of a run were faults that count.
func faults(r run) (n int) {
	for _, c := range []protocol.Code{protocol.Late, protocol.Failed, protocol.Invalid, protocol.NotOffered} {
		n += r.res.Counts["judge-"+string(c)]
	}
	return n
}
