//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
)

// standin builds a library and its world.
func standin(t *testing.T, devices uint32) (string, *nvmltest.FakeMachine) {
	t.Helper()
	return nvmltest.BuildFakeLibrary(t, devices)
}

// open opens a stand-in and its devices.
func open(t *testing.T, library string) []Device {
	t.Helper()
	l, err := OpenLibrary(library)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	devices, err := l.ListDevices()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

func TestTheWorldOfTheTestIsThatOfTheLibrary(t *testing.T) {
	if got := binary.Size(nvmltest.FakeMachine{}); got != int(unsafe.Sizeof(nvmltest.FakeMachine{})) {
		t.Fatalf("a world has %d bytes, its fields %d: the C struct has no padding either", unsafe.Sizeof(nvmltest.FakeMachine{}), got)
	}
	library, w := standin(t, 2)
	w.GPU[1].Demand = 123_456
	if r, err := open(t, library)[1].ReadSensors(); err != nil || r.Power != 123_456 || math.IsNaN(w.Now) {
		t.Fatalf("Read = %+v, %v", r, err)
	}
}
