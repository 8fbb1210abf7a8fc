//go:build kube

package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// A grant is what a device plugin gave a pod of one card.
type grant struct {
	card       string // UUID or index
	mib, cores int64
}

// A kubelet plays a node's kubelet with the device plugin of others: pods that
// are held start when the plugin can read from their annotations what they get,
// as its own source reads them, and fail as they would if not.
type kubelet struct {
	*cluster
	node   string
	decode func(p *corev1.Pod, pending []corev1.Pod) ([]grant, map[string]any, error)
	most   grant // of one card

	mu   sync.Mutex
	gave map[string][]grant // by pod name
}

// play looks at the node's pods until the test ends.
func (k *kubelet) play() {
	k.gave = make(map[string][]grant)
	stop := make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			list, err := k.Client.CoreV1().Pods("default").List(k.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.node})
			if err == nil {
				k.round(list.Items)
			}
		}
	})
	k.Cleanup(func() { close(stop); done.Wait() })
}

func (k *kubelet) round(pods []corev1.Pod) {
	var pending []corev1.Pod
	used := make(map[string]grant)
	k.mu.Lock()
	for _, p := range pods {
		switch {
		case kube.PodEnded(&p):
		case p.Annotations["plane.test/held"] != "" && p.Status.Phase == corev1.PodPending:
			pending = append(pending, p)
		default:
			for _, g := range k.gave[p.Name] {
				u := used[g.card]
				used[g.card] = grant{g.card, u.mib + g.mib, u.cores + g.cores}
			}
		}
	}
	k.mu.Unlock()
	for i := range pending {
		p := &pending[i]
		grants, notes, err := k.decode(p, pending)
		for _, g := range grants {
			u := used[g.card]
			if err == nil && (g.mib <= 0 || u.mib+g.mib > k.most.mib || u.cores+g.cores > k.most.cores) {
				err = fmt.Errorf("card %s has %d MiB and %d hundredths given; %d and %d more are too many", g.card, u.mib, u.cores, g.mib, g.cores)
			}
			used[g.card] = grant{g.card, u.mib + g.mib, u.cores + g.cores}
		}
		if err != nil {
			k.patch(p.Name, map[string]any{"status": map[string]any{"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed due to " + err.Error()}}, "status")
			continue
		}
		k.mu.Lock()
		k.gave[p.Name] = grants
		k.mu.Unlock()
		notes["plane.test/held"] = nil
		k.patch(p.Name, map[string]any{"metadata": map[string]any{"annotations": notes}})
	}
}

func (k *kubelet) patch(pod string, change map[string]any, sub ...string) {
	text, _ := json.Marshal(change)
	if _, err := k.Client.CoreV1().Pods("default").Patch(k.Context(), pod, types.StrategicMergePatchType, text, metav1.PatchOptions{}, sub...); err != nil && k.Context().Err() == nil {
		k.Error(err)
	}
}

// hamiPlugin reads pods as HAMi's device plugin does: the pod that is allocating
// on this node; containers between ";", their cards between ":", of each UUID,
// type, MiB and hundredths; as many cards as the container asks for.
func hamiPlugin(node string, cards map[string]bool) func(*corev1.Pod, []corev1.Pod) ([]grant, map[string]any, error) {
	return func(p *corev1.Pod, _ []corev1.Pod) (all []grant, notes map[string]any, err error) {
		a := p.Annotations
		if _, err := strconv.ParseInt(a["hami.io/bind-time"], 10, 64); err != nil || a["hami.io/bind-phase"] != "allocating" || a["hami.io/vgpu-node"] != node {
			return nil, nil, errors.New("no binding pod found on node " + node)
		}
		for i, part := range strings.Split(a["hami.io/vgpu-devices-to-allocate"], ";") {
			given := int64(0)
			for _, card := range strings.Split(part, ":") {
				if !strings.Contains(card, ",") {
					continue
				}
				f := strings.Split(card, ",")
				if len(f) < 4 || f[1] != "NVIDIA" || !cards[f[0]] {
					return nil, nil, fmt.Errorf("pod annotation format error: %q", card)
				}
				mib, err1 := strconv.ParseInt(f[2], 10, 32)
				cores, err2 := strconv.ParseInt(f[3], 10, 32)
				if err := errors.Join(err1, err2); err != nil {
					return nil, nil, err
				}
				all, given = append(all, grant{f[0], mib, cores}), given+1
			}
			if i < len(p.Spec.Containers) {
				if q := p.Spec.Containers[i].Resources.Limits["nvidia.com/gpu"]; q.Value() != given {
					return nil, nil, fmt.Errorf("device number not matched: container %d asks for %d and is given %d", i, q.Value(), given)
				}
			}
		}
		if len(all) == 0 {
			return nil, nil, errors.New("device request not found")
		}
		return all, map[string]any{"hami.io/bind-phase": "success", "hami.io/vgpu-devices-to-allocate": ";"}, nil
	}
}

