package packing

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A TraceJob is a request with a duration, from a trace with times.
type TraceJob struct {
	Request  fgd.Request
	Duration int64 // seconds, > 0
	Moves    bool  // best effort: may be checkpointed and moved
}

// maxJobSeconds is the maximum run of a job in the study, in seconds: the cluster then
// reaches its steady state within days, and one job in a hundred is cut.
const maxJobSeconds = 3 * 86400

// ReadJobs reads Alibaba's trace of 2023, as package trace does; jobs that never ran are left out.
func ReadJobs(file string, r io.Reader) ([]TraceJob, error) {
	runs, err := trace.ReadPodRuns(r, file)
	if err != nil {
		return nil, err
	}
	var jobs []TraceJob
	for _, p := range runs {
		if p.Seconds > 0 {
			jobs = append(jobs, TraceJob{Request: requestOf(p.Pod), Duration: min(p.Seconds, maxJobSeconds), Moves: p.BestEffort})
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("packing: %s: no job ran: name another trace", file)
	}
	return jobs, nil
}

// A StudyVariant is a scheduling method of the study: a policy, and options beyond placing
// jobs one by one.
type StudyVariant struct {
	Name   string
	Policy fgd.Policy
	// Largest places a round's jobs by size instead of arrival.
	Largest bool
	// Gradient repeatedly places the job whose placement lowers F most, or raises it
	// least, per requested GPU.
	Gradient bool
	// Moves is the maximum number of jobs moved in an hour to lower F, Room the same
	// to make room for a job that fits nowhere.
	Moves, Room int
	// Window is the number of past arrivals that form the target workload; 0: the
	// whole trace.
	Window int
}

// StudyVariants are the variants of the study in docs/fgd.md.
var StudyVariants = []StudyVariant{
	{Name: "random", Policy: fgd.Random},
	{Name: "least-allocated", Policy: fgd.LeastAllocated},
	{Name: "most-allocated", Policy: fgd.MostAllocated},
	{Name: "dotprod", Policy: fgd.DotProd},
	{Name: "gpuclustering", Policy: fgd.GPUClustering},
	{Name: "gpupacking", Policy: fgd.GPUPacking},
	{Name: "bestfit", Policy: fgd.BestFit},
	{Name: "fgd", Policy: fgd.FGD},
	{Name: "fgd, target of the last 2,000", Policy: fgd.FGD, Window: 2000},
	{Name: "fgd-tight", Policy: fgd.FGDTight},
	{Name: "fgd, largest of a round first", Policy: fgd.FGD, Largest: true},
	{Name: "fgd, best of a round first", Policy: fgd.FGD, Gradient: true},
	{Name: "fgd, moves to lower F", Policy: fgd.FGD, Moves: 20},
	{Name: "fgd, makes room", Policy: fgd.FGD, Room: 20},
	{Name: "fgd-tight, target of the last 2,000", Policy: fgd.FGDTight, Window: 2000},
	{Name: "fgd-tight, largest of a round first", Policy: fgd.FGDTight, Largest: true},
	{Name: "fgd-tight, moves to lower F", Policy: fgd.FGDTight, Moves: 20},
	{Name: "fgd-tight, makes room", Policy: fgd.FGDTight, Room: 20},
}

// StudyOptions set the size of the study.
type StudyOptions struct {
	Load     float64 // requested GPU-time relative to the cluster's
	Days     int     // measured, after as many days of filling
	Seed     int64
	Round    int64 // seconds between rounds
	MaxWait  int64 // seconds after which a waiting job gives up
	MoveCost int64 // seconds by which a move prolongs a job
}

// A StudyOutcome has the figures of the measured days.
type StudyOutcome struct {
	Alloc       float64 `json:"alloc_pct"`         // % of GPU-time with work; time lost to moves does not count
	Wait        float64 `json:"wait_s"`            // mean seconds from arrival to start, of started jobs
	Wait95      float64 `json:"wait_p95_s"`        // 95th percentile of the same
	Failed      float64 `json:"gave_up_pct"`       // % of jobs that gave up
	FailedWork  float64 `json:"gave_up_work_pct"`  // % of requested GPU-time that gave up
	FailedWhole float64 `json:"gave_up_whole_pct"` // % of jobs of a whole GPU or more that gave up
	Moves       float64 `json:"moves_per_h"`       // per hour
}

// A StudyRow is one variant's mean outcome over seeds at one load, and its gain in
// allocation over the variant named "fgd" with the same arrivals, with the standard
// error of the gain.
type StudyRow struct {
	Load    float64 `json:"load"`
	Variant string  `json:"variant"`
	Seeds   int     `json:"seeds"`
	StudyOutcome
	Gain  float64 `json:"against_fgd_pct"`
	Error float64 `json:"standard_error_pct"`
}

// RunAllStudies runs every variant at every load, with the same arrivals for each seed. It
// calls progress, if not nil, before each variant.
func RunAllStudies(nodes []fgd.Node, jobs []TraceJob, variants []StudyVariant, loads []float64, seeds int, o StudyOptions, progress func(done, all int, what string)) ([]StudyRow, error) {
	var rows []StudyRow
	for i, load := range loads {
		outcomes := make([][]StudyOutcome, len(variants))
		base := -1
		for j, v := range variants {
			if progress != nil {
				progress(i*len(variants)+j, len(loads)*len(variants), fmt.Sprintf("load %.1f, %s", load, v.Name))
			}
			// The gain of each variant is against this one.
			if v.Name == "fgd" {
				base = j
			}
			o.Load = load
			for seed := range seeds {
				o.Seed = int64(seed)
				out, err := RunStudy(nodes, jobs, v, o)
				if err != nil {
					return nil, err
				}
				outcomes[j] = append(outcomes[j], out)
			}
		}
		for j, v := range variants {
			row := StudyRow{Load: load, Variant: v.Name, Seeds: seeds, StudyOutcome: meanOutcome(outcomes[j])}
			if base >= 0 {
				// Pairs of the same seed have the same arrivals, so their differences scatter less.
				m, sd := meanSD(seeds, func(k int) float64 { return outcomes[j][k].Alloc - outcomes[base][k].Alloc })
				row.Gain, row.Error = m, sd/math.Sqrt(float64(seeds))
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// meanOutcome returns the mean of each figure over seeds.
func meanOutcome(all []StudyOutcome) (mean StudyOutcome) {
	of := []func(*StudyOutcome) *float64{
		func(o *StudyOutcome) *float64 { return &o.Alloc }, func(o *StudyOutcome) *float64 { return &o.Wait },
		func(o *StudyOutcome) *float64 { return &o.Wait95 }, func(o *StudyOutcome) *float64 { return &o.Failed },
		func(o *StudyOutcome) *float64 { return &o.FailedWork }, func(o *StudyOutcome) *float64 { return &o.FailedWhole },
		func(o *StudyOutcome) *float64 { return &o.Moves },
	}
	for _, f := range of {
		*f(&mean), _ = meanSD(len(all), func(i int) float64 { return *f(&all[i]) })
	}
	return mean
}

// WriteStudy writes rows as a Markdown table.
func WriteStudy(w io.Writer, rows []StudyRow) error {
	var b strings.Builder
	b.WriteString("| load | variant | allocated % | against fgd | wait mean s | wait 95% s | gave up, jobs % | gave up, work % | moves/h |\n" +
		"|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		gain := fmt.Sprintf("%+.2f", r.Gain)
		if r.Seeds > 1 {
			gain += fmt.Sprintf(" ± %.2f", r.Error)
		}
		fmt.Fprintf(&b, "| %.1f | %s | %.2f | %s | %.0f | %.0f | %.2f | %.2f | %.1f |\n",
			r.Load, r.Variant, r.Alloc, gain, r.Wait, r.Wait95, r.Failed, r.FailedWork, r.Moves)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
