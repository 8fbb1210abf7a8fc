package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/serving"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// servingFlags are the flags of `gridbid bench serving`.
type servingFlags struct {
	outputFlags
	trace    string
	columns  map[string]string
	profile  string
	class    serving.Class
	requests int
}

// newBenchServingCommand is `gridbid bench serving`.
func newBenchServingCommand() *cobra.Command {
	var f servingFlags
	cmd := &cobra.Command{
		Use:   "serving",
		Short: "simulate a replica of an inference service, and compare the queueing formula with that",
		Long: `Simulate one replica iteration by iteration at several loads, with the prompts and
answers of a trace of requests and Poisson arrivals, and print what the formula of means
says beside it. Load 1 is what the replica can take at most.

Both share the times of an iteration, so their difference is that of the queueing, not of
the hardware. WITHIN is the part of the requests within --ttft and --tpot. The goodput
below the table is the largest load at which that is --percentile, for requesters so many
milliseconds away: no mean says it.`,
		Example: `  gridbid bench serving
  gridbid bench serving --profile llama-70b/4xh100 --ttft 450 --tpot 40
  gridbid bench serving --trace mine.csv --columns at=ms/1000,prompt=in,output=out`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.trace, "trace", filepath.Join(dataFolder(), "workload", "azure_llm_2023_conv.csv.gz"), "`FILE` of requests: CSV or JSON lines, plain or gzipped")
	fl.StringToStringVar(&f.columns, "columns", nil, "columns of a table of no known format: `OWN=COLUMN,...` for at (seconds), prompt and output (tokens)")
	fl.StringVar(&f.profile, "profile", serving.Profiles()[0].Name, "how the model performs: "+strings.Join(profileNames(), ", "))
	fl.Float64Var(&f.class.TTFT, "ttft", 1000, "bound of the time to the first token, in `MS`, the way there and back included")
	fl.Float64Var(&f.class.TPOT, "tpot", 50, "bound of the mean time from token to token, in `MS`")
	fl.Float64Var(&f.class.Percentile, "percentile", 95, "percentage of requests that are to be within both")
	fl.IntVar(&f.requests, "requests", 20_000, "requests to simulate at each load")
	f.registerOutput(cmd)
	return cmd
}

// profileNames returns the names of all profiles.
func profileNames() (names []string) {
	for _, p := range serving.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// run prints the table of a profile.
func (f *servingFlags) run(cmd *cobra.Command) error {
	i := slices.Index(profileNames(), f.profile)
	switch {
	case i < 0:
		return usageError{fmt.Errorf("--profile %q%s: want one of %s", f.profile, nearest.DidYouMean(f.profile, profileNames()), strings.Join(profileNames(), ", "))}
	case f.requests < 100 || f.requests > 1_000_000:
		return usageError{fmt.Errorf("--requests %d: want 100..1000000", f.requests)}
	case !(f.class.Percentile > 0 && f.class.Percentile <= 100) || !(f.class.TTFT > 0) || !(f.class.TPOT > 0):
		return usageError{errors.New("--ttft, --tpot, --percentile: want more than 0, and at most 100 percent")}
	}
	r, err := readRequests(f.trace, f.columns)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("--trace: %w: name a trace of requests, or the folder that has it by $GRIDBID_DATA", err)
	} else if err == nil && len(r.pairs) == 0 {
		err = fmt.Errorf("%s has no request with an answer", f.trace)
	}
	if err != nil {
		return usageError{err}
	}
	table, err := serving.Tabulate(serving.Profiles()[i], r.pairs, f.class, f.requests, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d requests in %v (%s), %d without an answer dropped\n", f.trace, r.stats.Rows, r.stats.Span.Round(1e9), r.stats.Format, r.stats.Failed)
	return f.printView(cmd, servingListing(&table))
}

// recordedRequests are the requests of a trace: their tokens, and how many came in each minute.
type recordedRequests struct {
	pairs   []serving.Tokens
	minutes trace.MinuteCount
	stats   trace.RequestStats
}

// readRequests reads a trace of requests.
func readRequests(path string, columns map[string]string) (r recordedRequests, err error) {
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	r.stats, err = trace.EachRequest(file, path, columns, func(x trace.Request) error {
		r.pairs = append(r.pairs, serving.Tokens{Prompt: x.Prompt, Output: x.Output})
		r.minutes.Add(x)
		return nil
	})
	return r, err
}

// servingListing returns a table as a listing.
func servingListing(t *serving.Table) printer.View {
	type row = serving.TableRow
	// formula returns what the formula says and by which part that is off; neither where it has no answer.
	formula := func(is, found float64) (any, any) {
		if is == 0 {
			return nil, nil
		}
		return is, 100 * (is/found - 1)
	}
	first := func(v, _ any) any { return v }
	second := func(_, v any) any { return v }
	l := printer.Listing[row]{Rows: t.Rows, Data: t.Rows, Columns: []printer.Column[row]{
		{Head: "LOAD", Verb: "%.2f", Value: func(r row) any { return r.Load }},
		{Head: "REQ/S", Verb: "%.2f", Value: func(r row) any { return r.Load * t.Limit }},
		{Head: "BATCH", Verb: "%.1f", Value: func(r row) any { return r.Batch }},
		{Head: "TPOT MS", Verb: "%.1f", Value: func(r row) any { return r.Found.TPOT }},
		{Head: "FORMULA", Verb: "%.1f", Value: func(r row) any { return first(formula(r.Formula.TPOT, r.Found.TPOT)) }},
		{Head: "OFF PCT", Verb: "%+.0f", Value: func(r row) any { return second(formula(r.Formula.TPOT, r.Found.TPOT)) }},
		{Head: "TTFT MS", Verb: "%.0f", Value: func(r row) any { return r.Found.TTFT }},
		{Head: "FORMULA", Verb: "%.0f", Value: func(r row) any { return first(formula(r.Formula.TTFT, r.Found.TTFT)) }},
		{Head: "OFF PCT", Verb: "%+.0f", Value: func(r row) any { return second(formula(r.Formula.TTFT, r.Found.TTFT)) }},
		{Head: "TTFT P95", Verb: "%.0f", Value: func(r row) any { return r.TTFT95 }},
		{Head: "P99", Verb: "%.0f", Value: func(r row) any { return r.TTFT99 }},
		{Head: "TPOT P99", Verb: "%.1f", Value: func(r row) any { return r.TPOT99 }},
		{Head: "WITHIN PCT", Verb: "%.2f", Value: func(r row) any { return 100 * t.Attained(r.Load, 0) }},
		{Head: "WATTS", Verb: "%.0f", Value: func(r row) any { return r.Watts }},
	}}
	table := l
	l.Text = func(w io.Writer) {
		fmt.Fprintf(w, "%s: takes %.1f requests a second at most\n\n", t.Profile.Name, t.Limit)
		_ = table.Print(w, printer.Table) // never fails: w is a buffer in memory
		fmt.Fprintf(w, "\ngoodput with %g ms to the first token and %g ms a token for %g %%:\n", t.Class.TTFT, t.Class.TPOT, t.Class.Percentile)
		for _, rtt := range []float64{0, 30, 95, 200, 300} {
			fmt.Fprintf(w, "  %3.0f ms away  %.1f requests a second\n", rtt, t.Goodput(rtt))
		}
	}
	return l
}
