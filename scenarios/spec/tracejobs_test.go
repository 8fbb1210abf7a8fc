package spec_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// writeTrace writes a trace of jobs, and returns its path.
func writeTrace(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.csv")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a trace says of a job goes before what would be drawn for it, and the rest is drawn as it is
// for jobs of any trace.
func TestWhatATraceGivesIsNotDrawn(t *testing.T) {
	const head = "job_id,submit_time,duration_s,gpus,models,home,regions,urgency,within_s,input_gib,priority,tenant\n"
	file := writeTrace(t, head+
		"given,2024-03-11T14:00:00Z,3600,1,v100,wind-coast,wind-coast|hydro-north,flexible,9000,2,5,nlp\n"+
		"drawn,2024-03-11T15:00:00Z,3600,1,,,,,,,,\n")
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Jobs: file})
	if err != nil {
		t.Fatal(err)
	}
	given, drawn := s.Jobs[0], s.Jobs[1]
	want := protocol.Job{ID: "given", Tenant: "nlp", Home: "wind-coast", GPUs: 1, Share: 1000, CPU: 4000, Memory: 32768, Models: []string{"V100"},
		Arrival: s.Start.Add(14 * time.Hour), Run: time.Hour, Deadline: s.Start.Add(16*time.Hour + 30*time.Minute), Urgency: protocol.UrgencyFlexible,
		Priority: 5, Regions: []string{"wind-coast", "hydro-north"}, Input: 2048}
	if !reflect.DeepEqual(given, want) {
		t.Errorf("the given job is %+v; want %+v", given, want)
	}
	if drawn.Home == "" || drawn.Deadline == 0 {
		t.Errorf("the drawn job has no home or no deadline: %+v", drawn)
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "taken from the trace, of 2 jobs: homes of 1, deadlines of 1, urgency of 1, regions of 1, input data of 1, pauses of 0; those of the others are drawn") {
		t.Errorf("the notes do not say what was taken: %s", notes)
	} else if !strings.Contains(notes, "tenants of 1, GPU models of 1, a priority other than 0 of 1; none of these is drawn") {
		t.Errorf("the notes do not say whose tenants, models and priorities these are: %s", notes)
	}
	// The columns may have other names, in the file of a scenario too, and need not be taken.
	renamed := writeTrace(t, strings.Replace("id,"+head[7:]+"x,2024-03-11T14:00:00Z,3600,1,,mars,,,,,,\n", "within_s", "due_min", 1))
	s, err = spec.LoadScenario(spec.DefaultScenario, spec.Options{Jobs: renamed, JobsColumns: map[string]string{"job_id": "id", "home": ""}})
	if err != nil || s.Jobs[0].ID != "x" {
		t.Errorf("a mapped trace: %v, %+v", err, s.Jobs)
	}
	if _, err = spec.LoadScenario(spec.DefaultScenario, spec.Options{Jobs: renamed, JobsColumns: map[string]string{"job_id": "id"}}); err == nil || !strings.Contains(err.Error(), `:2: home is "mars", and no site is called that: want one of hydro-north, `) {
		t.Errorf("a home that is no site: %v", err)
	}
}

// A trace of jobs without GPUs sizes a fleet by its cores.
func TestAFleetIsSizedByCoresWhereNoJobHasGPUs(t *testing.T) {
	dir := data(t)
	file := writeTrace(t, "; UnixStartTime: 1710115200\n1 0 0 3600 64 -1 -1 64 -1 -1 1 1 1 -1 1 -1 -1 -1\n2 40000 0 86000 64 -1 -1 64 -1 -1 1 1 1 -1 1 -1 -1 -1\n")
	s, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: dir, Jobs: file})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "for 65 % load of the cores") || strings.Contains(notes, "scale 0.0000") {
		t.Errorf("the notes of a log of cores: %s", notes)
	}
}
