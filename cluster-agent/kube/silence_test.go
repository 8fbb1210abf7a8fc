package kube

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

func TestTimeInWhichNobodyListenedIsNobodysSilence(t *testing.T) {
	silent := time.Duration(0)
	for _, gap := range []time.Duration{time.Second, time.Hour, -time.Hour, 3 * time.Second} {
		silent = longer(silent, gap)
	}
	if want := 4*time.Second + pause; silent != want {
		t.Errorf("silent for %v, want %v", silent, want)
	}
}

// The token of an agent has expired: what runs on its cluster runs on, and is not to be
// run elsewhere as well.
func TestAnAPIServerThatLetsNobodyInIsThere(t *testing.T) {
	for code, want := range map[int]bool{200: true, 401: true, 403: true, 500: false, 503: false} {
		now := noon
		h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","code":%d}`, code))
		})
		err := h.ready(t.Context())
		if (err == nil) != (code == 200) || answered(err) != want {
			t.Errorf("%d: %v; it is there: %v", code, err, answered(err))
		}
	}
}
