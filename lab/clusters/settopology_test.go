//go:build kube

package clusters

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/internal/kubeenv"
)

const zoneLabel = "topology.kubernetes.io/zone"

// wishing adds annotations of Kueue to a pod template, by their names after kueue.x-k8s.io/podset-.
func wishing(template map[string]any, notes map[string]string) map[string]any {
	all := template["metadata"].(map[string]any)["annotations"].(map[string]any)
	for k, v := range notes {
		all["kueue.x-k8s.io/podset-"+k] = v
	}
	return template
}

// templateOf returns the pod template of a role of a PyTorchJob.
func templateOf(pyTorchJob map[string]any, role string) map[string]any {
	return pyTorchJob["spec"].(map[string]any)["pytorchReplicaSpecs"].(map[string]any)[role].(map[string]any)["template"].(map[string]any)
}

// Sets that users created with Kueue's annotations of topology, each with its own controller, in a
// cluster of two zones: what must be in one zone is, on the nodes that the API server shows; what
// cannot be is not released; and a faulty annotation is named.
func TestUsersSetsGoWhereTheirTopologySays(t *testing.T) {
	t.Parallel()
	x := &queueTestbed{hub: newHub(), sites: map[string]LiveSite{}, stops: map[string]func(){}}
	x.testbed, x.ctx = open(t, x.hub)
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(5, "oslo")
	for node, zone := range map[string]string{"gpu-000": "a", "gpu-003": "a", "gpu-001": "b", "gpu-002": "b", "gpu-004": "b"} {
		c.LabelNode(node, zoneLabel, zone)
	}
	c.InstallJobSet()
	c.InstallTrainingOperator()
	c.InstallLeaderWorkerSet()
	oslo := kubetest.ClusterUser{Cluster: c}
	x.stops["oslo"] = x.testbed.add(x.ctx, t, LiveSite{
		Config: executor.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}, Kubeconfig: c.AgentKubeconfig("plugin", "default"),
		Price: 60_000, Carbon: 20_000, Queue: &queue.Config{StatusInterval: 2 * time.Second},
	})
	x.hub.await(t, 1)
	o := c.StartOracle()

	indexed := func(notes map[string]string) map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{}, "spec": map[string]any{
			"completionMode": "Indexed", "parallelism": int64(3), "completions": int64(3), "template": wishing(setPods(0, "8"), notes)}}
	}
	together := map[string]string{"required-topology": zoneLabel, "group-name": "all"}
	pyTorch := kubetest.PyTorchJob(0, nil)
	pyTorch["spec"].(map[string]any)["pytorchReplicaSpecs"].(map[string]any)["Worker"].(map[string]any)["replicas"] = int64(2)
	wishing(templateOf(pyTorch, "Master"), together)
	wishing(templateOf(pyTorch, "Worker"), together)
	groups := kubetest.LeaderWorkerSet()
	of := groups["spec"].(map[string]any)["leaderWorkerTemplate"].(map[string]any)
	delete(of, "leaderTemplate")
	wishing(of["workerTemplate"].(map[string]any), map[string]string{"required-topology": zoneLabel})
	for _, f := range []struct {
		name   string
		object map[string]any
		pods   int
		domain string // label or annotation of pods that are to be in one zone; "": all are
	}{
		{"a Job in one zone", indexed(map[string]string{"required-topology": zoneLabel}), 3, ""},
		{"a PyTorchJob with its master in one zone", pyTorch, 3, ""},
		{"each Job of a JobSet in one zone", kubetest.JobSet(setPods(0, ""), wishing(setPods(0, "4"), map[string]string{"slice-required-topology": zoneLabel, "slice-size": "4"})), 9, "jobset.sigs.k8s.io/job-key"},
		{"each group of a LeaderWorkerSet in one zone", groups, 8, "leaderworkerset.sigs.k8s.io/group-index"},
	} {
		oslo := oslo.WithTest(t)
		u := oslo.QueueSet(f.object, "wishes")
		oslo.AwaitCondition(f.name+": all pods are bound", func() bool { return running(oslo, u, f.pods) != nil }, func() any { return oslo.DescribeSet(u) })
		for domain, zones := range oslo.DomainsOfSet(u, zoneLabel, f.domain) {
			if len(zones) > 1 {
				t.Errorf("%s: pods of %q are in zones %v", f.name, domain, zones)
			}
		}
		oslo.DeleteSet(u)
		nothingOf(oslo, u)
	}

	four := kubetest.PyTorchJob(0, nil) // no zone has four nodes
	wishing(templateOf(four, "Master"), together)
	wishing(templateOf(four, "Worker"), together)
	u := oslo.QueueSet(four, "large")
	oslo.AwaitSet(u, "refused", stateIs("FitsNoNode", "fit no domain of "+zoneLabel))
	oslo.DeleteSet(u)
	nothingOf(oslo, u)
	faulty := kubetest.PyTorchJob(0, nil)
	wishing(templateOf(faulty, "Worker"), map[string]string{"required-topology": "one rack"})
	u = oslo.QueueSet(faulty, "faulty")
	oslo.AwaitSet(u, "refused", stateIs("Malformed", `annotation kueue.x-k8s.io/podset-required-topology of role "worker" is "one rack"`))
	oslo.DeleteSet(u)
	nothingOf(oslo, u)
	o.StopAndCheck()
}
