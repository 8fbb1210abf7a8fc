package archive

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// What is served is a complete ledger of what was recorded. The tag says without reading it
// whether there is more, the header whether the coordinator leads, and one that has recorded
// nothing says so.
func TestARecordIsServedAsALedger(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	var recorded []protocol.Message
	leads := true
	server := httptest.NewServer(RecordHandler(func(context.Context) ([]protocol.Message, error) { return recorded, nil }, func() bool { return leads }))
	defer server.Close()
	get := func(method string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	if answer := get(http.MethodGet); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("nothing was recorded: %s", answer.Status)
	}
	for _, n := range []int{7, 30} {
		recorded, leads = day[:n], n == 7
		answer, tag := get(http.MethodGet), get(http.MethodHead).Header.Get("ETag")
		if tag == "" || answer.Header.Get("ETag") != tag || n == 30 && tag != `"30"` {
			t.Errorf("%d messages have the tag %s, by HEAD %s", n, answer.Header.Get("ETag"), tag)
		}
		ledger, err := wal.NewReader(answer.Body, "record")
		if err != nil {
			t.Fatal(err)
		}
		if got := ledger.Header()[LeadsKey]; got != map[bool]string{true: "true", false: "false"}[leads] || ledger.Header()["live"] == "" {
			t.Errorf("the header is %v; want that it leads: %v", ledger.Header(), leads)
		}
		var got []protocol.Message
		for {
			m, err := ledger.ReadMessage()
			if err != nil {
				if !strings.Contains(err.Error(), "EOF") || errors.Is(err, wal.ErrTorn) {
					t.Errorf("the ledger ends with %v", err)
				}
				break
			}
			got = append(got, m)
		}
		same(t, got, recorded)
	}
}