// gpusharePlugin reads pods as Alibaba's device plugin does: of those that are
// assumed and not assigned, the earliest that asks for so many GiB.
func gpusharePlugin(cards int) func(*corev1.Pod, []corev1.Pod) ([]grant, map[string]any, error) {
	asks := func(p *corev1.Pod) (n int64) {
		for _, c := range p.Spec.Containers {
			q := c.Resources.Limits["aliyun.com/gpu-mem"]
			n += q.Value()
		}
		return n
	}
	return func(p *corev1.Pod, pending []corev1.Pod) ([]grant, map[string]any, error) {
		var assumed []corev1.Pod
		for _, q := range pending {
			if _, err := strconv.ParseUint(q.Annotations["ALIYUN_COM_GPU_MEM_ASSUME_TIME"], 10, 64); err == nil && asks(&q) == asks(p) && q.Annotations["ALIYUN_COM_GPU_MEM_ASSIGNED"] == "false" {
				assumed = append(assumed, q)
			}
		}
		sort.Slice(assumed, func(i, j int) bool {
			return assumed[i].Annotations["ALIYUN_COM_GPU_MEM_ASSUME_TIME"] < assumed[j].Annotations["ALIYUN_COM_GPU_MEM_ASSUME_TIME"]
		})
		if len(assumed) == 0 {
			return nil, nil, fmt.Errorf("request GPU memory %d can't be satisfied", asks(p))
		}
		index, err := strconv.Atoi(p.Annotations["ALIYUN_COM_GPU_MEM_IDX"])
		if err != nil || index < 0 || index >= cards {
			return nil, nil, fmt.Errorf("failed to get the dev of index %q", p.Annotations["ALIYUN_COM_GPU_MEM_IDX"])
		}
		return []grant{{strconv.Itoa(index), asks(p) << 10, 0}}, map[string]any{"ALIYUN_COM_GPU_MEM_ASSIGNED": "true"}, nil
	}
}

