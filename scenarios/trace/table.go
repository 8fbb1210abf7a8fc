package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A csvTable reads a table with a header, row by row. The first error is kept in err and
// later ones are dropped, so a caller may read all fields of a row and check err
// once.
type csvTable struct {
	// file names the input in errors.
	file string
	text unpackedFile
	rows rowReader
	cols []string       // header; nil while the header is read
	at   map[string]int // index of each column
	row  []string
	line int // of row; the header of a CSV is line 1
	err  error

	whole bool // row was read to its end, so that what is wrong with it is wrong with no other
}

// openTable reads the header of a CSV, gzipped or plain, and requires the columns of want.
func openTable(r io.Reader, file string, want ...string) (*csvTable, error) {
	text, err := openUnpacked(r, file)
	if err != nil {
		return nil, err
	}
	return newTable(text, file, newCSVRows(text), want...)
}

// newTable reads the header of a table whose rows a reader splits.
func newTable(text unpackedFile, file string, rows rowReader, want ...string) (*csvTable, error) {
	t := &csvTable{file: file, text: text, rows: rows}
	if !t.nextRow() {
		if t.err == nil {
			t.err = fmt.Errorf("trace: %s: empty file: want a table with a header", file)
		}
		return nil, t.err
	}
	return t, t.setColumns(t.row, want...)
}

// setColumns sets the header.
func (t *csvTable) setColumns(names []string, want ...string) error {
	t.cols, t.at = names, make(map[string]int, len(names))
	for i, c := range names {
		c = strings.TrimSpace(c)
		if _, twice := t.at[c]; twice {
			return fmt.Errorf("trace: %s:%d: duplicate column %q: rename one", t.file, t.line, c)
		}
		names[i], t.at[c] = c, i
	}
	for _, w := range want {
		if !t.hasColumn(w) {
			return fmt.Errorf("trace: %s:%d: missing column %q: want %s; has %q", t.file, t.line, w, strings.Join(want, ", "), t.cols)
		}
	}
	return nil
}

// nextRow advances to the next row and skips empty lines. It returns false at the end of
// the file and after an error.
func (t *csvTable) nextRow() bool {
	if t.err != nil {
		return false
	}
	row, line, err := t.rows.readRow()
	t.row, t.line, t.whole = row, line, err == nil && line <= maxRows
	switch {
	case errors.Is(err, errLineTooLong):
		t.failAtRow("line longer than %d bytes, or a quote that is not closed: check that the file is a table", maxLineBytes)
	case err != nil && t.text.left.N <= 0:
		t.failAtRow("over %d bytes unpacked: split or shorten the file", maxTableBytes)
	case errors.Is(err, io.EOF):
	case err != nil:
		t.failAtRow("%w: write a quote within a field twice, and a field with quotes or commas in quotes", err)
	case line > maxRows:
		t.failAtRow("over %d lines: split or shorten the file", maxRows)
	case t.cols != nil && len(row) != len(t.cols):
		t.failAtRow("%d fields, but the header has %d: correct the line or drop it", len(row), len(t.cols))
	}
	return err == nil && t.err == nil
}

// dropBadRow moves the error of the row to others, so that the next row is read. It reports false, and
// leaves the error, if what is wrong is not of this row alone.
func (t *csvTable) dropBadRow(to *[]error) bool {
	if !t.whole || t.text.from.err != nil {
		return false
	}
	*to = append(*to, t.err)
	t.err = nil
	return true
}

// failAtRow records the first error with the current line. If reading was interrupted, the
// row is incomplete, so the read error is reported instead of the row's apparent
// fault.
func (t *csvTable) failAtRow(format string, args ...any) {
	broken := t.text.from.err
	switch {
	case t.err != nil:
	case errors.Is(broken, io.ErrUnexpectedEOF):
		t.err = fmt.Errorf("trace: %s:%d: the file is truncated here: fetch it again", t.file, t.line)
	case broken != nil:
		t.err = fmt.Errorf("trace: %s:%d: %w: fetch the file again", t.file, t.line, broken)
	default:
		t.err = fmt.Errorf("trace: %s:%d: %w", t.file, t.line, fmt.Errorf(format, args...))
	}
}

// failField records that a field of the row is invalid and what is expected.
func (t *csvTable) failField(col, want string) {
	t.failAtRow("%s is %q: want %s; correct the line or drop it", col, t.textField(col), want)
}

// hasColumn reports whether the header has a column.
func (t *csvTable) hasColumn(col string) bool { _, has := t.at[col]; return has }

// textField returns the row's field in a column, without surrounding blanks; "" if the
// table lacks the column.
func (t *csvTable) textField(col string) string {
	if i, has := t.at[col]; has && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// nameField returns a field that names something: 1 to 100 bytes of printable UTF-8. Names
// appear in errors and reports, so control characters that would move a terminal's
// cursor are refused.
func (t *csvTable) nameField(col string) string {
	s := t.textField(col)
	if !isName(s) {
		t.failField(col, nameWanted)
	}
	return s
}

// isName reports whether a text can name something.
func isName(s string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	return s != "" && len(s) <= maxNameBytes && utf8.ValidString(s) && !strings.ContainsFunc(s, odd)
}

// nameWanted is what an error says of a text that is no name.
var nameWanted = fmt.Sprintf("a name of 1..%d bytes that can be printed", maxNameBytes)

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
		t.failField(col, numberWanted(lo, hi))
		return 0
	}
	return int64(math.Round(v * 1000))
}

// integerOfNumber returns a field that holds a number of lo..hi, rounded down to a whole one.
func (t *csvTable) integerOfNumber(col string, lo, hi int64) int64 {
	v, err := strconv.ParseFloat(t.textField(col), 64)
	if err != nil || !(v >= float64(lo) && v <= float64(hi)) {
		t.failField(col, fmt.Sprintf("a number of %d..%d", lo, hi))
		return lo
	}
	return int64(math.Floor(v))
}
