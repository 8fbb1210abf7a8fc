package serving

import (
	"slices"
)

// A Class is a service level objective: of so many hundredths of the requests both TTFT, the way to the
// replica and back included, and TPOT are to be within the bounds.
type Class struct {
	TTFT, TPOT float64 // ms
	Percentile float64
}

// A Table holds what the simulation found of a profile at several loads, for one class.
type Table struct {
	Profile Profile
	Class   Class
	Limit   float64 // requests per second: load 1 of the rows
	Rows    []TableRow
}

// A TableRow is one load.
type TableRow struct {
	Load    float64  `json:"load"`  // part of Limit
	Watts   float64  `json:"watts"` // of the replica
	Batch   float64  `json:"batch"`
	Found   Means    `json:"simulation"`
	Formula Estimate `json:"formula"`

	TTFT95 float64 `json:"ttft_p95_ms"`
	TTFT99 float64 `json:"ttft_p99_ms"`
	TPOT99 float64 `json:"tpot_p99_ms"`

	within []float64 // TTFT of the requests whose TPOT is within the class, sorted
	served int
}

// Means are the means that a simulation found, in ms.
type Means struct {
	TTFT float64 `json:"ttft_ms"`
	TPOT float64 `json:"tpot_ms"`
}

// loads are those that are simulated. Above 1 a queue grows for as long as the load lasts: such rows hold
// for a surge of minutes.
var loads = []float64{0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.25}

// Tabulate simulates a profile at several loads with so many requests each.
func Tabulate(p Profile, pairs []Tokens, c Class, requests int, seed uint64) (Table, error) {
	if err := p.Check(); err != nil {
		return Table{}, err
	}
	m := MomentsOf(pairs)
	t := Table{Profile: p, Class: c, Limit: p.Limit(m)}
	for _, load := range loads {
		r := Simulate(p, pairs, load*t.Limit, requests, seed)
		row := TableRow{Load: load, Watts: r.Watts, Batch: r.Batch, Formula: p.Estimate(load*t.Limit, m), served: len(r.Served)}
		ttft, tpot := make([]float64, len(r.Served)), make([]float64, len(r.Served))
		several := 0
		for i, s := range r.Served {
			ttft[i], tpot[i] = s.TTFT, s.TPOT
			row.Found.TTFT += s.TTFT / float64(len(r.Served))
			if s.TPOT > 0 {
				row.Found.TPOT += s.TPOT
				several++
			}
			if s.TPOT <= c.TPOT {
				row.within = append(row.within, s.TTFT)
			}
		}
		row.Found.TPOT /= float64(max(several, 1))
		slices.Sort(ttft)
		slices.Sort(tpot)
		slices.Sort(row.within)
		row.TTFT95, row.TTFT99, row.TPOT99 = quantile(ttft, 0.95), quantile(ttft, 0.99), quantile(tpot, 0.99)
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// quantile returns a quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// attained returns which part of the requests of a row is within the class, for requesters so many ms
// away, there and back.
func (r *TableRow) attained(c Class, rtt float64) float64 {
	n, _ := slices.BinarySearchFunc(r.within, c.TTFT-rtt, func(v, most float64) int {
		if v <= most {
			return -1
		}
		return 1
	})
	return float64(n) / float64(max(r.served, 1))
}

// between returns a figure at a load, between those of the rows beside it.
func (t *Table) between(load float64, of func(*TableRow) float64) float64 {
	last := len(t.Rows) - 1
	for i := range t.Rows {
		switch row := &t.Rows[i]; {
		case load > row.Load && i < last:
		case i == 0 || load > row.Load:
			return of(row)
		default:
			before := &t.Rows[i-1]
			part := (load - before.Load) / (row.Load - before.Load)
			return float64(of(before)*(1-part)) + float64(of(row)*part)
		}
	}
	return 0
}

// Attained returns which part of the requests is within the class at a load, for requesters that are
// so many ms away. Of more than the highest load tabulated, what is beyond it is late.
func (t *Table) Attained(load, rtt float64) float64 {
	part := t.between(load, func(r *TableRow) float64 { return r.attained(t.Class, rtt) })
	if most := t.Rows[len(t.Rows)-1].Load; load > most {
		part *= most / load
	}
	return part
}

// Watts returns the draw of a replica at a load.
func (t *Table) Watts(load float64) float64 {
	if load <= 0 {
		return t.Profile.Watts(0)
	}
	if first := &t.Rows[0]; load < first.Load {
		return t.Profile.Watts(0) + float64((first.Watts-t.Profile.Watts(0))*load/first.Load)
	}
	return t.between(load, func(r *TableRow) float64 { return r.Watts })
}

// Goodput returns how many requests per second a replica serves with the class kept, for requesters so
// many ms away: distance is paid in replicas. 0 if it keeps it at no load.
func (t *Table) Goodput(rtt float64) float64 {
	best := 0.0
	const steps = 1000
	for i := 1; i <= steps; i++ {
		load := float64(i) / steps
		if t.Attained(load, rtt) < t.Class.Percentile/100 {
			break
		}
		best = load
	}
	return best * t.Limit
}
