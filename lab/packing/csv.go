package packing

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/agents/fgd"
)

// A PodRow is one row of a pod list.
type PodRow struct {
	Name    string
	Request fgd.Request
	Line    int // in its file, for errors

	// Created and Deleted are seconds since the trace's start, both 0 if the list has
	// no times. The published runs ignore them.
	Created, Deleted int64
}

// maxRows is the largest amount in a row: far above any node, and small enough that sums
// do not overflow.
const maxRows = math.MaxInt32

// ReadNodes reads a node list with the columns sn, cpu_milli, memory_mib, gpu and
// model, in any order. Errors have the form "file:line: column: fault".
func ReadNodes(file string, r io.Reader) ([]fgd.Node, error) {
	t, err := openTable(file, r, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, err
	}
	var nodes []fgd.Node
	seen := map[string]int{}
	for t.nextRow() {
		n := fgd.Node{
			Name: t.nameField("sn", seen), CPU: t.integerField("cpu_milli", maxRows), Memory: t.integerField("memory_mib", maxRows),
			GPUs: int(t.integerField("gpu", fgd.MaxGPUs)), Model: t.textField("model"),
		}
		if strings.Contains(n.Model, "|") {
			t.failAtColumn("model", "%q has a |, which separates models", n.Model)
		}
		nodes = append(nodes, n)
	}
	if t.err == nil && len(nodes) == 0 {
		t.failAtColumn("sn", "no nodes")
	}
	return nodes, t.err
}

// ReadPods reads a pod list with the columns name, cpu_milli, memory_mib, num_gpu and
// gpu_milli and, if present, gpu_spec, creation_time and deletion_time. A GPU share
// above a whole device counts as one device (specification §1). Each model in
// gpu_spec must exist in nodes. Errors are as those of ReadNodes.
func ReadPods(file string, r io.Reader, nodes []fgd.Node) ([]PodRow, error) {
	t, err := openTable(file, r, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
	if err != nil {
		return nil, err
	}
	models := map[string]bool{}
	for _, n := range nodes {
		models[n.Model] = true
	}
	var pods []PodRow
	seen := map[string]int{}
	for t.nextRow() {
		p := PodRow{Name: t.nameField("name", seen), Line: t.line, Request: t.requestOfRow("memory_mib", models)}
		p.Created, p.Deleted = t.secondsField("creation_time"), t.secondsField("deletion_time")
		pods = append(pods, p)
	}
	if t.err == nil && len(pods) == 0 {
		t.failAtColumn("name", "no pods")
	}
	return pods, t.err
}

// csvTable reads a CSV file row by row; the first error ends it.
type csvTable struct {
	file   string
	csv    *csv.Reader
	column map[string]int
	row    []string
	line   int
	err    error
}

// openTable reads the header of a CSV, plain or gzipped.
func openTable(file string, r io.Reader, need ...string) (*csvTable, error) {
	b := bufio.NewReader(r)
	var plain io.Reader = b
	// Gzip is recognised by its first two bytes, whatever the file is called.
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: gzip header: %w: fetch the file again", file, err)
		}
		plain = z
	}
	t := &csvTable{file: file, csv: csv.NewReader(plain), column: map[string]int{}, line: 1}
	t.csv.ReuseRecord = true
	head, err := t.csv.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:1: empty file: want a CSV with a header", file)
		}
		return nil, t.csvError(err)
	}
	for i, name := range head {
		// Spreadsheets write a byte order mark before the first name.
		name = strings.TrimPrefix(strings.TrimSpace(name), "\ufeff")
		if _, twice := t.column[name]; twice {
			return nil, fmt.Errorf("%s:1: %s: duplicate column: rename one", file, name)
		}
		t.column[name] = i
	}
	for _, name := range need {
		if _, ok := t.column[name]; !ok {
			return nil, fmt.Errorf("%s:1: %s: missing column", file, name)
		}
	}
	return t, nil
}

// csvError adds file and line to an error of the CSV reader.
func (t *csvTable) csvError(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("%s:%d: %w", t.file, bad.Line, bad.Err)
	}
	return fmt.Errorf("%s:%d: %w", t.file, t.line, err)
}

// nextRow advances to the next row; false at the end or after an error.
func (t *csvTable) nextRow() bool {
	if t.err != nil {
		return false
	}
	row, err := t.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false
	case err != nil:
		t.err = t.csvError(err)
		return false
	}
	t.row = row
	t.line, _ = t.csv.FieldPos(0)
	return true
}

// failAtColumn records the first error, with the current line.
func (t *csvTable) failAtColumn(column, format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("%s:%d: %s: %s", t.file, t.line, column, fmt.Sprintf(format, args...))
	}
}

// textField returns a cell, or "" if the column is missing. It clones the string, because
// the row's memory is reused.
func (t *csvTable) textField(column string) string {
	i, ok := t.column[column]
	if !ok {
		return ""
	}
	return strings.Clone(strings.TrimSpace(t.row[i]))
}

// nameField returns a cell that must be non-empty and unique.
func (t *csvTable) nameField(column string, seen map[string]int) string {
	s := t.textField(column)
	if s == "" {
		t.failAtColumn(column, "empty")
	}
	if line, twice := seen[s]; twice {
		t.failAtColumn(column, "%q is already in line %d: drop one of them", s, line)
	}
	seen[s] = t.line
	return s
}

// integerField returns a whole number from 0 to limit.
func (t *csvTable) integerField(column string, limit int64) int64 {
	s := t.textField(column)
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && v > limit:
		t.failAtColumn(column, "%s is more than %d", s, limit)
	case err != nil:
		t.failAtColumn(column, "%q is not a whole number", s)
	case v < 0:
		t.failAtColumn(column, "%d is negative", v)
	default:
		return v
	}
	return 0
}

// requestOfRow returns the resource request of a row. Models of the row must be in models,
// unless models is nil.
func (t *csvTable) requestOfRow(memory string, models map[string]bool) fgd.Request {
	r := fgd.Request{CPU: t.integerField("cpu_milli", maxRows), Memory: t.integerField(memory, maxRows)}
	gpus, milli := t.integerField("num_gpu", fgd.MaxGPUs), min(t.integerField("gpu_milli", maxRows), 1000)
	switch {
	case gpus > 0 && milli == 0:
		t.failAtColumn("gpu_milli", "0 of each of %d GPUs", gpus)
	case gpus > 1 && milli < 1000:
		t.failAtColumn("gpu_milli", "a share of %d GPUs: only a single GPU can be shared", gpus)
	case gpus > 0:
		r.GPUs, r.Milli, r.Models = int(gpus), milli, t.modelsField("gpu_spec", models)
	}
	return r
}

// secondsField returns a time that may be missing.
func (t *csvTable) secondsField(column string) int64 {
	if t.textField(column) == "" {
		return 0
	}
	return t.integerField(column, math.MaxInt64/4)
}

// modelsField returns a list of models, "A|B" or "", after checking that they are known.
func (t *csvTable) modelsField(column string, known map[string]bool) string {
	spec := t.textField(column)
	if spec == "" {
		return ""
	}
	for name := range strings.SplitSeq(spec, "|") {
		if name == "" || known != nil && !known[name] {
			t.failAtColumn(column, "no node has model %q", name)
		}
	}
	return spec
}
