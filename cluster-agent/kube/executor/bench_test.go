//go:build kube

package executor

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkBind compares how many pods are bound in a second by an executor that was
// told where (with all its checks and reports), and by bare
// client-go calls from as many workers, against one server in one run. Both
// find their pods waiting. They take turns, nine each, and the medians count: a
// machine that does other things as well disturbs single rounds by half.
func BenchmarkBind(b *testing.B) {
	const pods, workers, rounds = 500, 16, 9
	c := newCluster(b, 100)
	var bare, ours, ratio []float64
	for b.Loop() {
		for i := range rounds {
			turns := []func(){
				func() { bare = append(bare, c.bare(pods, workers)) },
				func() { ours = append(ours, c.ours(pods, workers)) },
			}
			turns[i%2]()
			turns[1-i%2]()
			ratio = append(ratio, 100*ours[i]/bare[i])
			b.Logf("round %d: bare %.0f/s, ours %.0f/s", i+1, bare[i], ours[i])
		}
		b.ReportMetric(median(bare), "bare/s")
		b.ReportMetric(median(ours), "ours/s")
		b.ReportMetric(100*median(ours)/median(bare), "%of-bare")
		b.ReportMetric(median(ratio), "%of-bare-by-round")
		bare, ours, ratio = nil, nil, nil
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// waiting is a pod that waits for a scheduler of this name.
func waiting(name, scheduler string, labels map[string]string) *corev1.Pod {
	r := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{SchedulerName: scheduler,
		Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/train:1", Resources: corev1.ResourceRequirements{Requests: r}}}}}
}

func (c *cluster) bare(pods, workers int) (rate float64) {
	c.Helper()
	uids := make([]*corev1.Pod, pods)
	each(pods, workers, func(i int) {
		p, err := c.Client.CoreV1().Pods("default").Create(c.Context(), waiting(fmt.Sprintf("bare-%04d", i), "nobody", nil), metav1.CreateOptions{})
		c.FailOnError(err)
		uids[i] = p
	})
	cfg := Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}
	c.FailOnError(cfg.ConnectToCluster(c.rights(kube.SharingDevicePlugin))) // the same sort of client, with the same rights
	began := time.Now()
	each(pods, workers, func(i int) {
		c.FailOnError(cfg.Client.CoreV1().Pods("default").Bind(c.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: uids[i].Name, UID: uids[i].UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("gpu-%03d", i%100)}}, metav1.CreateOptions{}))
	})
	took := time.Since(began)
	c.clean()
	return float64(pods) / took.Seconds()
}

// ours has an executor with a run for each pod, made to look as if it had
// created it, and lets them go.
func (c *cluster) ours(pods, workers int) (rate float64) {
	c.Helper()
	each(pods, workers, func(i int) {
		run := kube.RunName(protocol.JobID(fmt.Sprint("b", i)), 1)
		_, err := c.Client.CoreV1().Pods("default").Create(c.Context(), waiting("ours-"+run, kube.SchedulerName, map[string]string{kube.LabelRun: run, kube.LabelSite: "oslo"}), metav1.CreateOptions{})
		c.FailOnError(err)
	})
	hub := new(membus.Bus)
	c.agent(hub)
	cfg := Config{Site: "oslo", Sharing: kube.SharingDevicePlugin, Workers: workers}
	c.FailOnError(cfg.ConnectToCluster(c.rights(kube.SharingDevicePlugin)))
	port, err := hub.Connect(c.Context(), "hands/oslo")
	c.FailOnError(err)
	h := New(cfg)
	h.conn = port
	c.FailOnError(h.startInformers(c.Context()))
	for i := range pods {
		j := protocol.Job{ID: protocol.JobID(fmt.Sprint("b", i)), CPU: 1000, Memory: 1024}
		name := kube.RunName(j.ID, 1)
		h.runs[name] = &run{name: name, namespace: "default", kind: &jobKinds[0], createdAt: 1,
			launch: protocol.Launch{Job: j, Epoch: 1, Node: fmt.Sprintf("gpu-%03d", i%100)}}
	}
	for len(h.inv.PodCache.ListKeys()) < pods {
		time.Sleep(10 * time.Millisecond)
	}
	h.cfg.StartTimeout = 1 << 62
	began := time.Now()
	for name := range h.runs {
		h.queue.Add(name)
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { h.runReconcileWorker(c.Context()) })
	}
	for bound := 0; bound < pods; {
		bound = 0
		for _, o := range h.inv.PodCache.List() {
			if o.(*corev1.Pod).Spec.NodeName != "" {
				bound++
			}
		}
		time.Sleep(20 * time.Millisecond) // to look is work too
	}
	took := time.Since(began)
	h.queue.ShutDown()
	working.Wait()
	c.clean()
	return float64(pods) / took.Seconds()
}

func (c *cluster) clean() {
	c.Helper()
	zero := int64(0)
	c.FailOnError(c.Client.CoreV1().Pods("default").DeleteCollection(c.Context(), metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}))
}

// each calls f with 0 to n-1 from several workers.
func each(n, workers int, f func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
