package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Job a runs from 12:00 to 13:00 on one GPU, job b from 13:00 to 15:00 on two: at 13:00 one
// leaves before the other comes.
func TestUseHasMeanAndPeak(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo")
	a, b := job("a"), job("b")
	b.GPUs, b.CPU, b.Memory, b.Urgency = 2, 32_000, 32_768, protocol.UrgencyNow
	b.Deadline = at(2 * time.Hour)
	s.submit(a)
	s.submit(b)
	epoch := s.award("oslo", 1, a, option(0, 1, 1))
	s.run("oslo", "n1", []int{0}, a, epoch, option(0, 1, 1), time.Hour)
	epoch = s.award("oslo", 2, b, option(time.Hour, 1, 1))
	s.run("oslo", "n1", []int{0, 1}, b, epoch, option(time.Hour, 1, 1), 2*time.Hour)
	m := meta // 12:00 to 15:00, four GPUs
	m.CPU, m.Memory = 64_000, 131_072
	got := s.book(Config{}).ComputeTotals(m)
	for what, is := range map[string][2]float64{
		"mean of GPUs":      {got.GPUUse.Mean, (1 + 2*2) / 3.0 / 4},
		"GPU utilisation":   {got.GPUUtil, got.GPUUse.Mean},
		"peak of GPUs":      {got.GPUUse.Peak, 2 / 4.0},
		"mean of cores":     {got.CPUUse.Mean, (8 + 2*32) / 3.0 / 64},
		"peak of cores":     {got.CPUUse.Peak, 32 / 64.0},
		"mean of memory":    {got.MemoryUse.Mean, (16 + 2*32) / 3.0 / 128},
		"peak of memory":    {got.MemoryUse.Peak, 32 / 128.0},
		"throughput":        {got.ThroughputPerH, 1 / 3.0}, // b ends when the period does
		"deadlines kept":    {got.DeadlinesKept, 0.5},
		"wait":              {got.WaitS.Mean, 1800},
		"wait, deferrable":  {got.WaitDeferrableS.Mean, 0},
		"wait, urgent":      {got.WaitUrgentS.Mean, 3600},
		"terms of all cost": {got.JobsEnergyUSD + got.JobsCarbonUSD + got.IdleUSD + got.IdleCarbonUSD + got.TransferUSD + got.DelayUSD + got.LateUSD, got.ObjectiveUSD},
	} {
		near(t, what, is[0], is[1])
	}
	if got.LateUSD == 0 || got.DelayUSD == 0 || got.JobsEnergyUSD == 0 {
		t.Errorf("%+v; want lateness, delay and energy of jobs", got)
	}
	// A job that never ran keeps no deadline, and what is not there is not used.
	c := job("c")
	s.submit(c)
	m.Memory = 0
	if got = s.book(Config{}).ComputeTotals(m); got.Unplaced != 1 || got.DeadlinesKept != 1/3.0 || got.MemoryUse != (Use{}) {
		t.Errorf("with a job that never ran: %d unplaced, %v kept, memory %v", got.Unplaced, got.DeadlinesKept, got.MemoryUse)
	}
}

// The mean is of the period in which jobs arrive; the peak may lie after it.
func TestThePeakMayLieAfterThePeriod(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo")
	a, b := job("a"), job("b")
	s.submit(a)
	s.submit(b)
	first, second := s.award("oslo", 1, a, option(0, 1, 1)), s.award("oslo", 1, b, option(0, 1, 1))
	s.run("oslo", "n1", []int{0}, a, first, option(0, 1, 1), 2*time.Hour)
	s.now = at(time.Hour)
	s.run("oslo", "n1", []int{1}, b, second, option(0, 1, 1), time.Hour)
	m := meta
	m.End = at(30 * time.Minute)
	got := s.book(Config{}).ComputeTotals(m)
	near(t, "mean", got.GPUUse.Mean, 1/4.0)
	near(t, "peak", got.GPUUse.Peak, 2/4.0)
	near(t, "throughput", got.ThroughputPerH, 0)
}
