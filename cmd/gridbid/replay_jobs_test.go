package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
)

// A log in the Standard Workload Format, a dump of sacct, a list of pods and a file of one's own
// are replayed as they are, and the notes say what was left out and drawn.
func TestJobsOfOnesOwnAreReplayed(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		flags []string
		jobs  int
		note  string
	}{
		"swf": {"; UnixStartTime: 1710115200\n1 3600 5 600 4 -1 -1 4 -1 -1 1 7 1 -1 1 -1 -1 -1\n2 7200 5 600 2 -1 -1 2 -1 -1 1 7 1 -1 1 -1 -1 -1\n", nil, 2, "2 jobs of swf"},
		"sacct": {"JobID|Account|Submit|Elapsed|State|ReqTRES|AllocTRES\n" +
			"12|vision|2024-03-11T08:00:00|00:30:00|COMPLETED|cpu=8,gres/gpu=2,mem=64G,node=1|\n12.batch||2024-03-11T08:00:10|00:30:00|COMPLETED||cpu=8\n" +
			"13|nlp|2024-03-11T09:00:00|00:00:00|CANCELLED by 7|cpu=8,gres/gpu=2,mem=64G,node=1|\n", nil, 1, "1 jobs left out: they have no run time"},
		"pods": {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" +
			"a,4000,4096,1,460,,LS,Running,100,700,160\nb,4000,4096,0,0,,BE,Running,200,800,260\n", nil, 2, "2 jobs of openb pods"},
		"own": {"job_id,submit_time,hours,gpus,within_s\n\"a, quoted\",2024-03-11T08:00:00Z,0.5,0.25,7200\n", []string{"--jobs-columns", "duration_s=hours*3600"}, 1, "deadlines of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "jobs")
			if err := os.WriteFile(file, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"--policy", "home-fifo", "--bus", "mem", "--no-bound", "--run", dir, "--json", "-", "--jobs", file}, tc.flags...)
			stdout, stderr, err := execute(newReplayCommand(), args...)
			var all []history.Totals
			if err = errors.Join(err, json.Unmarshal([]byte(stdout), &all)); err != nil {
				t.Fatalf("replay: %v\n%s", err, stderr)
			}
			if all[0].Jobs != tc.jobs || all[0].Placed != tc.jobs {
				t.Errorf("%d jobs, %d of them placed; want %d", all[0].Jobs, all[0].Placed, tc.jobs)
			}
			if !strings.Contains(stderr, tc.note) {
				t.Errorf("no note with %q:\n%s", tc.note, stderr)
			}
		})
	}
}
