package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// sleeper is a host that sleeps after ten minutes and wakes at once.
var sleeper = func() power.Host { h := power.SleepingHost(4); h.WakeTime = 0; return h }()

// nodes are two of four V100s: awake 300 + 4 x 80 W and 4 x 35 W of idle
// devices, asleep 15 W, asleep after ten minutes.
func nodes() []capacity.Node {
	var out []capacity.Node
	for _, name := range []string{"n1", "n2"} {
		out = append(out, capacity.Node{Node: fgd.Node{Name: name, CPU: 64_000, GPUs: 4, Model: "V100"}, Host: sleeper})
	}
	return out
}

const awake, asleep = 760_000, 15_000 // milliwatts

// agent makes messages of the agent of oslo.
type agent struct{ protocol.Sender }

func newAgent() *agent { return &agent{protocol.Sender{Party: "agent/oslo"}} }

func (a *agent) launch(now protocol.Time, id protocol.JobID, epoch uint64, node string, run time.Duration, power protocol.Milliwatts) protocol.Message {
	return a.NewMessage(now, "hands/oslo", protocol.Launch{Job: protocol.Job{ID: id}, Epoch: epoch, Node: node, Run: run, Power: power})
}

// until ticks h whenever it is due, up to and with an instant.
func until(h *SimExecutor, end protocol.Time) (said []protocol.Message) {
	for h.Due() <= end {
		said = append(said, h.Tick(h.Due())...)
	}
	return said
}

func TestHandsRunAJobAndMeterItHourByHour(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	start := noon.Add(30 * time.Minute)
	said := h.Step(start, a.launch(start, "train", 3, "n1", time.Hour, 200_000))
	want := protocol.Started{Job: "train", Epoch: 3}
	if len(said) != 1 || !reflect.DeepEqual(said[0].Body, protocol.Body(want)) || said[0].To != "agent/oslo" || said[0].At != start {
		t.Fatalf("said %v to a launch, want %v", said, want)
	}
	var got []protocol.Body
	for _, m := range until(h, noon.Add(3*time.Hour)) {
		got = append(got, m.Body)
	}
	joule := func(mw, seconds int64) protocol.Millijoules { return protocol.Millijoules(mw * seconds) }
	half := joule(200_000, 1800)
	idle1 := joule(2*asleep, 1800) + joule(awake+asleep, 1800)
	idle2 := joule(awake+asleep, 1800+600) + joule(2*asleep, 1200) // awake for ten minutes more
	wants := []protocol.Body{
		protocol.IdleReading{Hour: noon, Idle: idle1, Total: idle1 + half},
		protocol.Finished{Job: "train", Epoch: 3, Draw: []protocol.HourlyEnergy{{Hour: noon, Energy: half}, {Hour: noon.Add(time.Hour), Energy: half}}},
		protocol.IdleReading{Hour: noon.Add(time.Hour), Idle: idle2, Total: idle2 + half},
		protocol.IdleReading{Hour: noon.Add(2 * time.Hour), Idle: joule(2*asleep, 3600), Total: joule(2*asleep, 3600)},
	}
	if !reflect.DeepEqual(got, wants) {
		t.Errorf("the hands said\n%v, want\n%v", got, wants)
	}
}

func TestANodeSleepsWhenItHasLingered(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	h.Step(noon, a.launch(noon, "a", 1, "n1", time.Minute, 0))
	end := noon.Add(time.Minute)
	until(h, end.Add(10*time.Minute-time.Second))
	if h.draw != awake+asleep {
		t.Errorf("just before it has lingered: %d mW, want %d", h.draw, awake+asleep)
	}
	// Work that comes meanwhile keeps it awake.
	again := end.Add(10*time.Minute - time.Second)
	h.Step(again, a.launch(again, "b", 1, "n1", time.Hour, 0))
	until(h, again.Add(time.Hour+10*time.Minute-1))
	if h.draw != awake+asleep {
		t.Errorf("while it works: %d mW, want %d", h.draw, awake+asleep)
	}
	until(h, again.Add(time.Hour+10*time.Minute))
	if h.draw != 2*asleep {
		t.Errorf("ten minutes after its last job: %d mW, want %d", h.draw, 2*asleep)
	}
}

