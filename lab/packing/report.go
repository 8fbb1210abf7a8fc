package packing

import (
	"fmt"
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

// A PlacementRow is the figures of one policy at one load: of its single run, or the mean.
type PlacementRow struct {
	Policy string
	Load   int // in per cent of the cluster; 0: of none that is reported, and the point is empty
	LoadPoint
	ReplayResult
}

// Rows returns a report as rows: a policy has one for each load that was reached, or one with its
// final values.
func (r *PlacementReport) Rows(policies []fgd.Policy) (out []PlacementRow) {
	for _, p := range policies {
		report := r.Policies[p.String()]
		run := report.Mean
		if run == nil {
			for _, seed := range slices.Sorted(maps.Keys(report.Seeds)) { // exactly one run
				one := report.Seeds[seed]
				run = &one
			}
		}
		last := len(out)
		for _, load := range reportedLoads {
			if at, ok := run.Load[strconv.Itoa(load)]; ok {
				out = append(out, PlacementRow{p.String(), load, at, *run})
			}
		}
		if len(out) == last {
			out = append(out, PlacementRow{Policy: p.String(), ReplayResult: *run})
		}
	}
	return out
}
