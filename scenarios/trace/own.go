package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An ownColumn is one column of Gridbid's own format.
type ownColumn struct {
	name   string
	number bool // its values can be multiplied by the factor of a columnSource
	// read sets what the field says. An empty field is as no column: nothing is given.
	read func(t *csvTable, s columnSource, d *draftJob)
}

// ownColumns lists all columns of Gridbid's own format; docs/own-jobs.md explains them.
var ownColumns = []ownColumn{
	{"job_id", false, func(t *csvTable, s columnSource, d *draftJob) { d.id = t.nameOf(s) }},
	{"submit_time", false, func(t *csvTable, s columnSource, d *draftJob) { d.submit = t.instantOf(s, d) }},
	{"submit_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.submit = t.secondsOf(s) }},
	{"start_time", false, func(t *csvTable, s columnSource, d *draftJob) { d.start = t.instantOf(s, d) }},
	{"start_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.start = t.secondsOf(s) }},
	{"end_time", false, func(t *csvTable, s columnSource, d *draftJob) { d.end = t.instantOf(s, d) }},
	{"end_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.end = t.secondsOf(s) }},
	{"duration_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.run = t.secondsOf(s) }},
	{"gpus", true, readGPUs},
	{"cpus", true, readCPUs},
	{"memory_gib", true, readMemory},
	{"gpu_memory_gib", true, func(t *csvTable, s columnSource, d *draftJob) { d.record.Job.GPUMemory = t.gibOf(s) }},
	{"models", false, func(t *csvTable, s columnSource, d *draftJob) { d.record.Job.Models = t.namesOf(s) }},
	{"tenant", false, func(t *csvTable, s columnSource, d *draftJob) { d.record.Job.Tenant = t.optionalNameOf(s) }},
	{"priority", true, func(t *csvTable, s columnSource, d *draftJob) {
		d.record.Job.Priority = int(math.Round(t.numberOf(s, -1000, 1000)))
	}},
	{"home", false, func(t *csvTable, s columnSource, d *draftJob) {
		d.record.Job.Home = t.optionalNameOf(s)
		d.record.Given.Home = d.record.Job.Home != ""
	}},
	{"regions", false, func(t *csvTable, s columnSource, d *draftJob) {
		d.record.Job.Regions = t.namesOf(s)
		d.record.Given.Regions = d.record.Job.Regions != nil
	}},
	{"urgency", false, readUrgency},
	{"deadline_time", false, func(t *csvTable, s columnSource, d *draftJob) { d.deadline = t.instantOf(s, d) }},
	{"deadline_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.deadline = t.secondsOf(s) }},
	{"within_s", true, func(t *csvTable, s columnSource, d *draftJob) { d.within = t.secondsOf(s) }},
	{"input_gib", true, func(t *csvTable, s columnSource, d *draftJob) {
		d.record.Job.Input, d.record.Given.Input = t.gibOf(s), t.textField(s.column) != ""
	}},
	{"image", false, func(t *csvTable, s columnSource, d *draftJob) { d.record.Job.Image = t.optionalNameOf(s) }},
	{"pause_s", true, readPause},
	{"checkpoint_gib", true, func(t *csvTable, s columnSource, d *draftJob) { d.record.Job.State = t.gibOf(s) }},
}

// readGPUs reads a number of whole GPUs, or a part of one as 0.25.
func readGPUs(t *csvTable, s columnSource, d *draftJob) {
	v := t.numberOf(s, 0, 1_000_000)
	whole := math.Round(v)
	switch {
	case v == 0:
		d.setGPUs(0, 0)
	case v < 0.9995: // in thousandths it is below 1
		d.setGPUs(1, max(1, protocol.Milli(math.Round(1000*v))))
	case math.Abs(v-whole) > 1e-6:
		t.failSource(s, "a whole number of GPUs, or a part of one below 1")
	default:
		d.setGPUs(int(whole), 1000)
	}
}

// readCPUs reads a number of cores, which may have a fraction.
func readCPUs(t *csvTable, s columnSource, d *draftJob) {
	if t.textField(s.column) == "" {
		d.cpu = nil
		return
	}
	d.setCores(protocol.Milli(math.Round(1000 * t.numberOf(s, 0, 1e9))))
}

// readMemory reads a job's memory.
func readMemory(t *csvTable, s columnSource, d *draftJob) {
	if t.textField(s.column) == "" {
		d.memory = nil
		return
	}
	m := t.gibOf(s)
	d.memory = &m
}

// readUrgency reads how dearly a job's waiting is held.
func readUrgency(t *csvTable, s columnSource, d *draftJob) {
	text := t.textField(s.column)
	if d.record.Given.Urgency = text != ""; text == "" {
		return
	}
	u, err := protocol.ParseUrgency(text)
	if err != nil {
		t.failSource(s, "now, standard or flexible")
	}
	d.record.Job.Urgency = u
}

// readPause reads what a pause costs a job in run time; 0 is a job that cannot be paused.
func readPause(t *csvTable, s columnSource, d *draftJob) {
	d.record.Given.Pause = t.textField(s.column) != ""
	d.record.Job.Pause = time.Duration(math.Round(t.numberOf(s, 0, 86400))) * time.Second
}

// failSource records that the field of a source is invalid and what is expected.
func (t *csvTable) failSource(s columnSource, want string) { t.failField(s.column, want) }

// nameOf returns a name that must be there, with points between its parts if it has several.
func (t *csvTable) nameOf(s columnSource) string {
	name := t.nameField(s.column)
	for _, c := range s.more {
		name += "." + t.nameField(c)
	}
	if !isName(name) {
		t.failSource(s, nameWanted)
	}
	return name
}

// optionalNameOf returns a name, or "".
func (t *csvTable) optionalNameOf(s columnSource) string {
	if t.textField(s.column) == "" {
		return ""
	}
	return t.nameField(s.column)
}

// namesOf returns a list of names with | between them, or nil.
func (t *csvTable) namesOf(s columnSource) []string { return t.modelsField(s.column) }

// numberOf returns a number of lo..hi, times the factor; 0 for an empty field.
func (t *csvTable) numberOf(s columnSource, lo, hi float64) float64 {
	text := t.textField(s.column)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	v *= s.factor
	if err != nil || !(v >= lo && v <= hi) {
		want := numberWanted(lo, hi)
		if s.factor != 1 {
			want += fmt.Sprintf(" after times %g", s.factor)
		}
		t.failSource(s, want)
		return 0
	}
	return v
}

// gibOf returns an amount of memory or data.
func (t *csvTable) gibOf(s columnSource) protocol.MiB {
	return protocol.MiB(math.Round(1024 * t.numberOf(s, 0, maxMemory/1024)))
}

// maxUnixSeconds is the last second that a time may have: the year 2200.
const maxUnixSeconds = 7_258_118_400

// secondsOf returns a number of seconds, rounded to whole ones, or nil for an empty field.
func (t *csvTable) secondsOf(s columnSource) *time.Duration {
	if t.textField(s.column) == "" {
		return nil
	}
	return seconds(int64(math.Round(t.numberOf(s, 0, maxUnixSeconds))))
}

// instantLayouts are how programs write times; a time without offset counts as UTC.
var instantLayouts = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z0700 MST", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// localLayouts are how many of the last layouts have no offset.
const localLayouts = 2

// instantOf returns a date and time, rounded down to seconds, as the time since 1970, or nil for
// an empty field.
func (t *csvTable) instantOf(s columnSource, d *draftJob) *time.Duration {
	text := t.textField(s.column)
	if text == "" {
		return nil
	}
	for i, layout := range instantLayouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if at.Unix() < 0 || at.Unix() > maxUnixSeconds {
			break
		}
		if i >= len(instantLayouts)-localLayouts && !strings.HasSuffix(text, "Z") {
			d.assume(timesWithoutUTC)
		}
		return seconds(at.Unix())
	}
	t.failSource(s, "a time as 2024-02-29T00:00:00Z, of 1970 to 2199")
	return nil
}
