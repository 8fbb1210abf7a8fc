//go:build kube && kueue

package clusters

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/kubesite"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// kueue returns a cluster with Kueue, and a queue of GPUs that is called night.
func kueue(t *testing.T, dispatcher string, more string) kubetest.ClusterUser {
	t.Helper()
	c := kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})
	c.InstallKueue(dispatcher)
	checks := ""
	if dispatcher != "" {
		checks = ", admissionChecksStrategy: {admissionChecks: [{name: sites}]}"
	}
	c.ApplyYAML(fmt.Sprintf(`
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: h100}, spec: {tolerations: [{key: gridbid.io/owned, operator: Exists}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: gpus}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, memory, nvidia.com/gpu], flavors: [{name: h100, resources: [{name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1000Gi}, {name: nvidia.com/gpu, nominalQuota: 16}]}]}]%s}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: night, namespace: default}, spec: {clusterQueue: gpus}}
`, checks))
	if more != "" {
		c.ApplyYAML(more)
	}
	p := kubetest.ClusterUser{Cluster: c}
	p.AwaitCondition("its queue is open", func() bool { return p.QueueAcceptsJobs("night") }, func() any { return p.DumpWorkloads() })
	return p
}

// A user of Kueue labels a Job with a queue, as ever, and changes nothing else. The
// Job goes to whichever cluster wins the auction, and looks as if it ran at home.
func TestKueueWorkloadsAreDispatched(t *testing.T) {
	hub := newHub()
	s, ctx := open(t, hub)
	workers, more := map[string]kubetest.ClusterUser{}, ""
	names := []string{"lyon", "oslo"} // oslo is far cleaner, and has one node
	for i, name := range names {
		w := kueue(t, "", "")
		w.AddNodes(2-i, name)
		workers[name] = w
		more += fmt.Sprintf(`
{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: cluster-%[1]s}, spec: {clusterSource: {kubeConfig: {locationType: Path, location: %[2]q}}}}
---`, name, w.Kubeconfig)
		s.add(ctx, t, LiveSite{
			Config: executor.Config{Site: name, Sharing: kube.SharingDevicePlugin}, Kubeconfig: w.AgentKubeconfig("plugin", "default"),
			Price: 60_000, Carbon: protocol.Milligrams([]int{600_000, 20_000}[i]),
		})
	}
	hub.await(t, 2)
	manager := kueue(t, queue.DispatcherName, more+`
{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: sites}, spec: {clusters: [cluster-lyon, cluster-oslo]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: sites}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: sites}}}`)
	typed, untyped, err := kube.ConnectCluster(manager.AgentKubeconfig("plugin", "default"))
	manager.FailOnError(err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := runtime.Config{Site: "hub", DataDir: t.TempDir(), FederationBus: hub, Log: log, Queue: kubesite.ServeQueue(queue.Config{
		Site: "hub", Client: typed, Dynamic: untyped, StatusInterval: 2 * time.Second, Log: log,
		Kueue: &queue.KueueDispatcher{DefaultRunTime: 10 * time.Minute, Clusters: map[string]string{"cluster-lyon": "lyon", "cluster-oslo": "oslo"}},
	})}
	begin := func() (stop func()) {
		ctx, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- runtime.RunSite(ctx, cfg) }()
		return func() { end(); <-done }
	}
	stop := begin()
	labels := map[string]string{"kueue.x-k8s.io/queue-name": "night"}
	ask := func(name string, gpus int64, run time.Duration, annotations map[string]string) {
		manager.CreateJob(kubetest.JobRequest{Name: name, GPUs: gpus, Run: run, Labels: labels, Annotations: annotations})
	}
	runsAt := func(name, site string) {
		t.Helper()
		manager.AwaitCondition(name+" runs at "+site, func() bool { return len(workers[site].NodesOfPods("batch.kubernetes.io/job-name="+name)) == 1 }, func() any {
			return []any{manager.ViewJob(name), manager.EventsOfJob(name), manager.DumpWorkloads(), workers[site].DumpWorkloads()}
		})
	}

	ask("green", 8, 8*time.Second, map[string]string{}) // all of oslo
	runsAt("green", "oslo")
	manager.HasEvent("green", "Placed", "oslo has it on H100")
	now := map[string]string{queue.AnnotationUrgency: "now"} // else it waits for oslo
	ask("second", 1, 4*time.Second, now)                     // so it goes to lyon
	runsAt("second", "lyon")
	stop()
	stop = begin() // the dispatcher is killed and restarted
	for name, site := range map[string]string{"green": "oslo", "second": "lyon"} {
		v := manager.AwaitJob(name, "complete", func(v kubetest.JobView) bool { return v.IsComplete })
		if v.Succeeded != 1 || v.Suspended {
			t.Errorf("%s ended as %+v", name, v)
		}
		manager.AwaitCondition(name+" is settled", func() bool {
			return strings.Contains(strings.Join(manager.EventsOfJob(name), "\n"), "Finished: "+site+" ran it to its end")
		}, func() any { return manager.EventsOfJob(name) })
	}
	ask("unwanted", 8, 0, map[string]string{})
	runsAt("unwanted", "oslo")
	manager.DeleteJob("unwanted")
	manager.AwaitCondition("nothing runs", func() bool { return len(workers["oslo"].NodesOfPods("")) == 0 }, func() any { return workers["oslo"].NodesOfPods("") })
	ask("after", 8, time.Second, map[string]string{}) // oslo's room was given back
	runsAt("after", "oslo")
	manager.AwaitJob("after", "complete", func(v kubetest.JobView) bool { return v.IsComplete })
	stop()
}
