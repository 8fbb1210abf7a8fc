package chat

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/phrase"
	"github.com/gridbid/gridbid/protocol"
)

// Who asks for payments is shown them, and no idle draw is in them.
func TestPaymentsAreShown(t *testing.T) {
	l := day().log()
	for q, who := range map[string]string{"payments by tenant": "tenant/vision", "payments by site": "site/oslo"} {
		a := l.Ask(q)
		i := slices.Index(a.Table.Head, "paid $")
		if i < 0 {
			t.Fatalf("%s: the columns are %q", q, a.Table.Head)
		}
		paid := phrase.Dollars(protocol.Microdollars(figure(t, a, who, "paid")))
		if !slices.ContainsFunc(a.Table.Rows, func(row []string) bool { return row[0] == who[strings.Index(who, "/")+1:] && row[i] == paid }) {
			t.Errorf("%s: %q; want %s of %s", q, a.Table.Rows, paid, who)
		}
		if text := strings.Join(a.Text, " "); strings.Contains(text, "idle") || !strings.Contains(text, "was paid to sites for jobs") {
			t.Errorf("%s: %q; idle draw is in no payment", q, a.Text)
		}
	}
}
