package queue

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// aJob is a Job of two pods of two GPUs each that may run anywhere.
func aJob() *batchv1.Job {
	pods, by, yes := int32(2), ManagedBy, true
	asks := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "vision", UID: "9f86", Annotations: map[string]string{AnnotationRunTime: "90m"}},
		Spec: batchv1.JobSpec{Parallelism: &pods, ManagedBy: &by, Suspend: &yes, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/train:7", Resources: corev1.ResourceRequirements{Requests: asks, Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}}},
		}}},
	}
}

func TestParseJob(t *testing.T) {
	j := aJob()
	for k, v := range map[string]string{AnnotationWithin: "8h", AnnotationDeferrable: "true", AnnotationModels: "A100, H100", AnnotationRegions: "oslo,lyon", AnnotationPriority: "-3", kube.AnnotationGPUMemory: "40000"} {
		j.Annotations[k] = v
	}
	c := Config{Site: "oslo", RunsJobsHere: true}
	s, faults := c.parseJob(j, noon)
	got := s.Job
	if len(faults) > 0 || got.ID != "oslo/9f86" || got.Tenant != "oslo/vision" || got.Home != "oslo" || got.GPUs != 4 || got.Share != 1000 || got.GPUMemory != 40_000 ||
		got.CPU != 8000 || got.Memory != 32<<10 || got.Run != 90*time.Minute || got.Arrival != noon || got.Deadline != noon.Add(8*time.Hour) || !got.MayWait() ||
		strings.Join(got.Models, " ") != "A100 H100" || strings.Join(got.Regions, " ") != "oslo lyon" || got.Priority != -3 || got.Image != "registry.example.com/train:7" {
		t.Errorf("read %+v, %q", got, faults)
	}
	if task := string(s.Task); strings.Contains(task, "managedBy") || strings.Contains(task, "suspend") || !strings.Contains(task, `"parallelism":2`) || !strings.Contains(task, `"namespace":"vision"`) {
		t.Errorf("the task is %s", task)
	}
	if again, _ := c.parseJob(j.DeepCopy(), noon); again.Task != s.Task {
		t.Errorf("read again it is %s", again.Task)
	}
	j.Spec.ManagedBy = nil
	delete(j.Annotations, AnnotationRegions)
	s, faults = Config{Site: "oslo", RunsJobsHere: true, Sharing: kube.SharingDevicePlugin}.parseJob(j, noon)
	if len(faults) > 0 || strings.Join(s.Job.Regions, "") != "oslo" || !strings.Contains(string(s.Task), `"gridbid.io/release":"9f86"`) || strings.Contains(string(s.Task), "parallelism") {
		t.Errorf("one that stays: %+v, %q", s, faults)
	}
}

func TestRunTimeAndDeadlineDefaults(t *testing.T) {
	j := aJob()
	if s, _ := (Config{Site: "hub"}).parseJob(j, noon); s.Job.Deadline != noon.Add(6*time.Hour) || s.Job.Home != "" {
		t.Errorf("read %+v", s.Job)
	}
	delete(j.Annotations, AnnotationRunTime)
	most := int64(3600)
	j.Spec.ActiveDeadlineSeconds = &most
	if s, faults := (Config{Site: "hub"}).parseJob(j, noon); s.Job.Run != time.Hour || len(faults) > 0 {
		t.Errorf("read %+v, %q", s.Job, faults)
	}
	j.Spec.ActiveDeadlineSeconds = nil
	j.Annotations = map[string]string{AnnotationWithin: "8h"}
	if s, faults := (Config{Site: "hub"}).parseJob(j, noon); s.Job.Run != 0 || s.Job.Deadline != noon.Add(8*time.Hour) || len(faults) > 0 {
		t.Errorf("one whose run time is to be estimated: read %+v, %q", s.Job, faults)
	}
}

