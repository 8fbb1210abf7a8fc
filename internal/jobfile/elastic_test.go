package jobfile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const elasticFile = `id: elastic
run: 2h
pause: 90s
checkpoint: 8
components:
  - pods: 4
    min: 2
    max: 6
    gpus: 8
    cpu: 32
    speed:
      - {pods: 1, speed: 1}
      - {pods: 4, speed: 3.1}
      - {pods: 8, speed: 5.2}
`

func TestAComponentWithASpeedUpCurveIsElastic(t *testing.T) {
	o, err := Parse("job.yaml", []byte(elasticFile))
	if err != nil {
		t.Fatal(err)
	}
	j := o.SubmitAt(1).Job
	want := []protocol.SpeedPoint{{Pods: 2, Speed: 1700}, {Pods: 4, Speed: 3100}, {Pods: 6, Speed: 4150}}
	if !reflect.DeepEqual(j.Speed, want) || j.GPUs != 32 || j.Pause != 90*time.Second || j.State != 8<<10 || j.InvalidReason() != "" {
		t.Errorf("the job is %+v: %s; want the curve %v", j, j.InvalidReason(), want)
	}
	if j := mustParse(t, strings.NewReplacer("pods: 4\n", "pods: 1\n", "    min: 2\n", "").Replace(elasticFile)); !j.IsGang() || j.PodCount() != 1 {
		t.Errorf("an elastic job of one pod is %+v", j)
	}
}

func mustParse(t *testing.T, text string) protocol.Job {
	o, err := Parse("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o.SubmitAt(1).Job
}

func TestErrorsOfACurveNameFileLineAndField(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"pods: 8, speed: 5.2", "pods: 8, speed: 3", "job.yaml:14: components/0/speed/2: not above the speed on 4 pods"},
		{"pods: 8, speed: 5.2", "pods: 3, speed: 5", "job.yaml:14: components/0/speed/2: is for 3 pods after 4"},
		{"pods: 8, speed: 5.2", "pods: 8, speed: -1", "job.yaml:14: components/0/speed/2/speed"},
		{"pods: 8, speed: 5.2", "pods: 8", "job.yaml:14: components/0/speed/2"},
		{"min: 2", "min: 9", "job.yaml:7: components/0/min: is 9, and the curve is from 1 to 8 pods"},
		{"max: 6", "max: 2", "job.yaml:8: components/0/max: is 2: want more than the fewest pods, 2"},
		{"max: 6", "max: 3", "job.yaml:6: components/0/pods: 4, which run is for"},
		{"run: 2h\n", "within: 2h\n", "job.yaml"},
		{"pause: 90s", "pause: 90", "job.yaml:3: pause"},
		{"  - pods: 4", "  - {role: head, cpu: 1}\n  - pods: 4", "job.yaml:12: components/1/speed: is that of one of several components"},
		{"    speed:\n      - {pods: 1, speed: 1}\n      - {pods: 4, speed: 3.1}\n      - {pods: 8, speed: 5.2}\n", "", "job.yaml:7: components/0/min: is given without speed"},
		{"checkpoint: 8\n", "checkpoint: 8\nmin_available: 4\n", "job.yaml:5: min_available: is given for an elastic job"},
		{"pause: 90s", "urgency: now\npause: 90s", "job.yaml:4: pause: a job that may be paused may wait"},
	} {
		text := strings.Replace(elasticFile, tc.from, tc.to, 1)
		if _, err := Parse("job.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v; want %q", tc.to, tc.from, err, tc.want)
		}
	}
}

// A cluster changes the number of pods of a Job only, and of one that does not name it.
func TestAnElasticJobHasATaskThatChangesItsNumberOfPods(t *testing.T) {
	for _, tc := range []struct{ task, want string }{
		{`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{}}}`, ""},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":{"parallelism":4}}`, "job.yaml:15: task: says spec.parallelism: 4, and the job is elastic"},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":{"completions":4}}`, "job.yaml:15: task: says spec.completions: 4, and the job is elastic"},
		{`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob"}`, `job.yaml:15: task: is a "PyTorchJob" of "kubeflow.org/v1", whose number of pods cannot change on a cluster`},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":7}`, "job.yaml:15: task: is no Kubernetes object in JSON"},
		{`job`, "job.yaml:15: task: is no Kubernetes object in JSON"},
	} {
		_, err := Parse("job.yaml", []byte(elasticFile+"task: '"+tc.task+"'\n"))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v; want %q", tc.task, err, tc.want)
		}
	}
	fixed := "id: fixed\nrun: 1h\ncomponents: [{pods: 4, gpus: 8, cpu: 4}]\ntask: '{\"kind\":\"PyTorchJob\",\"apiVersion\":\"kubeflow.org/v1\"}'\n"
	if _, err := Parse("job.yaml", []byte(fixed)); err != nil {
		t.Errorf("a job that is not elastic: %v", err)
	}
}
