//go:build kube

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

// because returns a condition: the Job has this reason, and its message contains words.
func because(reason, words string) func(kubetest.JobView) bool {
	return func(v kubetest.JobView) bool { return v.Reason == reason && strings.Contains(v.Message, words) }
}

func active(v kubetest.JobView) bool { return v.Active == 1 && !v.Suspended }
func over(v kubetest.JobView) bool   { return v.IsComplete && !v.HeldByFinalizer }
func gone(v kubetest.JobView) bool   { return v.Deleted }

// A queueTestbed is two sites that submit Jobs, oslo far cleaner than lyon, on
// clusters with a scheduler of their own beside ours.
type queueTestbed struct {
	ctx        context.Context
	testbed    *LiveTestbed
	hub        registrationBus
	lyon, oslo kubetest.ClusterUser
	sites      map[string]LiveSite
	stops      map[string]func()
}

// restartSite kills a site and restarts it.
func (x *queueTestbed) restartSite(t *testing.T, name string) {
	x.stops[name]()
	x.stops[name] = x.testbed.add(x.ctx, t, x.sites[name])
}

// Jobs that users suspended in the clusters of two sites and of a hub without
// GPUs: local Jobs are released in place, the others run where it is cheapest, and
// each shows its state.
func TestSuspendedJobs(t *testing.T) {
	t.Parallel()
	x := &queueTestbed{hub: newHub(), sites: map[string]LiveSite{}, stops: map[string]func(){}}
	x.testbed, x.ctx = open(t, x.hub)
	for i, name := range []string{"lyon", "oslo"} {
		c := kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})
		c.AddNodes(2, name)
		*[]*kubetest.ClusterUser{&x.lyon, &x.oslo}[i] = kubetest.ClusterUser{Cluster: c}
		x.sites[name] = LiveSite{
			Config: executor.Config{Site: name, Sharing: kube.SharingDevicePlugin}, Kubeconfig: c.AgentKubeconfig("plugin", "default"), DataDir: t.TempDir(),
			Price: 60_000, Carbon: protocol.Milligrams([]int{600_000, 20_000}[i]), Queue: &queue.Config{StatusInterval: 2 * time.Second},
		}
		x.stops[name] = x.testbed.add(x.ctx, t, x.sites[name])
	}
	x.hub.await(t, 2)
	for _, f := range []struct {
		name string
		run  func(*testing.T, *queueTestbed, kubetest.ClusterUser)
	}{
		{"a local Job is released in place", released},
		{"a Job that may run anywhere runs at the best site, and looks local", abroad},
		{"a Job that fails elsewhere has failed", failsAbroad},
		{"faults are reported, and can be corrected", unclear},
		{"a Job that no site can run fails, with the reason", impossible},
		{"deleting a Job cancels it, wherever it runs", unwanted},
		{"a Job of a deleted node waits and is released once more", stranded},
		{"a restarted site runs each Job once", restartedSite},
		{"a hub runs no jobs itself", fromAHub},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, x, x.lyon.WithTest(t)) })
	}
}

func released(t *testing.T, x *queueTestbed, lyon kubetest.ClusterUser) {
	for _, w := range []kubetest.JobRequest{{Name: "by-its-own-scheduler"}, {Name: "by-ours", Scheduler: kube.SchedulerName}} {
		w.GPUs, w.Run = 1, 3*time.Second
		lyon.CreateJob(w)
		v := lyon.AwaitJob(w.Name, "released", active)
		if lyon.AwaitJob(w.Name, "placed", because("Placed", "lyon has it on H100")); len(x.oslo.NodesOfPods("")) > 0 || v.Labels[kube.LabelRun] == "" {
			t.Errorf("%s: it is %+v", w.Name, v)
		}
		if v = lyon.AwaitJob(w.Name, "over", over); v.Succeeded != 1 || !because("Finished", "lyon ran it to its end")(v) {
			t.Errorf("%s: it is %+v", w.Name, v)
		}
		lyon.HasEvent(w.Name, "Placed", "kg of CO2e")
		lyon.HasEvent(w.Name, "Finished", "kWh")
	}
}

