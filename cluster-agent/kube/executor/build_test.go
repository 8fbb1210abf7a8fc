package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// pod is a pod template whose container asks for GPUs.
func pod(gpus int) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"app":"a"}},"spec":{"nodeName":"mine","containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"%d"}}}]}}`, gpus)
}

// objects are one of each kind, with how many pods of two GPUs it has at once.
var objects = []struct {
	kind string
	text string
	pods int
}{
	{"Job", `{"apiVersion":"batch/v1","kind":"Job","spec":{"parallelism":3,"suspend":true,"template":` + pod(2) + `}}`, 3},
	{"PyTorchJob", `{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"runPolicy":{"suspend":true},"pytorchReplicaSpecs":{"Master":{"template":` + pod(2) + `},"Worker":{"replicas":2,"template":` + pod(2) + `}}}}`, 3},
	{"TFJob", `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","spec":{"tfReplicaSpecs":{"Worker":{"replicas":4,"template":` + pod(2) + `}}}}`, 4},
	{"MPIJob", `{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"mpiReplicaSpecs":{"Launcher":{"replicas":1,"template":` + pod(2) + `},"Worker":{"replicas":1,"template":` + pod(2) + `}}}}`, 2},
	{"JobSet", `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{"replicatedJobs":[{"name":"a","replicas":2,"template":{"spec":{"parallelism":2,"template":` + pod(2) + `}}}]}}`, 4},
	{"RayJob", `{"apiVersion":"ray.io/v1","kind":"RayJob","spec":{"rayClusterSpec":{"headGroupSpec":{"template":` + pod(2) + `},"workerGroupSpecs":[{"replicas":2,"template":` + pod(2) + `}]}}}`, 3},
	{"SparkApplication", `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","spec":{"driver":{"template":` + pod(2) + `},"executor":{"instances":2,"template":` + pod(2) + `}}}`, 3},
	{"Workflow", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","spec":{"parallelism":2,"templates":[{"container":{"image":"i","resources":{"limits":{"nvidia.com/gpu":"2"}}}}]}}`, 2},
	{"LeaderWorkerSet", `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","spec":{"replicas":2,"leaderWorkerTemplate":{"size":2,"leaderTemplate":` + pod(2) + `,"workerTemplate":` + pod(2) + `}}}`, 4},
}

func launchOf(text string, gpus int) protocol.Launch {
	return protocol.Launch{Job: protocol.Job{ID: "train", GPUs: gpus, Share: 1000, CPU: 1000, Memory: 1024}, Epoch: 2, Node: "n1", Task: protocol.Task(text)}
}

func TestBuildSetsSchedulerAndCountsPodsOfEachKind(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, o := range objects {
		t.Run(o.kind, func(t *testing.T) {
			u, k, err := h.buildRunObject(launchOf(o.text, 2*o.pods))
			if err != nil {
				t.Fatal(err)
			}
			if k.Kind != o.kind || u.GetName() != kube.RunName("train", 2) || u.GetNamespace() != "default" || u.GetLabels()[kube.LabelSite] != "oslo" {
				t.Errorf("built %v", u.Object["metadata"])
			}
			if got, err := kube.UnpackLaunch(u.GetAnnotations()[kube.AnnotationLaunch]); err != nil || got.Job.ID != "train" || got.Epoch != 2 || got.Node != "n1" {
				t.Errorf("its launch is %+v, %v", got, err)
			}
			text, _ := json.Marshal(u.Object)
			if strings.Contains(string(text), `"suspend"`) || strings.Contains(string(text), `"nodeName":"mine"`) || !strings.Contains(string(text), `"schedulerName":"gridbid"`) {
				t.Errorf("built %s", text)
			}
			all, err := k.podTemplatesOf(u.Object)
			if err != nil {
				t.Fatal(err)
			}
			pods := int64(0)
			for _, x := range all {
				pods += x.count
				if l, _ := x.metadata["labels"].(map[string]any); l[kube.LabelRun] != kube.RunName("train", 2) {
					t.Errorf("a template has the labels %v", x.metadata["labels"])
				}
			}
			if pods != int64(o.pods) {
				t.Errorf("%d pods, want %d", pods, o.pods)
			}
			if _, _, err := h.buildRunObject(launchOf(o.text, 2*o.pods-1)); err == nil || !strings.Contains(err.Error(), "the task requests") {
				t.Errorf("one GPU short: %v", err)
			}
		})
	}
}

// Workers of an MPIJob, and the cluster of a RayJob, run on when it has ended unless
// it says otherwise.
func TestBuildSetsPodCleanupPolicy(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, o := range objects {
		want, ok := map[string]string{
			"PyTorchJob": `"cleanPodPolicy":"Running"`, "TFJob": `"cleanPodPolicy":"Running"`, "MPIJob": `"cleanPodPolicy":"Running"`, "RayJob": `"shutdownAfterJobFinishes":true`,
		}[o.kind]
		if !ok {
			continue
		}
		text := strings.Replace(o.text, `"spec":{`, `"spec":{"shutdownAfterJobFinishes":false,`, 1)
		u, _, err := h.buildRunObject(launchOf(text, 2*o.pods))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(u.Object); !strings.Contains(string(got), want) {
			t.Errorf("%s: built %s; want in it %s", o.kind, got, want)
		}
	}
}

func TestGPURequestsFollowSharingMode(t *testing.T) {
	text := objects[0].text
	text = strings.Replace(text, `"parallelism":3`, `"parallelism":1`, 1)
	text = strings.Replace(text, `"nvidia.com/gpu":"2"`, `"nvidia.com/gpu":"1"`, 1)
	l := launchOf(text, 1)
	l.Job.Share, l.Job.GPUMemory = 250, 20_000
	for sharing, want := range map[kube.GPUSharing]string{
		kube.SharingHAMi:     `"limits":{"nvidia.com/gpu":"1","nvidia.com/gpucores":"25","nvidia.com/gpumem":"20000"}`,
		kube.SharingGPUShare: `"limits":{"aliyun.com/gpu-mem":"20"}`,
		kube.SharingDRA:      `"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"` + kube.RunName("train", 2) + `-g1"}]`,
	} {
		u, _, err := New(Config{Site: "oslo", Sharing: sharing}).buildRunObject(l)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(u.Object); !strings.Contains(string(got), want) {
			t.Errorf("%s: built %s; want in it %s", sharing, got, want)
		}
	}
	if _, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}).buildRunObject(l); err == nil || !strings.Contains(err.Error(), "whole GPUs only") {
		t.Errorf("a share by device plugin: %v", err)
	}
}

