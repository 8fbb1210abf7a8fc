package scenarios

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestStatedRunTimesAreOffByAtMostThirtyPercent(t *testing.T) {
	sum, least, most, same := 0.0, 2.0, 0.0, 0
	for i := range 2000 {
		j := protocol.Job{ID: protocol.JobID(string(rune('a'+i%26)) + time.Duration(i).String()), Run: time.Hour}
		stated := statedRunTime(1, j)
		f := float64(stated) / float64(j.Run)
		sum, least, most = sum+f, min(least, f), max(most, f)
		if again := statedRunTime(1, j); again != stated {
			t.Fatalf("the same job has two stated run times: %v, then %v", stated, again)
		}
		if stated == statedRunTime(2, j) {
			same++
		}
	}
	if mean := sum / 2000; mean < 0.98 || mean > 1.02 || least < 0.7 || least > 0.71 || most > 1.3 || most < 1.29 || same > 20 {
		t.Errorf("stated over real: mean %.3f, from %.3f to %.3f, %d of 2000 the same with another seed", mean, least, most, same)
	}
	if got := statedRunTime(1, protocol.Job{ID: "short", Run: time.Second}); got != time.Second {
		t.Errorf("a run of a second is stated as %v", got)
	}
}

// A runSeen is one run of a job, as planned and as it went.
type runSeen struct {
	submitted      protocol.Job
	launch         protocol.Launch
	site           string
	started, ended protocol.Time
}

// runsOf replays a scenario and returns the runs of its jobs.
func runsOf(t *testing.T, s spec.Scenario, policy string) (map[protocol.JobID]*runSeen, history.Totals) {
	t.Helper()
	runs := make(map[protocol.JobID]*runSeen)
	res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{Record: func(m protocol.Message) error {
		switch b := m.Body.(type) {
		case protocol.Submit:
			runs[b.Job.ID] = &runSeen{submitted: b.Job}
		case protocol.Launch:
			r := runs[b.Job.ID]
			r.launch, r.site = b, m.From.SiteName()
		case protocol.Started:
			if r := runs[b.Job]; r.started == 0 {
				r.started = m.At
			}
		case protocol.Finished:
			runs[b.Job].ended = m.At
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return runs, res.Totals
}

// What market and sites are told is wrong; what runs is the recorded job. Under a rule that does
// not look at run times every job that has the same GPUs runs exactly as long as without errors.
func TestWrongRunTimesChangeThePlanAndNotTheRun(t *testing.T) {
	s := small(60)
	for i := range s.Jobs {
		s.Jobs[i].Input = 2048 // moved in 18 seconds, which are stated right
	}
	exact, _ := runsOf(t, s, "round-robin")
	wrong, totals := runsOf(t, s, "round-robin/runtimes")
	compared := 0
	for _, j := range s.Jobs {
		e, w := exact[j.ID], wrong[j.ID]
		if w.submitted.Run != statedRunTime(s.Seed, j) || w.submitted.Deadline != j.Deadline || w.submitted.Arrival != j.Arrival {
			t.Errorf("%s: submitted %+v; want another run time and nothing else", j.ID, w.submitted)
		}
		if e.submitted.Run != j.Run {
			t.Errorf("%s: without errors %v is stated; want %v", j.ID, e.submitted.Run, j.Run)
		}
		if e.launch.Model != w.launch.Model || e.launch.Cap != w.launch.Cap || e.site != w.site {
			continue
		}
		compared++
		if d := w.ended.Sub(w.started) - e.ended.Sub(e.started); d < -time.Second || d > time.Second {
			t.Errorf("%s: ran for %v, without errors for %v", j.ID, w.ended.Sub(w.started), e.ended.Sub(e.started))
		}
		planned := w.ended.Sub(w.started).Seconds() / w.launch.Run.Seconds()
		if f := float64(w.submitted.Run) / float64(j.Run); math.Abs(f-1) > 0.1 && math.Abs(planned-1) < 0.05 {
			t.Errorf("%s: stated as %.2f of its run, planned for %v and ran for %v", j.ID, f, w.launch.Run, w.ended.Sub(w.started))
		}
	}
	if compared < 40 {
		t.Errorf("only %d jobs ran on the same GPUs", compared)
	}
	// Figures are by the real run times: a slowdown is never below one by a wrong one.
	if totals.Placed != len(s.Jobs) || totals.Slowdown.Mean > 3 {
		t.Errorf("totals %+v", totals)
	}
}

// The auction still places every job, and no energy is lost: Replay holds all sums against the
// meters. Its figures change, since it plans by what it is told.
func TestTheAuctionPlansByStatedRunTimes(t *testing.T) {
	s := late(small(60), time.Hour)
	_, exact := runsOf(t, s, PolicyAuction)
	_, wrong := runsOf(t, s, "auction/runtimes")
	if exact.Placed != 60 || wrong.Placed != 60 || exact.JobsUSD == wrong.JobsUSD {
		t.Errorf("placed %d and %d jobs at $%.3f and $%.3f; want all, at different costs", exact.Placed, wrong.Placed, exact.JobsUSD, wrong.JobsUSD)
	}
}

// A pause keeps the share of the work that is done, however long the work really is.
func TestPausedJobsOfWrongRunTimesDoAllTheirWork(t *testing.T) {
	s := small(150)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.MayWait() && j.GPUs > 0 && i%2 == 0 {
			j.Pause, j.State = 2*time.Minute, 4096
		}
	}
	pauses := 0
	res, err := Replay(t.Context(), s, baseline.RuleSuspendResume+"/runtimes", new(membus.Bus), Options{Record: func(m protocol.Message) error {
		if b, ok := m.Body.(protocol.Finished); ok && b.Left > 0 {
			pauses++
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, pairs := misstateRunTimes(s.Seed, s.Jobs)
	for _, id := range res.History.JobIDs() {
		r, _ := res.History.LatestJob(id)
		ran := 0.0
		for _, p := range append(r.Parts, *r.Run) {
			ran += p.Ended.Sub(p.Started).Hours()
		}
		// No GPU is three times as fast as the reference, nor slower than a third of it; a pause
		// costs some minutes.
		if real := pairs[id].real.Hours(); ran < real/3 || ran > 3.2*real+0.2*float64(1+len(r.Parts)) {
			t.Errorf("%s of %.2f h ran for %.2f h in %d parts", id, real, ran, 1+len(r.Parts))
		}
	}
	if pauses < 3 {
		t.Errorf("%d pauses", pauses)
	}
}
