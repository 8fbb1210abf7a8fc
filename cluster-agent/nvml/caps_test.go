//go:build linux && cgo

package nvml

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) {
	switch os.Getenv("NVML_PLAY") {
	case "guard":
		if err := RunGuard(os.Stdin, time.Minute, os.Getenv("NVML_LIBRARY"), os.Getenv("NVML_FILE")); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	case "agent":
		agent()
	}
	os.Exit(m.Run())
}

// agent lowers a limit while a guard runs, prints that, and waits to be killed.
func agent() {
	library, file := os.Getenv("NVML_LIBRARY"), os.Getenv("NVML_FILE")
	must := func(err error) {
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
	}
	w, err := StartGuard(played)
	must(err)
	must(w.SendHeartbeat())
	l, err := OpenLibrary(library)
	must(err)
	devices, err := l.ListDevices()
	must(err)
	c, err := NewPowerCaps(devices, CapsConfig{NotesFile: file})
	must(err)
	must(errors.Join(c.RequestLimit("GPU-0", 250_000), c.RequestClock("GPU-0", 345), c.RequestMemoryClock("GPU-0", 405)))
	_, err = c.ApplyLimits(time.Now())
	must(err)
	os.Stdout.WriteString("lowered\n")
	select {}
}

// played is a guard in a process of its own.
func played() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NVML_PLAY=guard")
	return cmd
}