func TestRunNamesAreValidAndUnique(t *testing.T) {
	seen := map[string]protocol.JobID{}
	rapid.Check(t, func(t *rapid.T) {
		id := protocol.JobID(rapid.String().Draw(t, "id"))
		name := kube.RunName(id, rapid.Uint64().Draw(t, "epoch"))
		if len(name) > 60 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "-") {
			t.Fatalf("%q is named %q", id, name)
		}
		if object := objectNameOf(name); object[0] < 'a' || !strings.HasSuffix(object, name) || len(object) > len(name)+1 {
			t.Fatalf("the object of %s is named %q; Services after it begin with a letter", name, object)
		}
		if other, ok := seen[name]; ok && other != id {
			t.Fatalf("%q and %q share a name", id, other)
		}
		seen[name] = id
	})
}

func TestPlannedEnergyIsSplitByHour(t *testing.T) {
	start := protocol.Time(1_649_851_200_000).Add(59 * time.Minute)
	draw := PlannedEnergy(protocol.Launch{Power: 100_000}, start, start.Add(2*time.Minute))
	if len(draw) != 2 || draw[0].Energy != 6_000_000 || draw[1].Energy != 6_000_000 || draw[1].Hour != draw[0].Hour.Add(time.Hour) {
		t.Errorf("drew %+v", draw)
	}
}

// Whatever bytes come as a task, they are built or refused; nothing panics.
func FuzzTask(f *testing.F) {
	for _, o := range objects {
		f.Add(o.text)
	}
	f.Add(`{"apiVersion":"batch/v1","kind":"Job","spec":[]}`)
	h := New(Config{Site: "oslo"})
	f.Fuzz(func(t *testing.T, text string) { builds(t, h, text) })
}