// By hand: the node draws 760 W from the launch on, the job 200 W from its start 200 seconds
// later, so the hour has 3400 s of the job.
func TestAJobOnASleepingNodeStartsWhenItIsAwake(t *testing.T) {
	all := nodes()
	for i := range all {
		all[i].Host.WakeTime = 200 * time.Second
	}
	h, a := NewSimExecutor("oslo", all, power.DefaultTable(), noon, nil), newAgent()
	wakes := noon.Add(200 * time.Second)
	said := h.Step(noon, a.launch(noon, "train", 1, "n1", time.Hour, 200_000))
	said = append(said, h.Step(noon, a.launch(noon, "train", 1, "n1", time.Hour, 200_000))...)
	said = append(said, until(h, wakes-1)...)
	if len(said) != 0 || h.draw != awake+asleep {
		t.Fatalf("while its node wakes: %v, %d mW", said, h.draw)
	}
	said = until(h, wakes)
	if len(said) != 1 || !reflect.DeepEqual(said[0].Body, protocol.Body(protocol.Started{Job: "train", Epoch: 1})) || h.draw != awake+asleep+200_000 {
		t.Fatalf("awake: %v, %d mW", said, h.draw)
	}
	// A second job finds the node awake.
	if said := h.Step(wakes, a.launch(wakes, "next", 1, "n1", time.Minute, 0)); len(said) != 1 {
		t.Errorf("on the awake node: %v", said)
	}
	for _, m := range until(h, noon.Add(time.Hour)) {
		if r, ok := m.Body.(protocol.IdleReading); ok && (r.Total-r.Idle != 200_000*3400 || r.Idle != (awake+asleep)*3600) {
			t.Errorf("the meter shows %+v", r)
		}
	}
	said = until(h, wakes.Add(time.Hour))
	until(h, noon.Add(2*time.Hour-time.Second))
	if h.draw != 2*asleep {
		t.Errorf("when it has lingered: %d mW", h.draw)
	}
	if x, ok := said[len(said)-1].Body.(protocol.Finished); !ok || said[len(said)-1].At != wakes.Add(time.Hour) || x.Draw[0].Energy+x.Draw[1].Energy != 200_000*3600 {
		t.Errorf("it ends by %v", said)
	}
	// A job cancelled while its node wakes has drawn nothing.
	h.Step(noon.Add(2*time.Hour), a.launch(noon.Add(2*time.Hour), "other", 1, "n2", time.Hour, 200_000))
	said = h.Step(noon.Add(2*time.Hour+time.Minute), a.NewMessage(noon.Add(2*time.Hour+time.Minute), "hands/oslo", protocol.Cancel{Job: "other", Epoch: 1}))
	if x, ok := said[0].Body.(protocol.Finished); !ok || len(x.Draw) != 0 || h.draw != awake+asleep {
		t.Errorf("cancelled: %v, %d mW", said, h.draw)
	}
}

func TestHandsRefuseWhatIsOldOrNotForThem(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	first := a.launch(noon, "train", 2, "n1", time.Hour, 1)
	h.Step(noon, first)
	stranger := protocol.Sender{Party: "agent/bern"}
	for name, m := range map[string]protocol.Message{
		"the same message again":    first,
		"a node that is not here":   a.launch(noon, "other", 1, "n9", time.Hour, 1),
		"a launch of another agent": stranger.NewMessage(noon, "hands/oslo", protocol.Launch{Job: protocol.Job{ID: "x"}, Epoch: 1, Node: "n1"}),
		"what is no launch":         a.NewMessage(noon, "hands/oslo", protocol.Started{}),
	} {
		if said := h.Step(noon, m); len(said) != 0 || len(h.jobs) != 1 {
			t.Errorf("%s: said %v, %d jobs run", name, said, len(h.jobs))
		}
	}
}

