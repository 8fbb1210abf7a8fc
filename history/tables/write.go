package tables

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// A Writer writes the rows of one table in one format.
type Writer interface {
	WriteRow(row []any) error
	// Close ends the table. It does not close what the table is written to.
	Close() error
}

// Formats are the names of the formats; each is also the ending of its files.
func Formats() []string { return []string{"csv", "json", "parquet"} }

// NewWriter returns a writer of a table in a format.
func NewWriter(out io.Writer, format string, t Table) (Writer, error) {
	switch format {
	case "csv":
		w := csv.NewWriter(out)
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		return &csvWriter{w}, w.Write(names)
	case "json":
		return &jsonWriter{out: bufio.NewWriter(out), columns: t.Columns}, nil
	case "parquet":
		return newParquetWriter(out, t), nil
	}
	return nil, fmt.Errorf("no format %q: want %s", format, strings.Join(Formats(), ", "))
}

// A csvWriter writes CSV by RFC 4180.
type csvWriter struct{ csv *csv.Writer }

// WriteRow implements Writer.
func (w *csvWriter) WriteRow(row []any) error {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = csvCell(v)
	}
	return w.csv.Write(cells)
}

// Close implements Writer.
func (w *csvWriter) Close() error {
	w.csv.Flush()
	return w.csv.Error()
}

// csvCell returns a value as a cell. A text that a spreadsheet would run as a formula is made safe.
func csvCell(v any) string {
	switch v := v.(type) {
	case string:
		return printer.SafeCell(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case protocol.Time:
		return isoTime(v)
	}
	return ""
}

// isoTime returns an instant in a form that databases and spreadsheets read.
func isoTime(t protocol.Time) string { return t.StdTime().Format("2006-01-02T15:04:05.000Z") }

// A jsonWriter writes one array, with one object on each line.
type jsonWriter struct {
	out     *bufio.Writer
	columns []Column
	rows    int
}

// WriteRow implements Writer.
func (w *jsonWriter) WriteRow(row []any) error {
	var b bytes.Buffer
	b.WriteString(map[bool]string{true: "[\n{", false: ",\n{"}[w.rows == 0])
	w.rows++
	for i, v := range row {
		if i > 0 {
			b.WriteByte(',')
		}
		if t, ok := v.(protocol.Time); ok {
			v = isoTime(t)
		}
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q:%s", w.columns[i].Name, value)
	}
	b.WriteByte('}')
	_, err := w.out.Write(b.Bytes())
	return err
}

// Close implements Writer.
func (w *jsonWriter) Close() error {
	end := "\n]\n"
	if w.rows == 0 {
		end = "[]\n"
	}
	_, err := w.out.WriteString(end)
	return errors.Join(err, w.out.Flush())
}

// A parquetWriter writes Parquet. Its columns are in the order of their names, as the library has
// them.
type parquetWriter struct {
	out     *parquet.GenericWriter[any]
	at      []int // of each column of the table, its index in the file
	columns []Column
}

// newParquetWriter returns a writer of Parquet, compressed with Snappy, in which every column may
// have no value.
func newParquetWriter(out io.Writer, t Table) *parquetWriter {
	group := make(parquet.Group)
	for _, c := range t.Columns {
		group[c.Name] = parquet.Optional(parquetNode(c.Kind))
	}
	schema := parquet.NewSchema(t.Name, group)
	index := make(map[string]int)
	for i, path := range schema.Columns() {
		index[path[0]] = i
	}
	w := &parquetWriter{out: parquet.NewGenericWriter[any](out, schema, parquet.Compression(&parquet.Snappy)), columns: t.Columns}
	for _, c := range t.Columns {
		w.at = append(w.at, index[c.Name])
	}
	return w
}

// parquetNode returns the type of a column.
func parquetNode(k Kind) parquet.Node {
	switch k {
	case Integer:
		return parquet.Int(64)
	case Number:
		return parquet.Leaf(parquet.DoubleType)
	case Instant:
		return parquet.Timestamp(parquet.Millisecond)
	case Flag:
		return parquet.Leaf(parquet.BooleanType)
	}
	return parquet.String()
}

// WriteRow implements Writer.
func (w *parquetWriter) WriteRow(row []any) error {
	values := make(parquet.Row, len(row))
	for i, v := range row {
		if t, ok := v.(protocol.Time); ok {
			v = int64(t)
		}
		at := w.at[i]
		if v == nil {
			values[at] = parquet.NullValue().Level(0, 0, at)
		} else {
			values[at] = parquet.ValueOf(v).Level(0, 1, at)
		}
	}
	_, err := w.out.WriteRows([]parquet.Row{values})
	return err
}

// Close implements Writer.
func (w *parquetWriter) Close() error { return w.out.Close() }
