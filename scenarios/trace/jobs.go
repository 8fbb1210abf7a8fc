package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A TraceJob is one job of a trace. Its Job has no arrival and deadline: Submit counts from the
// start of the trace's own clock, and Within from Submit.
type TraceJob struct {
	Submit time.Duration
	Job    protocol.Job
	Within time.Duration // from Submit to the deadline, if that is given
	Given  Given
	Line   int // in its file, for errors
}

// Given says which of the traits that are otherwise drawn the trace has for a job.
type Given struct{ Home, Deadline, Urgency, Regions, Input, Pause bool }

// A Selection selects consecutive jobs of a trace.
type Selection struct {
	From time.Duration // in the trace's clock; negative: start of the dense part
	Max  int           // jobs at most
	// SkipBad leaves out malformed rows and lists them in the notes, in place of refusing the file.
	SkipBad bool
	// OneNode leaves out jobs of more GPUs than a node has, in place of making gangs of them.
	OneNode bool
}

// A TraceJobs is the selected part of a trace.
type TraceJobs struct {
	Source  string // as "philly"
	From    time.Duration
	Day     time.Time  // midnight, UTC, from which the clock counts; zero: the trace has no dates
	Records []TraceJob // by submission, then id
	Notes   []string   // assumptions, cuts and omissions, in words; they enter the scenario's hash
}

// A traceFormat describes one trace format.
type traceFormat struct {
	name    string
	columns []string // columns that the format requires
	// uniqueColumn identifies the format: no format after it in traceFormats has it.
	uniqueColumn string
	dense        time.Duration // start of the dense part, in the trace's clock; 0: its first job
	assume       string        // assumption to note, or ""
	// noteRest has the notes say how many jobs of the trace are not taken.
	noteRest bool
	// readJob reads a row; false: the row is no job.
	readJob func(t *csvTable, d *draftJob) bool
}

// traceFormats lists the known formats of CSV files. In Philly's trace GPU jobs get dense after a
// month, in Alibaba's after 10.2 million seconds; replays begin there by default.
func traceFormats() []traceFormat {
	return []traceFormat{
		{
			name: "openb pods", uniqueColumn: "creation_time", dense: 10_200_000 * time.Second, readJob: readOpenbJob, noteRest: true,
			columns: []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time"},
		},
		{
			name: "alibaba v2023", uniqueColumn: "gpu_milli", dense: 10_200_000 * time.Second, readJob: readAlibabaJob,
			columns: []string{"job_id", "submit_s", "duration_s", "num_gpu", "gpu_milli", "gpu_spec", "cpu_milli", "mem_mib", "qos", "phase"},
		},
		{
			name: "philly", uniqueColumn: "vc", columns: []string{"job_id", "submit_s", "duration_s", "gpus", "vc"},
			dense: 30 * 24 * time.Hour, readJob: readPhillyJob,
			assume: "the trace has no processors and memory: 4 cores and 32 GiB for each GPU",
		},
	}
}

// maxRunTime is the longest run that is replayed. A longer job is cut to one segment
// between two checkpoints.
const maxRunTime = 24 * time.Hour

// maxRunSeconds is the longest duration, in seconds, that a trace may contain: ten years.
const maxRunSeconds = 10 * 365 * 86400