// A repeated launch is answered with the job's status; whatever its epoch, the job is
// not started twice.
func TestHandsTellHowAJobStands(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	h.Step(noon, a.launch(noon, "train", 2, "n1", time.Hour, 1))
	for _, epoch := range []uint64{1, 2, 3} {
		said := h.Step(noon, a.launch(noon, "train", epoch, "n2", time.Hour, 1))
		if len(said) != 1 || !reflect.DeepEqual(said[0].Body, protocol.Body(protocol.Started{Job: "train", Epoch: 2})) || len(h.jobs) != 1 {
			t.Errorf("epoch %d: said %v, %d jobs run", epoch, said, len(h.jobs))
		}
	}
	end := noon.Add(time.Hour)
	exit := until(h, end)[0].Body.(protocol.Finished)
	if said := h.Step(end, a.launch(end, "train", 2, "n1", time.Hour, 1)); said != nil {
		t.Errorf("at the instant of its end, which is reported already: said %v", said)
	}
	exit.Ended, end = end, end.Add(time.Second)
	if said := h.Step(end, a.launch(end, "train", 2, "n1", time.Hour, 1)); len(said) != 1 || !reflect.DeepEqual(said[0].Body, exit) {
		t.Errorf("after its end: said %v, want %v", said, exit)
	}
	if said := h.Step(end, a.launch(end, "train", 1, "n1", time.Hour, 1)); said != nil {
		t.Errorf("after its end, under an old epoch: said %v", said)
	}
}

func TestACancelledJobEndsAtOnceAndNeverStarts(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	h.Step(noon, a.launch(noon, "train", 1, "n1", time.Hour, 1000))
	for i, id := range []protocol.JobID{"train", "train", "unheard"} {
		said := h.Step(noon.Add(time.Second), a.NewMessage(noon, "hands/oslo", protocol.Cancel{Job: id, Epoch: 1}))
		if len(said) != 1 {
			t.Fatalf("cancel %d: said %v", i, said)
		}
		x, _ := said[0].Body.(protocol.Finished)
		if drew := len(x.Draw) == 1; x.Job != id || x.Epoch != 1 || drew != (id == "train") {
			t.Errorf("cancel %d: said %v", i, said)
		}
	}
	for _, id := range []protocol.JobID{"train", "unheard"} {
		if h.Step(noon.Add(time.Minute), a.launch(noon, id, 1, "n1", time.Hour, 1)); len(h.jobs) != 0 {
			t.Errorf("%s was started after it was cancelled", id)
		}
	}
}

func TestAJobDrawsWhatItTrulyDraws(t *testing.T) {
	h := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, func(id protocol.JobID, plan protocol.Milliwatts) protocol.Milliwatts {
		return plan + protocol.Milliwatts(len(id))
	})
	h.Step(noon, newAgent().launch(noon, "train", 1, "n1", time.Second, 1000))
	x := until(h, noon.Add(time.Second))[0].Body.(protocol.Finished)
	if x.Draw[0].Energy != 1005 {
		t.Errorf("drew %d mJ in a second, want 1005", x.Draw[0].Energy)
	}
}

