package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// crowdedTrace writes a scenario whose trace has 60 jobs in its first hour and 180 in the other 23
// hours of the day, as the dense part of a recorded trace may begin.
func crowdedTrace(t *testing.T) string {
	t.Helper()
	dir := tiny(t)
	var b strings.Builder
	b.WriteString("job_id,submit_s,duration_s,gpus,vc\n")
	for i := range 240 {
		at := 60 * i
		if i >= 60 {
			at = 3600 + 460*(i-60)
		}
		fmt.Fprintf(&b, "j%03d,%d,60,1,v\n", i, at)
	}
	files := map[string]string{
		"j.csv":         b.String(),
		"scenario.yaml": "name: tiny\nwindow: {file: w.csv}\nnodes: {file: n.csv, scale: 1}\njobs: {trace: j.csv, from: 0, max: 200}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestALimitOnJobsThinsThemOverTheWholeDay(t *testing.T) {
	dir := crowdedTrace(t)
	load := func(most int, seed uint64) spec.Scenario {
		s, err := spec.LoadScenario(dir, spec.Options{MaxJobs: most, Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		sound(t, s)
		return s
	}
	all := load(0, 1)
	arrivals := make(map[protocol.JobID]protocol.Time)
	for _, j := range all.Jobs {
		arrivals[j.ID] = j.Arrival
	}
	for _, most := range []int{1, 7, 20, 150, 199} {
		s := load(most, 1)
		early := 0
		for _, j := range s.Jobs {
			if at, ok := arrivals[j.ID]; !ok || at != j.Arrival {
				t.Errorf("%d jobs: %s arrives at %v; in all 200 at %v", most, j.ID, j.Arrival, at)
			}
			if j.Arrival < s.Start.Add(time.Hour) {
				early++
			}
		}
		// Of the scenario's own 200 jobs 60 arrive in the first hour.
		if want := most * 60 / 200; len(s.Jobs) != most || early < want-1 || early > want+1 {
			t.Errorf("%d jobs: %d loaded, %d of them in the first hour; want %d within 1", most, len(s.Jobs), early, want)
		}
		if last := s.Jobs[len(s.Jobs)-1].Arrival; most >= 20 && last < s.Start.Add(15*time.Hour) {
			t.Errorf("%d jobs: the last arrives at %v", most, last)
		}
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, fmt.Sprintf("%d of these jobs are replayed, evenly spaced", most)) {
			t.Errorf("%d jobs: the notes do not say that they were thinned: %q", most, notes)
		}
	}
	if !reflect.DeepEqual(load(20, 1).Jobs, load(20, 1).Jobs) {
		t.Error("the same seed keeps other jobs")
	}
	if !reflect.DeepEqual(load(200, 1).Jobs, all.Jobs) {
		t.Error("a limit of the scenario's own number changes its jobs")
	}
	if more := load(230, 1).Jobs; len(more) != 230 || more[229].ID != "j229" {
		t.Errorf("a limit of 230 gives %d jobs", len(more))
	}
	one, other := load(20, 1), load(20, 2)
	same := 0
	for i := range one.Jobs {
		if one.Jobs[i].ID == other.Jobs[i].ID {
			same++
		}
	}
	if same == len(one.Jobs) {
		t.Error("seeds 1 and 2 keep the same jobs")
	}
}
