package trace

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A draftJob is a row of a trace while its columns are read, in any order. Instants are on the
// trace's clock, or since 1970 if the trace has dates; nil is not given.
type draftJob struct {
	record TraceJob
	id     string
	line   int

	submit, start, end, deadline, run, within *time.Duration

	cpu    *protocol.Milli
	memory *protocol.MiB
	pods   int // of a gang; else 0

	leftOut string   // why the job is not replayed; "" if it is
	assumed []string // what was assumed of it, in words
	cut     bool     // it ran longer than maxRunTime
}

// Why jobs are left out, and what is assumed of others, in the words of the notes.
const (
	overEightGPUs = "over 8 GPUs, and one job runs on one node"
	overMaxCores  = "over 2000 cores for one node"
	overMaxPods   = "over 8 GPUs that make over 1024 equal pods"
	noRunTime     = "they have no run time: they never ran, or had not ended"
	neverRan      = "never ran (phase Pending), so their run time is unknown"

	coresAssumed    = "the trace has no cores: 4 for each GPU"
	memoryAssumed   = "the trace has no memory: 32 GiB for each GPU, 4 GiB for each core without"
	podsAssumed     = "over 8 GPUs: gangs of equal pods of at most 8 GPUs, as the trace does not say on which nodes they ran"
	timesWithoutUTC = "times without an offset count as UTC"
)

// What a whole GPU is assumed to come with, and a core of a job without GPUs.
const (
	coresPerGPU   protocol.Milli = 4000
	memoryPerGPU  protocol.MiB   = 32 * 1024
	memoryPerCore protocol.MiB   = 4 * 1024
)

// assume notes what is assumed of the job, once.
func (d *draftJob) assume(what string) {
	for _, was := range d.assumed {
		if was == what {
			return
		}
	}
	d.assumed = append(d.assumed, what)
}

// leaveOut says why the job is not replayed; the first reason counts.
func (d *draftJob) leaveOut(why string) {
	if d.leftOut == "" {
		d.leftOut = why
	}
}

// complete makes the record of what the columns said, and fails if they contradict each other.
func (t *csvTable) complete(d *draftJob) {
	j := &d.record.Job
	d.record.Line, j.ID = d.line, protocol.JobID(d.id)
	if d.submit == nil {
		d.submit = d.start // a trace that has no submissions has the starts
		if d.submit != nil {
			d.assume("the trace has no time of submission: submitted when they started")
		}
	}
	if d.run == nil && d.start != nil && d.end != nil {
		run := *d.end - *d.start
		d.run = &run
	}
	switch {
	case t.err != nil:
		return
	case d.cpu != nil && *d.cpu > 1000*maxCores*protocol.Milli(max(d.pods, 1)):
		d.leaveOut(overMaxCores)
	}
	switch {
	case d.submit == nil:
		d.leaveOut("they have no time of submission")
		return
	case d.run == nil:
		d.leaveOut(noRunTime)
	case *d.run < 0:
		t.failAtRow("the job ends %v before it starts: correct the line or drop it", -*d.run)
	default:
		// A job of zero seconds would have no end after its start.
		j.Run = min(max(*d.run, time.Second), maxRunTime)
		d.cut = *d.run > maxRunTime
	}
	d.record.Submit = *d.submit
	t.completeDemand(d)
	t.completeDeadline(d)
}

// completeDemand sets cores and memory, by assumption where the trace has none.
func (t *csvTable) completeDemand(d *draftJob) {
	j := &d.record.Job
	if d.leftOut != "" {
		return
	}
	gpus := protocol.Milli(j.GPUs) * j.Share
	switch {
	case d.cpu != nil:
		j.CPU = *d.cpu
	case gpus > 0:
		j.CPU = gpus * coresPerGPU / 1000
		d.assume(coresAssumed)
	}
	switch {
	case d.memory != nil:
		j.Memory = *d.memory
	case gpus > 0:
		j.Memory = protocol.MiB(gpus) * memoryPerGPU / 1000
		d.assume(memoryAssumed)
	default:
		j.Memory = protocol.MiB(j.CPU) * memoryPerCore / 1000
		d.assume(memoryAssumed)
	}
	if gpus == 0 && j.CPU == 0 {
		t.failAtRow("a job without GPUs and without cores: give one of them, or drop the line")
	}
	if n := d.pods; n > 0 {
		d.assume(podsAssumed)
		*j = j.WithPods([]protocol.Component{{
			Role: "worker", Pods: n, GPUs: j.GPUs / n, Share: j.Share, GPUMemory: j.GPUMemory,
			CPU: (j.CPU + protocol.Milli(n) - 1) / protocol.Milli(n), Memory: (j.Memory + protocol.MiB(n) - 1) / protocol.MiB(n),
		}})
	}
}

// completeDeadline sets the time from submission to deadline. A deadline that the job could not
// have kept stays: the job will be late.
func (t *csvTable) completeDeadline(d *draftJob) {
	switch {
	case d.within != nil:
		d.record.Within = *d.within
	case d.deadline != nil:
		d.record.Within = *d.deadline - *d.submit
	default:
		return
	}
	d.record.Given.Deadline = true
	if most := 2 * protocol.MaxRun; d.record.Within < 0 || d.record.Within > most {
		t.failAtRow("the deadline is %v after the submission: want 0s..%v", d.record.Within, most)
	}
}

// setGPUs sets the number of GPUs and the share of each. More than a node has are those of a gang: of as
// few equal pods as are of 1, 2, 4 or 8 GPUs.
func (d *draftJob) setGPUs(gpus int, share protocol.Milli) {
	d.pods = 0
	if gpus > MaxGPUs {
		size := MaxGPUs
		for gpus%size != 0 {
			size /= 2
		}
		if d.pods = gpus / size; d.pods > protocol.MaxPods {
			d.leaveOut(overMaxPods)
			gpus, d.pods = 0, 0
		}
	}
	j := &d.record.Job
	if j.GPUs = gpus; gpus == 0 {
		share = 0
	}
	j.Share = share
}

// setCores sets the cores of all pods together.
func (d *draftJob) setCores(cores protocol.Milli) { d.cpu = &cores }

// seconds returns a duration of whole seconds, for the optional fields of a draft.
func seconds(n int64) *time.Duration {
	d := time.Duration(n) * time.Second
	return &d
}

// readPhillyJob reads a row of the Philly trace of 2017. The trace has no CPU and memory;
// the format's assume note states the values used.
func readPhillyJob(t *csvTable, d *draftJob) bool {
	d.id = t.nameField("job_id")
	d.submit = seconds(t.integerField("submit_s", 0, maxRunSeconds))
	d.run = seconds(t.integerField("duration_s", 0, maxRunSeconds))
	gpus := int(t.integerField("gpus", 1, 4096))
	d.setGPUs(gpus, 1000)
	if d.leftOut != "" {
		return true
	}
	n := protocol.Milli(gpus)
	cpu, memory := n*coresPerGPU, protocol.MiB(n)*memoryPerGPU
	d.cpu, d.memory = &cpu, &memory
	d.record.Job.Tenant = t.nameField("vc")
	return true
}

// numberWanted is what an error says of a field that is no number in a range.
func numberWanted(lo, hi float64) string { return fmt.Sprintf("a finite number of %g..%g", lo, hi) }
