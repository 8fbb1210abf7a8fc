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

// modelKeyVariable is the environment variable that may hold the key of a model. A flag
// would show it to everybody on the machine.
const modelKeyVariable = "GRIDBID_MODEL_KEY"

// modelFlags name a model.
type modelFlags struct {
	url, name, api, keyFile string
	calls, tokens           int
}

func (f *modelFlags) registerFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.url, "model", "", "ask a language model at this `URL`, such as http://127.0.0.1:11434/v1")
	fl.StringVar(&f.name, "model-name", "", "which model the server shall run")
	fl.StringVar(&f.api, "model-api", string(llm.OpenAI), "format of the server: openai (Ollama, vLLM and most others too) or anthropic")
	fl.StringVar(&f.keyFile, "model-key-file", "", "`FILE` with the key; without it, "+modelKeyVariable+" of the environment, if set")
	fl.IntVar(&f.calls, "model-calls", 600, "most calls in an hour of the clock")
	fl.IntVar(&f.tokens, "model-tokens", 1_000_000, "most tokens in an hour of the clock")
}

// openModel returns the model that the flags name, or nil if they name none.
func (f *modelFlags) openModel() (*llm.Model, error) {
	if f.url == "" {
		if f.name != "" || f.keyFile != "" {
			return nil, usageError{errors.New("--model-name and --model-key-file need --model URL")}
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
	m, err := llm.OpenModel(llm.Config{API: llm.API(f.api), URL: f.url, Model: f.name, Key: key, Hourly: llm.HourlyLimit{Calls: f.calls, Tokens: f.tokens}})
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// readsHelp says what a model is for where questions are asked.
const readsHelp = `
With --model a language model turns a question that the grammar does not read into
the typed query; the answer says first what was understood ("I understood: ..."), and
code computes it from the ledger as always: docs/models.md.`

// openTranslator returns what has the model of the flags read questions, or nil.
func (f *modelFlags) openTranslator() (*translate.Translator, error) {
	m, err := f.openModel()
	if m == nil || err != nil {
		return nil, err
	}
	return translate.New(m, 0), nil
}

// adviceFlags say who may choose among offers that cost nearly the same.
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

// registerFlags adds the flags, but for those that make no sense for a command.
func (f *adviceFlags) registerFlags(cmd *cobra.Command, but string) {
	f.modelFlags.registerFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.notes, "notes", "", "`FILE` with operators' notes on sites, for the model: JSON, see docs/models.md")
	if but != "verdicts" {
		fl.StringVar(&f.verdicts, "verdicts", "", "`LEDGER` of an earlier run, whose verdicts are given again; no model is asked")
	}
	fl.Float64Var(&f.leeway, "leeway", 1, "how much more than the best, in per cent, an offer may cost that a model chooses")
	fl.DurationVar(&f.wait, "model-wait", 600*time.Millisecond, "how long a decision waits for the model")
}

// openAdvisor opens what the flags name, for a scenario.
func (f *adviceFlags) openAdvisor(s spec.Scenario, talk io.Writer) (err error) {
	if f.model, err = f.openModel(); err != nil {
		return err
	}
	switch {
	case f.verdicts != "" && f.model != nil:
		return usageError{errors.New("--verdicts and --model: give one of them; verdicts are given again without a model")}
	case f.verdicts != "" && f.notes != "":
		return usageError{errors.New("--verdicts and --notes: the ledger holds the notes of its run")}
	case f.verdicts != "":
		if f.advice, f.recordedAnswers, err = adviceOfLedger(f.verdicts, talk); err != nil {
			return usageError{fmt.Errorf("--verdicts: %w", err)}
		}
		if f.recordedAnswers == nil {
			return usageError{fmt.Errorf("--verdicts: %s: nobody was asked in that run", f.verdicts)}
		}
		return nil
	case f.model == nil && f.notes != "":
		return usageError{errors.New("--notes: nobody would read them; add --model URL")}
	case f.model == nil:
		return nil
	case !(f.leeway > 0 && f.leeway <= 10):
		return usageError{fmt.Errorf("--leeway %g: want above 0 and at most 10 (per cent)", f.leeway)}
	case f.wait < time.Millisecond || f.wait > 10*time.Minute:
		return usageError{fmt.Errorf("--model-wait %v: want 1ms to 10m", f.wait)}
	}
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

// addAdviceToHeader adds the advice to the header of a ledger, so that who plays the run
// again asks the same.
func addAdviceToHeader(head map[string]string, a market.Advice) map[string]string {
	if a.Ease > 0 {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err) // numbers and texts always marshal
		}
		head["advice"] = string(text)
	}
	return head
}

// adviceOfLedger returns the advice of a ledger's run and the verdicts on it; none of
// either if nobody was asked.
func adviceOfLedger(path string, talk io.Writer) (a market.Advice, minutes *advisor.RecordedAnswers, err error) {
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
	minutes = advisor.NewRecordedAnswers()
	return a, minutes, readLedger(path, nil, talk, func(m protocol.Message) error { minutes.AddMessage(m); return nil })
}

// replayJudge returns who answers in one run, or nil.
func (f *adviceFlags) replayJudge(ctx context.Context) bus.Machine {
	switch {
	case f.model != nil:
		return advisor.NewJudge(f.model, time.Now).ForReplay(ctx)
	case f.recordedAnswers != nil:
		return f.recordedAnswers.ForNewRun()
	}
	return nil
}

// liveJudge returns the judge of a live federation, or nil. He tells log why he gives no
// verdict.
func (f *adviceFlags) liveJudge(clock bus.Clock, log *slog.Logger) func(context.Context, bus.Conn, uint32) error {
	if f.model == nil {
		return nil
	}
	judge := advisor.NewJudge(f.model, time.Now).LogTo(log)
	return func(ctx context.Context, port bus.Conn, life uint32) error {
		return judge.ServeRequests(ctx, port, clock, life)
	}
}

// scaledAdvice returns the advice of a market whose clock runs so many times as fast as
// the model's.
func (f *adviceFlags) scaledAdvice(speed float64) market.Advice {
	a := f.advice
	a.Budget = time.Duration(float64(a.Budget) * speed)
	return a
}

// printJudgeSummary says on the way out what the judge did.
func (f *adviceFlags) printJudgeSummary(talk io.Writer, res scenarios.ReplayResult) {
	if f.advice.Ease == 0 {
		return
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(res.Counts)) {
		if kind, ok := strings.CutPrefix(name, "judge-"); ok {
			faults = append(faults, fmt.Sprintf("%s %d", kind, res.Counts[name]))
		}
	}
	if len(faults) > 0 {
		fmt.Fprintf(talk, "the model was not followed: %s\n", strings.Join(faults, ", "))
	}
	if f.model != nil {
		spent := f.model.TotalSpending()
		fmt.Fprintf(talk, "model %s: %d calls, %d failed, %d tokens in and %d out\n", f.model.Name(), spent.Calls, spent.Failed, spent.In, spent.Out)
	}
}