func newCaps(t *testing.T, devices []Device, cfg CapsConfig) *PowerCaps {
	t.Helper()
	c, err := NewPowerCaps(devices, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestCapsFollowJobsAndComeBack(t *testing.T) {
	library, w := standin(t, 2)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	if err := c.RequestLimit("GPU-0", 300_000); err != nil {
		t.Fatal(err)
	}
	if again, err := c.ApplyLimits(noon); err != nil || !again.IsZero() || w.GPU[0].Limit != 300_000 || w.GPU[1].Limit != 700_000 {
		t.Fatalf("Apply = %v, %v; limits %d and %d", again, err, w.GPU[0].Limit, w.GPU[1].Limit)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "GPU-0") {
		t.Errorf("noted %q, %v; want the device that was lowered", text, err)
	}
	if _, err := c.ApplyLimits(noon.Add(time.Hour)); err != nil || w.GPU[0].Sets != 1 {
		t.Errorf("what has not changed was set again: %d times, %v", w.GPU[0].Sets, err)
	}
	// The job ends at once, another comes: one change in a second, and the last word counts.
	at := noon.Add(100 * time.Millisecond)
	_ = c.RequestLimit("GPU-0", 0)
	if again, err := c.ApplyLimits(at); err != nil || again != noon.Add(time.Second) || w.GPU[0].Limit != 300_000 {
		t.Errorf("Apply within a second of a change = %v, %v, limit %d", again, err, w.GPU[0].Limit)
	}
	_ = c.RequestLimit("GPU-0", 100_000) // below what the device allows
	if _, err := c.ApplyLimits(noon.Add(time.Second)); err != nil || w.GPU[0].Limit != 200_000 {
		t.Errorf("limit %d, %v; want the least that there is", w.GPU[0].Limit, err)
	}
	if err := c.RestoreAllDevices(); err != nil || w.GPU[0].Limit != 700_000 {
		t.Errorf("Restore = %v, limit %d", err, w.GPU[0].Limit)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note stays after all limits are back: %v", err)
	}
	if err := c.RequestLimit("GPU-9", 1); err == nil {
		t.Error("a device that is not there can be capped")
	}
}

// Without a cap a device has its operator's limit: it is never raised to the driver's
// default, whenever the operator sets it.
func TestALimitThatTheOperatorSetIsKept(t *testing.T) {
	library, w := standin(t, 1)
	g := &w.GPU[0]
	g.Limit = 500_000
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	now := noon
	keep := func(what string, job, limit protocol.Milliwatts) {
		t.Helper()
		now = now.Add(time.Minute)
		if err := errors.Join(c.RereadLimits(), c.RequestLimit("GPU-0", job)); err != nil {
			t.Error(err)
		}
		if _, err := c.ApplyLimits(now); err != nil || protocol.Milliwatts(g.Limit) != limit {
			t.Errorf("%s: limit %d, %v; want %d", what, g.Limit, err, limit)
		}
	}
	keep("no job", 0, 500_000)
	keep("a job with a higher cap", 600_000, 500_000)
	if g.Sets != 0 {
		t.Errorf("the limit was set %d times", g.Sets)
	}
	keep("a job with a lower cap", 300_000, 300_000)
	keep("no job any more", 0, 500_000)
	g.Limit = 450_000
	keep("the operator lowers it", 0, 450_000)
	keep("a job", 300_000, 300_000)
	g.Limit = 650_000
	keep("somebody raises it while a job has it", 300_000, 300_000)
	keep("and the job ends", 0, 450_000)
	g.Limit = 700_000
	keep("the operator gives it back", 0, 700_000)
	keep("a last job", 300_000, 300_000)
	if err := c.RestoreAllDevices(); err != nil || g.Limit != 700_000 {
		t.Errorf("Restore = %v, limit %d", err, g.Limit)
	}

	// It is unknown whether a previous agent changed the limit: the record is missing
	// or unreadable.
	g.Limit = 400_000
	c = newCaps(t, open(t, library), CapsConfig{})
	keep("without a file", 0, 700_000)
	g.Limit = 400_000
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewPowerCaps(open(t, library), CapsConfig{NotesFile: file})
	if err == nil {
		t.Error("a file that cannot be read is taken")
	}
	keep("with a file that cannot be read", 0, 700_000)
}

// Whatever jobs come and go, the limits of all devices never sum above the
// ceiling, from the first Apply that succeeded on; and in the end each device has
// what its job wants if the ceiling allows.
func TestACeilingHoldsAtEveryInstant(t *testing.T) {
	library, w := standin(t, 4)
	devices := open(t, library)
	rapid.Check(t, func(t *rapid.T) {
		for i := range w.GPU {
			w.GPU[i].Limit, w.GPU[i].Lost = 700_000, 0
		}
		const ceiling = 1_600_000
		c, err := NewPowerCaps(devices, CapsConfig{Ceiling: ceiling})
		if err != nil {
			t.Fatal(err)
		}
		at, kept := noon, false
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			_ = c.RequestLimit(rapid.SampledFrom([]string{"GPU-0", "GPU-1", "GPU-2", "GPU-3"}).Draw(t, "device"),
				protocol.Milliwatts(rapid.IntRange(0, 700).Draw(t, "watts"))*1000)
			at = at.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			if _, err := c.ApplyLimits(at); err != nil {
				t.Fatal(err)
			}
			var sum uint32
			for _, g := range w.GPU {
				sum += g.Limit
			}
			if kept = kept || sum <= ceiling; kept && sum > ceiling {
				t.Fatalf("limits sum to %d mW", sum)
			}
		}
		for again, tries := at.Add(time.Second), 0; !again.IsZero(); tries++ {
			at = again
			if again, err = c.ApplyLimits(at); err != nil || tries > 10 {
				t.Fatal(err, "or it never ends")
			}
		}
		targets, err := c.targetLimits()
		for i, g := range w.GPU {
			if err != nil || protocol.Milliwatts(g.Limit) != targets[i] {
				t.Fatalf("device %d has %d mW, wants %d, %v", i, g.Limit, targets[i], err)
			}
		}
	})
}

func TestWhatCannotBeSetIsNamedOnceAndLeftAlone(t *testing.T) {
	library, w := standin(t, 2)
	c := newCaps(t, open(t, library), CapsConfig{})
	w.Forbidden = 1
	_ = c.RequestLimit("GPU-0", 300_000)
	if _, err := c.ApplyLimits(noon); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("Apply = %v, want ErrNotPermitted", err)
	}
	w.Forbidden = 0
	_ = c.RequestLimit("GPU-1", 300_000)
	if _, err := c.ApplyLimits(noon.Add(time.Minute)); err != nil || w.GPU[0].Limit != 700_000 || w.GPU[1].Limit != 300_000 {
		t.Errorf("Apply = %v; limits %d, %d; want the second device set, and the first left alone", err, w.GPU[0].Limit, w.GPU[1].Limit)
	}
	if err := c.RequestLimit("GPU-0", 300_000); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("Want of a device that cannot be set = %v", err)
	}
}

