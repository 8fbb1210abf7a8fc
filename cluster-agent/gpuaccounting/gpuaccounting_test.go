//go:build linux && cgo

package gpuaccounting

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_767_355_200_000) // 2026-01-02T12:00:00Z

// A bench is cards of a stand-in, by its clock.
type bench struct {
	*testing.T
	*GPUs
	w       *nvmltest.FakeMachine
	library string
	file    string
}

func newBench(t *testing.T, cards uint32, cfg Config) *bench {
	t.Helper()
	library, w := nvmltest.BuildFakeLibrary(t, cards)
	b := &bench{T: t, w: w, library: library, file: filepath.Join(t.TempDir(), "limits.json")}
	cfg.Caps.NotesFile = b.file
	b.begin(cfg)
	return b
}

// begin makes cards anew, as an agent that was started again does.
func (b *bench) begin(cfg Config) {
	b.Helper()
	l, err := nvml.OpenLibrary(b.library)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	devices, err := l.ListDevices()
	if err != nil {
		b.Fatal(err)
	}
	if b.GPUs, err = New(devices, cfg); err != nil {
		b.Fatal(err)
	}
}

// at is the time of the stand-in.
func (b *bench) at() protocol.Time { return noon.Add(time.Duration(b.w.Now * float64(time.Second))) }

// after lets seconds pass and keeps.
func (b *bench) after(seconds float64, holders ...PodGPUs) {
	b.Helper()
	b.w.Now += seconds
	if _, err := b.AccountAndApplyCaps(b.at(), holders); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) drew(name string, want int64) podenergy.EnergyTally {
	b.Helper()
	y, ok := b.EnergyTallyOf(name)
	if got := int64(y.TotalEnergy()); !ok || got < want-2 || got > want+2 {
		b.Errorf("%s drew %d mJ in %v (%q); want %d", name, got, y.Hours, y.Missing, want)
	}
	return y
}

func holder(name string, milli protocol.Milli, cap protocol.Milliwatts, cards ...string) PodGPUs {
	return PodGPUs{Name: name, UUIDs: cards, Milli: milli, PowerPlan: podenergy.PowerPlan{Cap: cap, Idle: 95_000}}
}

func TestCapIsSetAndEnergyMatchesPhysics(t *testing.T) {
	b := newBench(t, 2, Config{})
	a := holder("a", 1000, 300_000, "GPU-0", "GPU-1")
	b.after(0, a)
	if b.w.GPU[0].Limit != 300_000 || b.w.GPU[1].Limit != 300_000 || !b.CapStatusOf("a").CapEnforced || b.CapStatusOf("a").Reason != "Capped" {
		t.Fatalf("limits %d and %d, %+v", b.w.GPU[0].Limit, b.w.GPU[1].Limit, b.CapStatusOf("a"))
	}
	b.w.GPU[0].Demand, b.w.GPU[1].Demand = 650_000, 200_000
	for range 10 {
		b.after(10, a)
	}
	y := b.drew("a", 100*(300-95)*1000+100*(200-95)*1000)
	if y.Missing != "" || y.Until != b.at() || y.Counters["GPU-0"] != 100*300_000 {
		t.Errorf("%+v", y)
	}
	b.after(10) // it ended
	if b.w.GPU[0].Limit != 700_000 || b.w.GPU[1].Limit != 700_000 {
		t.Errorf("limits %d and %d after the job", b.w.GPU[0].Limit, b.w.GPU[1].Limit)
	}
	if _, ok := b.EnergyTallyOf("a"); ok {
		t.Error("a holder that is gone is still counted")
	}
}

