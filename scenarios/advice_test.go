package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// even is a small day at sites that are nearly the same, so that much is nearly
// equal.
func even(n int) spec.Scenario {
	s := small(n)
	for i := range s.Sites {
		s.Sites[i].Signals, s.Sites[i].DayAhead = maps.Clone(s.Sites[1].Signals), true
		s.Sites[i].Signals[protocol.GridPrice] = slices.Clone(s.Sites[1].Signals[protocol.GridPrice])
		for h := range s.Sites[i].Signals[protocol.GridPrice] {
			s.Sites[i].Signals[protocol.GridPrice][h].Value += int64(i * 100)
		}
	}
	return s
}

// advised is a busy day with an operator's note on every site, so that the judge
// is asked often, and a leeway that gives it much to do.
func advised(s spec.Scenario) market.Advice {
	a := market.Advice{Ease: 100, MaxTotalExtra: 100, Most: 4, Calls: 100_000}
	for i, site := range s.Sites {
		a.Notes = append(a.Notes, market.TimedNote{OperatorNotice: protocol.OperatorNotice{ID: fmt.Sprint("N", i+1), Site: site.Name, Text: "prefer it"}})
	}
	return a
}

// hear plays a scenario with advice and returns its messages and totals.
func hear(t *testing.T, s spec.Scenario, judge bus.Machine) ([]protocol.Message, history.Totals, map[string]int) {
	t.Helper()
	var said []protocol.Message
	res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{Advice: advised(s), Judge: judge, Record: func(m protocol.Message) error {
		said = append(said, m)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	res.Totals.Messages = 0 // questions are messages
	return said, res.Totals, res.Counts
}

func awards(said []protocol.Message) (out []protocol.Award) {
	for _, m := range said {
		if a, ok := m.Body.(protocol.Award); ok {
			out = append(out, a)
		}
	}
	return out
}

func saidOf[B protocol.Body](said []protocol.Message) (n int) {
	for _, m := range said {
		if _, ok := m.Body.(B); ok {
			n++
		}
	}
	return n
}

type scripted func(context.Context, llm.Prompt) (string, error)

func (scripted) Name() string { return "scripted" }
func (f scripted) Ask(ctx context.Context, p llm.Prompt) (llm.Reply, error) {
	text, err := f(ctx, p)
	return llm.Reply{Text: text}, err
}

// shown returns the handles of a prompt, in its order.
func shown(p llm.Prompt) []string {
	var s struct {
		Properties struct {
			Choice struct{ Enum []string }
		}
	}
	_ = json.Unmarshal(p.Schema, &s)
	return s.Properties.Choice.Enum
}

func picks(handle string) (string, error) {
	return fmt.Sprintf(`{"choice":%q,"reason":"operator_note"}`, handle), nil
}

// A day with the model's port closed, with one that lies, and with none is the
// same day.
func TestADayWithoutAModelOrWithAHostileOneIsTheRulesDay(t *testing.T) {
	s := even(60)
	plain, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain.Totals.Messages = 0
	closed, err := llm.OpenModel(llm.Config{URL: "http://127.0.0.1:1/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string]advisor.Model{
		"port closed":        closed,
		"not offered":        scripted(func(context.Context, llm.Prompt) (string, error) { return picks("k99") }),
		"always first shown": scripted(func(_ context.Context, p llm.Prompt) (string, error) { return picks(shown(p)[0]) }),
		"prose":              scripted(func(context.Context, llm.Prompt) (string, error) { return "I choose k1.", nil }),
		"panics":             scripted(func(context.Context, llm.Prompt) (string, error) { panic("no") }),
	} {
		said, totals, counts := hear(t, s, advisor.NewJudge(model, time.Now).ForReplay(t.Context()))
		if !reflect.DeepEqual(totals, plain.Totals) {
			t.Errorf("%s: totals\n%+v; want the rule's\n%+v", name, totals, plain.Totals)
		}
		if n := saidOf[protocol.JudgeRequest](said); n < 3 || n != saidOf[protocol.JudgeAnswer](said) {
			t.Errorf("%s: asked %d times, answered %d: %v", name, n, saidOf[protocol.JudgeAnswer](said), counts)
		}
	}
}

// The market waits for a judge that never answers; the day still ends.
func TestADayWithASilentJudgeEnds(t *testing.T) {
	s := even(20)
	said, totals, counts := hear(t, s, nil)
	if totals.Placed != 20 || saidOf[protocol.JudgeRequest](said) == 0 || counts["judge-late"] == 0 {
		t.Errorf("%d done, %d asked: %v", totals.Placed, saidOf[protocol.JudgeRequest](said), counts)
	}
}

// Verdicts are inputs of a run: replaying them without a model gives the same bytes.
func TestVerdictsOnTheLedgerReplayWithoutTheModel(t *testing.T) {
	s := even(60)
	last := scripted(func(_ context.Context, p llm.Prompt) (string, error) { return picks(slices.Max(shown(p))) })
	first, totals, _ := hear(t, s, advisor.NewJudge(last, func() time.Time { return time.Time{} }).ForReplay(t.Context()))
	minutes, moved := advisor.NewRecordedAnswers(), 0
	for _, m := range first {
		minutes.AddMessage(m)
	}
	for _, a := range awards(first) {
		if a.Why.Code == protocol.ChosenByJudge {
			moved++
		}
	}
	if moved == 0 {
		t.Fatal("the judge moved no award: nothing is tested")
	}
	t.Logf("%d awards moved of %d", moved, len(awards(first)))
	again, same, _ := hear(t, s, minutes)
	if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(totals, same) {
		t.Errorf("the replay says %d messages, the run said %d; totals\n%+v\n%+v", len(again), len(first), same, totals)
	}
}