// The meter of a site is its jobs and what is idle to the millijoule in every
// hour, at whatever instants things happen; and over the hours it loses nothing of
// what the site draws.
func TestTheMeterIsJobsAndIdleToTheMillijoule(t *testing.T) {
	truth := func(id protocol.JobID, plan protocol.Milliwatts) protocol.Milliwatts {
		return plan + 1001*protocol.Milliwatts(len(id))
	}
	rapid.Check(t, func(t *rapid.T) {
		h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, truth), newAgent()
		drawn, now, launched, exited := map[protocol.Time]protocol.Millijoules{}, noon, 0, 0
		var all, idle, metered, still int64 // microjoules: as it was, and as it was read
		hear := func(said []protocol.Message) {
			for _, m := range said {
				switch b := m.Body.(type) {
				case protocol.Finished:
					exited++
					for _, s := range b.Draw {
						drawn[s.Hour] += s.Energy
					}
				case protocol.IdleReading:
					// Jobs that still run report the hour when they end: wait.
					drawn[b.Hour] -= b.Total - b.Idle
					metered, still = metered+1000*int64(b.Total), still+1000*int64(b.Idle)
				}
			}
		}
		last := noon
		pass := func(at protocol.Time) {
			jobs := protocol.Milliwatts(0)
			for _, j := range h.jobs {
				jobs += j.power
			}
			all, idle = all+int64(h.draw)*int64(at-last), idle+int64(h.draw-jobs)*int64(at-last)
			last = at
		}
		until := func(end protocol.Time) {
			for d := h.Due(); d <= end; d = h.Due() {
				pass(d)
				hear(h.Tick(d))
			}
			pass(end)
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "gap")) * time.Millisecond)
			until(now)
			run := time.Duration(rapid.IntRange(1, 9_000_000).Draw(t, "run")) * time.Millisecond
			node := rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node")
			watts := protocol.Milliwatts(rapid.Int64Range(0, 3_000_000).Draw(t, "power"))
			h.Step(now, a.launch(now, protocol.JobID(fmt.Sprint(i)), 1, node, run, watts))
			launched++
		}
		until(now.Add(6 * time.Hour).Ceil(time.Hour))
		if exited != launched || h.draw != 2*asleep {
			t.Fatalf("%d of %d jobs exited; %d mW are drawn", exited, launched, h.draw)
		}
		for hour, left := range drawn {
			if left != 0 {
				t.Errorf("in the hour of %v jobs drew %d mJ more than the meter less idle", hour, left)
			}
		}
		if lost := all - metered; lost < 0 || lost >= 1000 {
			t.Errorf("of %d microjoules the meter lost %d", all, lost)
		}
		// A job is rounded down once in each hour that it runs in.
		if off := still - idle; off < -1000 || off > int64(1000*4*launched) {
			t.Errorf("%d microjoules were idle, and %d were read", idle, still)
		}
	})
}

func TestWithoutPowerAllIsLostAndNothingDrawn(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	dark, light := noon.Add(30*time.Minute), noon.Add(90*time.Minute)
	h.ScheduleOutage(dark, light, "no power")
	h.Step(noon, a.launch(noon, "train", 1, "n1", 2*time.Hour, 200_000))
	said := until(h, dark)
	lost, ok := said[0].Body.(protocol.Interrupted)
	if !ok || lost.Job != "train" || lost.Epoch != 1 || len(lost.Draw) != 1 || lost.Draw[0].Energy != 200_000*1800 {
		t.Fatalf("said %v when the power went, want the job lost with half an hour's draw", said)
	}
	if v, ok := said[1].Body.(protocol.Inventory); !ok || len(v.Nodes) != 2 || v.Nodes[0].Closed == "" {
		t.Fatalf("said %v, want that both nodes are closed", said[1].Body)
	}
	at := dark.Add(time.Minute)
	if again := h.Step(at, a.launch(at, "next", 2, "n1", time.Hour, 200_000)); len(again) != 1 || again[0].Body.(protocol.Interrupted).Job != "next" {
		t.Errorf("said %v to a launch in the dark, want it lost", again)
	}
	said = until(h, noon.Add(2*time.Hour))
	var hours []protocol.IdleReading
	opened := false
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.IdleReading:
			hours = append(hours, b)
		case protocol.Inventory:
			opened = m.At == light && b.Nodes[0].Closed == ""
		case protocol.Finished:
			t.Errorf("%+v of what was lost", b)
		}
	}
	if !opened {
		t.Errorf("nodes were not opened when the power came back: %v", said)
	}
	first := protocol.Millijoules(awake+asleep) * 1800 // half an hour of one node awake, and one asleep
	if len(hours) != 2 || hours[0].Idle != first || hours[0].Total != first+200_000*1800 || hours[1].Total != 2*asleep*1800 {
		t.Errorf("metered %+v; want %d idle of the first hour, and two sleeping nodes for half of the second", hours, first)
	}
	if again := h.Step(light, a.launch(light, "train", 3, "n2", time.Hour, 200_000)); len(again) != 1 || !reflect.DeepEqual(again[0].Body, protocol.Body(protocol.Started{Job: "train", Epoch: 3})) {
		t.Errorf("said %v to a launch with power, want it started", again)
	}
}

