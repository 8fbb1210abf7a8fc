package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Three sites draw 100 W idle for three hours. If their nodes draw 75 W asleep, the third hour,
// which not every run is metered for, counts 25 W.
func TestOnlyDrawAboveSleepCountsOnceOtherRunsHaveEnded(t *testing.T) {
	m := meta
	m.MeteredUntil, m.SleepDraw = at(2*time.Hour), make(map[string]protocol.Milliwatts)
	run := twoRounds().book(Config{})
	for name := range run.sites {
		if name != "" {
			m.SleepDraw[name] = 75_000
		}
	}
	got, all := run.ComputeTotals(m), run.ComputeTotals(meta)
	near(t, "idle", got.IdleKWh, 0.99*2.25/3)
	near(t, "idle carbon", got.IdleKg, 9*0.022*2.25/3)
	near(t, "idle cost", got.IdleUSD, 9*0.0055*2.25/3)
	near(t, "the jobs' own cost", got.JobsUSD, all.JobsUSD)
	near(t, "the objective", all.ObjectiveUSD-got.ObjectiveUSD, all.IdleUSD-got.IdleUSD+0.19*(all.IdleKg-got.IdleKg)*float64(weights.Carbon)/190_000)
	// A site that draws less than its sleeping nodes do, as in an outage, counts nothing.
	for name := range m.SleepDraw {
		m.SleepDraw[name] = 500_000
	}
	near(t, "idle in an outage", run.ComputeTotals(m).IdleKWh, 0.99*2/3)
}
