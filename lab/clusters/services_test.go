//go:build kube

package clusters

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A Deployment of a user of one of three clusters, each with an API server and controllers of its own, is a
// service: it is divided by their bids, scaled up and down by its subresource scale, rebalanced, drained off one
// of them, carried on when one is lost, and deleted. Nobody but the user writes its spec.
func TestAServiceIsDividedAmongThreeClusters(t *testing.T) {
	hub := newHub()
	s, ctx := open(t, hub)
	names := []string{"bern", "lyon", "oslo"}
	planes, stops, sites := make(map[string]*kubetest.Cluster), make(map[string]func()), make(map[string]LiveSite)
	for _, name := range names {
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(2, name)
		sites[name] = LiveSite{
			Config:     executor.Config{Site: name, Sharing: kube.SharingDRA},
			Kubeconfig: c.AgentKubeconfig("dra", "default"), DataDir: t.TempDir(), Price: 55_000, Carbon: 30_000,
			Queue: &queue.Config{StatusInterval: 2 * time.Second},
		}
		stop, err := s.StartSite(ctx, sites[name])
		c.FailOnError(err)
		planes[name], stops[name] = c, stop
	}
	hub.await(t, 3)
	port, err := hub.Connect(t.Context(), protocol.OperatorAPI)
	if err != nil {
		t.Fatal(err)
	}
	operator := &submitter{TB: t, port: port, sender: protocol.Sender{Party: protocol.OperatorAPI}}
	stands := func(what string, want ...int) {
		t.Helper()
		var got []int
		for end := time.Now().Add(4 * time.Minute); fmt.Sprint(got) != fmt.Sprint(want); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %v of %v run %v", what, names, got, want)
			}
			got = nil
			for i, n := range want {
				if n >= 0 {
					n = planes[names[i]].RunningPodsOfApp("chat")
				}
				got = append(got, n)
			}
		}
	}
	bern := kubetest.ClusterUser{Cluster: planes["bern"]}
	chat := bern.CreateService("Deployment", "chat", "1", 12, "division: dynamic")
	id := protocol.ServiceID("bern.default.deployment.chat")
	shows := func(what, state string) {
		t.Helper()
		bern.AwaitSet(chat, what, func(is string) bool { return is == state })
	}
	stands("as divided", 4, 4, 4)
	shows("running everywhere", "Running: 12 of 12 run: bern 4, lyon 4, oslo 4")
	bern.ScaleService(chat, 18)
	stands("scaled up", 6, 6, 6)
	stops["bern"]() // its queue asks anew after a restart, and nothing changes by that
	stop, err := s.StartSite(ctx, sites["bern"])
	bern.FailOnError(err)
	stops["bern"] = stop
	bern.ScaleService(chat, 6)
	stands("scaled down", 2, 2, 2)
	shows("running with fewer", "Running: 6 of 6 run: bern 2, lyon 2, oslo 2")
	operator.send(protocol.Drain{Site: "bern"})
	stands("with bern drained", 0, 3, 3)
	operator.send(protocol.Drain{Site: "bern", Over: true})
	operator.send(protocol.RebalanceService{Service: id})
	stands("rebalanced", 2, 2, 2)
	stops["oslo"]()
	planes["oslo"].StopPlane()
	operator.send(protocol.DecommissionSite{Site: "oslo", By: "operator"})
	stands("with oslo lost", 3, 3, -1)
	shows("running at the others", "Running: 6 of 6 run: bern 3, lyon 3")
	spec := bern.ViewSet(chat).Object["spec"].(map[string]any)
	spec["replicas"] = int64(12)
	if was := chat.Object["spec"]; !reflect.DeepEqual(spec, was) {
		t.Errorf("the spec of the user's object was written: %v; want %v", spec, was)
	}
	bern.DeleteSet(chat)
	stands("deleted", 0, 0, -1)
	bern.AwaitCondition("the user's object is gone", func() bool { return bern.ViewSet(chat) == nil }, func() any { return bern.DescribeSet(chat) })
}

// A LeaderWorkerSet of a user of one of two clusters is a service of groups of pods, scaled by its subresource
// scale. LeaderWorkerSet's own controller makes the pods of each replica, and those of the user's object wait.
func TestALeaderWorkerSetIsDividedAmongTwoClusters(t *testing.T) {
	hub := newHub()
	s, ctx := open(t, hub)
	planes := make(map[string]*kubetest.Cluster)
	for _, name := range []string{"bern", "lyon"} {
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(2, name)
		c.InstallLeaderWorkerSet()
		_, err := s.StartSite(ctx, LiveSite{
			Config:     executor.Config{Site: name, Sharing: kube.SharingDRA},
			Kubeconfig: c.AgentKubeconfig("dra", "default"), DataDir: t.TempDir(), Price: 55_000, Carbon: 30_000,
			Queue: &queue.Config{StatusInterval: 2 * time.Second},
		})
		c.FailOnError(err)
		planes[name] = c
	}
	hub.await(t, 2)
	bern := kubetest.ClusterUser{Cluster: planes["bern"]}
	llama := bern.CreateGroups("llama", 4, "division: dynamic")
	for _, step := range []struct{ groups, bern, lyon int }{{4, 2, 2}, {6, 3, 3}, {2, 1, 1}} {
		bern.ScaleService(llama, step.groups)
		bern.AwaitSet(llama, fmt.Sprint(step.groups, " groups run"), func(is string) bool {
			return is == fmt.Sprintf("Running: %d of %d run: bern %d, lyon %d", step.groups, step.groups, step.bern, step.lyon)
		})
		bern.AwaitCondition("four pods of each group run", func() bool {
			return planes["bern"].RunningPodsOfApp("llama") == 4*step.bern && planes["lyon"].RunningPodsOfApp("llama") == 4*step.lyon
		}, func() any { return bern.DescribeSet(llama) })
	}
	bern.DeleteSet(llama)
	bern.AwaitCondition("the user's object is gone", func() bool { return bern.ViewSet(llama) == nil }, func() any { return bern.DescribeSet(llama) })
}