func TestUtilizationIsAttributedToSoleHolders(t *testing.T) {
	b := newBench(t, 2, Config{})
	alone, x, y := holder("alone", 1000, 0, "GPU-0"), holder("x", 250, 0, "GPU-1"), holder("y", 500, 0, "GPU-1")
	b.w.GPU[0].Celsius, b.w.GPU[1].Celsius = 55, 90
	b.after(0, alone, x, y)
	b.w.GPU[0].Celsius = 66
	b.after(10, alone, x, y)
	b.w.GPU[0].Celsius = 60
	b.after(10, alone, x, y)
	r, err := b.devices[0].ReadSensors()
	if err != nil {
		t.Fatal(err)
	}
	tally, _ := b.EnergyTallyOf("alone")
	if u := tally.Samples.MeanUtilization(); tally.Samples.N != 3 || u.Temperature != 66 || u.GPU != r.Busy || u.GPUMemory != r.Used {
		t.Errorf("three samples gave %+v; the card reports %+v", tally.Samples, r)
	}
	if tally, _ := b.EnergyTallyOf("x"); tally.Samples != (podenergy.UtilizationSamples{}) {
		t.Errorf("a shared card gave %+v", tally.Samples)
	}
}

func TestSharedCardSplitsEnergyAndKeepsHighestCap(t *testing.T) {
	b := newBench(t, 1, Config{})
	x, y := holder("x", 250, 300_000, "GPU-0"), holder("y", 500, 400_000, "GPU-0")
	b.after(0, x, y)
	if b.w.GPU[0].Limit != 400_000 {
		t.Errorf("limit %d, want the higher cap", b.w.GPU[0].Limit)
	}
	b.w.GPU[0].Demand = 395_000
	b.after(30, x, y)
	b.drew("x", 30*300_000/3)
	b.drew("y", 30*300_000*2/3)
	b.after(30, x) // y's last part is counted before it goes
	b.drew("x", 60*300_000/3)
	if b.w.GPU[0].Limit != 300_000 {
		t.Errorf("limit %d, want that of who stays", b.w.GPU[0].Limit)
	}
	b.after(30, x)
	b.drew("x", 60*300_000/3+30*(300-95)*1000)
	free := holder("z", 100, 0, "GPU-0")
	b.after(1, x, free)
	if b.w.GPU[0].Limit != 700_000 {
		t.Errorf("limit %d, though one of two was awarded no cap", b.w.GPU[0].Limit)
	}
}

// A holder's cap is not reported as in force while another holder of the same device
// has a higher cap or none.
func TestOverriddenCapIsReported(t *testing.T) {
	at := map[protocol.Milliwatts]int{350_000: 900, 450_000: 1200}
	b := newBench(t, 1, Config{Clock: func(_ string, cap protocol.Milliwatts) int { return at[cap] }})
	for _, tc := range []struct {
		mine, other protocol.Milliwatts
		why         string
	}{
		{300_000, 300_000, "Capped"}, {300_000, 400_000, "Shared"}, {400_000, 300_000, "Capped"}, {300_000, 0, "Shared"}, {0, 300_000, "NoCap"},
		{350_000, 450_000, "Shared"}, {450_000, 350_000, "Capped"}, {350_000, 300_000, "Shared"}, {300_000, 350_000, "Shared"},
	} {
		b.after(10, holder("mine", 500, tc.mine, "GPU-0"), holder("other", 500, tc.other, "GPU-0"))
		if s := b.CapStatusOf("mine"); s.Reason != tc.why || s.CapEnforced != (tc.why != "Shared") {
			t.Errorf("%d mW beside %d: %+v; want %s", tc.mine, tc.other, s, tc.why)
		}
		b.after(10, holder("mine", 500, tc.mine, "GPU-0"))
		if s := b.CapStatusOf("mine"); !s.CapEnforced {
			t.Errorf("%d mW when the other is gone: %+v", tc.mine, s)
		}
		b.after(10)
	}
}

func TestEnergyBelongsToHoldersOfItsTime(t *testing.T) {
	b := newBench(t, 1, Config{})
	x, y := holder("x", 250, 0, "GPU-0"), holder("y", 500, 0, "GPU-0")
	b.after(0, x)
	b.w.GPU[0].Demand = 395_000
	b.after(30, x, y)
	b.drew("x", 30*300_000)
	b.drew("y", 0)
	x.Tally, _ = b.EnergyTallyOf("x") // and likewise if it appeared between two counts
	b.begin(Config{Caps: nvml.CapsConfig{NotesFile: b.file}})
	b.after(30, x, y)
	b.drew("x", 60*300_000)
	b.drew("y", 0)
	b.after(30, x, y)
	b.drew("x", 60*300_000+30*300_000/3)
	b.drew("y", 30*300_000*2/3)
}

