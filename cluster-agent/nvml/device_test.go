//go:build linux && cgo

package nvml

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
	"github.com/gridbid/gridbid/protocol"
)

func TestWithoutALibraryThereIsNone(t *testing.T) {
	if l, err := OpenLibrary(filepath.Join(t.TempDir(), "libnvidia-ml.so.1")); !errors.Is(err, ErrNoLibrary) || l != nil {
		t.Errorf("Open of nothing = %v, %v; want ErrNoLibrary", l, err)
	}
	library, w := standin(t, 1)
	w.Absent = 1
	if l, err := OpenLibrary(library); !errors.Is(err, ErrNoLibrary) || l != nil {
		t.Errorf("Open without a kernel driver = %v, %v; want ErrNoLibrary", l, err)
	}
}

// A library that lacks functions must not end the process. It needs a process of
// its own: functions of a library that was loaded before would be found.
func TestAFunctionThatIsMissingIsNotCalled(t *testing.T) {
	if os.Getenv("NVML_ALONE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "NVML_ALONE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	library := filepath.Join(dir, "libnvidia-ml.so.1")
	cmd := exec.Command("cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-")
	cmd.Stdin = strings.NewReader(`int nvmlInit_v2(void){return 0;} int nvmlShutdown(void){return 0;}
int nvmlDeviceGetCount_v2(unsigned *n){*n=1;return 0;} int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h){*h=(void*)1;return 0;}
int nvmlDeviceGetName(void*h,char*s,unsigned n){s[0]='x';s[1]=0;return 0;} int nvmlDeviceGetUUID(void*h,char*s,unsigned n){s[0]='u';s[1]=0;return 0;}`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := open(t, library)[0]
	if _, err := d.ReadSensors(); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Read = %v, want ErrNotSupported", err)
	}
	if err := d.SetPowerLimit(1); !errors.Is(err, ErrNotSupported) {
		t.Errorf("SetLimit = %v, want ErrNotSupported", err)
	}
	if err := d.LockClocks(1, 2); !errors.Is(err, ErrNotSupported) {
		t.Errorf("LockClocks = %v, want ErrNotSupported", err)
	}
	if s, err := d.MIGInstances(); s != nil || err != nil {
		t.Errorf("Slices = %v, %v; want none", s, err)
	}
}

func TestADeviceIsReadAsItIs(t *testing.T) {
	library, w := standin(t, 2)
	d := open(t, library)[1]
	w.GPU[1] = nvmltest.FakeGPU{MinLimit: 200_000, MaxLimit: 700_000, DefaultLimit: 650_000, Limit: 500_000, Demand: 600_000, Util: 87, MemoryUtil: 31, Clock: 1755, Celsius: 66, Used: 12 << 30, At: 0}
	w.Now = 10
	got, err := d.ReadSensors()
	want := Reading{Power: 500_000, Energy: 5_000_000, Busy: 870, MemoryBusy: 310, Used: 12 << 10, Total: 80 << 10, Temperature: 66, Clock: 1755, MemoryClock: 1755, Limit: 500_000}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read = %+v, %v; want %+v", got, err, want)
	}
	if l, err := d.PowerLimits(); err != nil || l != (Limits{Least: 200_000, Most: 700_000, Default: 650_000, Now: 500_000}) {
		t.Errorf("Limits = %+v, %v", l, err)
	}
	if d.UUID() != "GPU-1" || d.Index() != 1 || d.Model() != "Stand-in GPU 700W" {
		t.Errorf("%d %s %s", d.Index(), d.UUID(), d.Model())
	}
	w.GPU[1].Old = 1
	if got, err := d.ReadSensors(); err != nil || !reflect.DeepEqual(got.Missing, []string{"energy"}) || got.Power != 500_000 {
		t.Errorf("Read of an old device = %+v, %v; want all but its energy", got, err)
	}
}

func TestALimitHoldsPowerAndEnergyDown(t *testing.T) {
	library, w := standin(t, 1)
	d := open(t, library)[0]
	w.GPU[0].Demand = 690_000
	w.Now = 100
	before, _ := d.ReadSensors()
	if err := d.SetPowerLimit(300_000); err != nil {
		t.Fatal(err)
	}
	w.Now = 110
	after, err := d.ReadSensors()
	if err != nil || after.Energy-before.Energy != 3_000_000 || after.Power != 300_000 {
		t.Errorf("10 s under 300 W took %d mJ at %d mW, %v; want 3 kJ", after.Energy-before.Energy, after.Power, err)
	}
	for _, limit := range []int{199_999, 700_001, 0, -5} {
		if err := d.SetPowerLimit(protocol.Milliwatts(limit)); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("SetPowerLimit(%d) = %v, want ErrOutOfRange", limit, err)
		}
	}
	w.Forbidden = 1
	if err := d.SetPowerLimit(400_000); !errors.Is(err, ErrNotPermitted) || w.GPU[0].Limit != 300_000 {
		t.Errorf("SetLimit without permission = %v, limit %d", err, w.GPU[0].Limit)
	}
}

func TestClocksAreLockedAndLetGo(t *testing.T) {
	library, w := standin(t, 1)
	d := open(t, library)[0]
	w.GPU[0].Demand = 396_000
	if err := d.LockClocks(990, 990); err != nil {
		t.Fatal(err)
	}
	if r, _ := d.ReadSensors(); r.Clock != 990 || r.Power != 198_000 {
		t.Errorf("at half the clock: %d MHz, %d mW", r.Clock, r.Power)
	}
	for _, c := range [][2]int{{0, 100}, {200, 100}, {1, 10_001}} {
		if err := d.LockClocks(c[0], c[1]); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("LockClocks(%d, %d) = %v", c[0], c[1], err)
		}
	}
	if err := d.UnlockClocks(); err != nil || w.GPU[0].Locked != 0 {
		t.Errorf("UnlockClocks = %v, locked at %d", err, w.GPU[0].Locked)
	}
}

func TestADeviceOffTheBusIsNamedAndTheOthersStay(t *testing.T) {
	library, w := standin(t, 3)
	d := open(t, library)
	w.GPU[1].Lost = 1
	if _, err := d[1].ReadSensors(); !errors.Is(err, ErrLost) {
		t.Errorf("Read of a lost device = %v", err)
	}
	if err := d[1].SetPowerLimit(300_000); !errors.Is(err, ErrLost) {
		t.Errorf("SetLimit of a lost device = %v", err)
	}
	l, err := OpenLibrary(library)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	left, err := l.ListDevices()
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "device 1") || len(left) != 2 || left[1].Index() != 2 {
		t.Errorf("Devices = %d of them, %v; want devices 0 and 2, and that 1 is lost", len(left), err)
	}
}

func TestSlicesOfADevice(t *testing.T) {
	library, w := standin(t, 1)
	d := open(t, library)[0]
	if s, err := d.MIGInstances(); s != nil || err != nil {
		t.Errorf("Slices without MIG = %v, %v", s, err)
	}
	w.GPU[0].MIG = 2
	s, err := d.MIGInstances()
	if err != nil || len(s) != 2 || s[1] != (MIGInstance{UUID: "MIG-101", Sevens: 3, Memory: 40 << 10}) {
		t.Errorf("Slices = %+v, %v", s, err)
	}
}
