package node

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// A lister answers as a kubelet does.
type lister struct {
	podresources.UnimplementedPodResourcesListerServer
	pods []*podresources.PodResources
}

func (l lister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{PodResources: l.pods}, nil
}

func TestTheKubeletSaysWhichCardsItChose(t *testing.T) {
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
		got, err := Kubelet{socket}.Chosen(t.Context(), pod(tc.space, tc.name))
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) {
			t.Errorf("Chosen(%s/%s) = %v, %v; want %v", tc.space, tc.name, got, err, tc.want)
		}
	}
	if _, err := (Kubelet{socket + ".none"}).Chosen(t.Context(), pod("training", "mine")); err == nil {
		t.Error("a kubelet that is not there has answered")
	}
}
