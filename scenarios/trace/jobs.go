package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A TraceJob is one job of a trace. Its Job has no arrival, deadline or home: Submit
// counts from the start of the trace's own clock.
type TraceJob struct {
	Submit time.Duration
	Job    protocol.Job
}

// A Selection selects consecutive jobs of a trace.
type Selection struct {
	From time.Duration // in the trace's clock; negative: start of the dense part
	Max  int           // jobs at most
}

// A TraceJobs is the selected part of a trace.
type TraceJobs struct {
	Source  string // "philly" or "alibaba v2023"
	From    time.Duration
	Records []TraceJob // by submission, then id
	Notes   []string   // assumptions, cuts and omissions, in words; they enter the scenario's hash
}

// A traceFormat describes one trace format.
type traceFormat struct {
	name         string
	columns      []string      // columns that the format requires
	uniqueColumn string        // column that identifies the format: no other format has it
	dense        time.Duration // start of the dense part, in the trace's clock
	assume       string        // assumption to note, or ""
	read         func(t *csvTable) (j protocol.Job, leftOut string)
}

// traceFormats lists the known formats. In Philly's trace GPU jobs get dense after a month,
// in Alibaba's after 10.2 million seconds; replays begin there by default.
func traceFormats() []traceFormat {
	return []traceFormat{
		{
			name: "philly", uniqueColumn: "vc", columns: []string{"job_id", "submit_s", "duration_s", "gpus", "vc"},
			dense: 30 * 24 * time.Hour, read: parsePhillyRow,
			assume: "the trace has no processors and memory: 4 cores and 32 GiB for each GPU",
		},
		{
			name: "alibaba v2023", uniqueColumn: "gpu_milli", dense: 10_200_000 * time.Second, read: parseAlibabaRow,
			columns: []string{"job_id", "submit_s", "duration_s", "num_gpu", "gpu_milli", "gpu_spec", "cpu_milli", "mem_mib", "qos", "phase"},
		},
	}
}

// maxRunTime is the longest run that is replayed. A longer job is cut to one segment
// between two checkpoints.
const maxRunTime = 24 * time.Hour

// maxRunSeconds is the longest duration, in seconds, that a trace may contain: ten years.
const maxRunSeconds = 10 * 365 * 86400

// ReadJobs reads a job trace and recognizes its format by its columns: Philly or Alibaba
// 2023. It validates the whole file, rows after the selection too.
func ReadJobs(r io.Reader, file string, take Selection) (TraceJobs, error) {
	t, err := openTable(r, file, "job_id", "submit_s", "duration_s")
	if err != nil {
		return TraceJobs{}, err
	}
	s, err := t.detectFormat()
	if err != nil {
		return TraceJobs{}, err
	}
	h := TraceJobs{Source: s.name, From: take.From}
	if take.From < 0 {
		h.From = s.dense
	}
	var all []traceEntry
	var last time.Duration
	seen := make(map[string]int)
	for t.nextRow() {
		id := t.nameField("job_id")
		if first, dup := seen[id]; dup {
			t.failAtRow("job_id %s is already in line %d: drop one of them", id, first)
		}
		seen[id] = t.line
		// Rows before the selection are parsed, too: a faulty file is an error wherever
		// the fault is.
		e := traceEntry{record: TraceJob{Submit: time.Duration(t.integerField("submit_s", 0, maxRunSeconds)) * time.Second}}
		run := time.Duration(t.integerField("duration_s", 0, maxRunSeconds)) * time.Second
		e.record.Job, e.leftOut = s.read(t)
		e.record.Job.ID = protocol.JobID(id)
		// A job of zero seconds would have no end after its start.
		e.record.Job.Run = min(max(run, time.Second), maxRunTime)
		e.truncated = run > maxRunTime
		last = max(last, e.record.Submit)
		if e.record.Submit >= h.From {
			all = append(all, e)
		}
	}
	switch {
	case t.err != nil:
		return TraceJobs{}, t.err
	case len(seen) == 0:
		return TraceJobs{}, fmt.Errorf("trace: %s: no jobs after the header: add rows or name another trace", file)
	case len(all) == 0:
		return TraceJobs{}, fmt.Errorf("trace: %s: no job from second %.0f on, the last is submitted in second %.0f: begin earlier, by `from` of the scenario's jobs or --jobs-from",
			file, h.From.Seconds(), last.Seconds())
	}
	return h.selectJobs(all, take.Max, s, file)
}

// An traceEntry is a record with the outcome of the selection.
type traceEntry struct {
	record    TraceJob
	leftOut   string // why the job is left out; "" if it is taken
	truncated bool
}

// detectFormat returns the source whose identifying column the table has.
func (t *csvTable) detectFormat() (traceFormat, error) {
	all := traceFormats()
	i := slices.IndexFunc(all, func(s traceFormat) bool { return t.hasColumn(s.uniqueColumn) })
	if i < 0 {
		return traceFormat{}, fmt.Errorf("trace: %s:1: unknown job trace format: want a column vc (philly) or gpu_milli (alibaba v2023); has %q",
			t.file, t.cols)
	}
	for _, w := range all[i].columns {
		if !t.hasColumn(w) {
			return traceFormat{}, fmt.Errorf("trace: %s:1: missing column %q: a %s trace has %s", t.file, w, all[i].name, strings.Join(all[i].columns, ", "))
		}
	}
	return all[i], nil
}

