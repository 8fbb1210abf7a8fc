package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		f, err := os.Create(filepath.Join(dir, x.name))
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		if err := errors.Join(x.write(f, rows), f.Close()); err != nil {
			return fmt.Errorf("bench: %s: %w", x.name, err)
		}
	}
	return nil
}

// JSON writes rows and their summary, schema version 1.
func JSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema  int       `json:"schema"`
		Summary []Summary `json:"summary"`
		Rows    []Row     `json:"rows"`
	}{1, Summarize(rows), rows})
}