// ReadJobs reads a job trace and recognizes its format: the Standard Workload Format by its
// comments, a dump of sacct by its columns and bars, CSV by its columns. Columns, which may be
// nil, say where Gridbid's own columns come from; they go before what the format says. ReadJobs
// validates the whole file, rows after the selection too.
func ReadJobs(r io.Reader, file string, take Selection, columns JobColumns) (TraceJobs, error) {
	t, s, err := openJobs(r, file, columns)
	if err != nil {
		return TraceJobs{}, err
	}
	mapped, err := t.mapColumns(s, columns)
	if err != nil {
		return TraceJobs{}, err
	}
	h := TraceJobs{Source: s.name, From: take.From}
	var all []draftJob
	seen := make(map[string]int)
	var bad []error
	rows := 0
	for {
		isRow := t.nextRow()
		if isRow {
			rows++
			// Rows before the selection are read, too: a faulty file is an error wherever the fault is.
			if d, isJob := t.readDraft(s, mapped, seen); isJob && t.err == nil {
				seen[d.id] = t.line
				all = append(all, d)
			}
		}
		if take.SkipBad && t.err != nil && t.dropBadRow(&bad) {
			continue
		}
		if !isRow {
			break
		}
	}
	switch {
	case t.err != nil:
		return TraceJobs{}, t.err
	case len(all) == 0 && len(bad) > 0:
		return TraceJobs{}, fmt.Errorf("%w; it is the first of %d malformed rows, beside which there is no job", bad[0], len(bad))
	case rows == 0:
		return TraceJobs{}, fmt.Errorf("trace: %s: no jobs after the header: add rows or name another trace", file)
	case len(all) == 0:
		return TraceJobs{}, fmt.Errorf("trace: %s: %d rows, and none of them is a job: name another trace", file, rows)
	}
	h.noteBadRows(bad)
	h.rebase(all)
	all, err = h.dropEarlier(all, s, file)
	if err != nil {
		return TraceJobs{}, err
	}
	return h.selectJobs(all, take, s, file)
}

// readDraft reads the job of a row; false: the row is no job.
func (t *csvTable) readDraft(s traceFormat, mapped []mappedColumn, seen map[string]int) (d draftJob, isJob bool) {
	d.line = t.line
	if !s.readJob(t, &d) {
		return d, false
	}
	for _, c := range mapped {
		c.read(t, c.source, &d)
	}
	t.complete(&d)
	if first, dup := seen[d.id]; dup {
		t.failAtRow("job_id %s is already in line %d: drop one of them; of an export, write one policy alone (gridbid export --policy NAME)", d.id, first)
	}
	return d, true
}

// mostBadRows is how many malformed rows the notes list.
const mostBadRows = 100

// noteBadRows counts and lists rows that were skipped.
func (h *TraceJobs) noteBadRows(bad []error) {
	if len(bad) == 0 {
		return
	}
	h.Notes = append(h.Notes, fmt.Sprintf("malformed rows that were skipped: %d", len(bad)))
	for i, err := range bad {
		if i == mostBadRows {
			h.Notes = append(h.Notes, fmt.Sprintf("and %d malformed rows more", len(bad)-i))
			break
		}
		h.Notes = append(h.Notes, "skipped: "+strings.TrimPrefix(err.Error(), "trace: "))
	}
}

// openJobs opens a job trace of any format, and returns the format.
func openJobs(r io.Reader, file string, columns JobColumns) (*csvTable, traceFormat, error) {
	text, err := openUnpacked(r, file)
	if err != nil {
		return nil, traceFormat{}, err
	}
	switch first := text.firstLine(); {
	case isSWF(first):
		t, s := newSWFTable(text, file)
		return t, s, nil
	case isSacct(first):
		t, err := newTable(text, file, newLineRows(text, func(line string) []string { return strings.Split(line, "|") }), sacctColumns...)
		return t, sacctFormat(), err
	}
	t, err := newTable(text, file, newCSVRows(text))
	if err != nil {
		return nil, traceFormat{}, err
	}
	s, err := t.detectFormat(columns)
	return t, s, err
}

// detectFormat returns the format whose identifying column the table has. Columns that the caller
// names make any other table one of Gridbid's own.
func (t *csvTable) detectFormat(columns JobColumns) (traceFormat, error) {
	for _, s := range traceFormats() {
		if !t.hasColumn(s.uniqueColumn) {
			continue
		}
		lacks := slices.IndexFunc(s.columns, func(c string) bool { return !t.hasColumn(c) })
		switch {
		case lacks < 0:
			return s, nil
		case len(columns) == 0:
			return traceFormat{}, fmt.Errorf("trace: %s:1: missing column %q: a %s trace has %s; of a file of your own, --jobs-columns says where its columns are",
				t.file, s.columns[lacks], s.name, strings.Join(s.columns, ", "))
		}
	}
	return t.ownFormat(columns)
}

