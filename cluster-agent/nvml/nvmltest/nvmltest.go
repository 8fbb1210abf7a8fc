//go:build linux

// Package nvmltest has a stand-in for the driver's library, for tests: devices
// with limits, energy that integrates power, and faults. It needs a C compiler.
package nvmltest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

//go:embed testdata/standin.c
var standInSource []byte

// A FakeGPU is as testdata/standin.c has it.
type FakeGPU struct {
	MinLimit, MaxLimit, DefaultLimit, Limit uint32
	Demand                                  uint32
	Util, MemoryUtil                        uint32
	Clock, Locked, Celsius                  uint32
	Lost, Old, MIG                          uint32
	Sets                                    uint32
	LeastClock, MemoryLocked                uint32
	Used                                    uint64
	Millijoules, At                         float64
}

// A FakeMachine is all GPUs of a machine, as testdata/standin.c has it.
type FakeMachine struct {
	Count, Forbidden, Absent, Real uint32
	Now                            float64
	GPU                            [4]FakeGPU
}

// BuildFakeLibrary builds the library, and a world of so many devices of 200 to 700 W. All
// processes that inherit the test's environment share the world.
func BuildFakeLibrary(t testing.TB, devices uint32) (library string, w *FakeMachine) {
	t.Helper()
	dir := t.TempDir()
	library = filepath.Join(dir, "libnvidia-ml.so.1")
	source := filepath.Join(dir, "standin.c")
	if err := os.WriteFile(source, standInSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("build the stand-in library: %v\n%s", err, out)
	}
	path := filepath.Join(dir, "world")
	if err := os.WriteFile(path, make([]byte, unsafe.Sizeof(FakeMachine{})), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(FakeMachine{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	w = (*FakeMachine)(unsafe.Pointer(&memory[0]))
	w.Count = devices
	for i := range w.GPU {
		w.GPU[i] = FakeGPU{MinLimit: 200_000, MaxLimit: 700_000, DefaultLimit: 700_000, Limit: 700_000, Demand: 95_000, Clock: 1980, Celsius: 41, LeastClock: 345}
	}
	t.Setenv("STANDIN_WORLD", path)
	return library, w
}
