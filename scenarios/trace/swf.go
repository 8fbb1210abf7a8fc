package trace

import (
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// swfColumns name the 18 fields of the Standard Workload Format, version 2.2, by its definition
// (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). -1 is a field that is not known.
var swfColumns = []string{
	"job_number", "submit_time", "wait_time", "run_time", "allocated_processors", "average_cpu_time", "used_memory",
	"requested_processors", "requested_time", "requested_memory", "status", "user_id", "group_id", "executable",
	"queue", "partition", "preceding_job", "think_time",
}

// isSWF recognizes the Standard Workload Format by the first line of a file: a comment, or 18 numbers.
func isSWF(first string) bool {
	if strings.HasPrefix(first, ";") {
		return true
	}
	fields := strings.Fields(first)
	if len(fields) != len(swfColumns) {
		return false
	}
	for _, f := range fields {
		if _, err := strconv.ParseFloat(f, 64); err != nil {
			return false
		}
	}
	return true
}

// swfHeader is what is used of the comments of a SWF file.
type swfHeader struct{ start int64 } // when its clock begins, in seconds since 1970; 0: not said

// readComment takes what is used of a comment, as "; UnixStartTime: 1115640000".
func (h *swfHeader) readComment(line string) {
	key, value, _ := strings.Cut(strings.TrimLeft(line, "; \t"), ":")
	if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && strings.EqualFold(strings.TrimSpace(key), "UnixStartTime") && n > 0 && n <= maxUnixSeconds {
		h.start = n
	}
}

// newSWFTable returns a table of a file in the Standard Workload Format, and the format.
func newSWFTable(text unpackedFile, file string) (*csvTable, traceFormat) {
	head := new(swfHeader)
	rows := newLineRows(text, func(line string) []string {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, ";") {
			head.readComment(line)
			return nil
		}
		return strings.Fields(line)
	})
	t := &csvTable{file: file, text: text, rows: rows, cols: swfColumns, at: make(map[string]int)}
	for i, c := range swfColumns {
		t.at[c] = i
	}
	return t, traceFormat{name: "swf", noteRest: true, readJob: head.readJob}
}

// readJob reads a job. A processor counts as a core, since the format knows no GPUs.
func (h *swfHeader) readJob(t *csvTable, d *draftJob) bool {
	d.id = t.nameField("job_number")
	known := func(column string, most int64) (int64, bool) {
		n := t.integerOfNumber(column, -1, most)
		return n, n >= 0
	}
	if s, ok := known("submit_time", maxRunSeconds); ok {
		d.submit = seconds(h.start + s)
	}
	run, ran := known("run_time", maxRunSeconds)
	if status, _ := known("status", 100); ran && (run > 0 || status != 5) { // 5: cancelled, before it began if it has no run time
		d.run = seconds(run)
	}
	processors, ok := known("requested_processors", 1<<31)
	if !ok || processors == 0 {
		processors, ok = known("allocated_processors", 1<<31)
	}
	if ok && processors > 0 {
		d.setCores(protocol.Milli(1000 * processors))
	} else {
		d.leaveOut("they have no number of processors")
	}
	kib, ok := known("requested_memory", 1<<40)
	if !ok || kib == 0 {
		kib, ok = known("used_memory", 1<<40)
	}
	if m := protocol.MiB(kib * max(processors, 1) / 1024); ok && kib > 0 && d.leftOut == "" {
		m = min(m, maxMemory)
		d.memory = &m
	}
	if user, ok := known("user_id", 1<<31); ok {
		d.record.Job.Tenant = "user-" + strconv.FormatInt(user, 10)
	}
	return true
}
