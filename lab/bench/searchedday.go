package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A SearchedDay is the best schedule that a search with full knowledge found for a day.
type SearchedDay struct {
	bound.BestKnown
	From  string  `json:"from"`   // entry of the run that it started from; "": none
	WallS float64 `json:"wall_s"` // that it took
}

// searchDay returns the result of a search of SearchSteps steps on a day, from the cache or
// computed. It starts from the run of rows with the least objective of those that did the most
// jobs; without rows from greedy schedules alone.
func (p BenchPlan) searchDay(ctx context.Context, s spec.Scenario, floor boundPair, rows []BenchRow) (k SearchedDay, err error) {
	var runs [][]bound.JobPlacement
	k.From = cheapestComplete(rows)
	path := p.cache().File("search", s.Hash, fmt.Sprint(s.Weights), fmt.Sprint(p.Steps), fmt.Sprint(p.SearchSteps), k.From)
	if ReadCached(path, &k) {
		return k, nil
	}
	if k.From != "" {
		run, err := readSchedule(p.schedulePath(s, k.From))
		if err != nil {
			return k, fmt.Errorf("bench: the schedule of %s under %s: %w", s.Name, k.From, err)
		}
		runs = append(runs, run)
	}
	p.Progress("%s seed %d: searching for its best schedule", s.Name, s.Seed)
	began := time.Now()
	k.BestKnown, err = bound.SearchBestKnown(s, floor.Proof, bound.SearchConfig{Steps: p.SearchSteps, Runs: runs, Stop: ctx.Err})
	if err != nil {
		return k, err
	}
	k.WallS = time.Since(began).Seconds()
	return k, WriteCached(path, k)
}

// cheapestComplete returns the entry of the cheapest of the rows that did the most jobs; "" of none.
func cheapestComplete(rows []BenchRow) (entry string) {
	fewest, least := math.MaxInt, math.Inf(1)
	for _, r := range rows {
		if r.Totals.Unplaced < fewest || r.Totals.Unplaced == fewest && r.JobsUSD < least {
			entry, fewest, least = r.Entry, r.Totals.Unplaced, r.JobsUSD
		}
	}
	return entry
}

// progressText returns how far the search came, for a line of progress.
func (k SearchedDay) progressText() string {
	from := ""
	if k.From != "" {
		from = fmt.Sprintf(", from %s at $%.2f", k.From, k.StartUSD)
	}
	above := fmt.Sprintf("bound $%.2f", k.BoundUSD)
	if k.BoundUSD > 0 {
		above = fmt.Sprintf("%.1f %% over the bound", 100*(k.TotalUSD()/k.BoundUSD-1))
	}
	return fmt.Sprintf("best known $%.2f, %s%s; %d steps, %d of them better (%.1fs)", k.TotalUSD(), above, from, k.Steps, k.Improved, k.WallS)
}

// rowPath returns the path at which a row is cached.
func (p BenchPlan) rowPath(s spec.Scenario, entry string) string {
	return p.cache().File(s.Name+"-"+scenarios.FileStem(entry), s.Hash, entry, fmt.Sprint(s.Weights))
}

// schedulePath returns the path at which the schedule of a row is cached.
func (p BenchPlan) schedulePath(s spec.Scenario, entry string) string {
	return strings.TrimSuffix(p.rowPath(s, entry), ".json") + ".schedule.json.gz"
}

// writeSchedule writes the schedule of a run to the cache, compressed.
func (p BenchPlan) writeSchedule(s spec.Scenario, entry string, h *history.History) error {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	err := json.NewEncoder(z).Encode(bound.PlacementsOf(scenarios.CompletedJobs(h, scenarios.MarketWeights(s))))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return err
	}
	return atomicfile.ReplaceFile(p.schedulePath(s, entry), text.Bytes(), 0o644)
}

// readSchedule reads the schedule of a run.
func readSchedule(path string) (run []bound.JobPlacement, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return run, json.NewDecoder(z).Decode(&run)
}
