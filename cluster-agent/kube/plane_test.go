//go:build kube

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/internal/plane"
	"github.com/gridbid/gridbid/protocol"
)

// A cluster is a control plane with a client of its administrator.
type cluster struct {
	testing.TB
	*plane.Plane
	config *rest.Config
	client kubernetes.Interface
}

func newCluster(t testing.TB, o plane.Options) *cluster {
	c := &cluster{TB: t, Plane: plane.ForTest(t, o)}
	c.config = c.restConfig(c.Kubeconfig)
	c.client = kubernetes.NewForConfigOrDie(c.config)
	return c
}

func (c *cluster) restConfig(file string) *rest.Config {
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		c.Fatal(err)
	}
	cfg.QPS = -1
	return cfg
}

// must ends the test on an error.
func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

const gpusOfNode = 8

func quantities(m map[corev1.ResourceName]string) corev1.ResourceList {
	l := make(corev1.ResourceList)
	for k, v := range m {
		l[k] = resource.MustParse(v)
	}
	return l
}

// addNodes adds nodes of eight H100s, by device plugin and by device claim.
func (c *cluster) addNodes(n int) {
	c.Helper()
	for i := range n {
		c.addNode(fmt.Sprintf("gpu-%02d", i))
	}
}

func (c *cluster) addNode(name string) {
	c.Helper()
	have := quantities(map[corev1.ResourceName]string{"cpu": "96", "memory": "768Gi", "pods": "110", pluginGPU: "8"})
	_, err := c.client.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81920", "kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Capacity: have, Allocatable: have},
	}, metav1.CreateOptions{})
	c.must(err)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.nvidia.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}}
	yes, product := true, "NVIDIA H100 80GB HBM3"
	for d := range gpusOfNode {
		q := resource.MustParse
		step, all, mib, gib := q("10"), q("1000"), q("1Mi"), q("80Gi")
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu%d", d), AllowMultipleAllocations: &yes,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": {StringValue: &product}},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
				milliCapacity:  {Value: all, RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: &all, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &step, Step: &step}}},
				memoryCapacity: {Value: gib, RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: &gib, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &mib, Step: &mib}}},
			},
		})
	}
	_, err = c.client.ResourceV1().ResourceSlices().Create(c.Context(), slice, metav1.CreateOptions{})
	c.must(err)
}

// deviceClass is what claims of GPUs name.
func (c *cluster) deviceClass() {
	_, err := c.client.ResourceV1().DeviceClasses().Create(c.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu.nvidia.com"},
		Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.nvidia.com"`}}}},
	}, metav1.CreateOptions{})
	c.must(err)
}

// hands starts hands of a site at a hub, and returns what ends them.
func (c *cluster) hands(hub bus.Hub, cfg Config) (h *Hands, stop func()) {
	c.Helper()
	restCfg := rest.CopyConfig(c.config)
	if cfg.Site == "" {
		cfg.Site = "oslo"
	}
	if cfg.Client == nil {
		cfg.Client, cfg.Dynamic = kubernetes.NewForConfigOrDie(restCfg), dynamic.NewForConfigOrDie(restCfg)
	}
	if testing.Verbose() && os.Getenv("KUBELOG") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	ctx, cancel := context.WithCancel(context.Background())
	port, err := hub.Join(ctx, protocol.Hands(cfg.Site))
	c.must(err)
	h = New(cfg)
	var done sync.WaitGroup
	done.Go(func() { _ = h.Run(ctx, port) })
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	c.Cleanup(stop)
	return h, stop
}

// An agent is played by a test: it says launches, and keeps what hands say.
type agent struct {
	*cluster
	port  bus.Port
	mouth protocol.Mouth
	heard []protocol.Body
}

func (c *cluster) agent(hub bus.Hub) *agent {
	c.Helper()
	port, err := hub.Join(c.Context(), "agent/oslo")
	c.must(err)
	return &agent{cluster: c, port: port, mouth: protocol.Mouth{Who: "agent/oslo"}}
}