// selectJobs keeps the first most jobs by submission time and notes how many were left out
// and cut, and why.
func (h TraceJobs) selectJobs(all []traceEntry, most int, s traceFormat, file string) (TraceJobs, error) {
	slices.SortStableFunc(all, func(a, b traceEntry) int {
		if c := a.record.Submit - b.record.Submit; c != 0 {
			// Submissions are whole seconds; dividing keeps the difference within an
			// int on 32-bit machines.
			return int(c / time.Second)
		}
		return strings.Compare(string(a.record.Job.ID), string(b.record.Job.ID))
	})
	cut := 0
	var why []string
	count := make(map[string]int)
	for _, e := range all {
		if len(h.Records) == most {
			break
		}
		if e.leftOut != "" {
			if count[e.leftOut]++; count[e.leftOut] == 1 {
				why = append(why, e.leftOut)
			}
			continue
		}
		if e.truncated {
			cut++
		}
		h.Records = append(h.Records, e.record)
	}
	if len(h.Records) == 0 {
		return TraceJobs{}, fmt.Errorf("trace: %s: all %d jobs from second %.0f on are left out: %s", file, len(all), h.From.Seconds(), strings.Join(why, "; "))
	}
	if s.assume != "" {
		h.Notes = append(h.Notes, s.assume)
	}
	if len(h.Records) < most {
		h.Notes = append(h.Notes, fmt.Sprintf("the trace has %d jobs from second %.0f on; %d were asked for", len(h.Records), h.From.Seconds(), most))
	}
	for _, w := range why {
		h.Notes = append(h.Notes, fmt.Sprintf("%d jobs left out: %s", count[w], w))
	}
	if cut > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("%d jobs run longer than 24 h and are cut to one segment of 24 h", cut))
	}
	return h, nil
}

// parsePhillyRow parses a row of the Philly trace of 2017. The trace has no CPU and memory;
// the source's assume note states the values used.
func parsePhillyRow(t *csvTable) (protocol.Job, string) {
	gpus := int(t.integerField("gpus", 1, 4096))
	if gpus > MaxGPUs {
		return protocol.Job{}, "over 8 GPUs, and one job runs on one node"
	}
	n := protocol.Milli(gpus)
	return protocol.Job{
		Tenant: t.nameField("vc"), GPUs: gpus, Share: 1000,
		CPU: n * 4000, Memory: protocol.MiB(n) * 32 * 1024,
	}, ""
}

// alibabaPriorities maps the QoS classes of the Alibaba trace (latency-sensitive,
// guaranteed, burstable, best effort) to job priorities.
var alibabaPriorities = map[string]int{"LS": 100, "Guaranteed": 100, "Burstable": 50, "BE": 0}

// parseAlibabaRow parses a row of the Alibaba GPU trace of 2023. CPU is in millicores, memory
// in MiB, gpu_milli in thousandths of one GPU.
func parseAlibabaRow(t *csvTable) (protocol.Job, string) {
	j := protocol.Job{
		Tenant: t.nameField("qos"),
		GPUs:   int(t.integerField("num_gpu", 0, MaxGPUs)),
		CPU:    protocol.Milli(t.integerField("cpu_milli", 0, 1000*maxCores)),
		Memory: protocol.MiB(t.integerField("mem_mib", 0, maxMemory)),
	}
	share := protocol.Milli(t.integerField("gpu_milli", 0, 1000))
	priority, known := alibabaPriorities[t.textField("qos")]
	switch {
	case !known:
		t.failField("qos", "LS, Guaranteed, Burstable or BE")
	case j.GPUs == 0 && share != 0, j.GPUs == 1 && share == 0, j.GPUs > 1 && share != 1000:
		t.failField("gpu_milli", fmt.Sprintf("a share that fits %d GPUs: 0 for none, 1..1000 for one, 1000 for several", j.GPUs))
	case j.GPUs == 0 && j.CPU == 0:
		t.failField("cpu_milli", "more than 0 for a job without GPUs")
	}
	j.Priority = priority
	if j.GPUs > 0 {
		j.Share = share
		j.Models = parseModels(t)
	}
	if t.textField("phase") == "Pending" {
		return j, "never ran (phase Pending), so their run time is unknown"
	}
	return j, ""
}

// parseModels parses "A|B": the job may run on any of these models. An empty field allows
// all models.
func parseModels(t *csvTable) []string {
	spec := t.textField("gpu_spec")
	if spec == "" {
		return nil
	}
	list := strings.Split(spec, "|")
	if len(list) > 64 || slices.ContainsFunc(list, func(m string) bool { return m == "" || len(m) > maxNameBytes }) {
		t.failField("gpu_spec", "1..64 names of models with | between them, or nothing")
	}
	return list
}