func abroad(t *testing.T, _ *queueTestbed, lyon kubetest.ClusterUser) {
	lyon.CreateJob(kubetest.JobRequest{Name: "abroad", GPUs: 1, Run: 3 * time.Second, ManagedBy: queue.ManagedBy})
	v := lyon.AwaitJob("abroad", "active", active)
	if len(lyon.NodesOfPods("batch.kubernetes.io/job-name=abroad")) > 0 || !v.Started || !because("Placed", "oslo has it on H100")(v) {
		t.Errorf("it is %+v", v)
	}
	v = lyon.AwaitJob("abroad", "over", over)
	if v.Succeeded != 1 || v.Active != 0 || !v.Completed || v.Placed != "True" || !because("Finished", "oslo ran it to its end")(v) {
		t.Errorf("in the end it is %+v", v)
	}
}

func failsAbroad(t *testing.T, _ *queueTestbed, lyon kubetest.ClusterUser) {
	lyon.CreateJob(kubetest.JobRequest{Name: "fails", GPUs: 1, Run: time.Second, ManagedBy: queue.ManagedBy, FailsAtEnd: true})
	v := lyon.AwaitJob("fails", "failed", func(v kubetest.JobView) bool { return v.HasFailed && !v.HeldByFinalizer })
	if v.Failed != 1 || v.Active != 0 || !because("Failed", "its program failed at oslo")(v) {
		t.Errorf("it is %+v", v)
	}
}

func unclear(_ *testing.T, _ *queueTestbed, lyon kubetest.ClusterUser) {
	lyon.CreateJob(kubetest.JobRequest{Name: "unclear", GPUs: 1, Run: time.Second, Annotations: map[string]string{queue.AnnotationRunTime: "soon", queue.AnnotationDeadline: "tomorrow", kube.AnnotationGPUMilli: "much"}})
	lyon.AwaitJob("unclear", "refused in words", func(v kubetest.JobView) bool {
		return because("Malformed", `"soon" is not a duration`)(v) && because("Malformed", `"tomorrow" is not a time`)(v) && because("Malformed", `"much" is not a whole number`)(v)
	})
	lyon.HasEvent("unclear", "Malformed", `"soon" is not a duration`)
	lyon.AnnotateJob("unclear", fmt.Sprintf(`{%q:"1m",%q:null,%q:null}`, queue.AnnotationRunTime, queue.AnnotationDeadline, kube.AnnotationGPUMilli))
	lyon.AwaitJob("unclear", "over", over)
}

func impossible(_ *testing.T, _ *queueTestbed, lyon kubetest.ClusterUser) {
	lyon.CreateJob(kubetest.JobRequest{Name: "huge", GPUs: 16, ManagedBy: queue.ManagedBy})
	lyon.AwaitJob("huge", "failed", func(v kubetest.JobView) bool { return v.HasFailed && because("FitsNoNode", "it will not be run")(v) })
	lyon.CreateJob(kubetest.JobRequest{Name: "here", GPUs: 16}) // its status is the cluster's
	lyon.AwaitJob("here", "refused", func(v kubetest.JobView) bool {
		return v.Suspended && !v.HasFailed && because("FitsNoNode", "it will not be run")(v)
	})
}

func unwanted(_ *testing.T, x *queueTestbed, lyon kubetest.ClusterUser) {
	for _, w := range []kubetest.JobRequest{{Name: "unwanted-here"}, {Name: "unwanted-there", ManagedBy: queue.ManagedBy}} {
		w.GPUs = 2
		lyon.CreateJob(w)
		lyon.AwaitJob(w.Name, "active", active)
		lyon.DeleteJob(w.Name)
		lyon.AwaitJob(w.Name, "gone", gone)
	}
	for _, p := range []kubetest.ClusterUser{lyon, x.oslo} {
		lyon.AwaitCondition("nothing runs", func() bool { return len(p.NodesOfPods("")) == 0 }, func() any { return p.NodesOfPods("") })
	}
}

