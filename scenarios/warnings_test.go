package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// equalJobs returns a day of n equal one-GPU jobs, evenly over a span, on a fleet of some GPUs.
func equalJobs(n int, span, run time.Duration, gpus int) spec.Scenario {
	s := spec.Scenario{Start: 0, End: protocol.Time(0).Add(24 * time.Hour), Sites: []spec.Site{{Nodes: []spec.Node{{GPUs: gpus, Model: "V100"}}}}}
	for i := range n {
		s.Jobs = append(s.Jobs, protocol.Job{GPUs: 1, Share: 1000, Run: run, Arrival: s.Start.Add(time.Duration(i) * span / time.Duration(max(n-1, 1)))})
	}
	return s
}

func TestMisleadingFiguresAreNamedWithTheirCause(t *testing.T) {
	day := 23 * time.Hour
	gang := equalJobs(100, day, time.Hour, 16)
	gang.Jobs[0].GPUs, gang.Jobs[0].Run = 8, 20*time.Hour // as much as 160 of the others: Kish 2.6
	late := func(n ...int) (all []history.Totals) {
		for _, l := range n {
			all = append(all, history.Totals{Jobs: 100, Late: l})
		}
		return all
	}
	tall := equalJobs(100, day, time.Hour, 8)
	tall.Jobs[5].ID, tall.Jobs[5].Models = "job-5", []string{"H800"}
	for _, tc := range []struct {
		name string
		s    spec.Scenario
		all  []history.Totals
		want []string
	}{
		{"a sound day", equalJobs(100, day, time.Hour, 8), late(0, 11, 40), nil},
		{"before the replay", equalJobs(100, day, time.Hour, 8), nil, nil},
		{"no jobs at all", equalJobs(0, day, time.Hour, 8), late(), nil},
		{"one GPU-hour too many", equalJobs(193, day, time.Hour, 8), nil, []string{"ask for 101 %"}},
		{"just as many as there are", equalJobs(192, day, time.Hour, 8), nil, nil},
		{"a job that fits nowhere", tall, nil, []string{"1 jobs, such as job-5, fit no site"}},
		{"29 jobs", equalJobs(29, day, time.Hour, 8), nil, []string{"29 jobs are worth 29 by GPU-hours"}},
		{"30 jobs", equalJobs(30, day, time.Hour, 8), nil, nil},
		{"one gang decides", gang, nil, []string{"100 jobs are worth 3 by GPU-hours"}},
		{"a burst", equalJobs(100, 11*time.Hour, time.Hour, 8), nil, []string{"within 11.0 h of a period of 24 h"}},
		{"half a day", equalJobs(100, 12*time.Hour, time.Hour, 8), nil, nil},
		{"late under every policy", equalJobs(100, day, time.Hour, 8), late(11, 40), []string{"at least 11 % of the jobs are late or never run under each of 2 policies"}},
		{"never run", equalJobs(100, day, time.Hour, 8), []history.Totals{{Jobs: 100, Late: 6, Unplaced: 5}}, []string{"at least 11 %"}},
		{"all at once", equalJobs(20, time.Hour, 24*time.Hour, 8), late(90), []string{"ask for 250 %", "20 jobs are worth 20", "within 1.0 h", "at least 90 %"}},
	} {
		got := MisleadingFigures(tc.s, tc.all)
		for i, want := range tc.want {
			if len(got) != len(tc.want) || !strings.Contains(got[i], want) {
				t.Errorf("%s: %q; want %q", tc.name, got, tc.want)
				break
			}
		}
		if len(tc.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q; want no warning", tc.name, got)
		}
	}
}
