// Package printer prints what a command lists or shows, in the format that its user chose:
// a table, JSON, YAML, CSV or names. A command gives typed rows and columns; this package
// has one renderer for each format.
//
// Whatever the rows hold, no text of them moves a terminal's cursor, starts a column of its
// own, or is run as a formula by a spreadsheet.
package printer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// A Format is how something is printed.
type Format string

// The formats.
const (
	Table Format = "table" // aligned columns, for people
	Wide  Format = "wide"  // the same with the columns that few need
	JSON  Format = "json"
	YAML  Format = "yaml"
	CSV   Format = "csv"  // all columns
	Name  Format = "name" // the first column alone, a line per row
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(CSV), string(Name)}
}

// ParseFormat returns the format of a name.
func ParseFormat(text string) (Format, error) {
	if !slices.Contains(Formats(), text) {
		return "", fmt.Errorf("unknown format %q%s: want %s", text, nearest.DidYouMean(text, Formats()), format.JoinWithOr(Formats()))
	}
	return Format(text), nil
}

// ErrNotAList is the error of a view without rows in a format that is made of rows.
var ErrNotAList = errors.New("there is no list here: want table, json or yaml")

// A View is what a command prints.
type View interface {
	// Print prints all of it.
	Print(w io.Writer, f Format) error
	// PrintChanges prints what differs from what was printed with the same Watched before:
	// at first all.
	PrintChanges(w io.Writer, f Format, seen *Watched) error
}

// A Column is one column of rows of type T.
type Column[T any] struct {
	Head string // of the table, in capitals
	// Value is a text, a number, a bool or a protocol.Time; nil where it is not known.
	Value func(T) any
	Verb  string // of fmt, for a number in a table; default %v
	Wide  bool   // left out of the plain table
	Moves bool   // changes as time passes: a watch prints no row for this column alone
}

// Key returns the name of a column in CSV, selectors and --sort: "usd_mwh" of USD/MWH.
func (c Column[T]) Key() string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(c.Head))
}

// A Listing is rows and their columns; the first column holds their names.
type Listing[T any] struct {
	Columns []Column[T]
	Rows    []T
	Data    any             // printed as JSON and YAML in place of Rows, if set
	Text    func(io.Writer) // prints for people in place of the table, if set
}

// Print implements View.
func (l Listing[T]) Print(w io.Writer, f Format) error {
	var out bytes.Buffer
	switch f {
	case JSON, YAML:
		data := l.Data
		if data == nil {
			data = append([]T{}, l.Rows...) // an empty list, and not null
		}
		if err := encodeValue(&out, data, f); err != nil {
			return err
		}
	case CSV, Name:
		if len(l.Columns) == 0 {
			return ErrNotAList
		}
		if f == Name {
			for _, row := range l.cells(CSV) {
				fmt.Fprintln(&out, row[0])
			}
			break
		}
		if err := writeCSV(&out, append([][]string{l.keys()}, l.cells(CSV)...)); err != nil {
			return err
		}
	default:
		if l.Text != nil {
			l.Text(&out)
			break
		}
		all := append([][]string{l.heads(f)}, l.cells(f)...)
		writeAligned(&out, all, widen(nil, all))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// columns returns the columns that a format shows.
func (l Listing[T]) columns(f Format) (out []Column[T]) {
	for _, c := range l.Columns {
		if !c.Wide || f != Table && f != "" {
			out = append(out, c)
		}
	}
	return out
}

// heads returns the headings of a table.
func (l Listing[T]) heads(f Format) (out []string) {
	for _, c := range l.columns(f) {
		out = append(out, c.Head)
	}
	return out
}

// keys returns the keys of all columns.
func (l Listing[T]) keys() (out []string) {
	for _, c := range l.Columns {
		out = append(out, c.Key())
	}
	return out
}

// cells returns the rows as text.
func (l Listing[T]) cells(f Format) (out [][]string) {
	columns := l.columns(f)
	for _, row := range l.Rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			if f == CSV {
				cells[i] = dataCell(c.Value(row))
			} else {
				cells[i] = tableCell(c.Value(row), c.Verb)
			}
		}
		out = append(out, cells)
	}
	return out
}

// tableCell returns a value as a cell of a table; what is empty or not known is a dash, so
// that the cell stays visible.
func tableCell(value any, verb string) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case bool:
		return map[bool]string{true: "yes", false: "-"}[v]
	case protocol.Time:
		if v == 0 {
			return "-"
		}
		return v.StdTime().Format("01-02 15:04:05")
	}
	if verb == "" {
		verb = "%v"
	}
	if text := format.CleanText(fmt.Sprintf(verb, value)); text != "" {
		return text
	}
	return "-"
}

// dataCell returns a value as a cell for programs: numbers with all their digits, times as
// RFC 3339, and nothing for what is not known.
func dataCell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case protocol.Time:
		if v == 0 {
			return ""
		}
		return v.String()
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.String:
		return strings.Map(format.LegibleRune, v.String())
	}
	return fmt.Sprint(value)
}

// SafeCell returns a text as a cell of a CSV file. A text that a spreadsheet would run as a
// formula gets an apostrophe before it, which spreadsheets hide; a number is never changed.
func SafeCell(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// writeCSV writes records as CSV.
func writeCSV(w io.Writer, records [][]string) error {
	out := csv.NewWriter(w)
	for _, record := range records {
		safe := make([]string, len(record))
		for i, cell := range record {
			safe[i] = SafeCell(cell)
		}
		if err := out.Write(safe); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// widen returns the widths in characters that columns need to hold the cells of all rows,
// none below what it was.
func widen(was []int, rows [][]string) []int {
	widths := slices.Clone(was)
	for _, row := range rows {
		for i, cell := range row {
			if i >= len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// writeAligned writes rows with two spaces between their columns; the last cell of a row is
// not padded.
func writeAligned(w io.Writer, rows [][]string, widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				fmt.Fprintln(w, cell)
				continue
			}
			fmt.Fprint(w, cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
	}
}

// WriteJSON writes a value as indented JSON. Characters that would move a terminal's cursor
// are escaped, as names come from other parties.
func WriteJSON(w io.Writer, value any) error { return encodeValue(w, value, JSON) }

// encodeValue writes a value as JSON or YAML, both by its json tags.
func encodeValue(w io.Writer, value any, f Format) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if f == JSON {
		_, err = w.Write(append(protocol.EscapeUnprintable(text), '\n'))
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return format.LegibleRune(r)
	}, string(text)))
	return err
}
