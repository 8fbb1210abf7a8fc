//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// A gpu and a world are as testdata/standin.c has them.
type gpu struct {
	Least, Most, Usual, Limit uint32
	Demand                    uint32
	Util, MemoryUtil          uint32
	Clock, Locked, Celsius    uint32
	Lost, Old, MIG            uint32
	Sets                      uint32
	Used                      uint64
	Millijoules, At           float64
}

type world struct {
	Count, Forbidden, Absent, Real uint32
	Now                            float64
	GPU                            [4]gpu
}

// standin builds the library, and a world of so many devices of 200 to 700 W.
func standin(t *testing.T, devices uint32) (library string, w *world) {
	t.Helper()
	dir := t.TempDir()
	library = filepath.Join(dir, "libnvidia-ml.so.1")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, "testdata/standin.c").CombinedOutput(); err != nil {
		t.Fatalf("build the stand-in library: %v\n%s", err, out)
	}
	path := filepath.Join(dir, "world")
	if err := os.WriteFile(path, make([]byte, unsafe.Sizeof(world{})), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(world{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	w = (*world)(unsafe.Pointer(&memory[0]))
	w.Count = devices
	for i := range w.GPU {
		w.GPU[i] = gpu{Least: 200_000, Most: 700_000, Usual: 700_000, Limit: 700_000, Demand: 95_000, Clock: 1980, Celsius: 41}
	}
	t.Setenv("STANDIN_WORLD", path)
	return library, w
}

// open opens a stand-in and its devices.
func open(t *testing.T, library string) []Device {
	t.Helper()
	l, err := Open(library)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	devices, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

func TestTheWorldOfTheTestIsThatOfTheLibrary(t *testing.T) {
	if got := binary.Size(world{}); got != int(unsafe.Sizeof(world{})) {
		t.Fatalf("a world has %d bytes, its fields %d: the C struct has no padding either", unsafe.Sizeof(world{}), got)
	}
	library, w := standin(t, 2)
	w.GPU[1].Demand = 123_456
	if r, err := open(t, library)[1].Read(); err != nil || r.Power != 123_456 || math.IsNaN(w.Now) {
		t.Fatalf("Read = %+v, %v", r, err)
	}
}