// The device plugins of others start what we bind, on the cards that we chose,
// with the memory that was awarded; and what they cannot read they refuse, so this
// proves something.
func TestForeignDevicePluginsReadOurAnnotations(t *testing.T) {
	const node, mib = "gpu-000", 80 << 10
	uuids, known, register := make([]string, 8), make(map[string]bool), []map[string]any{}
	for i := range uuids {
		uuids[i] = fmt.Sprintf("GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e5%d", i)
		known[uuids[i]] = true
		register = append(register, map[string]any{"id": uuids[i], "index": i, "count": 10, "devmem": mib, "devcore": 100, "type": "NVIDIA-H100", "mode": "hami-core", "health": true})
	}
	text, err := json.Marshal(register)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sharing kube.GPUSharing
		notes   map[string]string
		has     map[corev1.ResourceName]string
		decode  func(*corev1.Pod, []corev1.Pod) ([]grant, map[string]any, error)
		want    func(l protocol.Launch) []grant
		wrong   []map[string]string
	}{
		{
			kube.SharingHAMi, map[string]string{"hami.io/node-nvidia-register": string(text)}, map[corev1.ResourceName]string{"nvidia.com/gpu": "80"}, hamiPlugin(node, known),
			func(l protocol.Launch) (all []grant) {
				for _, d := range l.Devices {
					all = append(all, grant{uuids[d], mib * int64(l.Job.Share) / 1000, int64(l.Job.Share) / 10})
				}
				return all
			},
			[]map[string]string{
				{"hami.io/vgpu-node": node, "hami.io/bind-phase": "allocating", "hami.io/bind-time": "1", "hami.io/vgpu-devices-to-allocate": "GPU-unknown,NVIDIA,1024,10:;"},
				{"hami.io/vgpu-node": node, "hami.io/bind-phase": "allocating", "hami.io/bind-time": "1", "hami.io/vgpu-devices-to-allocate": uuids[0] + ",1024,10:;"},
				{"hami.io/vgpu-node": "other", "hami.io/bind-phase": "allocating", "hami.io/bind-time": "1", "hami.io/vgpu-devices-to-allocate": uuids[0] + ",NVIDIA,1024,10:;"},
				{"hami.io/vgpu-node": node, "hami.io/bind-phase": "allocating", "hami.io/bind-time": "1", "hami.io/vgpu-devices-to-allocate": uuids[0] + ",NVIDIA,999999,10:;"},
			},
		},
		{
			kube.SharingGPUShare, nil, map[corev1.ResourceName]string{"aliyun.com/gpu-mem": "640", "aliyun.com/gpu-count": "8"}, gpusharePlugin(8),
			func(l protocol.Launch) []grant {
				return []grant{{strconv.Itoa(l.Devices[0]), (mib * int64(l.Job.Share) / 1000 >> 10) << 10, 0}}
			},
			[]map[string]string{{"ALIYUN_COM_GPU_MEM_IDX": "9", "ALIYUN_COM_GPU_MEM_ASSIGNED": "false", "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1"}, {"ALIYUN_COM_GPU_MEM_IDX": "1"}},
		},
	} {
		t.Run(string(tc.sharing), func(t *testing.T) {
			c := newCluster(t, 1)
			has := map[string]any{"nvidia.com/gpu": nil}
			for name, v := range tc.has {
				has[string(name)] = v
			}
			for sub, change := range map[string]any{"": map[string]any{"metadata": map[string]any{"annotations": tc.notes}}, "status": map[string]any{"status": map[string]any{"capacity": has, "allocatable": has}}} {
				text, err := json.Marshal(change)
				c.FailOnError(err)
				_, err = c.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, text, metav1.PatchOptions{}, strings.Fields(sub)...)
				c.FailOnError(err)
			}
			k := &kubelet{cluster: c, node: node, decode: tc.decode, most: grant{mib: mib, cores: 100}}
			k.play()
			hub := new(membus.Bus)
			a := c.agent(hub)
			c.startExecutor(hub, Config{Sharing: tc.sharing})
			await(a, func(v protocol.Inventory) bool {
				return len(v.Nodes) == 1 && v.Nodes[0].Closed == "" && v.Nodes[0].GPUs == 8
			})
			var all []protocol.Launch
			for i, share := range []protocol.Milli{500, 250, 250, 1000, 100} { // a full card, a whole one, a bit of a third
				l := job(fmt.Sprintf("share-%d", i), node, []int{[]int{2, 2, 2, 3, 5}[i]}, share, 0)
				if share == 1000 && tc.sharing == kube.SharingGPUShare {
					l.Job.GPUMemory = mib
				}
				l.Task = kubetest.BatchJobTask(3*time.Second, 1, 1, map[string]string{"plane.test/held": "true"})
				all = append(all, l)
			}
			if tc.sharing == kube.SharingHAMi {
				l := job("pair", node, []int{6, 7}, 1000, 0)
				l.Task = kubetest.BatchJobTask(3*time.Second, 1, 2, map[string]string{"plane.test/held": "true"})
				all = append(all, l)
			}
			for _, l := range all {
				a.launch(l)
			}
			ended := make(map[protocol.JobID]bool)
			for range all {
				x := await(a, func(x protocol.Finished) bool { return !ended[x.Job] })
				if ended[x.Job] = true; x.Failed != "" {
					t.Errorf("%+v", x)
				}
			}
			pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun})
			c.FailOnError(err)
			k.mu.Lock()
			defer k.mu.Unlock()
			for _, l := range all {
				for _, p := range pods.Items {
					if p.Labels[kube.LabelRun] == kube.RunName(l.Job.ID, 1) && fmt.Sprint(k.gave[p.Name]) != fmt.Sprint(tc.want(l)) {
						t.Errorf("%s was given %v by the plugin; awarded were %v", l.Job.ID, k.gave[p.Name], tc.want(l))
					}
				}
			}
			k.refuses(t, tc.wrong, tc.sharing)
		})
	}
}

// refuses says that the plugin does not start pods of a wrong form.
func (k *kubelet) refuses(t *testing.T, wrong []map[string]string, sharing kube.GPUSharing) {
	t.Helper()
	k.mu.Unlock()
	defer k.mu.Lock()
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	if sharing == kube.SharingGPUShare {
		limits = corev1.ResourceList{"aliyun.com/gpu-mem": resource.MustParse("10")}
	}
	for i, notes := range wrong {
		notes["plane.test/held"] = "true"
		name := fmt.Sprintf("wrong-%d", i)
		_, err := k.Client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
			Spec:       corev1.PodSpec{NodeName: k.node, Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/x:1", Resources: corev1.ResourceRequirements{Limits: limits}}}},
		}, metav1.CreateOptions{})
		k.FailOnError(err)
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			p, err := k.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			k.FailOnError(err)
			if p.Status.Phase == corev1.PodFailed && strings.Contains(p.Status.Reason, "UnexpectedAdmissionError") {
				break
			}
			if p.Status.Phase == corev1.PodRunning || time.Since(began) > time.Minute {
				t.Errorf("%v: %s", notes, p.Status.Phase)
				break
			}
		}
	}
}