// The same without the engine, for which Go builds all of Kubernetes' client anew.
func TestTruncatedTasksAreBuiltOrRefused(t *testing.T) {
	h := New(Config{Site: "oslo"})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(objects).Draw(t, "object").text
		for range rapid.IntRange(1, 4).Draw(t, "tears") {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			to := rapid.IntRange(from, min(len(text), from+40)).Draw(t, "to")
			text = text[:from] + rapid.SampledFrom([]string{"", "[]", "{}", "null", "-1", "1e99", `"x"`, "\x00", text[from:to] + text[from:to]}).Draw(t, "instead") + text[to:]
		}
		builds(t, h, text)
	})
}

func builds(t rapid.TB, h *KubeExecutor, text string) {
	u, k, err := h.buildRunObject(launchOf(text, 1))
	if err != nil {
		return
	}
	for _, e := range []endCondition{k.succeeded, k.failed} {
		e.matchesObject(u)
	}
	if _, err := u.MarshalJSON(); err != nil {
		t.Errorf("what was built cannot be written: %v", err)
	}
	_ = unstructured.SetNestedField(u.Object, "x", "status")
}

func TestAmbiguousPluginRequestsAreRefused(t *testing.T) {
	two := `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"1"}}},{"name":"b","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}}`
	early := `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"initContainers":[{"name":"first"}],"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}}`
	for _, tc := range []struct {
		sharing kube.GPUSharing
		text    string
		gpus    int
		want    string
	}{
		{kube.SharingGPUShare, two, 2, "one container of a pod"}, {kube.SharingHAMi, early, 1, "init containers"}, {kube.SharingHAMi, two, 2, ""}, {kube.SharingDevicePlugin, early, 1, ""},
	} {
		_, _, err := New(Config{Site: "oslo", Sharing: tc.sharing}).buildRunObject(launchOf(tc.text, tc.gpus))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.sharing, err, tc.want)
		}
	}
}

// A pod that ran carries what its machine measured, and people copy pods.
func TestReservedFieldsAreStripped(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	const marks = `"labels":{"app":"a","gridbid.io/run":"another"},"annotations":{"note":"kept","gridbid.io/drew":"{}","gridbid.io/cards":"GPU-a","gridbid.io/devices":"0","hami.io/bind-phase":"allocating","ALIYUN_COM_GPU_MEM_IDX":"0"}`
	for _, o := range objects {
		text := strings.ReplaceAll(o.text, `"labels":{"app":"a"}`, marks)
		if o.kind == "Workflow" {
			text = strings.Replace(text, `"templates":[{`, `"templates":[{"metadata":{`+marks+`},"podSpecPatch":"{\"nodeName\":\"n9\"}","schedulerName":"default",`, 1)
		}
		u, _, err := h.buildRunObject(launchOf(text, 2*o.pods))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(u.Object["spec"])
		for _, mark := range []string{"gridbid.io/drew", "gridbid.io/cards", "gridbid.io/devices", "hami.io", "ALIYUN", "another", "podSpecPatch", `"default"`} {
			if strings.Contains(string(got), mark) {
				t.Errorf("%s: %s is left: %s", o.kind, mark, got)
			}
		}
		if !strings.Contains(string(got), `"note":"kept"`) || !strings.Contains(string(got), `"gridbid.io/run":"`+kube.RunName("train", 2)+`"`) {
			t.Errorf("%s: built %s", o.kind, got)
		}
	}
}

// What has ended is read on its object, which the cluster must not delete before.
func TestFinishedObjectStaysUntilReported(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, o := range objects {
		text := strings.Replace(o.text, `"spec":{`, `"spec":{"ttlSecondsAfterFinished":0,"timeToLiveSeconds":1,"ttlStrategy":{"secondsAfterCompletion":0},`, 1)
		if !strings.Contains(text, `"runPolicy":{`) {
			text = strings.Replace(text, `"spec":{`, `"spec":{"runPolicy":{},`, 1)
		}
		text = strings.Replace(text, `"runPolicy":{`, `"runPolicy":{"ttlSecondsAfterFinished":0,`, 1)
		text = strings.Replace(text, `0,}`, `0}`, 1)
		u, _, err := h.buildRunObject(launchOf(text, 2*o.pods))
		if err != nil {
			t.Fatal(o.kind, err)
		}
		got, _ := json.Marshal(u.Object)
		for _, field := range []string{"ttlSecondsAfterFinished", "timeToLiveSeconds", "ttlStrategy"} {
			if strings.Contains(string(got), field) {
				t.Errorf("%s: built %s", o.kind, got)
			}
		}
	}
}

