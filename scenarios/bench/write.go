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
		if err := whole(filepath.Join(dir, x.name), func(w io.Writer) error { return x.write(w, rows) }); err != nil {
			return fmt.Errorf("bench: %s: %w", x.name, err)
		}
	}
	return nil
}

// whole writes a file whole or not at all. Until it is whole its name is nobody
// else's: several runs may share a folder.
func whole(path string, write func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	if err = errors.Join(write(part), part.Chmod(0o644), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
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
