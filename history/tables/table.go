package tables

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Kind is what the values of a column are.
type Kind int

// Kinds of columns, with the Go type of their values. A nil value is one that there is not.
const (
	Text    Kind = iota // string
	Integer             // int64
	Number              // float64
	Instant             // protocol.Time
	Flag                // bool
)

// A Column is one column of a table.
type Column struct {
	Name string
	Kind Kind
}

// A Table is one kind of rows of a run.
type Table struct {
	Name    string
	Columns []Column
	NeedAll bool // its rows want a history that keeps all rounds in full (history.Config.All)
	rows    func(r Run) iter.Seq[[]any]
}

// A Run is a recorded run with what its messages do not say about it.
type Run struct {
	History *history.History
	Meta    history.Meta
}

// Rows returns the rows of a run, in the order of the table's columns.
func (t Table) Rows(r Run) iter.Seq[[]any] { return t.rows(r) }

// All returns all tables.
func All() []Table {
	return []Table{jobsTable(), sitesTable(), roundsTable(), bidsTable(), signalsTable(), paymentsTable(), chargesTable()}
}

// Named returns the table of a name.
func Named(name string) (Table, error) {
	all := All()
	i := slices.IndexFunc(all, func(t Table) bool { return t.Name == name })
	if i < 0 {
		var names []string
		for _, t := range all {
			names = append(names, t.Name)
		}
		return Table{}, fmt.Errorf("no table %q: want %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// A field is a column with the value that it has of a thing of which a table has rows.
type field[T any] struct {
	name  string
	kind  Kind
	value func(T) any
}

// newTable returns a table with scenario and policy before the fields of each thing.
func newTable[T any](name string, fields []field[T], things func(Run) iter.Seq[T]) Table {
	t := Table{Name: name, Columns: []Column{{"scenario", Text}, {"policy", Text}}}
	for _, f := range fields {
		t.Columns = append(t.Columns, Column{f.name, f.kind})
	}
	t.rows = func(r Run) iter.Seq[[]any] {
		return func(yield func([]any) bool) {
			for x := range things(r) {
				row := make([]any, 0, len(fields)+2)
				row = append(row, r.Meta.Scenario, r.Meta.Policy)
				for _, f := range fields {
					row = append(row, f.value(x))
				}
				if !yield(row) {
					return
				}
			}
		}
	}
	return t
}

// Values of fields in the units of their columns.

func text[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

func list(names []string) any { return text(strings.Join(names, "|")) }

func integer[I ~int | ~int64 | ~uint64](n I) any { return int64(n) }

func instant(t protocol.Time) any {
	if t == 0 {
		return nil
	}
	return t
}

func thousandths(n protocol.Milli) any { return float64(n) / 1000 }

func gib(m protocol.MiB) any { return float64(m) / 1024 }

func watts(w protocol.Milliwatts) any {
	if w == 0 {
		return nil
	}
	return float64(w) / 1000
}

func dollars(m protocol.Microdollars) any { return m.InDollars() }

func kilograms(c protocol.Milligrams) any { return c.InKilograms() }

func kwh(e protocol.Millijoules) any { return e.InKWh() }
