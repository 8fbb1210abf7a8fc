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

// Limits of a file. They bound memory and time for hostile input.
const (
	mostLine  = 64 << 10  // bytes of one line
	mostRows  = 1_000_000 // lines, header included
	mostBytes = 512 << 20 // bytes after unpacking
)

// A table reads a CSV with a header, row by row. The first error is kept in err and later ones are dropped, so a
// caller may read all fields of a row and check err once.
type table struct {
	// file names the input in errors.
	file string
	in   *bufio.Scanner    // lines
	left *io.LimitedReader // bounds unpacked bytes; N <= 0: the file is too large
	from *watch            // keeps the underlying read error
	cols []string          // header; nil while the header is read
	row  []string
	line int // of row; the header is line 1
	err  error
}

// open reads the header of a CSV, gzipped or plain, and requires the columns of want.
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
			t.err = fmt.Errorf("trace: %s: empty file: want a CSV with a header", file)
		}
		return nil, t.err
	}
	t.cols = t.row
	for i, c := range t.cols {
		t.cols[i] = strings.TrimSpace(strings.TrimPrefix(c, "\ufeff"))
	}
	for i, c := range t.cols {
		if slices.Contains(t.cols[:i], c) {
			return nil, fmt.Errorf("trace: %s:1: duplicate column %q: rename one", file, c)
		}
	}
	for _, w := range want {
		if !t.has(w) {
			return nil, fmt.Errorf("trace: %s:1: missing column %q: want %s; has %q", file, w, strings.Join(want, ", "), t.cols)
		}
	}
	return t, nil
}

// next advances to the next row and skips empty lines. It returns false at the end of the file and after an error.
func (t *table) next() bool {
	for t.err == nil && t.in.Scan() {
		t.line++
		text := strings.TrimSuffix(t.in.Text(), "\r")
		switch {
		case text == "":
			continue
		case strings.Contains(text, `"`):
			t.fail("quoted fields are not supported: write fields without quotes and commas")
		case t.line > mostRows:
			t.fail("over %d lines: split or shorten the file", mostRows)
		default:
			t.row = strings.Split(text, ",")
			if t.cols != nil && len(t.row) != len(t.cols) {
				t.fail("%d fields, but the header has %d: correct the line or drop it", len(t.row), len(t.cols))
			}
		}
		return t.err == nil
	}
	t.ended()
	return false
}

// A watch keeps the read error of its source: bufio.Scanner may hide it behind a malformed last row.
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

// ended sets err if the scanner stopped for another reason than the end of the file.
func (t *table) ended() {
	switch err := t.in.Err(); {
	case t.err != nil:
	case err != nil:
		t.line++
		t.fail("line longer than %d bytes: check that the file is a CSV", mostLine)
	case t.left.N <= 0:
		t.fail("over %d bytes unpacked: split or shorten the file", mostBytes)
	}
}

// fail records the first error with the current line. If reading was interrupted, the row is incomplete, so the
// read error is reported instead of the row's apparent fault.
func (t *table) fail(format string, args ...any) {
	broken := t.from.err
	switch {
	case t.err != nil:
	case errors.Is(broken, io.ErrUnexpectedEOF):
		t.err = fmt.Errorf("trace: %s:%d: the file is truncated here: fetch it again", t.file, t.line)
	case broken != nil:
		t.err = fmt.Errorf("trace: %s:%d: %w: fetch the file again", t.file, t.line, broken)
	default:
		t.err = fmt.Errorf("trace: %s:%d: %s", t.file, t.line, fmt.Sprintf(format, args...))
	}
}

// wrong records that a field of the row is invalid and what is expected.
func (t *table) wrong(col, want string) {
	t.fail("%s is %q: want %s; correct the line or drop it", col, t.text(col), want)
}

func (t *table) has(col string) bool { return slices.Contains(t.cols, col) }

// text returns the row's field in a column, without surrounding blanks; "" if the table lacks the column.
func (t *table) text(col string) string {
	if i := slices.Index(t.cols, col); i >= 0 && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// name returns a field that names something: 1 to 100 bytes of printable UTF-8. Names appear in errors and reports,
// so control characters that would move a terminal's cursor are refused.
func (t *table) name(col string) string {
	s := t.text(col)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || len(s) > mostName || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		t.wrong(col, fmt.Sprintf("a name of 1..%d bytes that can be printed", mostName))
	}
	return s
}

const mostName = 100

// whole returns a field that holds a whole number of lo..hi.
func (t *table) whole(col string, lo, hi int64) int64 {
	n, err := strconv.ParseInt(t.text(col), 10, 64)
	if err != nil || n < lo || n > hi {
		t.wrong(col, fmt.Sprintf("a whole number of %d..%d", lo, hi))
		return lo
	}
	return n
}

// thousandths returns a field that holds a finite number of lo..hi, times 1000 and rounded to the nearest integer.
func (t *table) thousandths(col string, lo, hi float64) int64 {
	v, err := strconv.ParseFloat(t.text(col), 64)
	if err != nil || !(v >= lo && v <= hi) {
		t.wrong(col, fmt.Sprintf("a finite number of %g..%g", lo, hi))
		return 0
	}
	return int64(math.Round(v * 1000))
}