// The process is killed and restarts later: the tally on the pod and the device's
// counter lose no energy.
func TestRestartLosesNoEnergy(t *testing.T) {
	b := newBench(t, 1, Config{})
	a := holder("a", 1000, 300_000, "GPU-0")
	b.after(0, a)
	b.w.GPU[0].Demand = 250_000
	b.after(50, a)
	y, _ := b.EnergyTallyOf("a")
	written, err := podenergy.ParseEnergyTally(y.EncodeAnnotation())
	if err != nil {
		t.Fatal(err)
	}
	b.w.Now += 4000 // more than an hour unseen
	b.begin(Config{Caps: nvml.CapsConfig{NotesFile: b.file}})
	if b.w.GPU[0].Limit != 700_000 {
		t.Errorf("limit %d when an agent begins; want what the last left put back", b.w.GPU[0].Limit)
	}
	a.Tally = written
	b.after(10, a)
	y = b.drew("a", 4060*(250-95)*1000)
	if len(y.Hours) != 2 || y.Missing != "" || b.w.GPU[0].Limit != 300_000 {
		t.Errorf("%+v, limit %d", y, b.w.GPU[0].Limit)
	}
	b.w.GPU[0].Millijoules = 0 // the driver was loaded anew
	b.after(10, a)
	if y, _ := b.EnergyTallyOf("a"); !strings.Contains(y.Missing, "began anew") {
		t.Errorf("%+v", y)
	}
}

func TestUnreadableCardMarksTally(t *testing.T) {
	b := newBench(t, 2, Config{})
	a, c := holder("a", 1000, 300_000, "GPU-0"), holder("c", 1000, 300_000, "GPU-1")
	b.after(0, a, c)
	b.w.GPU[1].Lost = 1
	b.w.Now += 10
	_, err := b.AccountAndApplyCaps(b.at(), []PodGPUs{a, c})
	if !errors.Is(err, nvml.ErrLost) {
		t.Errorf("Keep with a card off the bus = %v", err)
	}
	if s := b.CapStatusOf("c"); s.CapEnforced || s.Reason != "CardLost" {
		t.Errorf("%+v", s)
	}
	if y, _ := b.EnergyTallyOf("c"); !strings.Contains(y.Missing, "bus") {
		t.Errorf("%+v", y)
	}
	if y, _ := b.EnergyTallyOf("a"); y.Missing != "" || !b.CapStatusOf("a").CapEnforced {
		t.Errorf("the other card: %+v, %+v", y, b.CapStatusOf("a"))
	}
	b.after(10, a, c) // reported once
	if _, err := b.AccountAndApplyCaps(b.at(), []PodGPUs{a, holder("d", 1000, 0, "GPU-7")}); err == nil {
		t.Error("a card that is not there is kept")
	}
	if y, _ := b.EnergyTallyOf("d"); !strings.Contains(y.Missing, "GPU-7") {
		t.Errorf("a card that is not there: %+v", y)
	}
}

// The process was not running when a job began: the energy until now is unknown.
func TestUncountedStartMarksTally(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.w.Now += 3600
	soon, late := holder("soon", 500, 0, "GPU-0"), holder("late", 500, 0, "GPU-0")
	soon.RunningSince, late.RunningSince = b.at().Add(-5*time.Second), b.at().Add(-time.Hour)
	b.after(0, soon, late)
	if y, _ := b.EnergyTallyOf("soon"); y.Missing != "" {
		t.Errorf("seen five seconds late: %+v", y)
	}
	y, _ := b.EnergyTallyOf("late")
	if !strings.Contains(y.Missing, "1h0m0s") {
		t.Errorf("seen an hour late: %+v", y)
	}
	known := holder("known", 500, 0, "GPU-0") // and one that was counted before
	known.RunningSince = late.RunningSince
	known.Tally, _ = b.EnergyTallyOf("soon")
	b.after(10, soon, late, known)
	if y, _ := b.EnergyTallyOf("known"); y.Missing != "" {
		t.Errorf("counted before: %+v", y)
	}
}