func stranded(_ *testing.T, _ *queueTestbed, lyon kubetest.ClusterUser) {
	lyon.CreateJob(kubetest.JobRequest{Name: "stranded", GPUs: 1, Run: 6 * time.Second})
	first := lyon.AwaitJob("stranded", "active", active).Labels[kube.LabelRun]
	var nodes []string
	lyon.AwaitCondition("its pod is bound", func() bool {
		nodes = lyon.NodesOfPods(kube.LabelRun + "=" + first)
		return len(nodes) == 1 && nodes[0] != ""
	}, func() any { return nodes })
	lyon.DeleteNode(nodes[0])
	lyon.AwaitJob("stranded", "released again", func(v kubetest.JobView) bool {
		return active(v) && v.Labels[kube.LabelRun] != "" && v.Labels[kube.LabelRun] != first
	})
	lyon.HasEvent("stranded", "NodeGone", "lyon gave it back")
	lyon.AwaitJob("stranded", "over", over)
}

func restartedSite(t *testing.T, x *queueTestbed, lyon kubetest.ClusterUser) {
	oracles := []*kubetest.Oracle{lyon.StartOracle(), x.oslo.WithTest(t).StartOracle()}
	for i := range 6 {
		w := kubetest.JobRequest{Name: fmt.Sprintf("through-%d", i), GPUs: 1, Run: 4 * time.Second}
		if i%2 == 1 {
			w.ManagedBy = queue.ManagedBy
		}
		lyon.CreateJob(w)
		if i == 2 {
			lyon.AwaitJob("through-1", "placed", because("Placed", ""))
			x.restartSite(t, "lyon")
		}
	}
	lyon.AwaitJob("through-5", "taken in", func(v kubetest.JobView) bool { return v.HeldByFinalizer })
	x.restartSite(t, "lyon")
	x.restartSite(t, "oslo")
	ours := map[string]bool{}
	for i := range 6 {
		ours["lyon/"+lyon.AwaitJob(fmt.Sprintf("through-%d", i), "over", over).UID] = true
	}
	ran := map[string]int{}
	for _, o := range oracles {
		for job, n := range o.StopAndCheck() {
			ran[job] += n
		}
	}
	for job := range ours {
		if ran[job] != 1 {
			t.Errorf("%s ran %d times", job, ran[job])
		}
	}
}

func fromAHub(t *testing.T, x *queueTestbed, _ kubetest.ClusterUser) {
	c := kubetest.ClusterUser{Cluster: kubetest.New(t, kubeenv.PlaneOptions{})}
	cfg := runtime.Config{Site: "hub", DataDir: t.TempDir(), FederationBus: x.hub, Log: slog.New(slog.DiscardHandler), Queue: kubesite.ServeQueue(queue.Config{Site: "hub", Client: c.Client, StatusInterval: 2 * time.Second})}
	ctx, end := context.WithCancel(x.ctx)
	done := make(chan error, 1)
	go func() { done <- runtime.RunSite(ctx, cfg) }()
	defer func() { end(); <-done }()
	c.CreateJob(kubetest.JobRequest{Name: "stuck", GPUs: 1, Run: time.Second})
	c.AwaitJob("stuck", "refused", because("Malformed", "this cluster runs no jobs itself"))
	c.CreateJob(kubetest.JobRequest{Name: "sent", GPUs: 1, Run: time.Second, ManagedBy: queue.ManagedBy})
	if v := c.AwaitJob("sent", "over", over); !because("Finished", "oslo ran it to its end")(v) {
		t.Errorf("it is %+v", v)
	}
}
