package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

// WriteTables writes rows into a folder as table.md, table.csv, differences.csv, table.json and
// index.html. Each
// file is replaced as a whole.
func WriteTables(dir string, rows []BenchRow) error {
	files := []struct {
		name  string
		write func(io.Writer, []BenchRow) error
	}{
		{"table.md", WriteMarkdown}, {"table.csv", WriteCSV}, {"differences.csv", WriteDifferencesCSV}, {"table.json", WriteJSON}, {"index.html", WritePage},
	}
	for _, x := range files {
		var text bytes.Buffer
		err := x.write(&text, rows)
		if err == nil {
			err = atomicfile.ReplaceFile(filepath.Join(dir, x.name), text.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("bench: %s: %w", x.name, err)
		}
	}
	return nil
}

// A Report is rows with their summaries and the differences of policies, schema version 2: of
// version 1 `best` counted every row with the lowest objective, also within chance.
type Report struct {
	Schema      int             `json:"schema"`
	Summary     []PolicySummary `json:"summary"`
	Differences []Difference    `json:"differences"`
	Strains     []StressEffect  `json:"strains"`
	Rows        []BenchRow      `json:"rows"`
}

// ReportOf returns the report of rows.
func ReportOf(rows []BenchRow) Report {
	return Report{2, SummarizePolicies(rows), Differences(rows), StressEffects(rows), rows}
}

// WriteJSON writes the report of rows.
func WriteJSON(w io.Writer, rows []BenchRow) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(ReportOf(rows))
}
