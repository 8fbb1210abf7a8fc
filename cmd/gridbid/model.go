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
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// modelKey is the environment variable that may hold the key of a model. A flag
// would show it to everybody on the machine.
const modelKey = "GRIDBID_MODEL_KEY"

// modelFlags name a model.
type modelFlags struct {
	url, name, api, keyFile string
	calls, tokens           int
}

func (f *modelFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.url, "model", "", "ask a language model at this `URL`, such as http://127.0.0.1:11434/v1")
	fl.StringVar(&f.name, "model-name", "", "which model the server shall run")
	fl.StringVar(&f.api, "model-api", string(llm.OpenAI), "format of the server: openai (Ollama, vLLM and most others too) or anthropic")
	fl.StringVar(&f.keyFile, "model-key-file", "", "`FILE` with the key; without it, "+modelKey+" of the environment, if set")
	fl.IntVar(&f.calls, "model-calls", 600, "most calls in an hour of the clock")
	fl.IntVar(&f.tokens, "model-tokens", 1_000_000, "most tokens in an hour of the clock")
}

// open returns the model that the flags name, or nil if they name none.
func (f *modelFlags) open() (*llm.Model, error) {
	if f.url == "" {
		if f.name != "" || f.keyFile != "" {
			return nil, badInput{errors.New("--model-name and --model-key-file need --model URL")}
		}
		return nil, nil
	}
	if f.calls < 1 || f.tokens < 1 {
		return nil, badInput{fmt.Errorf("--model-calls %d, --model-tokens %d: want at least 1 of each", f.calls, f.tokens)}
	}
	key, err := llm.ReadKey(f.keyFile, os.Getenv(modelKey))
	if err != nil {
		return nil, badInput{fmt.Errorf("--model-key-file: %w", err)}
	}
	m, err := llm.Open(llm.Config{API: llm.API(f.api), URL: f.url, Model: f.name, Key: key, Hourly: llm.Limit{Calls: f.calls, Tokens: f.tokens}})
	if err != nil {
		return nil, badInput{err}
	}
	return m, nil
}

// adviceFlags say who may choose among offers that cost nearly the same.
type adviceFlags struct {
	modelFlags
	notes    string
	verdicts string
	leeway   float64
	wait     time.Duration

	model   *llm.Model
	minutes *advisor.Minutes
	advice  market.Advice
}

// flags adds the flags, but for those that make no sense for a command.
func (f *adviceFlags) flags(cmd *cobra.Command, but string) {
	f.modelFlags.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.notes, "notes", "", "`FILE` with operators' notes on sites, for the model: JSON, see docs/models.md")
	if but != "verdicts" {
		fl.StringVar(&f.verdicts, "verdicts", "", "`LEDGER` of an earlier run, whose verdicts are given again; no model is asked")
	}
	fl.Float64Var(&f.leeway, "leeway", 1, "how much more than the best, in per cent, an offer may cost that a model chooses")
	fl.DurationVar(&f.wait, "model-wait", 600*time.Millisecond, "how long a decision waits for the model")
}

// ready opens what the flags name, for a scenario.
func (f *adviceFlags) ready(s spec.Scenario, talk io.Writer) (err error) {
	if f.model, err = f.open(); err != nil {
		return err
	}
	switch {
	case f.verdicts != "" && f.model != nil:
		return badInput{errors.New("--verdicts and --model: give one of them; verdicts are given again without a model")}
	case f.verdicts != "" && f.notes != "":
		return badInput{errors.New("--verdicts and --notes: the ledger holds the notes of its run")}
	case f.verdicts != "":
		if f.advice, f.minutes, err = advised(f.verdicts, talk); err != nil {
			return badInput{fmt.Errorf("--verdicts: %w", err)}
		}
		if f.minutes == nil {
			return badInput{fmt.Errorf("--verdicts: %s: nobody was asked in that run", f.verdicts)}
		}
		return nil
	case f.model == nil && f.notes != "":
		return badInput{errors.New("--notes: nobody would read them; add --model URL")}
	case f.model == nil:
		return nil
	case !(f.leeway > 0 && f.leeway <= 10):
		return badInput{fmt.Errorf("--leeway %g: want above 0 and at most 10 (per cent)", f.leeway)}
	case f.wait < time.Millisecond || f.wait > 10*time.Minute:
		return badInput{fmt.Errorf("--model-wait %v: want 1ms to 10m", f.wait)}
	}
	f.advice = market.Advice{Ease: protocol.Milli(f.leeway*10 + 0.5), Budget: f.wait}
	if f.notes != "" {
		file, err := os.Open(f.notes)
		if err != nil {
			return badInput{fmt.Errorf("--notes: %w", err)}
		}
		defer file.Close()
		var sites []string
		for _, site := range s.Sites {
			sites = append(sites, site.Name)
		}
		if f.advice.Notes, err = advisor.ReadNotes(file, sites); err != nil {
			return badInput{fmt.Errorf("%s: %w", f.notes, err)}
		}
	}
	return nil
}

// headed adds the advice to the header of a ledger, so that who plays the run
// again asks the same.
func headed(head map[string]string, a market.Advice) map[string]string {
	if a.Ease > 0 {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err) // numbers and texts always marshal
		}
		head["advice"] = string(text)
	}
	return head
}

// advised returns the advice of a ledger's run and the verdicts on it; none of
// either if nobody was asked.
func advised(path string, talk io.Writer) (a market.Advice, minutes *advisor.Minutes, err error) {
	r, err := wal.Open(path)
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
	minutes = advisor.NewMinutes()
	return a, minutes, readLedger(path, nil, talk, func(m protocol.Message) error { minutes.Add(m); return nil })
}

// judge returns who answers in one run, or nil.
func (f *adviceFlags) judge(ctx context.Context) bus.Machine {
	switch {
	case f.model != nil:
		return advisor.NewJudge(f.model, time.Now).Sit(ctx)
	case f.minutes != nil:
		return f.minutes.Again()
	}
	return nil
}

// serve returns the judge of a live federation, or nil. He tells log why he gives no
// verdict.
func (f *adviceFlags) serve(clock bus.Clock, log *slog.Logger) func(context.Context, bus.Port, uint32) error {
	if f.model == nil {
		return nil
	}
	judge := advisor.NewJudge(f.model, time.Now).Log(log)
	return func(ctx context.Context, port bus.Port, life uint32) error {
		return judge.Serve(ctx, port, clock, life)
	}
}

// live returns the advice of a market whose clock runs so many times as fast as
// the model's.
func (f *adviceFlags) live(speed float64) market.Advice {
	a := f.advice
	a.Budget = time.Duration(float64(a.Budget) * speed)
	return a
}

// tell says on the way out what the judge did.
func (f *adviceFlags) tell(talk io.Writer, res scenarios.Result) {
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
		spent := f.model.Spent()
		fmt.Fprintf(talk, "model %s: %d calls, %d failed, %d tokens in and %d out\n", f.model.Name(), spent.Calls, spent.Failed, spent.In, spent.Out)
	}
}
