package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// modelKeyVariable is the environment variable that may hold the API key of a model. There is
// no flag for the key: all users of the machine can read the flags of a process.
const modelKeyVariable = "GRIDBID_MODEL_KEY"

// modelFlags select a language model and bound what it may spend.
type modelFlags struct {
	url, name, api, keyFile string
	calls, tokens           int
	tariff                  []float64 // dollars per million tokens in and out
}

// registerFlags adds the flags. The limits per hour bound what the model may cost.
func (f *modelFlags) registerFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.url, "model", "", "use the language model server at this `URL`, such as http://127.0.0.1:11434/v1")
	fl.StringVar(&f.name, "model-name", "", "`NAME` of the model on that server")
	fl.StringVar(&f.api, "model-api", string(llm.OpenAI), "API of the server: openai (also Ollama, vLLM and most others) or anthropic")
	fl.StringVar(&f.keyFile, "model-key-file", "", "`FILE` with the API key; default: $"+modelKeyVariable)
	fl.IntVar(&f.calls, "model-calls", 600, "limit on calls per hour")
	fl.IntVar(&f.tokens, "model-tokens", 1_000_000, "limit on tokens per hour")
	fl.Float64SliceVar(&f.tariff, "model-tariff", nil, "price of a million tokens `IN,OUT` in dollars, such as 0.4,1.6: what the model cost is printed")
}

// openModel returns the model that the flags name, or nil if they name none.
func (f *modelFlags) openModel() (*llm.Model, error) {
	if f.url == "" {
		if f.name != "" || f.keyFile != "" {
			return nil, usageError{errors.New("--model-name and --model-key-file need --model URL: add it")}
		}
		return nil, nil
	}
	if f.calls < 1 || f.tokens < 1 {
		return nil, usageError{fmt.Errorf("--model-calls %d, --model-tokens %d: want at least 1 of each", f.calls, f.tokens)}
	}
	key, err := llm.ReadKey(f.keyFile, os.Getenv(modelKeyVariable))
	if err != nil {
		return nil, usageError{fmt.Errorf("--model-key-file: %w", err)}
	}
	tariff, err := llm.TariffOf(f.tariff)
	if err != nil {
		return nil, usageError{fmt.Errorf("--model-tariff: %w", err)}
	}
	m, err := llm.OpenModel(llm.Config{API: llm.API(f.api), URL: f.url, Model: f.name, Key: key, Hourly: llm.HourlyLimit{Calls: f.calls, Tokens: f.tokens}, Tariff: tariff})
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// readsHelp is the paragraph on --model in the help of commands that answer questions.
const readsHelp = `
With --model a language model turns a question that the grammar does not read into a
typed query. The answer begins with that query in words ("I understood: ..."), and
code computes the answer from the ledger as always: docs/models.md.`

// openTranslator returns a translator of questions into typed queries by the model of the flags;
// nil if they name none.
func (f *modelFlags) openTranslator() (*translate.Translator, error) {
	m, err := f.openModel()
	if m == nil || err != nil {
		return nil, err
	}
	return translate.New(m, 0), nil
}

// adviceFlags select the judge that may choose among offers that cost nearly the same: a
// model, or the verdicts of an earlier run.
type adviceFlags struct {
	modelFlags
	notes    string
	verdicts string
	leeway   float64
	wait     time.Duration

	model           *llm.Model
	recordedAnswers *advisor.RecordedAnswers
	advice          market.Advice
}

// registerFlags adds the flags. With but "verdicts" it leaves out --verdicts, which needs a
// replay.
func (f *adviceFlags) registerFlags(cmd *cobra.Command, but string) {
	f.modelFlags.registerFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.notes, "notes", "", "JSON `FILE` with notes of operators on sites, for the model: docs/models.md")
	if but != "verdicts" {
		fl.StringVar(&f.verdicts, "verdicts", "", "`LEDGER` of an earlier run whose verdicts are repeated, without a model")
	}
	fl.Float64Var(&f.leeway, "leeway", 1, "how much more than the best offer, in per cent, the offer that a model chooses may cost")
	fl.DurationVar(&f.wait, "model-wait", 600*time.Millisecond, "longest wait of a decision for the model")
}

