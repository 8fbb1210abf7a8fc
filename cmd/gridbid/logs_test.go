package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gridbid/gridbid/coordinator/api"
)

// All lines of all pods are printed, each once, until the job has ended; none moves the cursor.
func TestLogsArePrintedToTheirEndAndMoveNoCursor(t *testing.T) {
	var asked atomic.Int64
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 { // one answer in between says to wait
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"ask again"}`)
			return
		}
		q := r.URL.Query()
		log := api.JobLog{Job: "train-7", Site: "oslo", Pods: []string{"p-0", "p-1"}, Pod: q.Get("pod"), Over: true}
		if log.Pod == "" {
			log.Pod = "p-0"
		}
		from := 0
		if after := q.Get("after"); after != "" {
			_, _ = fmt.Sscanf(after, "2026-11-24T10:00:0%dZ", &from)
			from++
		}
		for i := from; i < 5 && len(log.Lines) < 2; i++ {
			log.Lines = append(log.Lines, api.LogLine{At: fmt.Sprintf("2026-11-24T10:00:0%dZ", i), Text: fmt.Sprintf("%d\ta\x1b]52;c;bHM=\ab\rc\u202e", i)})
			log.More = i < 4
		}
		_ = json.NewEncoder(w).Encode(log)
	})
	out, _, err := execute(newLogsCommand(), "train-7", "--api", at, "--follow")
	var want strings.Builder
	for _, pod := range []string{"p-0", "p-1"} {
		for i := range 5 {
			fmt.Fprintf(&want, "[%s] %d\ta·]52;c;bHM=·b·c·\n", pod, i)
		}
	}
	if err != nil || out != want.String() {
		t.Errorf("%v: %q; want %q", err, out, want.String())
	}
	if out, _, err := execute(newLogsCommand(), "train-7", "--api", at, "--pod", "p-1", "--timestamps"); err != nil || !strings.HasPrefix(out, "[p-1] 2026-11-24T10:00:00Z 0\ta") || strings.Contains(out, "[p-0]") {
		t.Errorf("one pod: %v: %q", err, out)
	}
}
