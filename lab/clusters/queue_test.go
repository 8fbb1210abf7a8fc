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

// because holds of a Job that stands so, in these words.
func because(reason, words string) func(kubetest.View) bool {
	return func(v kubetest.View) bool { return v.Reason == reason && strings.Contains(v.Words, words) }
}

func active(v kubetest.View) bool { return v.Active == 1 && !v.Suspended }
func over(v kubetest.View) bool   { return v.IsComplete && !v.Held }
func gone(v kubetest.View) bool   { return v.Gone }

// A theatre is two sites that take in Jobs, oslo far cleaner than lyon, on
// clusters with their own scheduler beside ours.
type theatre struct {
	ctx        context.Context
	stage      *Stage
	hub        doorbell
	lyon, oslo kubetest.People
	sites      map[string]Site
	stops      map[string]func()
}

// again kills a site and begins it anew.
func (x *theatre) again(t *testing.T, name string) {
	x.stops[name]()
	x.stops[name] = x.stage.add(x.ctx, t, x.sites[name])
}

// Jobs that people suspended in the clusters of two sites and of a hub without
// GPUs: what stays is released in place, what may go runs where it is cheapest, and
// each tells how it stands.
func TestSuspendedJobs(t *testing.T) {
	t.Parallel()
	x := &theatre{hub: newHub(), sites: map[string]Site{}, stops: map[string]func(){}}
	x.stage, x.ctx = open(t, x.hub)
	for i, name := range []string{"lyon", "oslo"} {
		c := kubetest.New(t, kubeenv.Options{Scheduler: true})
		c.AddNodes(2, name)
		*[]*kubetest.People{&x.lyon, &x.oslo}[i] = kubetest.People{Cluster: c}
		x.sites[name] = Site{
			Config: executor.Config{Site: name, Sharing: kube.Plugin}, Kubeconfig: c.Rights("plugin", "default"), Folder: t.TempDir(),
			Price: 60_000, Carbon: protocol.Milligrams([]int{600_000, 20_000}[i]), Queue: &queue.Config{Every: 2 * time.Second},
		}
		x.stops[name] = x.stage.add(x.ctx, t, x.sites[name])
	}
	x.hub.await(t, 2)
	for _, f := range []struct {
		name string
		run  func(*testing.T, *theatre, kubetest.People)
	}{
		{"one that stays is released where it is", released},
		{"one that may go runs where it is best, and looks as if it ran here", abroad},
		{"one that fails elsewhere has failed", failsAbroad},
		{"what is wrong is told, and can be mended", unclear},
		{"one that nobody can run has failed, and says why", impossible},
		{"to delete it cancels it, wherever it runs", unwanted},
		{"a node that goes takes a Job along, which waits and is released again", stranded},
		{"a site that begins anew loses nothing and doubles nothing", begunAnew},
		{"a hub runs nothing itself", fromAHub},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, x, x.lyon.In(t)) })
	}
}

func released(t *testing.T, x *theatre, lyon kubetest.People) {
	for _, w := range []kubetest.Wish{{Name: "by-its-own-scheduler"}, {Name: "by-ours", Scheduler: kube.Scheduler}} {
		w.GPUs, w.Run = 1, 3*time.Second
		lyon.Ask(w)
		v := lyon.Await(w.Name, "released", active)
		if lyon.Await(w.Name, "placed", because("Placed", "lyon has it on H100")); len(x.oslo.Nodes("")) > 0 || v.Labels[kube.LabelRun] == "" {
			t.Errorf("%s: it is %+v", w.Name, v)
		}
		if v = lyon.Await(w.Name, "over", over); v.Succeeded != 1 || !because("Finished", "lyon ran it to its end")(v) {
			t.Errorf("%s: it is %+v", w.Name, v)
		}
		lyon.HasEvent(w.Name, "Placed", "kg of CO2e")
		lyon.HasEvent(w.Name, "Finished", "kWh")
	}
}

func abroad(t *testing.T, _ *theatre, lyon kubetest.People) {
	lyon.Ask(kubetest.Wish{Name: "abroad", GPUs: 1, Run: 3 * time.Second, ManagedBy: queue.ManagedBy})
	v := lyon.Await("abroad", "active", active)
	if len(lyon.Nodes("batch.kubernetes.io/job-name=abroad")) > 0 || !v.Started || !because("Placed", "oslo has it on H100")(v) {
		t.Errorf("it is %+v", v)
	}
	v = lyon.Await("abroad", "over", over)
	if v.Succeeded != 1 || v.Active != 0 || !v.Completed || v.Placed != "True" || !because("Finished", "oslo ran it to its end")(v) {
		t.Errorf("in the end it is %+v", v)
	}
}

func failsAbroad(t *testing.T, _ *theatre, lyon kubetest.People) {
	lyon.Ask(kubetest.Wish{Name: "fails", GPUs: 1, Run: time.Second, ManagedBy: queue.ManagedBy, Fails: true})
	v := lyon.Await("fails", "failed", func(v kubetest.View) bool { return v.HasFailed && !v.Held })
	if v.Failed != 1 || v.Active != 0 || !because("Failed", "its program failed at oslo")(v) {
		t.Errorf("it is %+v", v)
	}
}