// A card does not answer for a while, and is reset or not: then it is kept again, and
// is not left as its last job had it.
func TestACardThatAnswersAgainIsKeptAgain(t *testing.T) {
	for name, reset := range map[string]bool{"as it was": false, "reset": true} {
		t.Run(name, func(t *testing.T) {
			library, w := standin(t, 1)
			c := newCaps(t, open(t, library), CapsConfig{})
			g := &w.GPU[0]
			keep := func(now time.Time, limit protocol.Milliwatts, mhz int) {
				t.Helper()
				_ = errors.Join(c.RequestLimit("GPU-0", limit), c.RequestClock("GPU-0", mhz)) // said by Apply
				if _, err := c.ApplyLimits(now); err != nil {
					t.Error(err)
				}
			}
			keep(noon, 300_000, 1500)
			for i, job := range []struct {
				limit, want protocol.Milliwatts
				mhz         int
			}{{300_000, 300_000, 1500}, {0, 700_000, 0}} {
				g.Lost = 1
				if err := c.RereadLimits(); !errors.Is(err, ErrLost) {
					t.Errorf("Refresh = %v", err)
				}
				if err := c.RereadLimits(); err != nil {
					t.Errorf("it is named again: %v", err)
				}
				if g.Lost = 0; reset {
					g.Limit, g.Locked = 700_000, 0
				}
				if err := c.RereadLimits(); err != nil {
					t.Error(err)
				}
				keep(noon.Add(time.Duration(i+1)*time.Hour), job.limit, job.mhz)
				if protocol.Milliwatts(g.Limit) != job.want || int(g.Locked) != job.mhz {
					t.Errorf("it is under %d mW at %d MHz; want %d and %d", g.Limit, g.Locked, job.want, job.mhz)
				}
			}
		})
	}
}

func TestACeilingThatCannotBeKeptIsSaid(t *testing.T) {
	library, w := standin(t, 2)
	c := newCaps(t, open(t, library), CapsConfig{Ceiling: 350_000})
	if _, err := c.ApplyLimits(noon); err == nil || w.GPU[0].Limit != 200_000 || w.GPU[1].Limit != 200_000 {
		t.Errorf("Apply = %v, limits %d, %d; want the lowest ones, and an error", err, w.GPU[0].Limit, w.GPU[1].Limit)
	}
}

