package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

// A Cache is a folder in which rows and bounds are kept, so that a benchmark that was stopped goes on
// where it was.
type Cache struct {
	Dir     string
	Program string // fingerprint of the build: what another build computed is not reused
}

// File returns the path at which a value is kept: its name has a hash of parts, all that the value
// depends on, and of the program.
func (c Cache) File(name string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(parts, c.Program), "\x00")))
	return filepath.Join(c.Dir, "rows", name+"-"+hex.EncodeToString(sum[:8])+".json")
}

// ReadCached reads a value that was kept. It reports false also for a file that cannot be read or
// parsed: the value is then computed anew and the file replaced.
func ReadCached(path string, to any) bool {
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, to) == nil
}

// WriteCached keeps a value, and makes the folder. The file is complete or absent, also after a crash.
func WriteCached(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.ReplaceFile(path, append(text, '\n'), 0o644)
}
