package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/learn"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// newLearnCommand is `gridbid learn`: it trains weights of greensched and of forecasts, and checks them.
func newLearnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "train the policy greensched and corrections of forecasts, and check their weights",
		Long: `Train the policy greensched, which learned by reinforcement to choose among the options
that sites bid, or what sites correct their forecasts of price and carbon by, and check
the weights. docs/learned.md says what each sees and how it does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLearnRuleCommand(), newLearnGridCommand(), newLearnCheckCommand())
	return cmd
}

// newLearnRuleCommand is `gridbid learn rule`.
func newLearnRuleCommand() *cobra.Command {
	cfg := learn.Config{Version: buildVersion()}
	var out string
	cmd := &cobra.Command{
		Use:   "rule --out FOLDER",
		Short: "train weights of greensched by PPO on invented days",
		Long: `Train weights of greensched by proximal policy optimization (PPO) on invented days of
six-regions. FOLDER gets greensched.json, the weights that did best on validation days,
and curve.svg and curve.png, how they did meanwhile. One seed gives the same weights,
byte for byte, on one kind of processor. It uses all cores: the default takes a minute
of two.`,
		Example: `  gridbid learn rule --seed 1 --out w
  gridbid replay --policy auction,greensched --weights w/greensched.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usageError{fmt.Errorf("learn: name the folder of the weights with --out FOLDER")}
			}
			if cfg.Reward != learn.RewardPlain && cfg.Reward != learn.RewardRegret {
				return usageError{fmt.Errorf("learn: --reward %s: want %s or %s", cfg.Reward, learn.RewardPlain, learn.RewardRegret)}
			}
			if cfg.Decisions < learn.FewestDecisions || cfg.Decisions > learn.MostDecisions {
				return usageError{fmt.Errorf("learn: --decisions %d: want %d to %d", cfg.Decisions, learn.FewestDecisions, learn.MostDecisions)}
			}
			if err := ensureWritableFolder(out); err != nil {
				return usageError{fmt.Errorf("learn: --out: %w", err)}
			}
			defer debug.SetGCPercent(debug.SetGCPercent(learn.CollectAt))
			return trainRule(cmd, cfg, out)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the training")
	f.IntVar(&cfg.Decisions, "decisions", learn.DefaultDecisions, "learn from about `N` decisions")
	f.StringVar(&cfg.Reward, "reward", learn.RewardRegret, "what a job's decisions are rewarded by, `REWARD`: regret, what it paid beyond its best choice at the bound's prices of capacity, or plain, where capacity has no price")
	f.StringVar(&out, "out", "", "`FOLDER` of weights and learning curve")
	return cmd
}

// trainRule trains weights and writes them and their learning curve.
func trainRule(cmd *cobra.Command, cfg learn.Config, out string) error {
	notes, began := notesOf(cmd), time.Now()
	cfg.Progress = func(p learn.Progress) {
		if p.Point == nil {
			return
		}
		left := ""
		if p.Part > minShareForTimeLeft && p.Part < 1 {
			left = "  about " + time.Duration(float64(time.Since(began))*(1/p.Part-1)).Round(time.Second).String() + " left"
		}
		fmt.Fprintf(notes, "%s decisions: validation days cost %+.1f %% over the untrained policy%s\n", chart.FormatNumber(float64(p.Decisions), 0), p.Point.Percent, left)
	}
	res, err := learn.Train(cmd.Context(), cfg)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	text, err := res.Weights.Write()
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	file := filepath.Join(out, "greensched.json")
	if err := atomicfile.ReplaceFile(file, text, 0o644); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	for _, name := range []string{"curve.svg", "curve.png"} {
		if err := writeChart(learningCurve(res), filepath.Join(out, name), io.Discard); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", res.Weights.SHA256, file)
	return nil
}

// learningCurve returns the chart of a training.
func learningCurve(r learn.Result) chart.CurveChart {
	curve := chart.Curve{Name: fmt.Sprintf("seed %d", r.Weights.Seed)}
	for _, p := range r.Curve {
		curve.Points = append(curve.Points, chart.NamedPoint{X: float64(p.Decisions), Y: p.Percent})
	}
	return chart.CurveChart{
		Title: "What greensched learns", XUnit: "decisions learned from", YUnit: "% that validation days cost over the untrained policy",
		YDecimals: 1, Curves: []chart.Curve{curve},
	}
}

// newLearnCheckCommand is `gridbid learn check`.
func newLearnCheckCommand() *cobra.Command {
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a file of weights, or those in the program",
		Long: `Check a file of weights of greensched or of forecasts (grid), or both that are in the
program, and print what they are. A file is refused, with exit code 1, if it is of another version, holds what is no finite number,
or if any byte differs from what was written.`,
		Example: `  gridbid learn check
  gridbid learn check w/greensched.json
  gridbid learn check w/grid.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			texts, name := [][]byte{learned.ShippedBytes(), forecast.ShippedBytes()}, shippedWeights
			if len(args) > 0 {
				text, err := readWeights(args[0])
				if err != nil {
					return usageError{fmt.Errorf("learn: %w", err)}
				}
				texts, name = [][]byte{text}, args[0]
			}
			var facts []weightsFact
			for _, text := range texts {
				f, err := parseWeights(text)
				if err != nil {
					return fmt.Errorf("learn: check %s: %w", name, err)
				}
				facts = append(facts, factsOfWeights(f, len(text))...)
			}
			return o.printView(cmd, weightsListing(facts))
		},
	}
	o.registerOutput(cmd)
	return cmd
}

// readWeights reads a file of weights, as far as one may be long.
func readWeights(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, net.MostBytes+1))
}

// parseWeights reads a file of weights of what its name says.
func parseWeights(text []byte) (net.File, error) {
	if weightsAreOf(text) == learned.Name {
		return learned.ParseWeights(text)
	}
	l, err := forecast.ParseLearned(text)
	if err != nil {
		return net.File{}, err
	}
	return l.File(), nil
}

// A weightsFact is a line of what weights are.
type weightsFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// factsOfWeights says what weights are.
func factsOfWeights(f net.File, size int) []weightsFact {
	count := 0
	for _, l := range f.Layers {
		count += len(l.Weights) + len(l.Bias)
	}
	of, from := "policy", "decisions"
	if f.Name == forecast.LearnedName {
		of, from = "forecasts", "lessons"
	}
	return []weightsFact{
		{of, f.Name}, {"sha256", f.SHA256}, {"bytes", fmt.Sprint(size)}, {"weights", fmt.Sprint(count)}, {"inputs", fmt.Sprint(len(f.Features))},
		{"seed", fmt.Sprint(f.Seed)}, {from, fmt.Sprint(f.Decisions)}, {"training days", f.Days}, {"trained by version", f.Version},
	}
}

// weightsListing is a listing of what weights are.
func weightsListing(facts []weightsFact) printer.Listing[weightsFact] {
	return printer.Listing[weightsFact]{
		Rows: facts,
		Columns: []printer.Column[weightsFact]{
			{Head: "WHAT", Value: func(r weightsFact) any { return r.Name }},
			{Head: "VALUE", Value: func(r weightsFact) any { return r.Value }},
		},
	}
}