// rebase moves the clock of a trace whose times are dates to the midnight, UTC, before its first
// job, so that seconds are few and arrivals keep their time of day.
func (h *TraceJobs) rebase(all []draftJob) {
	const unixTimes = 1_000_000_000 * time.Second // as seconds: 2001; no trace is 30 years long
	first := slices.MinFunc(all, func(a, b draftJob) int { return cmp.Compare(a.record.Submit, b.record.Submit) }).record.Submit
	if first < unixTimes {
		return
	}
	midnight := first.Truncate(24 * time.Hour)
	for i := range all {
		all[i].record.Submit -= midnight
	}
	h.Day = time.Unix(int64(midnight/time.Second), 0).UTC()
	h.Notes = append(h.Notes, fmt.Sprintf("seconds of the trace count from %s", h.Day.Format(time.RFC3339)))
}

// dropEarlier removes the jobs before the selection. By default that begins where the trace gets
// dense, if it has jobs from there on, and else with its first job.
func (h *TraceJobs) dropEarlier(all []draftJob, s traceFormat, file string) ([]draftJob, error) {
	first, last := all[0].record.Submit, all[0].record.Submit
	for _, d := range all {
		first, last = min(first, d.record.Submit), max(last, d.record.Submit)
	}
	if h.From < 0 {
		if h.From = s.dense; last < h.From || s.dense == 0 {
			h.From = first
		}
	}
	if last < h.From {
		return nil, fmt.Errorf("trace: %s: no job from second %.0f on, the last is submitted in second %.0f: begin earlier, by `from` of the scenario's jobs or --jobs-from",
			file, h.From.Seconds(), last.Seconds())
	}
	return slices.DeleteFunc(all, func(d draftJob) bool { return d.record.Submit < h.From }), nil
}

// selectJobs keeps the first jobs by submission time and notes how many were left out and cut, and why.
func (h TraceJobs) selectJobs(all []draftJob, take Selection, s traceFormat, file string) (TraceJobs, error) {
	most := take.Max
	slices.SortStableFunc(all, func(a, b draftJob) int {
		return cmp.Or(cmp.Compare(a.record.Submit, b.record.Submit), strings.Compare(a.id, b.id))
	})
	cut, rest := 0, 0
	var leftOut, assumed wordCount
	for i, d := range all {
		if len(h.Records) == most {
			rest = len(all) - i
			break
		}
		if take.OneNode && d.pods > 0 {
			d.leftOut = overEightGPUs
		}
		if d.leftOut != "" {
			leftOut.count(d.leftOut)
			continue
		}
		if d.cut {
			cut++
		}
		for _, what := range d.assumed {
			assumed.count(what)
		}
		h.Records = append(h.Records, d.record)
	}
	if len(h.Records) == 0 {
		return TraceJobs{}, fmt.Errorf("trace: %s: all %d jobs from second %.0f on are left out: %s", file, len(all), h.From.Seconds(), strings.Join(leftOut.words, "; "))
	}
	if s.assume != "" {
		h.Notes = append(h.Notes, s.assume)
	}
	if len(h.Records) < most {
		h.Notes = append(h.Notes, fmt.Sprintf("the trace has %d jobs from second %.0f on; %d were asked for", len(h.Records), h.From.Seconds(), most))
	}
	if rest > 0 && s.noteRest {
		h.Notes = append(h.Notes, fmt.Sprintf("the trace has up to %d jobs more: --max-jobs takes more than %d", rest, most))
	}
	for _, w := range assumed.words {
		h.Notes = append(h.Notes, fmt.Sprintf("%d jobs: %s", assumed.times[w], w))
	}
	for _, w := range leftOut.words {
		h.Notes = append(h.Notes, fmt.Sprintf("%d jobs left out: %s", leftOut.times[w], w))
	}
	if cut > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("%d jobs run longer than 24 h and are cut to one segment of 24 h", cut))
	}
	return h, nil
}

// A wordCount counts phrases, in the order in which they first come.
type wordCount struct {
	words []string
	times map[string]int
}

// count counts a phrase once more.
func (c *wordCount) count(what string) {
	if c.times == nil {
		c.times = make(map[string]int)
	}
	if c.times[what]++; c.times[what] == 1 {
		c.words = append(c.words, what)
	}
}
