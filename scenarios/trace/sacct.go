package trace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// sacctColumns are the fields without which a dump of `sacct -P` has no jobs to replay.
var sacctColumns = []string{"JobID", "Submit", "Elapsed"}

// isSacct recognizes a dump of `sacct -P` by its header.
func isSacct(first string) bool {
	head := strings.Split(first, "|")
	return len(head) > 2 && strings.Contains("|"+first+"|", "|JobID|")
}

// sacctFormat is the format of `sacct -P`: fields with bars between them, one line for each job and
// for each of its steps.
func sacctFormat() traceFormat {
	return traceFormat{name: "sacct", noteRest: true, readJob: readSacctJob}
}

// readSacctJob reads a job; a step of a job (12.batch, 12.0) is a part of it and no job.
func readSacctJob(t *csvTable, d *draftJob) bool {
	d.id = t.nameField("JobID")
	if strings.Contains(d.id, ".") {
		return false
	}
	d.submit = t.instantOf(columnSource{column: "Submit"}, d)
	d.run = t.elapsedField("Elapsed")
	state, _, _ := strings.Cut(t.textField("State"), " ") // "CANCELLED by 1000"
	switch state {
	case "RUNNING", "PENDING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING":
		d.leaveOut(noRunTime)
	case "CANCELLED", "DEADLINE", "BOOT_FAIL", "REVOKED":
		if d.run != nil && *d.run == 0 {
			d.leaveOut(noRunTime)
		}
	}
	for _, column := range []string{"User", "Account"} { // an account is who pays, so it goes first
		if s := t.optionalNameOf(columnSource{column: column}); s != "" {
			d.record.Job.Tenant = s
		}
	}
	t.readTRES(d)
	return true
}

// readTRES reads what the job was given, or where it says so what it asked for: on nodes that are
// given out whole the two differ.
func (t *csvTable) readTRES(d *draftJob) {
	tres := make(map[string]string)
	columns := [2]string{"AllocTRES", "ReqTRES"}
	for _, column := range columns {
		for part := range strings.SplitSeq(t.textField(column), ",") {
			if key, value, ok := strings.Cut(part, "="); ok {
				tres[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
	}
	if !t.hasColumn(columns[0]) && !t.hasColumn(columns[1]) {
		t.failAtRow("no column AllocTRES or ReqTRES: dump with sacct -P --format=JobID,Account,Submit,Elapsed,State,ReqTRES,AllocTRES")
		return
	}
	whole := func(key, text string) int {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			t.failAtRow("TRES %s is %q: want a whole number; correct the line or drop it", key, text)
		}
		return int(n)
	}
	gpus, typed := 0, 0
	for _, key := range slices.Sorted(maps.Keys(tres)) {
		value := tres[key]
		switch model, ok := strings.CutPrefix(key, "gres/gpu:"); {
		case key == "gres/gpu":
			gpus = whole(key, value)
		case ok && isName(model):
			typed += whole(key, value)
			d.record.Job.Models = append(d.record.Job.Models, model)
		case key == "cpu":
			d.setCores(protocol.Milli(1000 * whole(key, value)))
		case key == "mem":
			d.memory = t.sacctMemory(value)
		}
	}
	if len(d.record.Job.Models) > 1 { // several models at once, of which one job takes one
		d.record.Job.Models = nil
		d.assume("the job had several models of GPU at once, and may take any")
	}
	d.setGPUs(max(gpus, typed), 1000)
	if nodes := tres["node"]; nodes != "" && nodes != "1" && d.pods == 0 {
		d.assume("the job had several nodes, and is replayed on one")
	}
	if d.cpu == nil && d.record.Job.GPUs == 0 {
		d.leaveOut("they asked for no cores and no GPUs")
	}
}

// sacctMemory reads an amount such as 64G, 4000M or 1.50T.
func (t *csvTable) sacctMemory(text string) *protocol.MiB {
	number, unit := text, "M"
	if n := len(text); n > 0 && strings.Contains("KMGTP", text[n-1:]) {
		number, unit = text[:n-1], text[n-1:]
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= map[string]float64{"K": 1.0 / 1024, "M": 1, "G": 1024, "T": 1 << 20, "P": 1 << 30}[unit]
	if err != nil || !(v >= 0 && v <= maxMemory) {
		t.failAtRow("TRES mem is %q: want an amount as 64G, at most 64T; correct the line or drop it", text)
		return nil
	}
	m := protocol.MiB(v)
	return &m
}

// elapsedField reads [DD-]HH:MM:SS or MM:SS; nil for an empty field.
func (t *csvTable) elapsedField(column string) *time.Duration {
	text := t.textField(column)
	if text == "" {
		return nil
	}
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	total, err := strconv.ParseUint(days, 10, 16)
	if len(parts) < 2 || len(parts) > 3 {
		err = fmt.Errorf("%d parts", len(parts))
	}
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	for i, p := range parts {
		n, bad := strconv.ParseUint(p, 10, 16)
		if bad != nil {
			err = bad
		}
		total = total*[]uint64{24, 60, 60}[min(i, 2)] + n
	}
	if err != nil || total > maxRunSeconds {
		t.failField(column, "a time as 1-02:03:04, of ten years at most")
		return nil
	}
	return seconds(int64(total))
}
