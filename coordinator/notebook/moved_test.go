package notebook

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/diary/diarytest"
)

// Older ledgers may be moved away; those that come after are read after the rest.
func TestLedgersAreReadInTheirOrderAfterOlderOnesWereMovedAway(t *testing.T) {
	day, folder := diarytest.Day(10, 10*time.Minute), t.TempDir()
	var log bytes.Buffer
	for i := range 5 {
		if i == 4 {
			all, _ := filepath.Glob(filepath.Join(folder, "*.ledger"))
			for _, path := range all[:2] {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := open(t, folder, &log)
		n.Told(day[10*i:10*i+10], nil)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n := open(t, folder, &log)
	defer n.Close()
	same(t, read(t, n, 30), day[20:50])
}
