package packing

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/agents/fgd"
)

// PublishedSeeds are the seeds of the published runs.
var PublishedSeeds = [...]int64{42, 43, 44, 45, 46, 47, 48, 49, 50, 51}

// publishedPolicyNames maps the names of the published results to policies.
var publishedPolicyNames = map[string]fgd.Policy{
	"01-Random": fgd.Random, "02-DotProd": fgd.DotProd, "03-GpuClustering": fgd.GPUClustering,
	"04-GpuPacking": fgd.GPUPacking, "05-BestFit": fgd.BestFit, "06-FGD": fgd.FGD,
}

// PublishedResult is the published mean and standard deviation of one trace and policy over
// Seeds, at each of loads.
type PublishedResult struct {
	Trace  string                        `json:"trace"`
	Policy string                        `json:"policy"`
	Mean   [len(reportedLoads)]LoadPoint `json:"published_mean"`
	SD     [len(reportedLoads)]LoadPoint `json:"published_sd"`
}

// summaryMetrics maps the columns of a summary to the fields of a LoadPoint.
var summaryMetrics = []struct {
	name string
	of   func(*LoadPoint) *float64
}{
	{"alloc_pct", func(p *LoadPoint) *float64 { return &p.Alloc }},
	{"frag_over_total_pct", func(p *LoadPoint) *float64 { return &p.Frag }},
	{"frag_ratio_pct", func(p *LoadPoint) *float64 { return &p.Ratio }},
}

// ReadExpected reads a summary of published results with the columns workload,
// policy, and METRIC@LOAD_mean and METRIC@LOAD_sd for each metric and load. Errors
// name file, line and column.
func ReadExpected(file string, r io.Reader) ([]PublishedResult, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	var out []PublishedResult
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := in.FieldPos(0)
		// cell and number keep the first error of the row.
		cell := func(name string) string {
			i, ok := column[name]
			if !ok {
				err = errors.Join(err, fmt.Errorf("%s:1: %s: missing column", file, name))
				return ""
			}
			return row[i]
		}
		number := func(name string) float64 {
			v, bad := strconv.ParseFloat(cell(name), 64)
			if bad != nil && err == nil {
				err = fmt.Errorf("%s:%d: %s: %w", file, line, name, bad)
			}
			return v
		}
		e := PublishedResult{Trace: cell("workload"), Policy: cell("policy")}
		for i, load := range reportedLoads {
			for _, m := range summaryMetrics {
				*m.of(&e.Mean[i]) = number(fmt.Sprintf("%s@%d_mean", m.name, load))
				*m.of(&e.SD[i]) = number(fmt.Sprintf("%s@%d_sd", m.name, load))
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
}

// worstDifference returns the largest absolute difference between e and a mean, in percentage
// points, and its figure.
func (e PublishedResult) worstDifference(mean ReplayResult) (diff float64, where string) {
	for i, load := range reportedLoads {
		got, ok := mean.Load[strconv.Itoa(load)]
		want := e.Mean[i]
		for _, m := range summaryMetrics {
			// A load that was not reached differs without limit.
			d := math.Abs(*m.of(&got) - *m.of(&want))
			if !ok {
				d = math.Inf(1)
			}
			if d > diff || where == "" {
				diff, where = d, fmt.Sprintf("%s@%d", m.name, load)
			}
		}
	}
	return diff, where
}

// parityTolerance is the allowed difference of a mean from the published one, in percentage
// points.
const parityTolerance = 0.02

// A ParityVerdict compares one policy's means on one trace with the published ones.
type ParityVerdict struct {
	PublishedResult
	Ours  ReplayResult `json:"ours"` // mean over Seeds
	Worst float64      `json:"largest_difference"`
	Where string       `json:"at"` // the figure that differs by Worst
	// Z is the difference of the mean allocation at load 100 in standard errors. It
	// is set for Random, whose draws cannot be reproduced.
	Z      float64 `json:"standard_errors,omitempty"`
	Within bool    `json:"within"`
	// Integers is Worst if FGD computes in integers, as in live clusters.
	Integers float64 `json:"largest_difference_in_integers,omitempty"`
}

// CheckParity replays the published seeds of e's policy in the way of the published
// program, and compares. It returns an error if the trace cannot be replayed.
func (t *PlacementTrace) CheckParity(e PublishedResult) (ParityVerdict, error) {
	policy, ok := publishedPolicyNames[e.Policy]
	if !ok {
		return ParityVerdict{}, fmt.Errorf("packing: unknown policy %s", e.Policy)
	}
	all := func(reference bool) (mean, sd ReplayResult, err error) {
		runs := make([]ReplayResult, len(PublishedSeeds))
		for i, seed := range PublishedSeeds {
			if runs[i], err = t.ReplaySeed(ReplayOptions{Policy: policy, Tune: 1.3, Reference: reference}, seed); err != nil {
				return mean, sd, err
			}
		}
		mean, sd = meanAndDeviation(runs)
		return mean, sd, nil
	}
	mean, sd, err := all(true)
	if err != nil {
		return ParityVerdict{}, err
	}
	v := ParityVerdict{PublishedResult: e, Ours: mean}
	v.Worst, v.Where = e.worstDifference(mean)
	v.Within = v.Worst <= parityTolerance
	// Random cannot be reproduced draw by draw, so it is compared statistically.
	switch policy {
	case fgd.Random:
		own, theirs := sd.Load["100"].Alloc, e.SD[1].Alloc
		// The standard error of a difference of two means of as many runs each.
		v.Z = (mean.Load["100"].Alloc - e.Mean[1].Alloc) / math.Sqrt((float64(own*own)+float64(theirs*theirs))/float64(len(PublishedSeeds)))
		v.Within = math.Abs(v.Z) <= 4
	case fgd.FGD:
		exact, _, err := all(false)
		if err != nil {
			return ParityVerdict{}, err
		}
		v.Integers, _ = e.worstDifference(exact)
	}
	return v, nil
}

// WriteParity writes verdicts as a Markdown table.
func WriteParity(w io.Writer, verdicts []ParityVerdict) error {
	var b strings.Builder
	b.WriteString("| trace | policy | 90 | 100 | 110 | 120 | 130 | largest difference | |\n|---|---|--:|--:|--:|--:|--:|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(&b, "| %s | %s |", strings.TrimPrefix(v.Trace, "openb_pod_list_"), v.Policy)
		for _, load := range reportedLoads {
			fmt.Fprintf(&b, " %.2f |", v.Ours.Load[strconv.Itoa(load)].Alloc)
		}
		fmt.Fprintf(&b, " %.4f %s |", v.Worst, v.Where)
		switch {
		case !v.Within:
			b.WriteString(" **differs**")
		case v.Z != 0:
			fmt.Fprintf(&b, " %+.1f standard errors at 100", v.Z)
		case v.Integers != 0:
			fmt.Fprintf(&b, " in integers %.4f", v.Integers)
		}
		b.WriteString(" |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
