//go:build kube

package clusters

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A service over three clusters, each with an API server and controllers of its own, is divided by their
// bids, scaled up and down, rebalanced, drained off one of them, carried on when one is lost, and deleted.
func TestAServiceIsDividedAmongThreeClusters(t *testing.T) {
	hub := newHub()
	s, ctx := open(t, hub)
	names := []string{"bern", "lyon", "oslo"}
	planes, stops := make(map[string]*kubetest.Cluster), make(map[string]func())
	for _, name := range names {
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(2, name)
		stop, err := s.StartSite(ctx, LiveSite{
			Config:     executor.Config{Site: name, Sharing: kube.SharingDRA},
			Kubeconfig: c.AgentKubeconfig("dra", "default"), DataDir: t.TempDir(), Price: 55_000, Carbon: 30_000,
		})
		c.FailOnError(err)
		planes[name], stops[name] = c, stop
	}
	hub.await(t, 3)
	sub := newSubmitter(t, hub)
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
	chat := protocol.Service{ID: "chat", Wanted: 12, GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10, Task: kubetest.ServiceTask("Deployment", "chat", "1"), Division: protocol.Division{Rule: protocol.DivideByCapacity}}
	sub.send(protocol.SubmitService{Service: chat})
	stands("as divided", 4, 4, 4)
	sub.send(protocol.ScaleService{Service: "chat", Wanted: 18})
	stands("scaled up", 6, 6, 6)
	sub.send(protocol.ScaleService{Service: "chat", Wanted: 6})
	stands("scaled down", 2, 2, 2)
	operator.send(protocol.Drain{Site: "bern"})
	stands("with bern drained", 0, 3, 3)
	operator.send(protocol.Drain{Site: "bern", Over: true})
	sub.send(protocol.RebalanceService{Service: "chat"})
	stands("rebalanced", 2, 2, 2)
	stops["oslo"]()
	planes["oslo"].StopPlane()
	operator.send(protocol.DecommissionSite{Site: "oslo", By: "operator"})
	stands("with oslo lost", 3, 3, -1)
	sub.send(protocol.DeleteService{Service: "chat"})
	stands("deleted", 0, 0, -1)
}
