package scenarios

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline"
)

// makeSomeElastic makes jobs of whole GPUs elastic, with random curves and ranges; some may be paused.
func makeSomeElastic(t *rapid.T, jobs []protocol.Job) (elastic int) {
	for i := range jobs {
		jobs[i].Models = nil
		j := jobs[i]
		if j.IsGang() || j.GPUs == 0 || j.Share != 1000 || j.Run == 0 {
			continue
		}
		pods, speed := 1, protocol.Milli(1000)
		j.Speed = []protocol.SpeedPoint{{Pods: 1, Speed: 1000}}
		for range rapid.IntRange(1, 3).Draw(t, "points") {
			pods += rapid.IntRange(1, 3).Draw(t, "more")
			speed += protocol.Milli(rapid.IntRange(100, 2500).Draw(t, "speed-up"))
			j.Speed = append(j.Speed, protocol.SpeedPoint{Pods: pods, Speed: speed})
		}
		j.Speed = j.Speed[rapid.IntRange(0, 1).Draw(t, "from"):]
		if len(j.Speed) < 2 {
			continue
		}
		fewest, most := j.PodRange()
		if j.Pause = 0; rapid.Bool().Draw(t, "pausable") { // and long enough for that to happen
			j.Urgency, j.Run = protocol.UrgencyFlexible, time.Duration(rapid.IntRange(60, 600).Draw(t, "minutes"))*time.Minute
			j.Deadline = j.Arrival.Add(j.Run * time.Duration(rapid.IntRange(1, 6).Draw(t, "slack")))
			j.Pause, j.State = time.Duration(rapid.IntRange(1, 300).Draw(t, "pause"))*time.Second, 64
		}
		j = j.WithPods([]protocol.Component{{Role: "worker", Pods: rapid.IntRange(fewest, most).Draw(t, "pods"), GPUs: min(j.GPUs, 2), Share: 1000, CPU: 1000, Memory: 512}})
		if j.InvalidReason() == "" {
			jobs[i] = j
			elastic++
		}
	}
	return elastic
}

// Whatever the fleet, the curves and the rule: an elastic job runs with as many pods as it was awarded, never
// fewer than its fewest or more than its most, in one run at a time; its parts together do its work once, and
// each restart once; and no node is given twice, which Replay itself checks, and the market finds no bid of the
// sites impossible.
func TestAnElasticJobDoesItsWorkOnceWithinItsRange(t *testing.T) {
	several, resized := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t, 16)
		if makeSomeElastic(t, s.Jobs) == 0 {
			return
		}
		for i := range s.Sites { // one model, whose run times are those of the reference clock
			for k := range s.Sites[i].Nodes {
				if n := &s.Sites[i].Nodes[k]; n.GPUs > 0 {
					n.Model = "V100"
				}
			}
		}
		awarded := map[protocol.JobID]map[uint64]int{}
		policy := rapid.SampledFrom([]string{PolicyAuction, baseline.RuleCarbonScaler, baseline.RuleSuspendResume}).Draw(t, "policy")
		res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{Record: func(m protocol.Message) error {
			if w, ok := m.Body.(protocol.Award); ok {
				if awarded[w.Job] == nil {
					awarded[w.Job] = map[uint64]int{}
				}
				awarded[w.Job][w.Epoch] = w.Option.Pods
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if n := res.Counts[string(protocol.ImpossibleBid)]; n > 0 {
			t.Errorf("%d bids of honest sites are impossible", n)
		}
		for _, j := range s.Jobs {
			rec, ok := res.History.LatestJob(j.ID)
			if !ok || !j.IsElastic() {
				continue
			}
			sizes := checkParts(t, j, &rec, awarded[j.ID])
			if len(slices.Compact(slices.Clone(sizes))) > 1 {
				resized++
			}
			if len(sizes) > 0 && sizes[0] != j.PodCount() {
				several++
			}
		}
	})
	if several == 0 || resized == 0 {
		t.Errorf("%d jobs got another number of pods than they named, and %d changed it; the test shows nothing", several, resized)
	}
}

// checkParts checks the runs of an elastic job, and returns on how many pods each was.
func checkParts(t *rapid.T, j protocol.Job, rec *history.JobRecord, awarded map[uint64]int) (sizes []int) {
	fewest, most := j.PodRange()
	work, last := 0.0, protocol.Time(0)
	exact := len(rec.Lost) == 0
	segments := rec.RunSegments()
	for i, s := range segments {
		pods := s.Job.PodCount()
		sizes = append(sizes, pods)
		if pods < fewest || pods > most || s.Job.InvalidPlaces(s.Run.Places) != "" {
			t.Errorf("%s runs on %d pods at %+v; its range is %d to %d", j.ID, pods, s.Run.Places, fewest, most)
		}
		if want := awarded[s.Run.Epoch]; want != 0 && want != pods {
			t.Errorf("%s was awarded %d pods under epoch %d and runs on %d", j.ID, want, s.Run.Epoch, pods)
		}
		if s.Run.Started < last || i+1 < len(segments) && !s.Over {
			t.Errorf("%s runs twice at once", j.ID)
		}
		last = s.Run.Ended
		exact = exact && s.Over && s.Run.Cap == 0 && s.Run.Model == "V100" && s.Run.Failed == ""
		work += s.Run.Ended.Sub(s.Run.Started).Seconds() * float64(j.SpeedOf(pods))
	}
	named := float64(j.SpeedOf(j.PodCount()))
	want := (j.Run + time.Duration(len(segments)-1)*j.Pause).Seconds() * named
	// At full clock on the reference GPU time is run time; parts round up to seconds, and move no input.
	if slack := 3 * float64(len(segments)) * float64(j.SpeedOf(most)); exact && j.Input == 0 && len(segments) > 0 && rec.HasEnded() && (work < want-slack || work > want+slack) {
		t.Errorf("%s did %.0f of %.0f thousandths of seconds of one pod's work in %d parts", j.ID, work, want, len(segments))
	}
	return sizes
}