func (a *agent) launch(l protocol.Launch) {
	a.Helper()
	a.must(a.port.Say(a.Context(), a.mouth.Say(protocol.At(time.Now()), "hands/oslo", l)))
}

// await hears until a sentence of its type holds, and returns it.
func await[B protocol.Body](a *agent, holds func(B) bool) (b B) {
	a.Helper()
	limit := time.After(90 * time.Second)
	for {
		select {
		case m, ok := <-a.port.Heard():
			if !ok {
				a.Fatal("the port closed: ", a.port.Close())
			}
			a.heard = append(a.heard, m.Body)
			if b, ok := m.Body.(B); ok && holds(b) {
				return b
			}
		case <-limit:
			a.Fatalf("no %T came that holds; heard last %v", b, a.heard[max(0, len(a.heard)-5):])
		}
	}
}

// job is a launch of a Job of one pod that runs for a while.
func job(id string, node string, devices []int, share protocol.Milli, run time.Duration) protocol.Launch {
	j := protocol.Job{ID: protocol.JobID(id), GPUs: len(devices), Share: share, CPU: 4000, Memory: 16 << 10, Run: time.Hour}
	if share < 1000 {
		j.GPUMemory = protocol.MiB(int64(share) * 80 << 10 / 1000)
	}
	return protocol.Launch{Job: j, Epoch: 1, Node: node, Devices: devices, Model: "H100", Run: time.Hour, Power: 400_000, Task: task(run, 1, "4", "16Gi", 0, nil)}
}

// task is a Job in JSON, of pods that end after a while.
func task(run time.Duration, pods int, cpu, memory string, gpus int, notes map[string]string) protocol.Task {
	all := map[string]string{}
	if run > 0 {
		all["plane.test/run"] = run.String()
	}
	for k, v := range notes {
		all[k] = v
	}
	requests := map[string]any{"cpu": cpu, "memory": memory}
	limits := map[string]any{}
	if gpus > 0 {
		limits[pluginGPU] = fmt.Sprint(gpus)
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "mine"},
		"spec": map[string]any{"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": map[string]any{
			"metadata": map[string]any{"annotations": all},
			"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{
				"name": "main", "image": "registry.example.com/train:1", "resources": map[string]any{"requests": requests, "limits": limits}}}},
		}},
	})
	if err != nil {
		panic(err)
	}
	return protocol.Task(data)
}

func TestAJobIsBoundRunsAndExits(t *testing.T) {
	for _, sharing := range []Sharing{DRA, Plugin} {
		t.Run(string(sharing), func(t *testing.T) {
			c := newCluster(t, plane.Options{})
			c.addNodes(2)
			c.deviceClass()
			hub := new(membus.Hub)
			a := c.agent(hub)
			c.hands(hub, Config{Sharing: sharing})
			v := await(a, func(v protocol.Inventory) bool {
				return len(v.Nodes) == 2 && v.Nodes[0].Closed == "" && v.Nodes[1].GPUs == 8
			})
			if n := v.Nodes[0]; n.Model != "H100" || n.GPUMemory != 81920 || n.CPU != 96_000 || n.Memory != 768<<10 {
				t.Errorf("node %+v", n)
			}
			a.launch(job("train/1", "gpu-01", []int{2, 5}, 1000, 2*time.Second))
			await(a, func(s protocol.Started) bool { return s.Job == "train/1" && s.Epoch == 1 })
			pods, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
			c.must(err)
			if len(pods.Items) != 1 || pods.Items[0].Spec.NodeName != "gpu-01" || pods.Items[0].Annotations[NoteDevices] != "2,5" {
				t.Errorf("pods %+v", pods.Items)
			}
			x := await(a, func(x protocol.Exited) bool { return true })
			if x.Failed != "" || len(x.Draw) == 0 || x.Draw[0].Energy < 300_000 || x.Draw[0].Energy > 4_000_000 {
				t.Errorf("exited %+v; want about two seconds at 400 W", x)
			}
		})
	}
}
