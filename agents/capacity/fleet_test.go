package capacity

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// box is a node of 16 cores and 64 GiB.
func box(name, model string, gpus int) Node {
	n := Node{Node: fgd.Node{Name: name, CPU: 16_000, Memory: 64 << 10, GPUs: gpus, Model: model}, Host: power.DefaultHost(gpus)}
	if gpus > 0 {
		n.GPUMemory = 16 << 10
	}
	return n
}

func must(t *testing.T, nodes ...Node) *Fleet {
	t.Helper()
	f, err := New(Config{Nodes: nodes, Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func job(id protocol.JobID, gpus int) protocol.Job {
	j := protocol.Job{Urgency: protocol.UrgencyNow, ID: id, GPUs: gpus, CPU: 1000, Memory: 1 << 10, Run: time.Hour}
	if gpus > 0 {
		j.Share = 1000
	}
	return j
}

// start places a job anywhere, to run so long on a V100.
func start(t *testing.T, f *Fleet, now protocol.Time, j protocol.Job, run time.Duration) *Run {
	t.Helper()
	j.Run = run
	r, ok := f.StartRun(now, j, RunConfig{Run: run}, 0)
	if !ok {
		t.Fatalf("no room for %s", j.ID)
	}
	return r
}

func TestANodeWhoseDrawIsNotKnownIsRefused(t *testing.T) {
	for _, model := range []string{"B9", ""} {
		_, err := New(Config{Nodes: []Node{box("plain", "", 0), box("odd", model, 1)}, Power: power.DefaultTable()})
		if err == nil || !strings.Contains(err.Error(), "odd") {
			t.Errorf("model %q: error %v, want one that names the node", model, err)
		}
	}
}

func TestTheModelOfNoGPUsIsForgotten(t *testing.T) {
	f := must(t, box("a", "B9", 0), box("b", "", 0))
	if got := f.PoolTotals(); len(got) != 1 || got[0].Model != "" || got[0].Nodes != 2 {
		t.Errorf("pools %+v", got)
	}
	if _, ok := f.QuotePlacement(noon, job("cpu", 0), "", time.Hour); !ok {
		t.Error("no room for a job without GPUs")
	}
}

func TestPoolsAddUpNodesByModel(t *testing.T) {
	f := must(t, box("b", "V100", 4), box("a", "T4", 1), box("c", "V100", 2), box("d", "", 0))
	want := []protocol.Pool{
		{Model: "", Nodes: 1, CPU: 16_000, Memory: 64 << 10},
		{Model: "T4", Nodes: 1, GPUs: 1, CPU: 16_000, Memory: 64 << 10},
		{Model: "V100", Nodes: 2, GPUs: 6, CPU: 32_000, Memory: 128 << 10},
	}
	if got := f.PoolTotals(); !reflect.DeepEqual(got, want) {
		t.Errorf("pools\n%+v, want\n%+v", got, want)
	}
}

func TestWaysAreEachModelThatWillDoUnderEachCap(t *testing.T) {
	f := must(t, box("a", "V100", 2), box("b", "T4", 4))
	one := job("one", 1)
	ways, _ := f.RunConfigs(one)
	v100, _ := power.DefaultTable().LookupModel("V100")
	if want := 1 + len(v100.CapChoices()); len(ways) != want || ways[0].Model != "T4" || ways[1].Model != "V100" {
		t.Fatalf("%d ways: %+v; want %d", len(ways), ways, want)
	}
	// A T4 runs at 0.35 of the reference clock, and draws 65 W, 10 W of them
	// idle; a busy core 4 W.
	if w := ways[0]; w.Run != 10_286*time.Second || w.Power != 55_000+4_000 {
		t.Errorf("on a T4: %+v", w)
	}
	if w := ways[1]; w.Run != time.Hour || w.Power != 160_000-35_000+4_000 || w.Choice.Cap != 0 {
		t.Errorf("on a V100: %+v", w)
	}
	for _, c := range []struct {
		name  string
		spoil func(*protocol.Job)
		code  protocol.Code
	}{
		{"a model that is not here", func(j *protocol.Job) { j.Models = []string{"H100"} }, protocol.NoSuchGPU},
		{"more GPUs than a node", func(j *protocol.Job) { j.GPUs = 5 }, protocol.FitsNoNode},
		{"more GPUs than a node of that model", func(j *protocol.Job) { j.GPUs, j.Models = 3, []string{"V100"} }, protocol.FitsNoNode},
		{"more cores than a node", func(j *protocol.Job) { j.CPU = 16_001 }, protocol.FitsNoNode},
		{"more memory than a node", func(j *protocol.Job) { j.Memory = 65 << 10 }, protocol.FitsNoNode},
		{"more memory than a device", func(j *protocol.Job) { j.GPUMemory = 17 << 10 }, protocol.FitsNoNode},
	} {
		j := one
		c.spoil(&j)
		if ways, why := f.RunConfigs(j); len(ways) != 0 || why.Code != c.code {
			t.Errorf("%s: %d ways, %q; want %q", c.name, len(ways), why.Code, c.code)
		}
		if _, why, ok := f.Default(noon, j); ok || why.Code != c.code {
			t.Errorf("%s: the plain way is there, or not there for %q", c.name, why.Code)
		}
	}
	if ways, _ := f.RunConfigs(job("cpu", 0)); len(ways) != 1 || ways[0].Model != "" || ways[0].Run != time.Hour || ways[0].Power != 4_000 {
		t.Errorf("without GPUs: %+v", ways)
	}
}

func TestAJobRunsOnceAtATime(t *testing.T) {
	f := must(t, box("a", "V100", 2))
	start(t, f, noon, job("a", 1), time.Hour)
	if _, ok := f.StartRun(noon, job("a", 1), RunConfig{Model: "V100", Run: time.Hour}, 0); ok {
		t.Error("a running job was started twice")
	}
	if !f.EndRun(noon, "a") || f.EndRun(noon, "a") || f.RunOf("a") != nil {
		t.Error("a job ends once")
	}
	start(t, f, noon, job("a", 2), time.Hour)
}

// A node of two V100s draws 530 W awake and 15 W asleep.
func TestAJobsShareOfBeingAwakeIsThatOfItsGPUsOrCores(t *testing.T) {
	n := box("a", "V100", 2)
	n.Host = power.SleepingHost(2)
	f := must(t, n)
	half := job("half", 1)
	half.Share = 500
	for _, c := range []struct {
		job  protocol.Job
		want protocol.Milliwatts
	}{{half, 515_000 / 4}, {job("all", 2), 515_000}, {job("cpu", 0), 515_000 / 16}} {
		if got := f.IdlePowerShare(noon, c.job, "V100"); got != 2*c.want {
			t.Errorf("%s: %d mW, want %d: nodes are expected to be half full", c.job.ID, got, 2*c.want)
		}
		if got := must(t, box("a", "V100", 2)).IdlePowerShare(noon, c.job, "V100"); got != 0 {
			t.Errorf("%s: %d mW of a node that never sleeps", c.job.ID, got)
		}
	}
}

// Two jobs hold ten of sixteen GiB on each device: shares are left, memory is not.
func TestEarliestStartChecksGPUMemory(t *testing.T) {
	f := must(t, box("a", "V100", 1))
	j := job("a", 1)
	j.Share, j.GPUMemory = 300, 10<<10
	start(t, f, noon, j, time.Hour)
	j.ID = "b"
	if at, ok := f.EarliestStart(noon, j, "V100", noon, time.Hour); !ok || at != noon.Add(time.Hour) {
		t.Errorf("fits at %v, want %v", at, noon.Add(time.Hour))
	}
}

func TestAJobPastItsEndIsExpectedAnyMoment(t *testing.T) {
	f := must(t, box("a", "V100", 1))
	start(t, f, noon, job("a", 1), time.Hour)
	now := noon.Add(time.Hour)
	if at, ok := f.EarliestStart(now, job("b", 1), "", now, time.Hour); !ok || at != now.Add(time.Second) {
		t.Errorf("fits at %v", at)
	}
	if free := f.CapacityProfiles(now, 15*time.Minute, 3)[0].Free; !reflect.DeepEqual(free, []protocol.Milli{0, 1000, 1000}) {
		t.Errorf("room %v; the GPU is not free before the job has ended", free)
	}
}
