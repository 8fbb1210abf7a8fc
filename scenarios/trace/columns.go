package trace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// JobColumns say where Gridbid's own columns of a job trace come from: a column of the file, as
// "runtime"; the same times or divided by a number, as "hours*3600" and "plan_gpu/100"; for a name
// also several columns, as "job+task"; or "" for a column that the trace has and that shall not be
// taken.
type JobColumns map[string]string

// A columnSource is a column of a file, and by what its numbers are multiplied.
type columnSource struct {
	column string // "": none
	factor float64
	more   []string // columns that are added to the name in column
}

// A mappedColumn is one of Gridbid's own columns with its source in a file.
type mappedColumn struct {
	ownColumn
	source columnSource
}

// ParseJobColumns checks names and factors of columns. It does not know the file.
func ParseJobColumns(columns JobColumns) error {
	var faults []error
	for _, own := range slices.Sorted(maps.Keys(columns)) {
		if !slices.ContainsFunc(ownColumns, func(c ownColumn) bool { return c.name == own }) {
			faults = append(faults, fmt.Errorf("trace: %q is none of Gridbid's columns: want OWN=COLUMN with OWN one of %s", own, strings.Join(OwnColumnNames(), ", ")))
		}
	}
	return errors.Join(faults...)
}

// OwnColumnNames returns the names of all columns of Gridbid's own format.
func OwnColumnNames() (names []string) {
	for _, c := range ownColumns {
		names = append(names, c.name)
	}
	return names
}

// parseSource reads where a column comes from. A name of the file goes before the same text read
// as a name with a factor.
func (t *csvTable) parseSource(text string) (columnSource, error) {
	text = strings.TrimSpace(text)
	if text == "" || t.hasColumn(text) {
		return columnSource{column: text, factor: 1}, nil
	}
	if parts := strings.Split(text, "+"); len(parts) > 1 && !slices.ContainsFunc(parts, func(c string) bool { return !t.hasColumn(strings.TrimSpace(c)) }) {
		for i, c := range parts {
			parts[i] = strings.TrimSpace(c)
		}
		return columnSource{column: parts[0], factor: 1, more: parts[1:]}, nil
	}
	i := strings.LastIndexAny(text, "*/")
	if i > 0 && t.hasColumn(strings.TrimSpace(text[:i])) {
		f, err := strconv.ParseFloat(strings.TrimSpace(text[i+1:]), 64)
		if err != nil || !(f >= 1e-9 && f <= 1e9) {
			return columnSource{}, fmt.Errorf("trace: --jobs-columns: %q: want a number from 1e-9 to 1e9 after the %c", text, text[i])
		}
		if text[i] == '/' {
			f = 1 / f
		}
		return columnSource{column: strings.TrimSpace(text[:i]), factor: f}, nil
	}
	return columnSource{}, fmt.Errorf("trace: %s: no column %q, which --jobs-columns names: it has %q", t.file, text, t.cols)
}

// mapColumns returns Gridbid's columns that are read of each row after what the format reads: those
// that the caller names and, in a table of Gridbid's own, those that it has.
func (t *csvTable) mapColumns(s traceFormat, columns JobColumns) (out []mappedColumn, err error) {
	if err := ParseJobColumns(columns); err != nil {
		return nil, err
	}
	for _, own := range ownColumns {
		text, named := columns[own.name]
		if !named {
			if s.name != ownFormatName || !t.hasColumn(own.name) {
				continue
			}
			text = own.name
		}
		source, err := t.parseSource(text)
		if err != nil {
			return nil, err
		}
		switch {
		case source.factor != 1 && !own.number:
			return nil, fmt.Errorf("trace: --jobs-columns: %s=%s: %s is no number, so it cannot be multiplied", own.name, text, own.name)
		case source.more != nil && own.name != "job_id":
			return nil, fmt.Errorf("trace: --jobs-columns: %s=%s: only a job_id is made of several columns", own.name, text)
		}
		out = append(out, mappedColumn{own, source})
	}
	return out, nil
}

// ownFormatName is what a table of Gridbid's own columns is called.
const ownFormatName = "own columns"

// ownFormat returns the format of a table with Gridbid's own columns, after checking that it has,
// or that the caller names, those without which no job can be read.
func (t *csvTable) ownFormat(columns JobColumns) (traceFormat, error) {
	has := func(own string) bool {
		text, named := columns[own]
		return text != "" || !named && t.hasColumn(own)
	}
	lacks := ""
	switch {
	case !has("job_id"):
		lacks = "job_id"
	case !has("submit_s") && !has("submit_time") && !has("start_s") && !has("start_time"):
		lacks = "submit_time or submit_s"
	case !has("duration_s") && !(has("start_s") && has("end_s")) && !(has("start_time") && has("end_time")):
		lacks = "duration_s, or start_time and end_time"
	case !has("gpus") && !has("cpus"):
		lacks = "gpus or cpus"
	}
	if lacks != "" {
		return traceFormat{}, fmt.Errorf("trace: %s:1: unknown job trace format: it lacks %s of Gridbid's own columns; say where that is with --jobs-columns, as --jobs-columns duration_s=runtime (docs/own-jobs.md); has %q",
			t.file, lacks, t.cols)
	}
	return traceFormat{name: ownFormatName, noteRest: true, readJob: func(*csvTable, *draftJob) bool { return true }}, nil
}