func TestAnAgentThatWasKilledLeavesNoLimitLowered(t *testing.T) {
	library, w := standin(t, 1)
	w.GPU[0].Limit = 600_000 // its operator's
	file := filepath.Join(t.TempDir(), "limits.json")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NVML_PLAY=agent", "NVML_LIBRARY="+library, "NVML_FILE="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 8)
	if _, err := out.Read(line); err != nil || !bytes.HasPrefix(line, []byte("lowered")) {
		t.Fatalf("the agent said %q, %v", line, err)
	}
	if g := w.GPU[0]; g.Limit != 250_000 || g.Locked != 345 || g.MemoryLocked != 405 {
		t.Fatalf("limit %d, clocks at %d and %d MHz; want 250 W, 345 and 405 MHz", g.Limit, g.Locked, g.MemoryLocked)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	for range 6000 { // the guard sees its pipe end; its period is a minute
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if g := w.GPU[0]; g.Limit != 600_000 || g.Locked != 0 || g.MemoryLocked != 0 {
		t.Errorf("limit %d, clocks at %d and %d MHz after the agent was killed; want 600 W and no lock", g.Limit, g.Locked, g.MemoryLocked)
	}
}

func TestAGuardActsWhenItsAgentIsSilentAndTheNextAgentWhenBothAreGone(t *testing.T) {
	library, w := standin(t, 2)
	file := filepath.Join(t.TempDir(), "limits.json")
	devices := open(t, library)
	c := newCaps(t, devices, CapsConfig{NotesFile: file})
	_ = c.RequestLimit("GPU-1", 250_000)
	if _, err := c.ApplyLimits(noon); err != nil {
		t.Fatal(err)
	}
	r, beats, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer beats.Close()
	if err := RunGuard(r, 20*time.Millisecond, library, file); err != nil || w.GPU[1].Limit != 700_000 {
		t.Errorf("Guard of a silent agent = %v, limit %d", err, w.GPU[1].Limit)
	}
	r.Close()
	w.GPU[1].Limit = 250_000
	if err := os.WriteFile(file, []byte(`{"limits_mw":{"GPU-1":700000,"GPU-elsewhere":300000}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c = newCaps(t, devices, CapsConfig{NotesFile: file})
	if l := c.notes.Limits; w.GPU[1].Limit != 700_000 || len(l) != 1 || l["GPU-elsewhere"] == 0 {
		t.Errorf("a new agent finds limit %d, and notes %v", w.GPU[1].Limit, l)
	}
	if err := os.WriteFile(file, []byte(`{"limits_mw":{"GPU-1":"high"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewPowerCaps(devices, CapsConfig{NotesFile: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a note that cannot be read: %v", err)
	}
}

// A wall clock is set right while the agent runs: a card that was changed just
// before is not left as it is until the clock is there again.
func TestAClockThatIsSetBackHoldsNoChangeUp(t *testing.T) {
	library, w := standin(t, 2)
	c := newCaps(t, open(t, library), CapsConfig{})
	set := func(now time.Time, ceiling, limit protocol.Milliwatts, mhz int) {
		t.Helper()
		c.SetSharedCeiling(ceiling)
		if err := errors.Join(c.RequestLimit("GPU-0", limit), c.RequestClock("GPU-0", mhz)); err != nil {
			t.Fatal(err)
		}
		if again, err := c.ApplyLimits(now); err != nil || !again.IsZero() {
			t.Errorf("Apply = %v, %v; want nothing to wait", again, err)
		}
	}
	set(noon, 0, 500_000, 1500)
	set(noon.Add(-2*time.Hour), 800_000, 300_000, 1200)
	if g := w.GPU[0]; g.Limit != 300_000 || g.Locked != 1200 || c.TotalPowerLimit() > 800_000 {
		t.Errorf("after the clock was set back the limit is %d mW, the clock %d MHz, and all limits %d mW", g.Limit, g.Locked, c.TotalPowerLimit())
	}
}

// The work of the test is so much energy at a speed that falls with the limit.
func TestACurveIsMeasuredAndTaken(t *testing.T) {
	library, w := standin(t, 1)
	devices := open(t, library)
	w.GPU[0].Limit = 600_000 // its operator's: below what is measured first
	caps := newCaps(t, devices, CapsConfig{NotesFile: filepath.Join(t.TempDir(), "limits.json"), AllowRaise: true})
	w.Now, w.GPU[0].Demand = 1000, 95_000
	clock := func() time.Time { return noon.Add(time.Duration(w.Now * float64(time.Second))) }
	run := func(context.Context) error {
		w.GPU[0].Demand = 650_000
		speed := 1.0
		if w.GPU[0].Limit < 650_000 {
			speed = 0.5 + 0.5*float64(w.GPU[0].Limit)/650_000
		}
		w.Now += 60 / speed
		_, err := devices[0].ReadSensors() // time passes at this draw
		w.GPU[0].Demand = 95_000
		w.Now += 5
		return err
	}
	curve, err := MeasurePowerCurve(t.Context(), devices[0], caps, "stand-in 1", Calibration{
		Limits: []protocol.Milliwatts{300_000, 500_000}, Runs: 1, Command: []string{"train", "--steps", "100"},
		Run: run, Clock: clock, Log: t.Logf,
	})
	if err != nil || len(curve.Points) != 3 || w.GPU[0].Limit != 600_000 {
		t.Fatalf("Measure = %+v, %v; limit left at %d", curve, err, w.GPU[0].Limit)
	}
	for i, p := range curve.Points { // 5 s of idle are in each run
		watts := min(float64(p.Limit)/1000, 650)
		if want := watts*(p.Seconds-5) + 95*5; p.Joules < want-1 || p.Joules > want+1 {
			t.Errorf("point %d: %+v, want %.0f J", i, p, want)
		}
	}
	text, err := json.Marshal(curve)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadPowerCurve(bytes.NewReader(text), "curve.json")
	if err != nil || len(again.Points) != 3 || again.Points[2] != curve.Points[2] {
		t.Fatalf("ReadCurve = %+v, %v", again, err)
	}
	h100, _ := power.DefaultTable().LookupModel("H100")
	table, err := power.DefaultTable().WithGPU(again.ApplyToGPUModel(h100))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := table.LookupModel("H100")
	if g.Assumed || len(g.Caps) != 2 || g.Idle != 95_000 || g.Speed != h100.Speed || g.Caps[1].Speed >= 1000 || g.Caps[1].Energy >= 1000 {
		t.Errorf("the table has %+v", g)
	}
	if _, err := MeasurePowerCurve(t.Context(), devices[0], caps, "", Calibration{Limits: []protocol.Milliwatts{100_000}, Run: run, Clock: clock, Log: t.Logf}); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("Measure below the least limit = %v", err)
	}
	failed := errors.New("out of memory")
	if _, err := MeasurePowerCurve(t.Context(), devices[0], caps, "", Calibration{Limits: []protocol.Milliwatts{300_000}, Clock: clock, Log: t.Logf, Run: func(context.Context) error {
		if w.GPU[0].Limit == 300_000 {
			return failed
		}
		return run(t.Context())
	}}); !errors.Is(err, failed) || w.GPU[0].Limit != 600_000 {
		t.Errorf("Measure of a command that fails = %v, limit left at %d", err, w.GPU[0].Limit)
	}
}

// A workload with little draw is slowed by a clock only; its curve has the clock.
func TestACurveOfClocksIsMeasuredAndTaken(t *testing.T) {
	library, w := standin(t, 1)
	devices := open(t, library)
	caps := newCaps(t, devices, CapsConfig{})
	w.Now, w.GPU[0].Demand, w.GPU[0].Clock = 1000, 95_000, 1980
	clock := func() time.Time { return noon.Add(time.Duration(w.Now * float64(time.Second))) }
	run := func(context.Context) error {
		w.GPU[0].Demand = 250_000
		w.Now += 60 * (0.8 + 0.2*1980/float64(max(w.GPU[0].Locked, 990))) // memory-bound
		if w.GPU[0].Locked == 0 {
			w.Now -= 60 * (0.8 + 0.2*1980/990.0 - 1)
		}
		_, err := devices[0].ReadSensors()
		w.GPU[0].Demand = 95_000
		w.Now += 2
		return err
	}
	curve, err := MeasurePowerCurve(t.Context(), devices[0], caps, "stand-in 1", Calibration{Clocks: []int{990, 1485}, Runs: 1, Command: []string{"serve"}, Run: run, Clock: clock, Log: t.Logf})
	if err != nil || len(curve.Points) != 3 || w.GPU[0].Locked != 0 || w.GPU[0].Limit != 700_000 {
		t.Fatalf("Measure = %+v, %v; clock left at %d", curve, err, w.GPU[0].Locked)
	}
	for i, mhz := range []int{0, 1485, 990} {
		p := curve.Points[i]
		if p.Clock != mhz || i > 0 && curve.ClockForCap(protocol.Milliwatts(p.Limit)) != mhz || curve.ClockForCap(1) != 0 {
			t.Errorf("point %d: %+v", i, p)
		}
	}
	text, err := json.Marshal(curve)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadPowerCurve(bytes.NewReader(text), "curve.json")
	if err != nil {
		t.Fatal(err)
	}
	h100, _ := power.DefaultTable().LookupModel("H100")
	table, err := power.DefaultTable().WithGPU(again.ApplyToGPUModel(h100))
	if err != nil {
		t.Fatal(err)
	}
	if g, _ := table.LookupModel("H100"); len(g.Caps) != 2 || again.ClockForCap(g.Caps[1].Limit) != 990 || g.Caps[1].Energy >= 1000 {
		t.Errorf("the table has %+v", g)
	}
}