// A site that is played may be begun in the middle of an outage, or after one.
func TestAnOutageThatBeganBeforeIsMeteredFromNow(t *testing.T) {
	h := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil)
	h.ScheduleOutage(noon.Add(-3*time.Hour), noon.Add(-2*time.Hour), "no power")
	h.ScheduleOutage(noon.Add(-time.Hour), noon.Add(30*time.Minute), "no power")
	var got []any
	for _, m := range until(h, noon.Add(time.Hour)) {
		if v, ok := m.Body.(protocol.Inventory); ok {
			got = append(got, v.Nodes[0].Closed)
			continue
		}
		got = append(got, m.Body)
	}
	drew := protocol.Millijoules(2 * asleep * 1800)
	if want := []any{"no power", "", protocol.IdleReading{Hour: noon, Idle: drew, Total: drew}}; !reflect.DeepEqual(got, want) {
		t.Errorf("said %v; want %v", got, want)
	}
}

// A node that is down loses its jobs and draws nothing; the other node of the site runs on. Where two
// outages of a node overlap it comes back after both.
func TestANodeThatIsDownLosesItsJobsAlone(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	down, up := noon.Add(10*time.Minute), noon.Add(40*time.Minute)
	h.ScheduleOutage(down, noon.Add(30*time.Minute), "node down", "n1")
	h.ScheduleOutage(noon.Add(20*time.Minute), up, "no power", "n1")
	h.Step(noon, a.launch(noon, "here", 1, "n1", time.Hour, 1000))
	h.Step(noon, a.launch(noon, "there", 1, "n2", time.Hour, 1000))
	var got []string
	for _, m := range until(h, noon.Add(2*time.Hour)) {
		at := m.At.Sub(noon)
		switch b := m.Body.(type) {
		case protocol.Interrupted:
			got = append(got, fmt.Sprintf("%v %s lost: %s", at, b.Job, b.Why.Note))
		case protocol.Finished:
			got = append(got, fmt.Sprintf("%v %s ends", at, b.Job))
		case protocol.Inventory:
			got = append(got, fmt.Sprintf("%v n1 %q n2 %q", at, b.Nodes[0].Closed, b.Nodes[1].Closed))
		}
	}
	want := []string{`10m0s here lost: node down`, `10m0s n1 "node down" n2 ""`, `20m0s n1 "node down" n2 ""`, `30m0s n1 "node down" n2 ""`, `40m0s n1 "" n2 ""`, `1h0m0s there ends`}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q; want %q", got, want)
	}
	if again := h.Step(noon.Add(2*time.Hour), a.launch(noon.Add(2*time.Hour), "here", 2, "n1", time.Hour, 1000)); len(again) != 1 || again[0].KindName() != "started" {
		t.Errorf("sent %v to a launch on the node that is back, want it started", again)
	}
}

func TestAProgramFailsAfterItsTime(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	h.SetFailures(map[protocol.JobID]time.Duration{"early": 10 * time.Minute, "never": 2 * time.Hour})
	for _, id := range []string{"early", "never", "well"} {
		h.Step(noon, a.launch(noon, protocol.JobID(id), 1, "n1", time.Hour, 1000))
	}
	got := make(map[protocol.JobID]string)
	for _, m := range until(h, noon.Add(2*time.Hour)) {
		if b, ok := m.Body.(protocol.Finished); ok {
			got[b.Job] = fmt.Sprint(m.At.Sub(noon), b.Failed)
		}
	}
	if want := map[protocol.JobID]string{"early": "10m0sexit code 1", "never": "1h0m0s", "well": "1h0m0s"}; !maps.Equal(got, want) {
		t.Errorf("ended %v; want %v", got, want)
	}
}