// A device falls off the bus and the process restarts without it: its energy since is
// unknown, and its cap is not in force.
func TestCardMissingAfterRestartMarksTally(t *testing.T) {
	b := newBench(t, 2, Config{})
	a := holder("a", 1000, 300_000, "GPU-1")
	b.after(0, a)
	b.after(10, a)
	a.Tally, _ = b.EnergyTallyOf("a")
	b.w.Count = 1
	b.begin(Config{Caps: nvml.CapsConfig{NotesFile: b.file}})
	for i, wantErr := range []bool{true, false} {
		b.w.Now += 10
		if _, err := b.AccountAndApplyCaps(b.at(), []PodGPUs{a}); err != nil != wantErr {
			t.Errorf("time %d: Keep = %v; want the card named once", i, err)
		}
	}
	if y, _ := b.EnergyTallyOf("a"); !strings.Contains(y.Missing, "GPU-1") {
		t.Errorf("it is called a measurement: %+v", y)
	}
	if s := b.CapStatusOf("a"); s.CapEnforced || s.Reason != "CardLost" {
		t.Errorf("its cap is reported as enforced: %+v", s)
	}
}

func TestForbiddenCapIsReportedAndEnergyMeasured(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.w.Forbidden = 1
	a := holder("a", 1000, 300_000, "GPU-0")
	if _, err := b.AccountAndApplyCaps(b.at(), []PodGPUs{a}); !errors.Is(err, nvml.ErrNotPermitted) {
		t.Errorf("Keep = %v", err)
	}
	b.w.GPU[0].Demand = 600_000
	b.after(10, a)
	b.drew("a", 10*(600-95)*1000)
	if s := b.CapStatusOf("a"); s.CapEnforced || s.Reason != "NotPermitted" || !strings.Contains(s.Message, "CAP_SYS_ADMIN") {
		t.Errorf("%+v", s)
	}
	b.after(1, holder("b", 1000, 0, "GPU-0"))
	if s := b.CapStatusOf("b"); !s.CapEnforced || s.Reason != "NoCap" {
		t.Errorf("a job without a cap needs no rights: %+v", s)
	}
}

func TestCardWithoutCounterUsesItsPower(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.w.GPU[0].Old, b.w.GPU[0].Demand = 1, 295_000
	a := holder("a", 1000, 0, "GPU-0")
	b.after(0, a)
	for range 6 {
		b.after(10, a)
	}
	b.drew("a", 60*200_000)
}

func TestCapByLockedClock(t *testing.T) {
	b := newBench(t, 1, Config{Clock: func(model string, cap protocol.Milliwatts) int {
		if strings.HasPrefix(model, "Stand-in") && cap == 210_000 {
			return 1200
		}
		return 0
	}})
	a := holder("a", 1000, 210_000, "GPU-0")
	b.after(0, a)
	if b.w.GPU[0].Locked != 1200 || b.w.GPU[0].Limit != 700_000 || !b.CapStatusOf("a").CapEnforced {
		t.Errorf("held at %d MHz under %d mW, %+v", b.w.GPU[0].Locked, b.w.GPU[0].Limit, b.CapStatusOf("a"))
	}
	b.after(10, a, holder("b", 500, 300_000, "GPU-0"))
	if b.w.GPU[0].Locked != 0 {
		t.Errorf("still held at %d MHz, though one of two is not slowed", b.w.GPU[0].Locked)
	}
	if err := b.RestorePowerLimits(); err != nil || b.w.GPU[0].Limit != 700_000 {
		t.Errorf("Restore = %v, %d mW", err, b.w.GPU[0].Limit)
	}
}

func TestMachineCeilingHolds(t *testing.T) {
	b := newBench(t, 4, Config{Caps: nvml.CapsConfig{Ceiling: 1_600_000}})
	b.after(0, holder("a", 1000, 0, "GPU-0"), holder("b", 1000, 250_000, "GPU-1"))
	if sum := b.PowerCaps().TotalPowerLimit(); sum > 1_600_000 || b.w.GPU[1].Limit != 250_000 {
		t.Errorf("limits sum to %d, b has %d", sum, b.w.GPU[1].Limit)
	}
	if _, ok := b.UUIDOfIndex(3); !ok {
		t.Error("no card 3")
	}
	if _, ok := b.UUIDOfIndex(4); ok {
		t.Error("a card 4")
	}
}
