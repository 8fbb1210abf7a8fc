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
	maxLineBytes  = 64 << 10  // bytes of one line
	maxRows       = 1_000_000 // lines, header included
	maxTableBytes = 512 << 20 // bytes after unpacking
)

// A csvTable reads a CSV with a header, row by row. The first error is kept in err and
// later ones are dropped, so a caller may read all fields of a row and check err
// once.
type csvTable struct {
	// file names the input in errors.
	file string
	in   *bufio.Scanner        // lines
	left *io.LimitedReader     // bounds unpacked bytes; N <= 0: the file is too large
	from *errorRecordingReader // keeps the underlying read error
	cols []string              // header; nil while the header is read
	row  []string
	line int // of row; the header is line 1
	err  error
}

// openTable reads the header of a CSV, gzipped or plain, and requires the columns of want.
func openTable(r io.Reader, file string, want ...string) (*csvTable, error) {
	b := bufio.NewReader(r)
	var plain io.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("trace: %s: gzip header: %w: fetch the file again", file, err)
		}
		plain = z
	}
	from := &errorRecordingReader{r: plain}
	left := &io.LimitedReader{R: from, N: maxTableBytes}
	t := &csvTable{file: file, in: bufio.NewScanner(left), left: left, from: from}
	t.in.Buffer(nil, maxLineBytes)
	if !t.nextRow() {
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
		if !t.hasColumn(w) {
			return nil, fmt.Errorf("trace: %s:1: missing column %q: want %s; has %q", file, w, strings.Join(want, ", "), t.cols)
		}
	}
	return t, nil
}

// nextRow advances to the next row and skips empty lines. It returns false at the end of
// the file and after an error.
func (t *csvTable) nextRow() bool {
	for t.err == nil && t.in.Scan() {
		t.line++
		text := strings.TrimSuffix(t.in.Text(), "\r")
		switch {
		case text == "":
			continue
		case strings.Contains(text, `"`):
			t.failAtRow("quoted fields are not supported: write fields without quotes and commas")
		case t.line > maxRows:
			t.failAtRow("over %d lines: split or shorten the file", maxRows)
		default:
			t.row = strings.Split(text, ",")
			if t.cols != nil && len(t.row) != len(t.cols) {
				t.failAtRow("%d fields, but the header has %d: correct the line or drop it", len(t.row), len(t.cols))
			}
		}
		return t.err == nil
	}
	t.recordScanError()
	return false
}

// A errorRecordingReader keeps the read error of its source: bufio.Scanner may hide it behind a
// malformed last row.
type errorRecordingReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (w *errorRecordingReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// recordScanError sets err if the scanner stopped for another reason than the end of the file.
func (t *csvTable) recordScanError() {
	switch err := t.in.Err(); {
	case t.err != nil:
	case err != nil:
		t.line++
		t.failAtRow("line longer than %d bytes: check that the file is a CSV", maxLineBytes)
	case t.left.N <= 0:
		t.failAtRow("over %d bytes unpacked: split or shorten the file", maxTableBytes)
	}
}

// failAtRow records the first error with the current line. If reading was interrupted, the
// row is incomplete, so the read error is reported instead of the row's apparent
// fault.
func (t *csvTable) failAtRow(format string, args ...any) {
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

// failField records that a field of the row is invalid and what is expected.
func (t *csvTable) failField(col, want string) {
	t.failAtRow("%s is %q: want %s; correct the line or drop it", col, t.textField(col), want)
}

// hasColumn reports whether the header has a column.
func (t *csvTable) hasColumn(col string) bool { return slices.Contains(t.cols, col) }

// textField returns the row's field in a column, without surrounding blanks; "" if the
// table lacks the column.
func (t *csvTable) textField(col string) string {
	if i := slices.Index(t.cols, col); i >= 0 && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// nameField returns a field that names something: 1 to 100 bytes of printable UTF-8. Names
// appear in errors and reports, so control characters that would move a terminal's
// cursor are refused.
func (t *csvTable) nameField(col string) string {
	s := t.textField(col)
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || len(s) > maxNameBytes || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		t.failField(col, fmt.Sprintf("a name of 1..%d bytes that can be printed", maxNameBytes))
	}
	return s
}

const maxNameBytes = 100

// integerField returns a field that holds a whole number of lo..hi.
func (t *csvTable) integerField(col string, lo, hi int64) int64 {
	n, err := strconv.ParseInt(t.textField(col), 10, 64)
	if err != nil || n < lo || n > hi {
		t.failField(col, fmt.Sprintf("a whole number of %d..%d", lo, hi))
		return lo
	}
	return n
}

// thousandthsField returns a field that holds a finite number of lo..hi, times 1000 and
// rounded to the nearest integer.
func (t *csvTable) thousandthsField(col string, lo, hi float64) int64 {
	v, err := strconv.ParseFloat(t.textField(col), 64)
	if err != nil || !(v >= lo && v <= hi) {
		t.failField(col, fmt.Sprintf("a finite number of %g..%g", lo, hi))
		return 0
	}
	return int64(math.Round(v * 1000))
}