// Init containers hold their GPUs before the others do, and those that go on
// beside them.
func TestInitContainerGPUsFollowKubeletRules(t *testing.T) {
	const early, beside = `{"name":"e","resources":{"limits":{"nvidia.com/gpu":"3"}}}`, `{"name":"b","restartPolicy":"Always","resources":{"limits":{"nvidia.com/gpu":"1"}}}`
	for _, tc := range []struct {
		init string
		want int
	}{{"", 2}, {early, 3}, {beside, 3}, {beside + "," + early, 4}, {early + "," + beside, 3}} {
		text := strings.Replace(`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, `"containers":`, `"initContainers":[`+tc.init+`],"containers":`, 1)
		h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
		u, _, err := h.buildRunObject(launchOf(text, tc.want))
		if err != nil {
			t.Errorf("%s: %v", tc.init, err)
			continue
		}
		if _, _, err := h.buildRunObject(launchOf(text, tc.want-1)); err == nil {
			t.Errorf("%s: %d GPUs are taken for %d", tc.init, tc.want, tc.want-1)
		}
		spec, _, _ := unstructured.NestedMap(u.Object, "spec", "template", "spec")
		data, _ := json.Marshal(spec)
		var p corev1.Pod
		if err := json.Unmarshal(data, &p.Spec); err != nil {
			t.Fatal(err)
		}
		if _, _, gpus := kube.PodResourceRequests(p.Spec); gpus != tc.want {
			t.Errorf("%s: its pod asks for %d; want %d", tc.init, gpus, tc.want)
		}
		if _, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDRA}).buildRunObject(launchOf(text, tc.want)); (err == nil) != (tc.init == "") {
			t.Errorf("%s: by claims: %v", tc.init, err)
		}
	}
}

// A RayJob that may fail again shows FAILED each time, and would be reported as ended then.
// Kubernetes' own Job says so once.
func TestRayJobIsNotRetried(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, o := range objects {
		u, _, err := h.buildRunObject(launchOf(strings.Replace(o.text, `"spec":{`, `"spec":{"backoffLimit":3,`, 1), 2*o.pods))
		if err != nil {
			t.Fatal(o.kind, err)
		}
		if _, left, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "backoffLimit"); left != (o.kind != "RayJob") {
			t.Errorf("%s: its backoffLimit is left: %v", o.kind, left)
		}
	}
}

// Spark's operator gives pods the scheduler of its own fields before that of their
// template; another's would put them where nothing was awarded.
func TestSparkApplicationSchedulerIsStripped(t *testing.T) {
	text := strings.Replace(objects[6].text, `"spec":{`, `"spec":{"batchScheduler":"volcano","sparkConf":{"spark.kubernetes.scheduler.name":"other","spark.kubernetes.executor.scheduler.name":"other","spark.scheduler.mode":"FAIR"},`, 1)
	u, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}).buildRunObject(launchOf(text, 6))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(u.Object["spec"]); strings.Contains(string(got), "volcano") || strings.Contains(string(got), "other") || !strings.Contains(string(got), "FAIR") {
		t.Errorf("built %s", got)
	}
}

// A kubelet ends pods of a low priority for those of a high one.
func TestPriorityClassIsStripped(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, o := range objects {
		text := strings.ReplaceAll(o.text, `"spec":{`, `"spec":{"podPriorityClassName":"high","priorityClassName":"high",`)
		text = strings.ReplaceAll(strings.ReplaceAll(text, `"driver":{`, `"driver":{"priorityClassName":"high",`), `{"container":`, `{"priorityClassName":"high","container":`)
		u, _, err := h.buildRunObject(launchOf(text, 2*o.pods))
		if err != nil {
			t.Fatal(o.kind, err)
		}
		if got, _ := json.Marshal(u.Object["spec"]); strings.Contains(string(got), "high") {
			t.Errorf("%s: built %s", o.kind, got)
		}
	}
}

// What runs beside or before a Workflow's containers asks for GPUs as well.
func TestWorkflowGPUsAreCountedUpFront(t *testing.T) {
	const asks = `{"name":"x","image":"i","resources":{"limits":{"nvidia.com/gpu":"2"}}}`
	for more, want := range map[string]int{
		`"sidecars":[` + asks + `]`: 8, `"initContainers":[` + asks + `]`: 4, `"containerSet":{"containers":[` + asks + `,` + asks + `]}`: 12, `"sidecars":"none"`: 4,
	} {
		text := strings.Replace(objects[7].text, `{"container":`, `{`+more+`,"container":`, 1)
		h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
		if _, _, err := h.buildRunObject(launchOf(text, want)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
		if _, _, err := h.buildRunObject(launchOf(text, want-1)); err == nil || !strings.Contains(err.Error(), "the task requests") {
			t.Errorf("%s: one GPU short: %v", more, err)
		}
	}
}

// A step that could never be bound is reported before the steps in front of it have run.
func TestWorkflowWithOversizedStepIsRefused(t *testing.T) {
	const asks = `{"name":"x","resources":{"requests":{"cpu":"700m","memory":"600Mi"}}}`
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for last, want := range map[string]bool{
		`"container":` + asks: true, `"container":` + asks + `,"sidecars":[` + asks + `]`: false, `"script":` + asks + `,"initContainers":[` + asks + `]`: true,
		`"containerSet":{"containers":[` + asks + `,` + asks + `]}`: false, `"container":` + strings.Replace(asks, "600Mi", "2Gi", 1): false,
		`"container":` + strings.Replace(asks, "700m", "{{inputs.parameters.cpu}}", 1): true,
	} {
		text := strings.Replace(objects[7].text, `"templates":[{`, `"templates":[{"name":"last",`+last+`},{`, 1)
		if _, _, err := h.buildRunObject(launchOf(text, 4)); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "template last requests") {
			t.Errorf("%s: %v", last, err)
		}
	}
}

// Each pod of a Workflow is of one of its templates: what they ask for is not to be had at
// once.
func TestSequentialStepsDoNotAddUpGPUs(t *testing.T) {
	eval := `{"name":"eval","container":{"image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}},`
	text := strings.Replace(strings.Replace(objects[7].text, `"templates":[`, `"templates":[`+eval, 1), `"parallelism":2`, `"parallelism":1`, 1)
	for sharing, want := range map[kube.GPUSharing]string{kube.SharingDevicePlugin: "", kube.SharingHAMi: "", kube.SharingGPUShare: "memory of one device", kube.SharingDRA: "cannot carry device claims"} {
		h := New(Config{Site: "oslo", Sharing: sharing})
		u, _, err := h.buildRunObject(launchOf(text, 2))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", sharing, err, want)
		}
		if got, _ := json.Marshal(u); err == nil && (!strings.Contains(string(got), `"nvidia.com/gpu":"1"`) || !strings.Contains(string(got), `"nvidia.com/gpu":"2"`)) {
			t.Errorf("%s: built %s", sharing, got)
		}
		if _, _, err := h.buildRunObject(launchOf(text, 1)); err == nil {
			t.Errorf("%s: two GPUs are taken for one", sharing)
		}
	}
	plain := strings.ReplaceAll(text, `"nvidia.com/gpu":"2"`, `"nvidia.com/gpu":"1"`)
	l := launchOf(plain, 1)
	l.Job.Share, l.Job.GPUMemory = 250, 20_000
	if _, _, err := New(Config{Site: "oslo", Sharing: kube.SharingGPUShare}).buildRunObject(l); err != nil {
		t.Errorf("two steps with a share each: %v", err)
	}
	none := strings.ReplaceAll(plain, `"nvidia.com/gpu":"1"`, `"cpu":"1"`)
	if _, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDRA}).buildRunObject(launchOf(none, 0)); err != nil {
		t.Errorf("a Workflow without GPUs, by claims: %v", err)
	}
}

// Who asks for GPUs nowhere has them in the only container that there is.
func TestWorkflowMustNameItsGPUSteps(t *testing.T) {
	const dag, step = `{"name":"all","dag":{"tasks":[]}}`, `{"container":{"image":"i"}}`
	for steps, want := range map[string]bool{step: true, dag + "," + step: true, step + "," + step: false} {
		text := `{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","spec":{"parallelism":1,"templates":[` + steps + `]}}`
		_, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}).buildRunObject(launchOf(text, 2))
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "none of the 2 templates") {
			t.Errorf("%s: %v", steps, err)
		}
	}
}