func TestAPausedJobSaysWhatIsLeftOfIt(t *testing.T) {
	h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
	l := a.launch(noon, "train", 1, "n1", time.Hour, 1000)
	body := l.Body.(protocol.Launch)
	body.Job.Pause = time.Minute
	l.Body = body
	h.Step(noon, l)
	h.Step(noon, a.launch(noon, "whole", 1, "n1", time.Hour, 1000))
	at := noon.Add(20 * time.Minute)
	keep := func(id protocol.JobID) protocol.Body {
		said := h.Step(at, a.NewMessage(at, "hands/oslo", protocol.Cancel{Job: id, Epoch: 1, Checkpoint: true}))
		if len(said) != 1 {
			t.Fatalf("%s: said %v", id, said)
		}
		return said[0].Body
	}
	want := protocol.Finished{Job: "train", Epoch: 1, Draw: []protocol.HourlyEnergy{{Hour: noon, Energy: 1_200_000}}, Left: 40 * time.Minute}
	for range 2 {
		if got := keep("train"); !reflect.DeepEqual(got, want) {
			t.Errorf("said %+v, want %+v", got, want)
		}
	}
	if got := keep("whole"); !reflect.DeepEqual(got, protocol.Body(protocol.Started{Job: "whole", Epoch: 1})) || len(h.jobs) != 1 {
		t.Errorf("said %+v of a job that cannot be paused", got)
	}
	// What is left of it is launched under a newer epoch, and no older one.
	h.Step(at, l)
	if len(h.jobs) != 1 {
		t.Error("it was started again under the epoch of its pause")
	}
	if h.Step(at, a.launch(at, "train", 2, "n1", 40*time.Minute, 1000)); len(h.jobs) != 2 {
		t.Error("the rest of it was not started")
	}
}

// A launch that really takes longer or shorter than planned ends by its real run, and what a pause
// leaves of it is a share of the plan.
func TestALaunchMayTakeAnotherTimeThanPlanned(t *testing.T) {
	for _, real := range []time.Duration{45 * time.Minute, time.Hour, 90 * time.Minute} {
		h, a := NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
		h.SetRunTime(func(protocol.Launch) time.Duration { return real })
		h.Step(noon, a.launch(noon, "train", 1, "n1", time.Hour, 1))
		for _, m := range until(h, noon.Add(2*time.Hour)) {
			if _, ok := m.Body.(protocol.Finished); ok && m.At != noon.Add(real) {
				t.Errorf("a run of %v, planned for an hour, ended at %v", real, m.At)
			}
		}
		if len(h.jobs) != 0 {
			t.Errorf("a run of %v has not ended after two hours", real)
		}
		h, a = NewSimExecutor("oslo", nodes(), power.DefaultTable(), noon, nil), newAgent()
		h.SetRunTime(func(protocol.Launch) time.Duration { return real })
		m := a.launch(noon, "train", 1, "n1", time.Hour, 1)
		l := m.Body.(protocol.Launch)
		l.Job.Pause = time.Minute
		m.Body = l
		h.Step(noon, m)
		at := noon.Add(real / 3)
		said := h.Step(at, a.NewMessage(at, "hands/oslo", protocol.Cancel{Job: "train", Epoch: 1, Checkpoint: true}))
		if x, ok := said[0].Body.(protocol.Finished); !ok || x.Left != 40*time.Minute {
			t.Errorf("a run of %v, paused after a third of it: %+v; want 40 of 60 planned minutes left", real, said[0].Body)
		}
	}
}
