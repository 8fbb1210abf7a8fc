//go:build gpu && linux && cgo

package nvml

import (
	"testing"
	"time"
)

// Read-only, on a machine with a GPU: `make test-gpu`. Nothing is set.
func TestARealDeviceTellsWhatIsPlausible(t *testing.T) {
	l, err := OpenLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	devices, err := l.ListDevices()
	if err != nil || len(devices) == 0 {
		t.Fatalf("%d devices, %v", len(devices), err)
	}
	t.Logf("driver %s", l.DriverVersion())
	for _, d := range devices {
		limits, err := d.PowerLimits()
		t.Logf("%d %s %s: limits %+v, %v", d.Index(), d.Model(), d.UUID(), limits, err)
		if err == nil && (limits.Least <= 0 || limits.Least > limits.Default || limits.Default > limits.Most || limits.Now > limits.Most) {
			t.Errorf("limits out of order: %+v", limits)
		}
		lowest, err := d.LowestClocks()
		held, heldErr := d.MemoryHeld()
		t.Logf("lowest clocks %+v, %v; programs hold %d MiB, %v", lowest, err, held, heldErr)
		if r, readErr := d.ReadSensors(); err == nil && readErr == nil && (lowest.SM <= 0 || lowest.SM > r.Clock || lowest.Memory > r.MemoryClock) {
			t.Errorf("lowest clocks %+v with the clocks at %d and %d MHz", lowest, r.Clock, r.MemoryClock)
		}
		slices, err := d.MIGInstances()
		t.Logf("MIG: %v, %v", slices, err)
		before, err := d.ReadSensors()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var sum, n float64
		for time.Since(began) < 5*time.Second {
			r, err := d.ReadSensors()
			if err != nil {
				t.Fatal(err)
			}
			sum, n = sum+float64(r.Power), n+1
			time.Sleep(20 * time.Millisecond)
		}
		after, err := d.ReadSensors()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", after)
		joules, byPower := float64(after.Energy-before.Energy)/1000, sum/n/1000*time.Since(began).Seconds()
		t.Logf("5 s: %.1f J by the counter, %.1f J by samples of power", joules, byPower)
		if after.Power <= 0 || after.Total <= 0 || after.Temperature < 5 || after.Temperature > 120 || after.Used > after.Total {
			t.Errorf("implausible: %+v", after)
		}
		if joules < 0.7*byPower || joules > 1.3*byPower {
			t.Errorf("the energy counter says %.1f J, power says %.1f J", joules, byPower)
		}
	}
}
