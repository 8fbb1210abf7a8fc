package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

func TestAWishWithoutARuleIsRefused(t *testing.T) {
	w := newWindow(t)
	code, answer := w.post("/v1/policy", "application/json", `{"change": {"ops": [{"op": "add"}]}, "by": "ada"}`, nil)
	if code != http.StatusBadRequest || !strings.Contains(answer, "lacks its rule") {
		t.Errorf("%d %s; want 400", code, answer)
	}
}

// Who agrees to what he was shown agrees to nothing that was put in its place: one
// person could look for another wish of the same id.
func TestNoWishTakesThePlaceOfAnother(t *testing.T) {
	d, seen := New(), make(map[string]string)
	for i := range 50_000 {
		said := fmt.Sprint("remove R-1, for reason ", i)
		x := d.addPendingChange(PolicyRequest{Sentence: said, By: "ada"}, protocol.Policy{})
		if was := seen[x.ID]; was != "" {
			t.Fatalf("%q waits as %s, as %q did", said, x.ID, was)
		}
		seen[x.ID] = said
	}
	last := d.pending[len(d.pending)-1]
	if x := d.addPendingChange(last.request, protocol.Policy{}); x.ID != last.ID || len(d.pending) != maxPendingChanges {
		t.Errorf("the same again waits as %s beside %s: %d wait", x.ID, last.ID, len(d.pending))
	}
}