// openAdvisor opens the model, notes or verdicts that the flags name. Notes may name sites
// of the scenario only.
func (f *adviceFlags) openAdvisor(s spec.Scenario, stderr io.Writer) (err error) {
	if f.model, err = f.openModel(); err != nil {
		return err
	}
	switch {
	case f.verdicts != "" && f.model != nil:
		return usageError{errors.New("--verdicts and --model exclude each other, as verdicts are repeated without a model: drop one of them")}
	case f.verdicts != "" && f.notes != "":
		return usageError{errors.New("--verdicts and --notes exclude each other, as the ledger holds the notes of its run: drop --notes")}
	case f.verdicts != "":
		if f.advice, f.recordedAnswers, err = adviceOfLedger(f.verdicts, stderr); err != nil {
			return usageError{fmt.Errorf("--verdicts: %w", err)}
		}
		if f.recordedAnswers == nil {
			return usageError{fmt.Errorf("--verdicts: %s holds no verdicts: name the ledger of a run with --model", f.verdicts)}
		}
		return nil
	case f.model == nil && f.notes != "":
		return usageError{errors.New("--notes needs a model to read them: add --model URL")}
	case f.model == nil:
		return nil
	case !(f.leeway > 0 && f.leeway <= 10):
		return usageError{fmt.Errorf("--leeway %g: want above 0 and at most 10 (per cent)", f.leeway)}
	case f.wait < time.Millisecond || f.wait > 10*time.Minute:
		return usageError{fmt.Errorf("--model-wait %v: want 1ms to 10m", f.wait)}
	}
	// Ease is in thousandths of the best cost: one per cent is 10.
	f.advice = market.Advice{Ease: protocol.Milli(f.leeway*10 + 0.5), Budget: f.wait}
	if f.notes != "" {
		file, err := os.Open(f.notes)
		if err != nil {
			return usageError{fmt.Errorf("--notes: %w", err)}
		}
		defer file.Close()
		var sites []string
		for _, site := range s.Sites {
			sites = append(sites, site.Name)
		}
		if f.advice.Notes, err = advisor.ReadNotes(file, sites); err != nil {
			return usageError{fmt.Errorf("%s: %w", f.notes, err)}
		}
	}
	return nil
}

// addAdviceToHeader adds the advice to the header of a ledger, so that a repeat of the run
// uses the same leeway, budget and notes.
func addAdviceToHeader(head map[string]string, a market.Advice) map[string]string {
	if a.Ease > 0 {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err) // Invariant: numbers and texts always marshal.
		}
		head["advice"] = string(text)
	}
	return head
}

// adviceOfLedger returns the advice of a ledger's run and the verdicts that it got; zero and
// nil if the run had no judge.
func adviceOfLedger(path string, stderr io.Writer) (a market.Advice, answers *advisor.RecordedAnswers, err error) {
	r, err := wal.OpenReader(path)
	if err != nil {
		return a, nil, err
	}
	text := r.Header()["advice"]
	if err := r.Close(); err != nil || text == "" {
		return a, nil, err
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, nil, fmt.Errorf("%s: the advice in its header: %w", path, err)
	}
	answers = advisor.NewRecordedAnswers()
	return a, answers, recordSource{path: path}.readMessages(nil, stderr, func(m protocol.Message) error { answers.AddMessage(m); return nil })
}

// replayJudge returns a fresh judge for one replay, or nil.
func (f *adviceFlags) replayJudge(ctx context.Context) bus.Machine {
	switch {
	case f.model != nil:
		return advisor.NewJudge(f.model, time.Now).ForReplay(ctx)
	case f.recordedAnswers != nil:
		return f.recordedAnswers.ForNewRun()
	}
	return nil
}

// liveJudge returns a function that runs the judge of a live federation, or nil. The judge
// logs why it gives no verdict.
func (f *adviceFlags) liveJudge(clock bus.Clock, log *slog.Logger) func(context.Context, bus.Conn, uint32) error {
	if f.model == nil {
		return nil
	}
	judge := advisor.NewJudge(f.model, time.Now).LogTo(log)
	return func(ctx context.Context, conn bus.Conn, incarnation uint32) error {
		return judge.ServeRequests(ctx, conn, clock, incarnation)
	}
}

// scaledAdvice returns the advice of a market whose clock runs speed times as fast as the
// model's: its budget is simulated time.
func (f *adviceFlags) scaledAdvice(speed float64) market.Advice {
	a := f.advice
	a.Budget = time.Duration(float64(a.Budget) * speed)
	return a
}

// printJudgeSummary prints how often the market could not follow the judge, and what the
// model spent.
func (f *adviceFlags) printJudgeSummary(stderr io.Writer, res scenarios.ReplayResult) {
	if f.advice.Ease == 0 {
		return
	}
	// Counters of the market that begin with "judge-" are its reasons for deciding by itself.
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(res.Counts)) {
		if kind, ok := strings.CutPrefix(name, "judge-"); ok {
			faults = append(faults, fmt.Sprintf("%s %d", kind, res.Counts[name]))
		}
	}
	if len(faults) > 0 {
		fmt.Fprintf(stderr, "the market decided without the model: %s\n", strings.Join(faults, ", "))
	}
	if f.model != nil {
		spent := f.model.TotalSpending()
		fmt.Fprintf(stderr, "model %s: %d calls, %d failed, %d tokens in and %d out", f.model.Name(), spent.Calls, spent.Failed, spent.In, spent.Out)
		if len(f.tariff) > 0 {
			fmt.Fprintf(stderr, ", $%.4f", float64(spent.Microdollars)/1e6)
		}
		fmt.Fprintln(stderr)
	}
}
