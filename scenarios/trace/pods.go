package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A Pod is one row of an openb pod list, which Alibaba published in 2023.
type Pod struct {
	Name   string
	CPU    protocol.Milli
	Memory protocol.MiB
	GPUs   int            // 0..8
	Share  protocol.Milli // of each GPU: 1..1000, below 1000 only with one; 0 without GPUs
	Models []string       // that it may run on; nil: any, and without GPUs
	Line   int            // in its file, for errors

	// Created and Deleted are seconds since the trace's start, both 0 if the list has
	// no times.
	Created, Deleted int64
}

// ReadPods reads a pod list with the columns name, cpu_milli, memory_mib, num_gpu and
// gpu_milli and, if present, gpu_spec, creation_time and deletion_time.
func ReadPods(r io.Reader, file string) ([]Pod, error) {
	t, err := openTable(r, file, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
	if err != nil {
		return nil, err
	}
	var pods []Pod
	seen := make(map[string]int)
	for t.nextRow() {
		p := t.podOfRow("name", "memory_mib")
		p.Created, p.Deleted = t.secondsField("creation_time"), t.secondsField("deletion_time")
		if first, dup := seen[p.Name]; dup {
			t.failAtRow("pod %s is already in line %d: drop one of them", p.Name, first)
		}
		seen[p.Name] = t.line
		pods = append(pods, p)
	}
	if t.err == nil && len(pods) == 0 {
		t.failAtRow("no pods after the header: add rows or name another file")
	}
	return pods, t.err
}

// A PodRun is a pod with the time that it ran.
type PodRun struct {
	Pod
	Seconds    int64
	BestEffort bool
}

// ReadPodRuns reads Alibaba's trace of 2023, in the columns of its jobs (see ReadJobs), as pods.
// Pods that never ran have zero seconds.
func ReadPodRuns(r io.Reader, file string) ([]PodRun, error) {
	t, err := openTable(r, file, "duration_s", "num_gpu", "gpu_milli", "gpu_spec", "cpu_milli", "mem_mib", "qos")
	if err != nil {
		return nil, err
	}
	var out []PodRun
	for t.nextRow() {
		out = append(out, PodRun{t.podOfRow("", "mem_mib"), t.integerField("duration_s", 0, maxRunSeconds), t.textField("qos") == "BE"})
	}
	if t.err == nil && len(out) == 0 {
		t.failAtRow("no pods after the header: add rows or name another file")
	}
	return out, t.err
}

// podOfRow reads what a row asks for. A share above a whole GPU counts as one, as in the published
// program; the models of a pod without GPUs are not read. An empty id column names no pod.
func (t *csvTable) podOfRow(id, memory string) Pod {
	p := Pod{
		Line:   t.line,
		CPU:    protocol.Milli(t.integerField("cpu_milli", 0, 1000*maxCores)),
		Memory: protocol.MiB(t.integerField(memory, 0, maxMemory)),
		GPUs:   int(t.integerField("num_gpu", 0, MaxGPUs)),
	}
	if id != "" {
		p.Name = t.nameField(id)
	}
	share := min(protocol.Milli(t.integerField("gpu_milli", 0, 1_000_000)), 1000)
	switch {
	case p.GPUs == 1 && share == 0, p.GPUs > 1 && share != 1000:
		t.failField("gpu_milli", fmt.Sprintf("a share that fits %d GPUs: 1..1000 for one, 1000 for several", p.GPUs))
	case p.GPUs > 0:
		p.Share, p.Models = share, t.modelsField("gpu_spec")
	}
	return p
}

// secondsField returns a time that may be missing: then it is 0.
func (t *csvTable) secondsField(column string) int64 {
	if t.textField(column) == "" {
		return 0
	}
	return t.integerField(column, 0, maxRunSeconds)
}

// modelsField parses "A|B": the job may run on any of these models. An empty field allows
// all models.
func (t *csvTable) modelsField(column string) []string {
	spec := t.textField(column)
	if spec == "" {
		return nil
	}
	list := splitNames(spec)
	if list == nil {
		t.failField(column, "1..64 names with | between them, or nothing")
	}
	return list
}

// splitNames splits "A|B"; nil if a part is no name, or if there are more than 64.
func splitNames(text string) []string {
	list := strings.Split(text, "|")
	for i, name := range list {
		list[i] = strings.TrimSpace(name)
	}
	if len(list) > 64 || slices.ContainsFunc(list, func(m string) bool { return !isName(m) }) {
		return nil
	}
	return list
}

// podPriorities maps the QoS classes of Alibaba's traces (latency-sensitive, guaranteed,
// burstable, best effort) to job priorities.
var podPriorities = map[string]int{"LS": 100, "Guaranteed": 100, "Burstable": 50, "BE": 0}

// readPod reads what Alibaba's traces of jobs and the pod lists have in common.
func readPod(t *csvTable, d *draftJob, id, memory, phase string) {
	p := t.podOfRow(id, memory)
	j := &d.record.Job
	d.id, d.cpu, d.memory = p.Name, &p.CPU, &p.Memory
	j.GPUs, j.Share, j.Models = p.GPUs, p.Share, p.Models
	j.Tenant = t.nameField("qos")
	priority, known := podPriorities[j.Tenant]
	switch {
	case !known:
		t.failField("qos", "LS, Guaranteed, Burstable or BE")
	case p.GPUs == 0 && p.CPU == 0:
		t.failField("cpu_milli", "more than 0 for a job without GPUs")
	}
	j.Priority = priority
	if t.textField(phase) == "Pending" {
		d.leaveOut(neverRan)
	}
}

// readAlibabaJob reads a row of the Alibaba GPU trace of 2023. CPU is in millicores, memory
// in MiB, gpu_milli in thousandths of one GPU.
func readAlibabaJob(t *csvTable, d *draftJob) bool {
	d.submit = seconds(t.integerField("submit_s", 0, maxRunSeconds))
	d.run = seconds(t.integerField("duration_s", 0, maxRunSeconds))
	readPod(t, d, "job_id", "mem_mib", "phase")
	return true
}

// readOpenbJob reads a row of an openb pod list. A pod ran from when it was scheduled, or from its
// creation if the list does not say when, until it was deleted.
func readOpenbJob(t *csvTable, d *draftJob) bool {
	readPod(t, d, "name", "memory_mib", "pod_phase")
	created := t.integerField("creation_time", 0, maxRunSeconds)
	d.submit, d.start = seconds(created), seconds(created)
	if t.textField("scheduled_time") != "" {
		d.start = seconds(t.integerField("scheduled_time", 0, maxRunSeconds))
	}
	d.end = seconds(t.integerField("deletion_time", 0, maxRunSeconds))
	return true
}