func unclear(_ *testing.T, _ *theatre, lyon kubetest.People) {
	lyon.Ask(kubetest.Wish{Name: "unclear", GPUs: 1, Run: time.Second, Notes: map[string]string{queue.NoteRun: "soon", queue.NoteDeadline: "tomorrow", kube.NoteMilli: "much"}})
	lyon.Await("unclear", "refused in words", func(v kubetest.View) bool {
		return because("Malformed", `"soon" is no time span`)(v) && because("Malformed", `"tomorrow" is no time`)(v) && because("Malformed", `"much" is no whole number`)(v)
	})
	lyon.HasEvent("unclear", "Malformed", `"soon" is no time span`)
	lyon.Annotate("unclear", fmt.Sprintf(`{%q:"1m",%q:null,%q:null}`, queue.NoteRun, queue.NoteDeadline, kube.NoteMilli))
	lyon.Await("unclear", "over", over)
}

func impossible(_ *testing.T, _ *theatre, lyon kubetest.People) {
	lyon.Ask(kubetest.Wish{Name: "huge", GPUs: 16, ManagedBy: queue.ManagedBy})
	lyon.Await("huge", "failed", func(v kubetest.View) bool { return v.HasFailed && because("FitsNoNode", "it will not be run")(v) })
	lyon.Ask(kubetest.Wish{Name: "here", GPUs: 16}) // its status is the cluster's
	lyon.Await("here", "refused", func(v kubetest.View) bool {
		return v.Suspended && !v.HasFailed && because("FitsNoNode", "it will not be run")(v)
	})
}

func unwanted(_ *testing.T, x *theatre, lyon kubetest.People) {
	for _, w := range []kubetest.Wish{{Name: "unwanted-here"}, {Name: "unwanted-there", ManagedBy: queue.ManagedBy}} {
		w.GPUs = 2
		lyon.Ask(w)
		lyon.Await(w.Name, "active", active)
		lyon.Delete(w.Name)
		lyon.Await(w.Name, "gone", gone)
	}
	for _, p := range []kubetest.People{lyon, x.oslo} {
		lyon.Until("nothing runs", func() bool { return len(p.Nodes("")) == 0 }, func() any { return p.Nodes("") })
	}
}

func stranded(_ *testing.T, _ *theatre, lyon kubetest.People) {
	lyon.Ask(kubetest.Wish{Name: "stranded", GPUs: 1, Run: 6 * time.Second})
	first := lyon.Await("stranded", "active", active).Labels[kube.LabelRun]
	var nodes []string
	lyon.Until("its pod is bound", func() bool {
		nodes = lyon.Nodes(kube.LabelRun + "=" + first)
		return len(nodes) == 1 && nodes[0] != ""
	}, func() any { return nodes })
	lyon.DeleteNode(nodes[0])
	lyon.Await("stranded", "released again", func(v kubetest.View) bool {
		return active(v) && v.Labels[kube.LabelRun] != "" && v.Labels[kube.LabelRun] != first
	})
	lyon.HasEvent("stranded", "NodeGone", "lyon gave it back")
	lyon.Await("stranded", "over", over)
}

func begunAnew(t *testing.T, x *theatre, lyon kubetest.People) {
	oracles := []*kubetest.Oracle{lyon.Watch(), x.oslo.In(t).Watch()}
	for i := range 6 {
		w := kubetest.Wish{Name: fmt.Sprintf("through-%d", i), GPUs: 1, Run: 4 * time.Second}
		if i%2 == 1 {
			w.ManagedBy = queue.ManagedBy
		}
		lyon.Ask(w)
		if i == 2 {
			lyon.Await("through-1", "placed", because("Placed", ""))
			x.again(t, "lyon")
		}
	}
	lyon.Await("through-5", "taken in", func(v kubetest.View) bool { return v.Held })
	x.again(t, "lyon")
	x.again(t, "oslo")
	ours := map[string]bool{}
	for i := range 6 {
		ours["lyon/"+lyon.Await(fmt.Sprintf("through-%d", i), "over", over).UID] = true
	}
	ran := map[string]int{}
	for _, o := range oracles {
		for job, n := range o.Stop() {
			ran[job] += n
		}
	}
	for job := range ours {
		if ran[job] != 1 {
			t.Errorf("%s ran %d times", job, ran[job])
		}
	}
}

func fromAHub(t *testing.T, x *theatre, _ kubetest.People) {
	c := kubetest.People{Cluster: kubetest.New(t, kubeenv.Options{})}
	cfg := runtime.Config{Site: "hub", Folder: t.TempDir(), Far: x.hub, Log: slog.New(slog.DiscardHandler), Queue: kubesite.ServeQueue(queue.Config{Site: "hub", Client: c.Client, Every: 2 * time.Second})}
	ctx, end := context.WithCancel(x.ctx)
	done := make(chan error, 1)
	go func() { done <- runtime.Run(ctx, cfg) }()
	defer func() { end(); <-done }()
	c.Ask(kubetest.Wish{Name: "stuck", GPUs: 1, Run: time.Second})
	c.Await("stuck", "refused", because("Malformed", "this cluster runs nothing itself"))
	c.Ask(kubetest.Wish{Name: "sent", GPUs: 1, Run: time.Second, ManagedBy: queue.ManagedBy})
	if v := c.Await("sent", "over", over); !because("Finished", "oslo ran it to its end")(v) {
		t.Errorf("it is %+v", v)
	}
}
