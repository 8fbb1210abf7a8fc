package chat

import (
	"strings"
	"testing"
)

// What was refused or cancelled is over, and nothing is to be done about it.
func TestWhatIsRefusedIsNotStuck(t *testing.T) {
	l := day().log()
	a := l.Ask("stuck jobs")
	for _, row := range a.Table.Rows {
		if row[0] == "eval-1" {
			t.Errorf("eval-1 was refused, and is listed: %q", a.Table.Rows)
		}
	}
	if figure(t, a, "run", "refused") != 1 || !strings.Contains(strings.Join(a.Text, " "), "2 jobs have not ended; 2 of them are stuck. 1 job was refused or cancelled, and not among them.") {
		t.Errorf("%q", a.Text)
	}
}
