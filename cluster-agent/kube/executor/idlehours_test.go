package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_767_355_200_000) // 2026-01-02T12:00:00Z

// bare returns an executor without a cluster, whose clock the test sets.
func bare(cfg Config, now *protocol.Time) *KubeExecutor {
	cfg.Site, cfg.Sharing, cfg.Now = "oslo", kube.SharingDevicePlugin, func() protocol.Time { return *now }
	h := New(cfg)
	h.inv.NodeCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	return h
}

// Whatever runs, ends and is learned late: the site's reading of each hour is
// what its jobs were reported to have drawn in it, and what was idle.
func TestIdleHoursAddUpToTheMillijoule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		h := bare(Config{EnergyReportTimeout: time.Minute, Hour: func(context.Context, protocol.Time) (protocol.Millijoules, error) {
			if rapid.Bool().Draw(t, "no meter") {
				return 0, errors.New("no answer")
			}
			return protocol.Millijoules(rapid.Int64Range(0, 20_000_000_000).Draw(t, "site")), nil
		}}, &now)
		drew, readings := make(map[protocol.Time]protocol.Millijoules), make(map[protocol.Time]protocol.IdleReading)
		next, n := noon, 0
		say := func(draw []protocol.HourlyEnergy) {
			for _, s := range draw {
				drew[s.Hour] += s.Energy
			}
		}
		end := func(r *run) {
			draw, _ := h.energyOfRun(r, r.startedAt, now)
			say(h.finalEnergy(r, draw))
			h.forgetRun(r)
		}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute)
			for now >= next.Add(time.Hour+idleReportDelay) {
				readings[next] = h.idleReadingForHour(t.Context(), next)
				next = next.Add(time.Hour)
			}
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				n++
				name := fmt.Sprint("run-", n)
				h.runs[name] = &run{name: name, startedAt: now, launch: protocol.Launch{Job: protocol.Job{CPU: 4000}, Power: 300_000}, podsWithDevices: map[types.UID]string{types.UID(name): name}}
			case 1, 2:
				for _, name := range sortedKeys(h.runs) {
					r := h.runs[name]
					if rapid.Bool().Draw(t, "this one ends") {
						end(r)
						break
					}
					y := podenergy.EnergyTally{Until: now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "ago")) * time.Minute)}
					if y.Until > r.startedAt {
						y.AddEnergy(r.startedAt, y.Until, protocol.Millijoules(rapid.Int64Range(0, 3_000_000_000).Draw(t, "drew")))
						r.energyTallies = map[types.UID]podenergy.EnergyTally{types.UID(name): y}
					}
				}
			}
		}
		for _, name := range sortedKeys(h.runs) {
			end(h.runs[name])
		}
		now = now.Add(3 * time.Hour)
		for now >= next.Add(time.Hour+idleReportDelay) {
			readings[next] = h.idleReadingForHour(t.Context(), next)
			next = next.Add(time.Hour)
		}
		for hour, r := range readings {
			if r.Total != r.Idle+drew[hour] || r.Idle < 0 {
				t.Fatalf("hour %v: %d in all, %d idle, jobs drew %d", hour, r.Total, r.Idle, drew[hour])
			}
		}
		for hour := range drew {
			if _, ok := readings[hour]; !ok && hour < next {
				t.Fatalf("hour %v was not reported", hour)
			}
		}
	})
}

func TestSiteMeterIsUsedAndItsAbsenceMarked(t *testing.T) {
	now := noon.Add(time.Hour)
	metered := bare(Config{Hour: func(context.Context, protocol.Time) (protocol.Millijoules, error) { return 36_000_000, nil }}, &now)
	if x := metered.idleReadingForHour(t.Context(), noon); x != (protocol.IdleReading{Hour: noon, Idle: 36_000_000, Total: 36_000_000}) {
		t.Errorf("hour = %+v", x)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: kube.TaintOwned, Value: "oslo", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{kube.PluginGPU: resource.MustParse("8")}}}
	another := node.DeepCopy() // in the same cluster, and another site's
	another.Name, another.Spec.Taints[0].Value = "b", "lyon"
	dark := bare(Config{}, &now)
	for _, n := range []*corev1.Node{node, another} {
		if err := dark.inv.NodeCache.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	const idle = (300 + 8*80 + 8*70) * 3600 * 1000 // mJ of an awake node with eight idle H100s
	if x := dark.idleReadingForHour(t.Context(), noon); x != (protocol.IdleReading{Hour: noon, Idle: idle, Total: idle, Estimated: true}) {
		t.Errorf("hour = %+v, want %d mJ and that it is an estimate", x, idle)
	}
	// Less than the jobs drew: their figures stand.
	low := bare(Config{Hour: func(context.Context, protocol.Time) (protocol.Millijoules, error) { return 1, nil }}, &now)
	low.runs["r"] = &run{name: "r", startedAt: noon, launch: protocol.Launch{Power: 1000}}
	if x := low.idleReadingForHour(t.Context(), noon); x.Total != 3_600_000 || x.Idle != 0 || !x.Estimated {
		t.Errorf("hour = %+v", x)
	}
}

// The executor restarts while a job runs: the hours before were reported by the
// agent before, and it is not billed for them at what energy costs when it ends.
func TestHoursOfEarlierIncarnationAreUnchanged(t *testing.T) {
	now := noon.Add(3*time.Hour + idleReportDelay)
	h := bare(Config{}, &now)
	r := &run{name: "r", startedAt: noon, launch: protocol.Launch{Power: 1000}}
	h.runs["r"] = r
	h.idleReadingForHour(t.Context(), noon.Add(2*time.Hour))
	var got []protocol.Millijoules
	for i, s := range h.finalEnergy(r, PlannedEnergy(r.launch, noon, noon.Add(3*time.Hour+30*time.Minute))) {
		if got = append(got, s.Energy); s.Hour != noon.Add(time.Duration(i)*time.Hour) {
			t.Errorf("slice %d is of %v", i, s.Hour)
		}
	}
	if want := []protocol.Millijoules{3_600_000, 3_600_000, 3_600_000, 1_800_000}; !slices.Equal(got, want) {
		t.Errorf("it drew %v by hour; want %v", got, want)
	}
}
