package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

// Write writes rows into a folder as table.md, table.csv, table.json and
// index.html.
func Write(dir string, rows []Row) error {
	files := []struct {
		name  string
		write func(io.Writer, []Row) error
	}{
		{"table.md", Markdown}, {"table.csv", CSV}, {"table.json", JSON}, {"index.html", Page},
	}
	for _, x := range files {
		var text bytes.Buffer
		err := x.write(&text, rows)
		if err == nil {
			err = atomicfile.Write(filepath.Join(dir, x.name), text.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("bench: %s: %w", x.name, err)
		}
	}
	return nil
}

// JSON writes rows and their summaries, schema version 1.
func JSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema  int       `json:"schema"`
		Summary []Summary `json:"summary"`
		Strains []Strain  `json:"strains"`
		Rows    []Row     `json:"rows"`
	}{1, Summarize(rows), Strains(rows), rows})
}
