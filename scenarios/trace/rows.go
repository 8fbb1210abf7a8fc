package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a file. They bound memory and time for hostile input.
const (
	maxLineBytes  = 64 << 10  // bytes of one line, or of one record whose quoted fields span lines
	maxRows       = 1_000_000 // lines, header included
	maxTableBytes = 512 << 20 // bytes after unpacking
)

// An unpackedFile is a file's text: unpacked if it was gzipped, without byte order mark, and
// bounded.
type unpackedFile struct {
	*bufio.Reader
	left *io.LimitedReader     // N <= 0: the file is too large
	from *errorRecordingReader // keeps the underlying read error
}

// openUnpacked recognizes gzip by its first two bytes, whatever the file is called.
func openUnpacked(r io.Reader, file string) (unpackedFile, error) {
	b := bufio.NewReader(r)
	var plain io.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return unpackedFile{}, fmt.Errorf("trace: %s: gzip header: %w: fetch the file again", file, err)
		}
		plain = z
	}
	from := &errorRecordingReader{r: plain}
	left := &io.LimitedReader{R: from, N: maxTableBytes}
	text := bufio.NewReaderSize(left, maxLineBytes)
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" { // spreadsheets write one
		_, _ = text.Discard(3) // three bytes were peeked
	}
	return unpackedFile{text, left, from}, nil
}

// firstLine returns the first line that is not blank, without consuming anything. It sees at most
// maxLineBytes.
func (u unpackedFile) firstLine() string {
	head, _ := u.Peek(maxLineBytes)
	for line := range bytes.Lines(head) {
		if text := strings.TrimSpace(string(line)); text != "" {
			return text
		}
	}
	return ""
}

// An errorRecordingReader keeps the read error of its source: a reader of rows may hide it behind
// a malformed last row.
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

// A rowReader reads the rows of a file, one by one. A row's line is that in which it begins.
type rowReader interface {
	readRow() (row []string, line int, err error)
}

// errLineTooLong ends a table with a line, or a quoted field, of over maxLineBytes.
var errLineTooLong = errors.New("line too long")

// csvRows reads the rows of a CSV by RFC 4180.
type csvRows struct {
	csv  *csv.Reader
	size *recordLimiter
	last int
}

// newCSVRows returns a reader of CSV rows.
func newCSVRows(in io.Reader) *csvRows {
	size := &recordLimiter{r: in}
	c := csv.NewReader(size)
	c.FieldsPerRecord = -1 // the table reports rows of other lengths itself
	return &csvRows{csv: c, size: size}
}

// readRow implements rowReader.
func (c *csvRows) readRow() ([]string, int, error) {
	c.size.read = 0
	row, err := c.csv.Read()
	var malformed *csv.ParseError
	switch {
	case errors.As(err, &malformed):
		return nil, malformed.Line, malformed.Err
	case err != nil:
		return nil, c.last + 1, err
	}
	c.last, _ = c.csv.FieldPos(len(row) - 1)
	line, _ := c.csv.FieldPos(0)
	return row, line, nil
}

// A recordLimiter ends a record that is too long, be it one line or a quote that is never closed:
// csv.Reader would hold the rest of the file in memory.
type recordLimiter struct {
	r    io.Reader
	read int // bytes since the record began, less those that csv.Reader had buffered
}

// Read implements io.Reader.
func (l *recordLimiter) Read(p []byte) (int, error) {
	if l.read > maxLineBytes {
		return 0, errLineTooLong
	}
	n, err := l.r.Read(p)
	l.read += n
	return n, err
}

// lineRows reads rows of one line each, which a function splits into fields; there are no quotes.
type lineRows struct {
	in    *bufio.Scanner
	split func(line string) []string // nil: the line is none of the table's
	line  int
}

// newLineRows returns a reader of rows of one line each.
func newLineRows(in io.Reader, split func(string) []string) *lineRows {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLineBytes)
	return &lineRows{in: s, split: split}
}

// readRow implements rowReader.
func (l *lineRows) readRow() ([]string, int, error) {
	for l.in.Scan() {
		l.line++
		text := strings.TrimSuffix(l.in.Text(), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if row := l.split(text); row != nil {
			return row, l.line, nil
		}
	}
	switch err := l.in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, l.line + 1, errLineTooLong
	case err != nil:
		return nil, l.line + 1, err
	}
	return nil, l.line + 1, io.EOF
}
