package jobfile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestAJobFileIsReadInItsUnits(t *testing.T) {
	o, err := Parse("job.yaml", []byte(`id: train-7
tenant: vision
gpus: 1
share: 0.5
gpu_memory: 8
cpu: 2.5
memory: 16
run: 1h30m
within: 8h
urgency: flexible
models: [A100]
regions: [oslo]
input: 1.5
task: '{"kind": "Job"}'
`))
	if err != nil {
		t.Fatal(err)
	}
	const now protocol.Time = 1_649_851_200_000
	s := o.SubmitAt(now)
	want := protocol.Job{
		ID: "train-7", Tenant: "vision", GPUs: 1, Share: 500, GPUMemory: 8192, CPU: 2500, Memory: 16384, Models: []string{"A100"},
		Regions: []string{"oslo"}, Input: 1536, Run: 90 * time.Minute, Arrival: now, Deadline: now.Add(8 * time.Hour), Urgency: protocol.UrgencyFlexible,
	}
	if !reflect.DeepEqual(s, protocol.Submit{Job: want, Task: `{"kind": "Job"}`}) || s.Job.InvalidReason() != "" {
		t.Errorf("read %+v", s)
	}
}

func TestAWrongJobFileIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"gpus: 1\n":                            "add run, within or deadline",
		"run: 1h\ngpu: 1\n":                    "job.yaml:2: gpu: unknown key",
		"run: soon\n":                          "a time span such as",
		"run: 1h\nwithin: 1h\ndeadline: x\n":   "keep one",
		"run: 1h\ndeadline: tomorrow\n":        "want a time as",
		"id: a b\nrun: 1h\n":                   "is \"a b\"",
		"id: a\ngpus: 2\nshare: 0.5\nrun: 1h":  "several GPUs are held whole",
		"id: a\ncpu: 1\nrun: 1000h\n":          "want 1s..720h",
		"id: a\nrun: 1h\n":                     "needs some",
		"id: a\ncpu: 1\nrun: 1h\n---\nid: b\n": "job.yaml:4: a second document",
		"id: a\ncpu: 1\nrun: 1h\ntask: " + strings.Repeat("ä", 40_000): "job.yaml:4: task: is 80000 bytes long",
		"[": "correct the YAML",
	} {
		if _, err := Parse("job.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", text, err, want)
		}
	}
}

func TestUrgencyIsReadInBothForms(t *testing.T) {
	for text, want := range map[string]string{
		"run: 1h\n":                                           "standard",
		"run: 1h\nwithin: 8h\n":                               "standard",
		"run: 1h\nurgency: now\n":                             "now",
		"run: 1h\nurgency: standard\n":                        "standard",
		"within: 8h\nurgency: flexible\n":                     "flexible",
		"deadline: 2026-11-21T18:00:00Z\nurgency: flexible\n": "flexible",
		"run: 1h\ndeferrable: false\n":                        "now",
		"run: 1h\ndeferrable: true\n":                         "standard",
		"run: 1h\nwithin: 8h\ndeferrable: true\n":             "flexible",
	} {
		o, err := Parse("job.yaml", []byte("gpus: 1\ncpu: 1\n"+text))
		if got := o.WithID("x").SubmitAt(1).Job.Urgency; err != nil || got.String() != want {
			t.Errorf("%q is read as %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"run: 1h\nurgency: soon\n":                   "job.yaml:4: urgency: is soon: want one of now standard flexible",
		"run: 1h\nurgency: flexible\n":               "job.yaml:4: urgency: is flexible without a deadline: add within or deadline",
		"within: 8h\ndeferrable: true\nurgency: now": "job.yaml:5: urgency: is given together with deferrable: keep urgency alone",
	} {
		if _, err := Parse("job.yaml", []byte("gpus: 1\ncpu: 1\n"+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", text, err, want)
		}
	}
}

func FuzzAJobFile(f *testing.F) {
	f.Add("id: a\ngpus: 1\nrun: 1h\n")
	f.Add("run: 1h\nwithin: 1s\nshare: 1e-9\n")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse("job.yaml", []byte(text))
		if err == nil && o.ID() != "" && o.deadline == 0 && o.SubmitAt(1).Job.InvalidReason() != "" {
			t.Errorf("read a job that no market takes: %s", o.SubmitAt(1).Job.InvalidReason())
		}
	})
}

func TestAJobNeedNotSayHowLongItRuns(t *testing.T) {
	for text, want := range map[string]struct {
		image string
		run   time.Duration
	}{
		"gpus: 1\ncpu: 1\nwithin: 8h\n": {"", 0},
		"gpus: 1\ncpu: 1\nrun: 1h\n":    {"", time.Hour},
		"gpus: 1\ncpu: 1\nwithin: 8h\ntask: '{\"kind\":\"Job\",\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"train:7\"}]}}}}'\n": {"train:7", 0},
		"gpus: 1\ncpu: 1\nwithin: 8h\nimage: mine\ntask: '{\"image\":\"other\"}'\n":                                                                              {"mine", 0},
		"gpus: 1\ncpu: 1\nwithin: 8h\ntask: sleep 5\n":                                                                                                           {"", 0},
	} {
		o, err := Parse("job.yaml", []byte(text))
		j := o.WithID("x").SubmitAt(1).Job
		if err != nil || j.Run != want.run || j.Image != want.image || j.InvalidReason() != "" {
			t.Errorf("%q is read as %+v, %v (%s); want image %q, run %v", text, j, err, j.InvalidReason(), want.image, want.run)
		}
	}
}
