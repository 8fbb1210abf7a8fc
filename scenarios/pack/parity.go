package pack

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/cluster-agent/fgd"
)

// Seeds are those of the published runs.
var Seeds = [...]int64{42, 43, 44, 45, 46, 47, 48, 49, 50, 51}

// Published names the policies as the published results do.
var Published = map[string]fgd.Policy{
	"01-Random": fgd.Random, "02-DotProd": fgd.DotProd, "03-GpuClustering": fgd.GPUClustering,
	"04-GpuPacking": fgd.GPUPacking, "05-BestFit": fgd.BestFit, "06-FGD": fgd.FGD,
}

// Expected is the published mean and standard deviation of one trace and
// policy over Seeds, at each of Loads.
type Expected struct {
	Trace, Policy string
	Mean, SD      [len(Loads)]Point
}

// metrics are the columns of a summary, and where their values go.
var metrics = []struct {
	name string
	of   func(*Point) *float64
}{
	{"alloc_pct", func(p *Point) *float64 { return &p.Alloc }},
	{"frag_over_total_pct", func(p *Point) *float64 { return &p.Frag }},
	{"frag_ratio_pct", func(p *Point) *float64 { return &p.Ratio }},
}

// ReadExpected reads a summary of published results: columns workload and
// policy, and METRIC@LOAD_mean and METRIC@LOAD_sd for each metric and load.
// Errors name file, line and column.
func ReadExpected(file string, r io.Reader) ([]Expected, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	var out []Expected
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := in.FieldPos(0)
		cell := func(name string) string {
			i, ok := column[name]
			if !ok {
				err = errors.Join(err, fmt.Errorf("%s:1: %s: no such column", file, name))
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
		e := Expected{Trace: cell("workload"), Policy: cell("policy")}
		for i, load := range Loads {
			for _, m := range metrics {
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

// MeanSD is the mean of runs, and their sample standard deviation. Curves are
// left out.
func MeanSD(runs []Run) (mean, sd Run) {
	stat := func(of func(*Run) *float64) {
		m, s := meanSD(len(runs), func(i int) float64 { return *of(&runs[i]) })
		*of(&mean), *of(&sd) = m, s
	}
	stat(func(r *Run) *float64 { return &r.FinalAlloc })
	stat(func(r *Run) *float64 { return &r.Failed })
	stat(func(r *Run) *float64 { return &r.Decisions })
	stat(func(r *Run) *float64 { return &r.NsPerChoice })
	mean.Load, sd.Load = map[string]Point{}, map[string]Point{}
	for _, load := range Loads {
		key := strconv.Itoa(load)
		var points []Point
		for _, r := range runs {
			if p, ok := r.Load[key]; ok {
				points = append(points, p)
			}
		}
		if len(points) == 0 {
			continue
		}
		var m, s Point
		for _, metric := range metrics {
			*metric.of(&m), *metric.of(&s) = meanSD(len(points), func(i int) float64 { return *metric.of(&points[i]) })
		}
		mean.Load[key], sd.Load[key] = m, s
	}
	return mean, sd
}

func meanSD(n int, at func(int) float64) (mean, sd float64) {
	for i := range n {
		mean += at(i)
	}
	mean /= float64(n)
	for i := range n {
		d := at(i) - mean
		sd += float64(d * d)
	}
	if n > 1 {
		sd = math.Sqrt(sd / float64(n-1))
	}
	return mean, sd
}

// Worst is the largest difference between e and a mean, in points, and where.
func (e Expected) Worst(mean Run) (diff float64, where string) {
	for i, load := range Loads {
		got, ok := mean.Load[strconv.Itoa(load)]
		want := e.Mean[i]
		for _, m := range metrics {
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

// Workload is the name that summaries give to a pod list's file.
func Workload(file string) string {
	if i := strings.LastIndexAny(file, `/\`); i >= 0 {
		file = file[i+1:]
	}
	return strings.TrimSuffix(file, ".csv")
}
