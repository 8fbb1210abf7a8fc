package estimates

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func drawn(t *rapid.T) (jobs []TraceJob) {
	for i := range rapid.IntRange(1, 400).Draw(t, "jobs") {
		at := protocol.Time(1 + rapid.Int64Range(0, 100_000).Draw(t, "at")*1000)
		lasted := time.Duration(rapid.Int64Range(1, 50_000).Draw(t, "s")) * time.Second
		jobs = append(jobs, TraceJob{Submit: at, End: at.Add(lasted), Lasted: lasted,
			Job: protocol.Job{ID: protocol.JobID(fmt.Sprint(i)), Tenant: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"), GPUs: 1, Share: 1000}})
	}
	return jobs
}

// A witness records what it knew when it was asked.
type witness struct {
	RuntimeForecaster
	of   map[protocol.JobID]TraceJob
	told []protocol.JobID
	said map[protocol.JobID]string
	fail func(string, ...any)
}

func (w *witness) ForecastQuantiles(j protocol.Job) []time.Duration {
	if j.Run != 0 || j.Arrival != 0 {
		w.fail("job %s comes with its times", j.ID)
	}
	for _, id := range w.told {
		if w.of[id].End > w.of[j.ID].Submit {
			w.fail("job %s is foretold with job %s known, which ends later", j.ID, id)
		}
	}
	out := w.RuntimeForecaster.ForecastQuantiles(j)
	w.said[j.ID] = fmt.Sprint(out)
	return out
}

func (w *witness) LearnRunTime(j protocol.Job, lasted time.Duration) {
	w.told = append(w.told, j.ID)
	w.RuntimeForecaster.LearnRunTime(j, lasted)
}

// TestNobodyPeeks: what has not ended changes nothing that is foretold.
func TestNobodyPeeks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawn(t)
		cut := protocol.Time(rapid.Int64Range(0, 150_000_000).Draw(t, "cut"))
		play := func(jobs []TraceJob) []map[protocol.JobID]string {
			of := make(map[protocol.JobID]TraceJob)
			for _, j := range jobs {
				of[j.Job.ID] = j
			}
			var all []RuntimeForecaster
			var said []map[protocol.JobID]string
			for _, f := range AllForecasters() {
				w := &witness{RuntimeForecaster: f, of: of, said: make(map[protocol.JobID]string), fail: t.Errorf}
				all, said = append(all, w), append(said, w.said)
			}
			ScoreTrace("drawn", jobs, all)
			return said
		}
		var other []TraceJob
		for _, j := range jobs { // a world in which all that is running at the cut takes longer
			if j.End > cut {
				j.Lasted += time.Hour
				j.End = j.End.Add(time.Hour)
			}
			other = append(other, j)
		}
		here, there := play(jobs), play(other)
		for i := range here {
			for _, j := range jobs {
				if j.Submit <= cut && here[i][j.Job.ID] != there[i][j.Job.ID] {
					t.Errorf("forecaster %d foretold of job %s %s, and %s where later runs differ", i, j.Job.ID, here[i][j.Job.ID], there[i][j.Job.ID])
				}
			}
		}
	})
}

// fixed foretells the same of all.
type fixed struct{ d []time.Duration }

func (fixed) Name() string                                      { return "fixed" }
func (f fixed) ForecastQuantiles(protocol.Job) []time.Duration  { return f.d }
func (fixed) LearnRunTime(j protocol.Job, lasted time.Duration) {}

func TestScoresOfAKnownTrace(t *testing.T) {
	var jobs []TraceJob
	for i := range warmUpJobs + 10 { // the last ten take 1 to 10 minutes
		at := protocol.Time(1 + i*3_600_000)
		lasted := time.Duration(1+(i-warmUpJobs+10)%10) * time.Minute
		jobs = append(jobs, TraceJob{Submit: at, End: at.Add(lasted), Lasted: lasted, Job: protocol.Job{ID: protocol.JobID(fmt.Sprint(i))}})
	}
	s := ScoreTrace("known", jobs, []RuntimeForecaster{fixed{[]time.Duration{5 * time.Minute, 9 * time.Minute, 20 * time.Minute}}})[0]
	if s.Jobs != 10 || s.Covered[0] != 500 || s.Covered[1] != 900 || s.Covered[2] != 1000 {
		t.Errorf("score %+v", s)
	}
	// At the median: half of the mean distance to five minutes, 25 minutes in ten.
	if s.Loss[0] != 75*time.Second {
		t.Errorf("the median's loss is %v; want 1m15s", s.Loss[0])
	}
	// At 90 %: 0.1 of 36 minutes too high, 0.9 of one too low, in ten.
	if s.Loss[1] != 27*time.Second {
		t.Errorf("the loss of p90 is %v; want 27s", s.Loss[1])
	}
}

func TestTracesAreReadOrRefused(t *testing.T) {
	philly := PublicTraces[0]
	jobs, err := philly.parseJobs(strings.NewReader("job_id,submit_s,submit_local,duration_s,gpus,vc\na,10,x,100,8,v1\nb,20,x,,1,v1\nc,30,x,0,1,v1\nd,40,x,1e99,1,v1\ne,NaN,x,5,1,v1\n"))
	if err != nil || len(jobs) != 1 || jobs[0].Lasted != 100*time.Second || jobs[0].End != jobs[0].Submit.Add(100*time.Second) || jobs[0].Job.Tenant != "v1" || jobs[0].Job.Run != 0 {
		t.Errorf("jobs = %+v, %v", jobs, err)
	}
	for _, bad := range []string{"", "a,b\n1,2\n", "job_id,submit_s,submit_local,duration_s,gpus,vc\na,10\n"} {
		if _, err := philly.parseJobs(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// The figures of docs/profiles.md, on the traces that are quickly played.
func TestProfilesForetellBetterThanBaselines(t *testing.T) {
	for _, trace := range PublicTraces[1:3] {
		jobs, err := trace.LoadTrace("../../../shared/data/workload")
		if errors.Is(err, os.ErrNotExist) {
			t.Skipf("%s is not here: beside the data this says how well profiles foretell", trace.File)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := ScoreTrace(trace.Name, jobs, AllForecasters())
		t.Logf("%+v", s)
		for k := range Quantiles {
			if least, most := Quantiles[k]-50, Quantiles[k]+50; s[0].Covered[k] < least || s[0].Covered[k] > most {
				t.Errorf("%s: %d thousandths are covered by quantile %d", trace.Name, s[0].Covered[k], Quantiles[k])
			}
		}
		if s[0].Loss[0] > s[1].Loss[0] || s[0].Loss[0] > s[2].Loss[0] {
			t.Errorf("%s: the median's loss is %v, and that of baselines %v and %v", trace.Name, s[0].Loss[0], s[1].Loss[0], s[2].Loss[0])
		}
	}
}
