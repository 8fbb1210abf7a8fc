package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// What people write on a Job beside [kube.LabelQueue]. Only how long it runs, or by
// when it is to be done, must be there: spec.activeDeadlineSeconds says the former.
const (
	NoteRun        = "gridbid.io/run"        // how long it runs on a V100 without a cap: "1h30m"
	NoteWithin     = "gridbid.io/within"     // to be done so long after it was taken in: "8h"; default four times run
	NoteDeadline   = "gridbid.io/deadline"   // or by then: "2026-11-21T18:00:00Z"
	NoteDeferrable = "gridbid.io/deferrable" // "true": it may wait for a better hour
	NoteModels     = "gridbid.io/models"     // GPU models that will do: "A100,H100"; default any
	NoteRegions    = "gridbid.io/regions"    // sites that may hold its data: "oslo,lyon"; default any
	NotePriority   = "gridbid.io/priority"   // -1000..1000

	NoteTaken = "gridbid.io/submitted" // when it was taken in; ours

	// ManagedBy is what a Job has in spec.managedBy that may run elsewhere.
	ManagedBy = "gridbid.io/queue"
)

// usual is how much longer than it runs a job may take if it does not say.
const usual = 4

// A scribe reads what stands on an object, and notes all that is wrong with it.
type scribe struct {
	notes  map[string]string
	faults []string
}

func (s *scribe) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

func (s *scribe) span(key string) time.Duration {
	text := s.notes[key]
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		s.fault("annotation %s: %q is no time span; want one as 1h30m", key, text)
	}
	return d
}

func (s *scribe) number(key string) int64 {
	text := s.notes[key]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.fault("annotation %s: %q is no whole number", key, text)
	}
	return n
}

func (s *scribe) list(key string) (all []string) {
	for _, x := range strings.Split(s.notes[key], ",") {
		if x = strings.TrimSpace(x); x != "" {
			all = append(all, x)
		}
	}
	return all
}

// terms reads what annotations say of when and where a job may run. Limit is how
// long it may run by its object, 0 if that does not say. A job that says by when it
// is to be done may leave out how long it runs: sites estimate that.
func (s *scribe) terms(j *protocol.Job, limit time.Duration) {
	if j.Run = s.span(NoteRun); j.Run == 0 {
		j.Run = limit
	}
	if j.Run == 0 && s.notes[NoteRun] == "" && s.notes[NoteWithin] == "" && s.notes[NoteDeadline] == "" {
		s.fault("how long does it run? annotate %s, as 1h30m; or by when it is to be done: %s or %s", NoteRun, NoteWithin, NoteDeadline)
	}
	j.Deadline = j.Arrival.Add(usual * j.Run)
	within := s.span(NoteWithin)
	switch text := s.notes[NoteDeadline]; {
	case within > 0 && text != "":
		s.fault("annotations %s and %s: keep one", NoteWithin, NoteDeadline)
	case within > 0:
		j.Deadline = j.Arrival.Add(within)
	case text != "":
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			s.fault("annotation %s: %q is no time; want one as 2026-11-21T18:00:00Z", NoteDeadline, text)
		}
		j.Deadline = protocol.At(t)
	}
	switch text := s.notes[NoteDeferrable]; text {
	case "", "false":
	case "true":
		j.Deferrable = true
	default:
		s.fault("annotation %s: %q; want true or false", NoteDeferrable, text)
	}
	j.Models, j.Regions, j.Priority = s.list(NoteModels), s.list(NoteRegions), int(s.number(NotePriority))
}

// most is how many pods a job may have at once.
const most = 10_000

// longest is how many bytes of an image's name are told.
const longest = 512

// pods adds what pods of one sort ask for. All of a job's pods go to one node. What
// a job runs is the first image: by it sites tell how long jobs like it take.
func (s *scribe) pods(j *protocol.Job, n int, spec corev1.PodSpec) {
	if n < 0 || n > most {
		s.fault("%d pods at once; want up to %d", n, most)
		return
	}
	if len(spec.Containers) > 0 && j.Image == "" {
		image := spec.Containers[0].Image
		j.Image = image[:min(len(image), longest)]
	}
	cpu, mem, gpus := kube.Asks(spec)
	j.CPU += min(cpu, 1<<41) * protocol.Milli(n) // what is more is refused all the same
	j.Memory += min(mem, 1<<41) * protocol.MiB(n)
	j.GPUs += min(gpus, 1<<20) * n
}

// share reads how much of each device a job takes.
func (s *scribe) share(j *protocol.Job) {
	j.GPUMemory = protocol.MiB(s.number(kube.NoteMemory))
	if j.GPUs > 0 {
		if j.Share = 1000; s.notes[kube.NoteMilli] != "" {
			j.Share = protocol.Milli(s.number(kube.NoteMilli))
		}
	}
}

// local says whether a Job stays in its own cluster.
func local(j *batchv1.Job) bool { return j.Spec.ManagedBy == nil }

// order reads what a Job asks for, taken in at some time, or all that is wrong
// with it.
func (c Config) order(j *batchv1.Job, taken protocol.Time) (protocol.Submit, []string) {
	s := scribe{notes: j.Annotations}
	job := protocol.Job{ID: protocol.JobID(c.Site + "/" + string(j.UID)), Tenant: c.Site + "/" + j.Namespace, Arrival: taken}
	s.pods(&job, int(parallelism(j)), j.Spec.Template.Spec)
	limit := time.Duration(0)
	if j.Spec.ActiveDeadlineSeconds != nil {
		limit = time.Duration(*j.Spec.ActiveDeadlineSeconds) * time.Second
	}
	s.terms(&job, limit)
	s.share(&job)
	if c.Runs {
		job.Home = c.Site
	}
	switch by := j.Spec.ManagedBy; {
	case by != nil && *by != ManagedBy:
		s.fault("spec.managedBy: it is %q's; want %s, or none", *by, ManagedBy)
	case local(j) && !c.Runs:
		s.fault("spec.managedBy: this cluster runs nothing itself; want %s", ManagedBy)
	case local(j) && job.GPUs > 0 && c.Sharing != kube.Plugin:
		s.fault("spec.managedBy: this site gives GPUs by %s, for which the pods of a Job have to be written anew; want %s", c.Sharing, ManagedBy)
	case local(j) && len(job.Regions) > 0:
		s.fault("annotation %s: to run elsewhere it needs spec.managedBy: %s", NoteRegions, ManagedBy)
	case local(j):
		job.Regions = []string{c.Site}
	}
	if why := job.Check(); why != "" && len(s.faults) == 0 {
		s.fault("%s", why)
	}
	task, err := c.task(j)
	if err != nil {
		s.fault("%v", err)
	}
	if len(task) > protocol.MaxText {
		s.fault("the Job is %d bytes long as JSON, without its status; want up to %d: put what is long into a ConfigMap", len(task), protocol.MaxText)
	}
	return protocol.Submit{Job: job, Task: task}, s.faults
}

// task is what is to be run: the Job itself, to be released where it is; or one
// like it, to be created by whoever wins.
func (c Config) task(j *batchv1.Job) (protocol.Task, error) {
	meta := map[string]any{"name": j.Name, "namespace": j.Namespace}
	t := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
	if local(j) {
		meta["annotations"] = map[string]any{kube.NoteRelease: j.UID}
	} else {
		s := j.Spec.DeepCopy()
		s.Suspend, s.ManagedBy, s.Selector, s.ManualSelector, s.TTLSecondsAfterFinished = nil, nil, nil, nil, nil
		t["spec"] = s
	}
	data, err := json.Marshal(t)
	return protocol.Task(data), err
}
