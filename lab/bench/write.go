package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

// WriteTables writes rows into a folder as table.md, table.csv, table.json and index.html. Each
// file is replaced as a whole.
func WriteTables(dir string, rows []BenchRow) error {
	files := []struct {
		name  string
		write func(io.Writer, []BenchRow) error
	}{
		{"table.md", WriteMarkdown}, {"table.csv", WriteCSV}, {"table.json", WriteJSON}, {"index.html", WritePage},
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

// WriteJSON writes rows and their summaries, schema version 1.
func WriteJSON(w io.Writer, rows []BenchRow) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema  int             `json:"schema"`
		Summary []PolicySummary `json:"summary"`
		Strains []StressEffect  `json:"strains"`
		Rows    []BenchRow      `json:"rows"`
	}{1, SummarizePolicies(rows), StressEffects(rows), rows})
}
