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

// Annotations with which users describe a Job that carries [kube.LabelQueue]. Required is
// only a run time or a deadline; spec.activeDeadlineSeconds counts as a run time.
const (
	AnnotationRunTime    = "gridbid.io/run"        // run time on a V100 without a power cap: "1h30m"
	AnnotationWithin     = "gridbid.io/within"     // deadline as a time after submission: "8h"; default: four times the run time
	AnnotationDeadline   = "gridbid.io/deadline"   // deadline as an instant: "2026-11-21T18:00:00Z"
	AnnotationUrgency    = "gridbid.io/urgency"    // "now", "standard" or "flexible": how dearly its waiting is held; default standard
	AnnotationDeferrable = "gridbid.io/deferrable" // the former form of urgency: "false" is now, "true" with a deadline flexible
	AnnotationModels     = "gridbid.io/models"     // accepted GPU models: "A100,H100"; default any
	AnnotationRegions    = "gridbid.io/regions"    // sites at which it may run: "oslo,lyon"; default any
	AnnotationPriority   = "gridbid.io/priority"   // -1000..1000

	AnnotationSubmittedAt = kube.AnnotationSubmittedAt // when it was submitted; written by this package

	// ManagedBy is the value of spec.managedBy of Jobs that may run at other sites.
	ManagedBy = "gridbid.io/queue"
)

// defaultDeadlineSlack is the default deadline of a job, as a multiple of its run
// time.
const defaultDeadlineSlack = 4

// An annotationReader parses an object's annotations and collects all faults, so that
// the user can fix them at once.
type annotationReader struct {
	annotations map[string]string
	faults      []string
}

// addFault records a fault, in words for the user.
func (s *annotationReader) addFault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// readDuration parses a positive duration; 0 if the annotation is absent or faulty.
func (s *annotationReader) readDuration(key string) time.Duration {
	text := s.annotations[key]
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		s.addFault("annotation %s: %q is not a duration: want one such as 1h30m", key, text)
	}
	return d
}

// readInteger parses an integer; 0 if the annotation is absent or faulty.
func (s *annotationReader) readInteger(key string) int64 {
	text := s.annotations[key]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.addFault("annotation %s: %q is not a whole number", key, text)
	}
	return n
}

// readList parses a list separated by commas; empty elements are dropped.
func (s *annotationReader) readList(key string) (all []string) {
	for _, x := range strings.Split(s.annotations[key], ",") {
		if x = strings.TrimSpace(x); x != "" {
			all = append(all, x)
		}
	}
	return all
}

// readJobTerms reads when and where a job may run. limit is the object's own limit of
// run time, 0 if it has none. A job with a deadline may leave out its run time, which
// the sites then estimate.
func (s *annotationReader) readJobTerms(j *protocol.Job, limit time.Duration) {
	if j.Run = s.readDuration(AnnotationRunTime); j.Run == 0 {
		j.Run = limit
	}
	if j.Run == 0 && s.annotations[AnnotationRunTime] == "" && s.annotations[AnnotationWithin] == "" && s.annotations[AnnotationDeadline] == "" {
		s.addFault("run time and deadline are missing: annotate %s with the run time, such as 1h30m, or %s or %s with the deadline", AnnotationRunTime, AnnotationWithin, AnnotationDeadline)
	}
	// The default, unless an annotation states a deadline.
	j.Deadline = j.Arrival.Add(defaultDeadlineSlack * j.Run)
	within := s.readDuration(AnnotationWithin)
	switch text := s.annotations[AnnotationDeadline]; {
	case within > 0 && text != "":
		s.addFault("annotations %s and %s exclude each other: keep one", AnnotationWithin, AnnotationDeadline)
	case within > 0:
		j.Deadline = j.Arrival.Add(within)
	case text != "":
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			s.addFault("annotation %s: %q is not a time: want one such as 2026-11-21T18:00:00Z", AnnotationDeadline, text)
		}
		j.Deadline = protocol.FromStdTime(t)
	}
	j.Urgency = s.readUrgency()
	j.Models, j.Regions, j.Priority = s.readList(AnnotationModels), s.readList(AnnotationRegions), int(s.readInteger(AnnotationPriority))
}

// readUrgency returns the urgency that the annotations name. Objects from before there were three
// say deferrable instead.
func (s *annotationReader) readUrgency() protocol.Urgency {
	text, former := s.annotations[AnnotationUrgency], s.annotations[AnnotationDeferrable]
	due := s.annotations[AnnotationWithin] != "" || s.annotations[AnnotationDeadline] != ""
	switch {
	case text != "" && former != "":
		s.addFault("annotations %s and %s exclude each other: keep %s", AnnotationUrgency, AnnotationDeferrable, AnnotationUrgency)
	case former == "true" || former == "false":
		return protocol.UrgencyFromDeferrable(former == "true", due)
	case former != "":
		s.addFault("annotation %s is %q: want true or false", AnnotationDeferrable, former)
	case text != "":
		u, err := protocol.ParseUrgency(text)
		if err != nil {
			s.addFault("annotation %s %v", AnnotationUrgency, err)
		} else if u == protocol.UrgencyFlexible && !due {
			s.addFault("annotation %s is flexible without a deadline: add %s or %s, or drop it", AnnotationUrgency, AnnotationWithin, AnnotationDeadline)
		}
		return u
	}
	return protocol.UrgencyStandard
}

// maxPods is the most pods that a job may run at once.
const maxPods = 10_000