func TestUrgencyIsReadInBothForms(t *testing.T) {
	for _, tc := range []struct {
		urgency, deferrable, within string
		want                        protocol.Urgency
		fault                       string
	}{
		{"", "", "", protocol.UrgencyStandard, ""}, {"", "", "8h", protocol.UrgencyStandard, ""},
		{"now", "", "8h", protocol.UrgencyNow, ""}, {"standard", "", "", protocol.UrgencyStandard, ""}, {"flexible", "", "8h", protocol.UrgencyFlexible, ""},
		{"", "false", "8h", protocol.UrgencyNow, ""}, {"", "true", "8h", protocol.UrgencyFlexible, ""}, {"", "true", "", protocol.UrgencyStandard, ""},
		{"flexible", "", "", protocol.UrgencyFlexible, "flexible without a deadline"}, {"soon", "", "", protocol.UrgencyStandard, `"soon": want now, standard or flexible`},
		{"now", "false", "", protocol.UrgencyStandard, "exclude each other: keep gridbid.io/urgency"},
	} {
		j := aJob()
		j.Annotations[AnnotationUrgency], j.Annotations[AnnotationDeferrable], j.Annotations[AnnotationWithin] = tc.urgency, tc.deferrable, tc.within
		s, faults := Config{Site: "hub"}.parseJob(j, noon)
		if text := strings.Join(faults, "; "); tc.fault == "" && (text != "" || s.Job.Urgency != tc.want) || !strings.Contains(text, tc.fault) {
			t.Errorf("urgency %q, deferrable %q, within %q: %s, faults %q; want %s, %q", tc.urgency, tc.deferrable, tc.within, s.Job.Urgency, text, tc.want, tc.fault)
		}
	}
}

func TestEachWrongAnnotationIsNamed(t *testing.T) {
	for want, change := range map[string]func(*batchv1.Job){
		"run time and deadline are missing": func(j *batchv1.Job) { j.Annotations = nil },
		"bytes as JSON": func(j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Args = []string{strings.Repeat("x", protocol.MaxText)}
		},
		"is not a duration": func(j *batchv1.Job) { j.Annotations[AnnotationRunTime] = "soon" },
		"keep one": func(j *batchv1.Job) {
			j.Annotations[AnnotationWithin], j.Annotations[AnnotationDeadline] = "1h", "2022-04-13T18:00:00Z"
		},
		"is not a time: want one":                         func(j *batchv1.Job) { j.Annotations[AnnotationDeadline] = "18:00" },
		"deadline: before the arrival":                    func(j *batchv1.Job) { j.Annotations[AnnotationDeadline] = "2021-04-13T18:00:00Z" },
		"want true or false":                              func(j *batchv1.Job) { j.Annotations[AnnotationDeferrable] = "yes" },
		"is not a whole number":                           func(j *batchv1.Job) { j.Annotations[AnnotationPriority] = "high" },
		"several GPUs are held whole":                     func(j *batchv1.Job) { j.Annotations[kube.AnnotationGPUMilli] = "500" },
		"spec.managedBy is \"kueue.x-k8s.io/multikueue\"": func(j *batchv1.Job) { *j.Spec.ManagedBy = "kueue.x-k8s.io/multikueue" },
		"for which the Job's pods must be rewritten":      func(j *batchv1.Job) { j.Spec.ManagedBy = nil },
		"can run at other sites only with spec.managedBy": func(j *batchv1.Job) {
			j.Spec.ManagedBy, j.Annotations[AnnotationRegions] = nil, "lyon"
			j.Spec.Template.Spec.Containers[0].Resources.Limits = nil
		},
		"cpu: a job without GPUs needs some": func(j *batchv1.Job) { j.Spec.Template.Spec.Containers = nil },
		"gpus: want 0..16 of one node":       func(j *batchv1.Job) { *j.Spec.Parallelism = 100 },
		"run: want 1s..720h":                 func(j *batchv1.Job) { j.Annotations[AnnotationRunTime] = "9999h" },
	} {
		j := aJob()
		change(j)
		if _, faults := (Config{Site: "oslo", RunsJobsHere: true, Sharing: kube.SharingDRA}).parseJob(j, noon); !strings.Contains(strings.Join(faults, "; "), want) {
			t.Errorf("faults %q; want %q", faults, want)
		}
	}
	j := aJob()
	j.Spec.ManagedBy = nil
	if _, faults := (Config{Site: "hub"}).parseJob(j, noon); !strings.Contains(strings.Join(faults, ""), "this cluster runs no jobs itself") {
		t.Errorf("said %q", faults)
	}
}

