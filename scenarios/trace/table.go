package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a file.
const (
	mostLine  = 64 << 10 // bytes
	mostRows  = 1_000_000
	mostBytes = 512 << 20 // unpacked
)

// A table reads a CSV with a header, row by row. Its first error stays: the
// fields of a row may be read one after another and err looked at once.
type table struct {
	file string
	in   *bufio.Scanner
	left *io.LimitedReader
	from *watch
	cols []string
	row  []string
	line int // of row; the header is line 1
	err  error
}

// open reads the header of a CSV, gzipped or plain, and wants columns in it.
func open(r io.Reader, file string, want ...string) (*table, error) {
	b := bufio.NewReader(r)
	var plain io.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("trace: %s: gzip header: %w: fetch the file again", file, err)
		}
		plain = z
	}
	from := &watch{r: plain}
	left := &io.LimitedReader{R: from, N: mostBytes}
	t := &table{file: file, in: bufio.NewScanner(left), left: left, from: from}
	t.in.Buffer(nil, mostLine)
	if !t.next() {
		if t.err == nil {
			t.err = fmt.Errorf("trace: %s: empty: want a CSV with a header", file)
		}
		return nil, t.err
	}
	t.cols = t.row
	for i, c := range t.cols {
		t.cols[i] = strings.TrimSpace(strings.TrimPrefix(c, "\ufeff"))
	}
	for i, c := range t.cols {
		if slices.Contains(t.cols[:i], c) {
			return nil, fmt.Errorf("trace: %s:1: column %q stands twice: rename one", file, c)
		}
	}
	for _, w := range want {
		if !t.has(w) {
			return nil, fmt.Errorf("trace: %s:1: no column %q: want %s; has %q", file, w, strings.Join(want, ", "), t.cols)
		}
	}
	return t, nil
}

// next goes to the next row, past empty lines. It is false at the end and on
// an error.
func (t *table) next() bool {
	for t.err == nil && t.in.Scan() {
		t.line++
		text := strings.TrimSuffix(t.in.Text(), "\r")
		switch {
		case text == "":
			continue
		case strings.Contains(text, `"`):
			t.fail("a quoted field: write fields without quotes and commas")
		case t.line > mostRows:
			t.fail("over %d lines: cut the file", mostRows)
		default:
			t.row = strings.Split(text, ",")
			if t.cols != nil && len(t.row) != len(t.cols) {
				t.fail("%d fields: the header has %d; correct the line or drop it", len(t.row), len(t.cols))
			}
		}
		return t.err == nil
	}
	t.ended()
	return false
}

// A watch remembers why reading stopped.
type watch struct {
	r   io.Reader
	err error
}

func (w *watch) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// ended turns why the scanner stopped into an error for people.
func (t *table) ended() {
	switch err := t.in.Err(); {
	case t.err != nil:
	case err != nil:
		t.line++
		t.fail("longer than %d bytes: this is no CSV of ours", mostLine)
	case t.left.N <= 0:
		t.fail("over %d bytes unpacked: cut the file", mostBytes)
	}
}

// fail keeps the first error, at the row. A row that makes no sense because the
// file broke off within it is not what to complain of.
func (t *table) fail(format string, args ...any) {
	broken := t.from.err
	switch {
	case t.err != nil:
	case errors.Is(broken, io.ErrUnexpectedEOF):
		t.err = fmt.Errorf("trace: %s:%d: the file is cut off here: fetch it again", t.file, t.line)
	case broken != nil:
		t.err = fmt.Errorf("trace: %s:%d: %w: fetch the file again", t.file, t.line, broken)
	default:
		t.err = fmt.Errorf("trace: %s:%d: %s", t.file, t.line, fmt.Sprintf(format, args...))
	}
}

// wrong says that a field of the row is not what it must be.
func (t *table) wrong(col, want string) {
	t.fail("%s is %q: want %s; correct the line or drop it", col, t.text(col), want)
}

func (t *table) has(col string) bool { return slices.Contains(t.cols, col) }

// text is the row's field of a column, "" without that column.
func (t *table) text(col string) string {
	if i := slices.Index(t.cols, col); i >= 0 && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// name is a field that names something: not empty, of at most 100 bytes, with
// nothing in it that would move a terminal's cursor, since people are told of it.
func (t *table) name(col string) string {
	s := t.text(col)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || len(s) > mostName || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		t.wrong(col, fmt.Sprintf("a name of 1..%d bytes that can be printed", mostName))
	}
	return s
}

const mostName = 100

// whole is a field that holds a whole number of lo..hi.
func (t *table) whole(col string, lo, hi int64) int64 {
	n, err := strconv.ParseInt(t.text(col), 10, 64)
	if err != nil || n < lo || n > hi {
		t.wrong(col, fmt.Sprintf("a whole number of %d..%d", lo, hi))
		return lo
	}
	return n
}

// thousandths is a field that holds a finite number of lo..hi, times 1000 and
// rounded.
func (t *table) thousandths(col string, lo, hi float64) int64 {
	v, err := strconv.ParseFloat(t.text(col), 64)
	if err != nil || !(v >= lo && v <= hi) {
		t.wrong(col, fmt.Sprintf("a finite number of %g..%g", lo, hi))
		return 0
	}
	return int64(math.Round(v * 1000))
}