// maxImageNameBytes limits the image name that is sent to the market; it is cut there.
const maxImageNameBytes = 512

// addPodRequests adds the requests of n pods with the same spec that run on one node, so
// the sums are what that node must have. The first container's image
// becomes the job's image, by which sites estimate how long similar jobs run.
func (s *annotationReader) addPodRequests(j *protocol.Job, n int, spec corev1.PodSpec) {
	if n < 0 || n > maxPods {
		s.addFault("%d pods at once: want at most %d", n, maxPods)
		return
	}
	if len(spec.Containers) > 0 && j.Image == "" {
		image := spec.Containers[0].Image
		j.Image = image[:min(len(image), maxImageNameBytes)]
	}
	cpu, mem, gpus := kube.PodResourceRequests(spec)
	j.CPU += min(cpu, 1<<41) * protocol.Milli(n) // clamped against overflow; a job of this size is refused anyway
	j.Memory += min(mem, 1<<41) * protocol.MiB(n)
	j.GPUs += min(gpus, 1<<20) * n
}

// readGPUShare reads which share of each device, and how much GPU memory, a job
// requests.
func (s *annotationReader) readGPUShare(j *protocol.Job) {
	j.GPUMemory = protocol.MiB(s.readInteger(kube.AnnotationGPUMemory))
	if j.GPUs > 0 {
		if j.Share = 1000; s.annotations[kube.AnnotationGPUMilli] != "" {
			j.Share = protocol.Milli(s.readInteger(kube.AnnotationGPUMilli))
		}
	}
}

// jobStaysLocal reports whether a Job may only run in its own cluster, where its own
// controller manages it.
func jobStaysLocal(j *batchv1.Job) bool { return j.Spec.ManagedBy == nil }

// parseJob returns the submission of a Job that was accepted at some time, or all
// faults of the Job. Invariant: the result depends only on the Job's spec and
// annotations, the configuration and that time, so each repeated submission is the
// same.
func (c Config) parseJob(j *batchv1.Job, taken protocol.Time) (protocol.Submit, []string) {
	s := annotationReader{annotations: j.Annotations}
	job := protocol.Job{ID: protocol.JobID(c.Site + "/" + string(j.UID)), Tenant: c.Site + "/" + j.Namespace, Arrival: taken}
	gang := gangOfJob(j)
	if gang == 0 {
		s.addPodRequests(&job, int(jobParallelism(j)), j.Spec.Template.Spec)
	}
	limit := time.Duration(0)
	if j.Spec.ActiveDeadlineSeconds != nil {
		limit = time.Duration(*j.Spec.ActiveDeadlineSeconds) * time.Second
	}
	s.readJobTerms(&job, limit)
	if gang == 0 {
		s.readGPUShare(&job)
	} else {
		job = job.WithPods([]protocol.Component{s.componentOf(&job, "worker", gang, j.Spec.Template.Spec)})
	}
	pods := max(int(jobParallelism(j)), 1)
	s.readTopology(&job, []rolePods{{pods: pods, unit: pods, notes: j.Spec.Template.Annotations}})
	if c.RunsJobsHere {
		job.Home = c.Site
	}
	// A Job that other sites may run needs our managedBy; one without stays in this cluster.
	switch by := j.Spec.ManagedBy; {
	case by != nil && *by != ManagedBy:
		s.addFault("spec.managedBy is %q: want %s, or none", *by, ManagedBy)
	case jobStaysLocal(j) && !c.RunsJobsHere:
		s.addFault("spec.managedBy is missing, but this cluster runs no jobs itself: want %s", ManagedBy)
	case jobStaysLocal(j) && job.GPUs > 0 && c.Sharing != kube.SharingDevicePlugin:
		s.addFault("spec.managedBy is missing, but this site allocates GPUs by %s, for which the Job's pods must be rewritten: want %s", c.Sharing, ManagedBy)
	case jobStaysLocal(j) && len(job.Regions) > 0:
		s.addFault("annotation %s: a Job can run at other sites only with spec.managedBy: %s", AnnotationRegions, ManagedBy)
	case jobStaysLocal(j):
		job.Regions = []string{c.Site}
	}
	// The job's own check comes last: its reason would repeat a fault found above.
	if why := job.InvalidReason(); why != "" && len(s.faults) == 0 {
		s.addFault("%s", why)
	}
	task, err := c.taskOfJob(j)
	if err != nil {
		s.addFault("%v", err)
	}
	// Longer tasks do not fit into a message.
	if len(task) > protocol.MaxText {
		s.addFault("the Job has %d bytes as JSON without its status: want at most %d: move long values into a ConfigMap", len(task), protocol.MaxText)
	}
	return protocol.Submit{Job: job, Task: task}, s.faults
}

// taskOfJob returns the task to run: a reference to the Job itself, which is released
// where it is, or a copy of it, which the executor of the winning site creates.
func (c Config) taskOfJob(j *batchv1.Job) (protocol.Task, error) {
	meta := map[string]any{"name": j.Name, "namespace": j.Namespace}
	t := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
	if jobStaysLocal(j) {
		meta["annotations"] = map[string]any{kube.AnnotationRelease: j.UID}
	} else {
		s := j.Spec.DeepCopy()
		// These fields belong to the Job here, and not to its copy at another site.
		s.Suspend, s.ManagedBy, s.Selector, s.ManualSelector, s.TTLSecondsAfterFinished = nil, nil, nil, nil, nil
		t["spec"] = s
	}
	data, err := json.Marshal(t)
	return protocol.Task(data), err
}
