package archive

import (
	"bytes"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline/timelinetest"
)

// A page that stands still takes nothing more, and nothing is kept for it.
func TestNothingIsKeptForAReaderThatIsGone(t *testing.T) {
	day := timelinetest.GenerateDay(4, 10*time.Minute)
	n := open(t, "", new(bytes.Buffer))
	defer n.Close()
	n.RecordSent(day[:5], nil)
	same(t, read(t, n, 5), day[:5])
	if n.RecordSent(day[5:9], nil); len(n.fresh) != 0 {
		t.Errorf("%d messages are kept", len(n.fresh))
	}
}
