package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// By hand: n2 wakes for 200 seconds and lingers for ten minutes more, unless a job comes. One that comes
// while it wakes starts when it has woken, one that comes later at once.
func TestALaunchWakesTheNodesThatItNames(t *testing.T) {
	ready := noon.Add(200 * time.Second)
	for _, c := range []struct {
		next, starts, sleeps protocol.Time
	}{
		{0, 0, ready.Add(10 * time.Minute)},
		{noon.Add(time.Minute), ready, ready.Add(time.Hour + 10*time.Minute)},
		{noon.Add(5 * time.Minute), noon.Add(5 * time.Minute), noon.Add(75 * time.Minute)},
	} {
		all := nodes()
		for i := range all {
			all[i].Host.WakeTime = 200 * time.Second
		}
		h, a := NewSimExecutor("oslo", all, power.DefaultTable(), noon, nil), newAgent()
		l := a.launch(noon, "first", 1, "n1", 3*time.Hour, 0)
		body := l.Body.(protocol.Launch)
		body.Wake = []string{"n1", "n2", "unknown"}
		l.Body = body
		h.Step(noon, l)
		if h.draw != 2*awake {
			t.Fatalf("both nodes wake: %d mW, want %d", h.draw, 2*awake)
		}
		if c.next != 0 {
			said := until(h, c.next)
			said = append(said, h.Step(c.next, a.launch(c.next, "next", 1, "n2", time.Hour, 0))...)
			said = append(said, until(h, max(ready, c.next))...)
			i := slices.IndexFunc(said, func(m protocol.Message) bool { return m.Body.(protocol.Started).Job == "next" })
			if i < 0 || said[i].At != c.starts {
				t.Errorf("a job at %v: %v, want its start at %v", c.next, said, c.starts)
			}
		}
		if until(h, c.sleeps-1); h.draw != 2*awake {
			t.Errorf("a job at %v: n2 sleeps before %v", c.next, c.sleeps)
		}
		if until(h, c.sleeps); h.draw != awake+asleep {
			t.Errorf("a job at %v: n2 is awake at %v", c.next, c.sleeps)
		}
	}
}

// By hand: n2 is named again while it lingers, at five minutes after noon, so it sleeps ten minutes later. A
// node with a job is left as it is: n1 sleeps ten minutes after the end of its job.
func TestAnAwakeNodeThatALaunchNamesLingersAnew(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	launch := func(at protocol.Time, id protocol.JobID) {
		l := a.launch(at, id, 1, "n1", time.Minute, 0)
		body := l.Body.(protocol.Launch)
		body.Wake = []string{"n1", "n2"}
		l.Body = body
		until(h, at)
		h.Step(at, l)
	}
	launch(noon, "first")
	launch(noon.Add(5*time.Minute), "second")
	for _, c := range []struct {
		at   time.Duration
		draw protocol.Milliwatts
	}{
		{15*time.Minute - 1, 2 * awake},
		{15 * time.Minute, awake + asleep},
		{16*time.Minute - 1, awake + asleep},
		{16 * time.Minute, 2 * asleep},
	} {
		if until(h, noon.Add(c.at)); h.draw != c.draw {
			t.Errorf("after %v: %d mW, want %d", c.at, h.draw, c.draw)
		}
	}
}
