package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A Watched is what a watch has printed so far. The zero value has printed nothing.
type Watched struct {
	rows   map[string]string // by name: what a row said when it was printed last
	widths []int             // of the table's columns, which only grow
	begun  bool
}

// PrintChanges implements View: it prints rows that are new, or that differ from when they
// were printed last. JSON is one line per row.
func (l Listing[T]) PrintChanges(w io.Writer, f Format, seen *Watched) error {
	if seen.rows == nil {
		seen.rows = make(map[string]string)
	}
	changed := l
	changed.Rows, changed.Data = nil, nil
	same := make(map[string]int) // rows may share a name, as events of one instant do: each is known by its turn
	for _, row := range l.Rows {
		name, says := l.digestOf(row)
		same[name]++
		name = fmt.Sprintf("%s\t%d", name, same[name])
		if was, known := seen.rows[name]; !known || was != says {
			changed.Rows = append(changed.Rows, row)
			seen.rows[name] = says
		}
	}
	first := !seen.begun
	seen.begun = true
	if len(changed.Rows) == 0 && !first {
		return nil
	}
	var out strings.Builder
	switch {
	case f == JSON:
		for _, row := range changed.Rows {
			line, err := json.Marshal(row)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s\n", protocol.EscapeUnprintable(line))
		}
	case f == YAML:
		for _, row := range changed.Rows {
			fmt.Fprintln(&out, "---")
			if err := encodeValue(&out, row, YAML); err != nil {
				return err
			}
		}
	case f == CSV:
		records := changed.cells(CSV)
		if first {
			records = append([][]string{l.keys()}, records...)
		}
		if err := writeCSV(&out, records); err != nil {
			return err
		}
	case f == Name || l.Text != nil:
		return changed.Print(w, f)
	default:
		rows := changed.cells(f)
		if first {
			rows = append([][]string{l.heads(f)}, rows...)
		}
		seen.widths = widen(seen.widths, rows)
		writeAligned(&out, rows, seen.widths)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// digestOf returns the name of a row, and all it says in columns that do not move by
// themselves.
func (l Listing[T]) digestOf(row T) (name, says string) {
	var all []string
	for i, c := range l.Columns {
		cell := dataCell(c.Value(row))
		if i == 0 {
			name = cell
		}
		if !c.Moves {
			all = append(all, cell)
		}
	}
	return name, strings.Join(all, "\t")
}
