package packing

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/agents/fgd"
)

// A PlacementReport is the output of `gridbid placement --json`.
type PlacementReport struct {
	Nodes     string                  `json:"nodes"`
	Pods      string                  `json:"pods"`
	Tune      float64                 `json:"tune"`
	Reference bool                    `json:"exact_reference"`
	Policies  map[string]PolicyReport `json:"policies"`
}

// A PolicyReport has one policy's runs by seed and, for several seeds, their mean and
// sample standard deviation.
type PolicyReport struct {
	Seeds map[string]ReplayResult `json:"seeds"`
	Mean  *ReplayResult           `json:"mean,omitempty"`
	SD    *ReplayResult           `json:"sd,omitempty"`
}

// ReplayAll replays each policy with each seed. It calls progress, if not nil, before
// each run.
func (t *PlacementTrace) ReplayAll(o ReplayOptions, policies []fgd.Policy, seeds []int64, progress func(done, all int, what string)) (map[string]PolicyReport, error) {
	out := map[string]PolicyReport{}
	for i, policy := range policies {
		o.Policy = policy
		report := PolicyReport{Seeds: map[string]ReplayResult{}}
		runs := make([]ReplayResult, 0, len(seeds))
		for j, seed := range seeds {
			if progress != nil {
				progress(i*len(seeds)+j, len(policies)*len(seeds), fmt.Sprintf("%v, seed %d", policy, seed))
			}
			run, err := t.ReplaySeed(o, seed)
			if err != nil {
				return nil, err
			}
			report.Seeds[strconv.FormatInt(seed, 10)] = run
			runs = append(runs, run)
		}
		if len(seeds) > 1 {
			mean, sd := meanAndDeviation(runs)
			report.Mean, report.SD = &mean, &sd
		}
		out[policy.String()] = report
	}
	return out, nil
}

// WriteText writes a report as a text table: for each policy its single run or its
// mean, one line for each load that was reached. A policy that reached none has one
// line with its final values.
func (r *PlacementReport) WriteText(w io.Writer, policies []fgd.Policy, seed int64) error {
	_, err := fmt.Fprintf(w, "%-15s %4s  %7s %7s %7s  %7s  %8s %9s %8s\n",
		"policy", "load", "alloc%", "frag%", "ratio%", "final%", "failed", "decisions", "ns/dec")
	for _, p := range policies {
		report := r.Policies[p.String()]
		run := report.Mean
		if run == nil {
			for _, seed := range slices.Sorted(maps.Keys(report.Seeds)) { // exactly one run
				one := report.Seeds[seed]
				run = &one
			}
		}
		reached := false
		for _, load := range reportedLoads {
			at, ok := run.Load[strconv.Itoa(load)]
			if !ok || err != nil {
				continue
			}
			reached = true
			_, err = fmt.Fprintf(w, "%-15v %4d  %7.2f %7.2f %7.2f  %7.2f  %8.1f %9.1f %8.0f\n",
				p, load, at.Alloc, at.Frag, at.Ratio, run.FinalAlloc, run.Failed, run.Decisions, run.NsPerChoice)
		}
		if !reached && err == nil {
			_, err = fmt.Fprintf(w, "%-15v %4s  %7s %7s %7s  %7.2f  %8.1f %9.1f %8.0f\n",
				p, "-", "-", "-", "-", run.FinalAlloc, run.Failed, run.Decisions, run.NsPerChoice)
		}
	}
	return err
}