func TestStateOfStatusMessages(t *testing.T) {
	bill := protocol.Usage{Energy: 3_600_000_000, Carbon: 28_000, Money: 55_000, Finish: noon.Add(time.Hour)}
	for want, s := range map[string]placementState{
		"lyon has it on H100, from 2022-04-13 12:00:00 UTC until 2022-04-13 13:00:00 UTC, for 1.000 kWh, 0.028 kg of CO2e, $0.0550: of all offers, that costs least": stateOfStatus(
			protocol.JobStatus{State: protocol.AcceptConfirmed, Site: "lyon", Model: "H100", Start: noon, Bill: bill, Why: protocol.Reason{Code: protocol.Cheapest}}),
		"lyon gave it back: evicted: drained; it is on sale again": stateOfStatus(
			protocol.JobStatus{State: protocol.Waiting, Site: "lyon", Why: protocol.Reason{Code: protocol.Evicted, Note: "drained"}}),
		"lyon ran it to its end at 2022-04-13 13:00:00 UTC; it took 1.000 kWh, 0.028 kg of CO2e, $0.0550": stateOfStatus(
			protocol.JobStatus{State: protocol.JobClosed, Site: "lyon", Bill: bill}),
		"its program failed at lyon at 2022-04-13 13:00:00 UTC: exit code 3; it took 1.000 kWh, 0.028 kg of CO2e, $0.0550": stateOfStatus(
			protocol.JobStatus{State: protocol.JobClosed, Site: "lyon", Bill: bill, Failed: "exit code 3"}),
		"it will not be run: no such gpu": stateOfStatus(protocol.JobStatus{State: protocol.JobClosed, Why: protocol.Reason{Code: protocol.NoSuchGPU}}),
		"it waits: a later hour is cheaper or cleaner; the plan is lyon at 2022-04-13 12:00:00 UTC; it is called again by 2022-04-13 13:00:00 UTC": deferredState(
			protocol.Defer{Why: protocol.Reason{Code: protocol.CheaperLater}, Site: "lyon", Start: noon, Until: noon.Add(time.Hour)}),
	} {
		if s.message != want || s.reason == "" || strings.ContainsAny(s.reason, "- ") {
			t.Errorf("%s: %q; want %q", s.reason, s.message, want)
		}
	}
}

// Whatever people write, it is an order that can be submitted, or a fault in words.
func FuzzOrder(f *testing.F) {
	f.Add("90m", "8h", "", "true", "A100", "500", "4", int32(1))
	f.Add("", "", "2022-04-13T18:00:00Z", "", ",,", "-1", "9223372036854775807", int32(2147483647))
	f.Add("", "", "", "", "", "", "922337E036854775807", int32(1))
	f.Fuzz(func(t *testing.T, run, within, deadline, deferrable, models, milli, cpu string, pods int32) {
		orders(t, run, within, deadline, deferrable, models, milli, cpu, pods)
	})
}

// The same without the engine, for which Go builds all of Kubernetes' client anew.
func TestAnyAnnotationParsesOrFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "90m", "-1h", "9223372036854775807", "1e400", "2022-04-13T18:00:00Z", "0001-01-01T00:00:00Z", "true", "A100,,H100", "500m", "500"}))
		var all [7]string
		for i := range all {
			all[i] = one.Draw(t, "note")
		}
		orders(t, all[0], all[1], all[2], all[3], all[4], all[5], all[6], rapid.Int32().Draw(t, "pods"))
	})
}

func orders(t rapid.TB, run, within, deadline, deferrable, models, milli, cpu string, pods int32) {
	j := aJob()
	j.Annotations = map[string]string{AnnotationRunTime: run, AnnotationWithin: within, AnnotationDeadline: deadline, AnnotationDeferrable: deferrable, AnnotationModels: models, kube.AnnotationGPUMilli: milli}
	j.Spec.Parallelism = &pods
	// Kubernetes' own parser reckons a large exponent for minutes: its API server would not get past it either.
	if i := strings.LastIndexAny(cpu, "eE"); i >= 0 && len(cpu)-i > 5 {
		cpu = cpu[:i]
	}
	if q, err := resource.ParseQuantity(cpu); err == nil {
		j.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = q
	}
	s, faults := Config{Site: "oslo", RunsJobsHere: true}.parseJob(j, noon)
	if len(faults) == 0 && s.Job.InvalidReason() != "" {
		t.Errorf("%q passed", s.Job.InvalidReason())
	}
}
