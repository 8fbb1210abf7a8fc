package binder

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// A device plugin gives slices of cards to any pod that requests them, awarded or not.
func TestUnawardedGPUResourceIsRefused(t *testing.T) {
	for _, tc := range []struct {
		sharing kube.GPUSharing
		name    corev1.ResourceName
		awarded bool
	}{
		{kube.SharingDevicePlugin, kube.PluginGPU, true}, {kube.SharingDevicePlugin, "nvidia.com/mig-1g.5gb", false}, {kube.SharingDevicePlugin, "nvidia.com/gpu.shared", false}, {kube.SharingDevicePlugin, "nvidia.com/hostdev", true},
		{kube.SharingDRA, kube.PluginGPU, false}, {kube.SharingHAMi, kube.HAMiMemory, true}, {kube.SharingGPUShare, kube.ShareGiB, true}, {kube.SharingGPUShare, kube.PluginGPU, false},
	} {
		b := New(Config{}, &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: tc.sharing}})
		p := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{tc.name: resource.MustParse("1")}}}}}}
		if why := b.requestsBeyondAward(&Run{}, []*corev1.Pod{p}); (why == "") != tc.awarded {
			t.Errorf("%s by %s: %q", tc.name, tc.sharing, why)
		}
	}
}

func TestBindingAnnotationsForDevicePlugins(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{
		"hami.io/node-nvidia-register": `[{"id":"GPU-a","devmem":81920},{"id":"GPU-b","devmem":81920}]`}}}
	node.Status.Allocatable = corev1.ResourceList{"aliyun.com/gpu-mem": resource.MustParse("160"), "aliyun.com/gpu-count": resource.MustParse("2")}
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{kube.PluginGPU: resource.MustParse("1")}}}}}}
	r := &Run{Launch: protocol.Launch{Job: protocol.Job{GPUs: 1, Share: 250, GPUMemory: 20_000}}}
	now := func() protocol.Time { return protocol.Time(1_000_000) }
	got := New(Config{Now: now}, &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: kube.SharingHAMi}}).bindingAnnotations(r, node, p, []int{1})
	if got["hami.io/vgpu-devices-to-allocate"] != "GPU-b,NVIDIA,20000,25:;" || got["hami.io/vgpu-node"] != "n1" || got["hami.io/bind-phase"] != "allocating" {
		t.Errorf("HAMi: %v", got)
	}
	node.Annotations["hami.io/node-nvidia-register"] = "GPU-a,10,81920,100,NVIDIA-H100,0,true:GPU-b,10,40960,100,NVIDIA-H100,0,true:"
	if cards := inventory.HAMiCards(node); !reflect.DeepEqual(cards, []inventory.HAMiCard{{ID: "GPU-a", Memory: 81920}, {ID: "GPU-b", Memory: 40960}}) {
		t.Errorf("HAMi's older form: %v", cards)
	}
	got = New(Config{Now: now}, &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: kube.SharingGPUShare}}).bindingAnnotations(r, node, p, []int{1})
	want := map[string]string{kube.AnnotationDevices: "1", "ALIYUN_COM_GPU_MEM_IDX": "1", "ALIYUN_COM_GPU_MEM_POD": "20", "ALIYUN_COM_GPU_MEM_DEV": "80",
		"ALIYUN_COM_GPU_MEM_ASSIGNED": "false", "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1000000000000"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("GPU-share: %v, want %v", got, want)
	}
}

// Pods of one run that are bound before the cluster shows anything of each
// other hold different devices, and the same ones when asked again.
func TestPodsOfRunGetDifferentDevices(t *testing.T) {
	b := New(Config{}, &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}})
	r := &Run{Launch: protocol.Launch{Devices: []int{0, 2, 4, 6}}}
	var pods []*corev1.Pod
	for i := range 2 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{kube.PluginGPU: resource.MustParse("2")}}}}
		pods = append(pods, p)
	}
	first, ok1 := b.chooseDevices(r, pods[0], pods)
	second, ok2 := b.chooseDevices(r, pods[1], pods)
	again, ok3 := b.chooseDevices(r, pods[0], pods)
	if !ok1 || !ok2 || !ok3 || fmt.Sprint(first, second, again) != "[0 2] [4 6] [0 2]" {
		t.Errorf("chose %v, %v and %v", first, second, again)
	}
	third := pods[0].DeepCopy()
	third.UID = "third"
	if _, ok := b.chooseDevices(r, third, append(pods, third)); ok {
		t.Error("a third pod got devices that others hold")
	}
}
