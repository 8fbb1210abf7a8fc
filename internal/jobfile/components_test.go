package jobfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

const gangFile = `id: gang
run: 2h
models: [A100, H100]
components:
  - {role: head, cpu: 4, memory: 16}
  - role: worker
    pods: 4
    gpus: 8
    cpu: 32
    memory: 256
    models: [H100]
min_available: 5
`

func TestComponentsMakeAGang(t *testing.T) {
	o, err := Parse("job.yaml", []byte(gangFile))
	if err != nil {
		t.Fatal(err)
	}
	j := o.SubmitAt(1).Job
	if j.PodCount() != 5 || j.GPUs != 32 || j.CPU != 132_000 || j.Memory != 1040<<10 || j.Share != 0 || j.TotalGPUMilli() != 32_000 || len(j.Models) != 1 || j.Models[0] != "H100" || j.InvalidReason() != "" {
		t.Errorf("the gang is %+v: %s", j, j.InvalidReason())
	}
	one, err := Parse("job.yaml", []byte("id: one\nrun: 1h\ncomponents: [{gpus: 2, cpu: 4, memory: 8}]\n"))
	plain, _ := Parse("job.yaml", []byte("id: one\nrun: 1h\ngpus: 2\ncpu: 4\nmemory: 8\n"))
	if a, b := encoded(t, one), encoded(t, plain); err != nil || a != b {
		t.Errorf("one component of one pod is sent as\n%q, the job without components as\n%q: %v", a, b, err)
	}
}

func encoded(t *testing.T, o Request) string {
	data, err := protocol.Encode(protocol.Message{Version: protocol.Current, At: 1, From: protocol.Submitter, Seq: 1, To: protocol.Coordinator, Body: o.SubmitAt(1)})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestErrorsOfComponentsNameFileLineAndField(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"pods: 4", "pods: 2000", "job.yaml:7: components/1/pods"},
		{"gpus: 8", "gpus: 17", "job.yaml:8: components/1/gpus"},
		{"gpus: 8", "gpus: 2\n    share: 0.5", "job.yaml:"},
		{"cpu: 4, ", "", "job.yaml:5: components/0"},
		{"role: worker", "role: head", "job.yaml:6: components/1/role"},
		{"role: worker", "rank: worker", "job.yaml:6: components/1/rank"},
		{"min_available: 5", "min_available: 6", "job.yaml:12: min_available: is 6, and the job has 5 pods"},
		{"min_available: 5", "min_available: 1", "job.yaml:12: min_available: 1; want 2..5"},
		{"models: [A100, H100]", "models: [A100]", "job.yaml:11: components/1/models"},
		{"run: 2h", "run: 2h\ngpus: 4", "job.yaml:3: gpus: is given together with components"},
	} {
		text := strings.Replace(gangFile, tc.from, tc.to, 1)
		if _, err := Parse("job.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v; want %q", tc.to, tc.from, err, tc.want)
		}
	}
}

const modelsOfParts = `id: rl
run: 1h
models: [H100, L4, T4]
components:
  - {role: learner, part: learn, pods: 2, gpus: 8, cpu: 16, models: [H100]}
  - {role: critic, part: learn, pods: 1, gpus: 1, cpu: 4}
  - {role: actor, part: act, pods: 4, gpus: 2, cpu: 4, models: [L4, T4]}
sites: {max: 2}
`

// Components that are parts share the models of their part alone; at one site all pods are a gang of one model.
func TestAPartHasTheModelsOfItsComponents(t *testing.T) {
	o, err := Parse("job.yaml", []byte(modelsOfParts))
	if err != nil {
		t.Fatal(err)
	}
	j := o.SubmitAt(1).Job
	parts := j.PartJobs()
	if len(parts) != 2 || j.InvalidReason() != "" || !slices.Equal(parts[0].Models, []string{"H100"}) || !slices.Equal(parts[1].Models, []string{"L4", "T4"}) || len(j.Models) != 3 {
		t.Errorf("the job is %+v: %s", j, j.InvalidReason())
	}
	for from, to := range map[string]string{"max: 2": "max: 1", "cpu: 4}\n  - {role: actor, part: act": "cpu: 4}\n  - {role: actor, part: learn"} {
		if _, err := Parse("job.yaml", []byte(strings.Replace(modelsOfParts, from, to, 1))); err == nil || !strings.Contains(err.Error(), "job.yaml:7: components/2/models") {
			t.Errorf("with %q: %v", to, err)
		}
	}
}
