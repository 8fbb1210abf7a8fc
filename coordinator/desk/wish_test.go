package desk

import (
	"net/http"
	"strings"
	"testing"
)

func TestAWishWithoutARuleIsRefused(t *testing.T) {
	w := newWindow(t)
	code, answer := w.post("/v1/policy", "application/json", `{"change": {"ops": [{"op": "add"}]}, "by": "ada"}`, nil)
	if code != http.StatusBadRequest || !strings.Contains(answer, "names none") {
		t.Errorf("%d %s; want 400", code, answer)
	}
}
