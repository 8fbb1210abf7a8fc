//go:build kube

package clusters

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A partsTestbed is two clusters of two nodes each, and a market over them.
type partsTestbed struct {
	*testing.T
	*submitter
	market *LiveTestbed
	ctx    context.Context
	planes map[string]*kubetest.Cluster
	sites  map[string]LiveSite
	stops  map[string]func()
}

// openParts starts a federation of lyon and oslo, where a run may take a while to start.
func openParts(t *testing.T, startTimeout time.Duration) *partsTestbed {
	hub := newHub()
	x := &partsTestbed{T: t, planes: make(map[string]*kubetest.Cluster), sites: make(map[string]LiveSite), stops: make(map[string]func())}
	x.market, x.ctx = open(t, hub)
	x.submitter = newSubmitter(t, hub)
	for _, name := range []string{"lyon", "oslo"} {
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(2, name)
		x.planes[name] = c
		x.sites[name] = LiveSite{Config: executor.Config{Site: name, Sharing: kube.SharingDevicePlugin, StartTimeout: startTimeout},
			Kubeconfig: c.AgentKubeconfig("plugin", "default"), DataDir: t.TempDir(), Price: 40_000, Carbon: 30_000}
		x.stops[name] = x.market.add(x.ctx, t, x.sites[name])
	}
	hub.await(t, 2)
	return x
}

// submitWide submits a job that takes all nodes of both clusters, two at each.
func (x *partsTestbed) submitWide(id string, task protocol.Task) {
	now := WallClock()
	j, _ := protocol.Job{Urgency: protocol.UrgencyNow, ID: protocol.JobID(id), Tenant: "vision", Arrival: now, Run: 10 * time.Minute, Deadline: now.Add(2 * time.Hour), MaxSites: 2}.
		WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 4000, Memory: 16 << 10}}).WithEqualParts(2)
	x.send(protocol.Submit{Job: j, Task: task})
}

// eventually waits until something holds.
func (x *partsTestbed) eventually(what string, holds func() bool) {
	x.T.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			x.T.Fatal("this did not come true: " + what)
		}
	}
}

// allAre reports whether the two pods of a job in a cluster are in a phase.
func (x *partsTestbed) allAre(site, id, phase string) bool {
	pods := x.planes[site].PodsOfParts(id)
	return len(pods) == 2 && !slices.ContainsFunc(pods, func(p kubetest.PartPod) bool { return p.Phase != phase })
}

// Two parts run at two clusters, and their pods are told of all four, and where the first is. A site whose process
// ends and begins anew meanwhile goes on with its part.
func TestPartsRunAtTwoClusters(t *testing.T) {
	x := openParts(t, 0)
	for _, c := range x.planes {
		c.InstallServiceExports()
	}
	x.submitWide("wide", kubetest.BatchJobTask(20*time.Second, 4, 8, nil))
	x.eventually("both parts run", func() bool { return x.allAre("lyon", "wide", "Running") && x.allAre("oslo", "wide", "Running") })
	ranks, leaders := make(map[string]string), make(map[string]bool)
	for site, c := range x.planes {
		for _, p := range c.PodsOfParts("wide") {
			if p.World != "4" {
				t.Errorf("pod %s is told that there are %s of all", p.Name, p.World)
			}
			ranks[p.Rank], leaders[p.Master] = site, true
		}
	}
	if got := slices.Sorted(maps.Keys(ranks)); !slices.Equal(got, []string{"0", "1", "2", "3"}) || ranks["0"] != ranks["1"] || ranks["2"] != ranks["3"] {
		t.Fatalf("the ranks are at %v; want 0 and 1 at one cluster, 2 and 3 at the other", ranks)
	}
	first := kube.RunName("wide.1", 1)
	if len(leaders) != 2 || !leaders[first+"-0."+first] || !leaders[first+"-leader.default.svc.clusterset.local"] {
		t.Errorf("the first pod is said to be at %v", leaders)
	}
	if !x.planes[ranks["0"]].ExportsFirstPod(first + "-leader") {
		t.Error("the Service of the first pod is not exported")
	}

	x.stops["lyon"]()
	x.stops["lyon"] = x.market.add(x.ctx, t, x.sites["lyon"])
	x.await(2, 5*time.Minute)
	for _, part := range []protocol.JobID{"wide.1", "wide.2"} {
		if _, ok := x.ended[part].(protocol.Settlement); !ok {
			t.Errorf("%s ended as %+v", part, x.ended[part])
		}
	}
	for site := range x.planes {
		if !x.allAre(site, "wide", "Succeeded") {
			t.Errorf("the pods at %s ended as %v", site, x.planes[site].PodsOfParts("wide"))
		}
	}
}

// The pods of one part start, and those of the other do not: when its time is over, nothing is left of either.
func TestAPartThatDoesNotStartLeavesNothingAtEither(t *testing.T) {
	x := openParts(t, 40*time.Second)
	x.submitWide("late", kubetest.BatchJobTask(0, 4, 8, kubetest.HeldAnnotations()))
	x.eventually("all pods of both parts are bound", func() bool {
		return x.planes["lyon"].BoundPodsOfJob("late.1")+x.planes["lyon"].BoundPodsOfJob("late.2") == 2 &&
			x.planes["oslo"].BoundPodsOfJob("late.1")+x.planes["oslo"].BoundPodsOfJob("late.2") == 2
	})
	x.planes["lyon"].StartHeldParts("late")
	x.eventually("the part at lyon runs", func() bool { return x.allAre("lyon", "late", "Running") })
	objects := func() (n int) {
		for _, c := range x.planes {
			n += c.ObjectsOfJob("late")
		}
		return n
	}
	if objects() == 0 {
		t.Fatal("no object of the parts is there")
	}
	x.eventually("nothing is left of either part", func() bool { return objects() == 0 })
	x.send(protocol.Cancel{Job: "late"})
	x.eventually("nothing is left after the job was cancelled", func() bool { return objects() == 0 })
	for site, c := range x.planes {
		if pods := c.PodsOfParts("late"); len(pods) != 0 {
			t.Errorf("%v are left at %s", pods, site)
		}
	}
}
