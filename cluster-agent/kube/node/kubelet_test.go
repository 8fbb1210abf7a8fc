package node

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A lister answers as a kubelet does.
type lister struct {
	podresources.UnimplementedPodResourcesListerServer
	pods []*podresources.PodResources
}

func (l lister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{PodResources: l.pods}, nil
}

func TestKubeletReportsChosenGPUs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	listen, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	given := func(name string, resource string, ids ...string) *podresources.PodResources {
		return &podresources.PodResources{Name: name, Namespace: "training", Containers: []*podresources.ContainerResources{
			{Name: "main", Devices: []*podresources.ContainerDevices{{ResourceName: resource, DeviceIds: ids}}}}}
	}
	podresources.RegisterPodResourcesListerServer(server, lister{pods: []*podresources.PodResources{
		given("other", "nvidia.com/gpu", "GPU-0"), given("mine", "nvidia.com/gpu", "GPU-2", "GPU-3"),
		given("sliced", "nvidia.com/gpu.shared", "GPU-1::4"), given("net", "example.com/nic", "eth1"),
	}})
	go func() { _ = server.Serve(listen) }()
	t.Cleanup(server.Stop)
	pod := func(space, name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name}}
	}
	for _, tc := range []struct {
		space, name string
		want        []string
	}{
		{"training", "mine", []string{"GPU-2", "GPU-3"}}, {"training", "sliced", []string{"GPU-1"}},
		{"training", "net", nil}, {"other", "mine", nil}, {"training", "nobody", nil},
	} {
		got, err := KubeletClient{socket}.ChosenGPUs(t.Context(), pod(tc.space, tc.name))
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
			t.Errorf("Chosen(%s/%s) = %v, %v; want %v", tc.space, tc.name, got, err, tc.want)
		}
	}
	if _, err := (KubeletClient{socket + ".none"}).ChosenGPUs(t.Context(), pod("training", "mine")); err == nil {
		t.Error("a kubelet that is not there has answered")
	}
}

func TestPodStartsWithItsFirstContainer(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 12, minute, 0, 0, time.UTC)) }
	running := func(minute int) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(minute)}}
	}
	over := func(minute int) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(minute)}}
	}
	for name, tc := range map[string]struct {
		all  []corev1.ContainerStatus
		want int // minute; -1: it has not begun
	}{
		"none has":         {[]corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}, {State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, -1},
		"one of two":       {[]corev1.ContainerStatus{{}, {State: running(7)}}, 7},
		"the first of two": {[]corev1.ContainerStatus{{State: running(7)}, {State: over(3)}}, 3},
		"one began anew":   {[]corev1.ContainerStatus{{State: running(7), LastTerminationState: over(2)}}, 2},
	} {
		want := protocol.Time(0)
		if tc.want >= 0 {
			want = protocol.FromStdTime(at(tc.want).Time)
		}
		if got := firstContainerStart(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: tc.all}}); got != want {
			t.Errorf("%s: it began at %v; want %v", name, got, want)
		}
	}
}

// A daemon that begins anew when a job has ended: the kubelet has forgotten which
// cards it had, and what was counted tells.
func TestGPUsOfEndedPodComeFromItsTally(t *testing.T) {
	keep, err := gpuaccounting.New(nil, gpuaccounting.Config{})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	d := New(Config{Node: "n1", GPUs: keep, Chosen: func(context.Context, *corev1.Pod) ([]string, error) {
		asked++
		return nil, errors.New("it has no card")
	}})
	tally := podenergy.EnergyTally{Until: 1000, Counters: map[string]protocol.Millijoules{"GPU-b": 7, "GPU-a": 5}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: map[string]string{kube.AnnotationDevices: "0,1", podenergy.AnnotationEnergy: tally.EncodeAnnotation()}}}
	p.Status.Phase = corev1.PodSucceeded
	if s := d.trackPod(t.Context(), p); s == nil || s.final || !slices.Equal(s.holder.UUIDs, []string{"GPU-a", "GPU-b"}) {
		t.Errorf("it is seen as %+v; the kubelet was asked %d times", s, asked)
	}
}

// A kubelet that hangs is asked for each pod in turn; the guard must not think us dead.
func TestGuardHeartbeatBeforeEachKubeletRequest(t *testing.T) {
	keep, err := gpuaccounting.New(nil, gpuaccounting.Config{})
	if err != nil {
		t.Fatal(err)
	}
	beats, silent := 0, 0
	d := New(Config{Node: "n1", GPUs: keep, GuardHeartbeat: func() error { beats++; return nil }, Chosen: func(context.Context, *corev1.Pod) ([]string, error) {
		if beats == 0 {
			silent++
		}
		beats = 0
		return nil, context.DeadlineExceeded
	}})
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, name := range []string{"a", "b", "c"} {
		if err := store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{kube.AnnotationDevices: "0"}}}); err != nil {
			t.Fatal(err)
		}
	}
	d.pods = []cache.Indexer{store}
	if d.reconcilePods(t.Context()); silent > 0 {
		t.Errorf("%d questions were asked without a beat since the one before", silent)
	}
}
