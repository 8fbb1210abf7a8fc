package executor

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

func TestSuspendedTimeIsNotAPISilence(t *testing.T) {
	silent := time.Duration(0)
	for _, gap := range []time.Duration{time.Second, time.Hour, -time.Hour, 3 * time.Second} {
		silent = addSilence(silent, gap)
	}
	if want := 4*time.Second + silenceThreshold; silent != want {
		t.Errorf("silent for %v, want %v", silent, want)
	}
}

// The token of an agent has expired: what runs on its cluster runs on, and is not to be
// run elsewhere as well.
func TestAPIServerRefusingCredentialsIsReachable(t *testing.T) {
	for code, want := range map[int]bool{200: true, 401: true, 403: true, 500: false, 503: false} {
		now := noon
		h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","code":%d}`, code))
		})
		err := h.probeAPIServer(t.Context())
		if (err == nil) != (code == 200) || apiServerResponded(err) != want {
			t.Errorf("%d: %v; it is there: %v", code, err, apiServerResponded(err))
		}
	}
}

// What is given up with its cluster has drawn what it has: the site's hours add up.
func TestAbandonedRunsReportTheirEnergy(t *testing.T) {
	now := noon.Add(90 * time.Minute)
	h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) { busy(w) })
	const watt = 1000
	r := &run{name: "r", startedAt: noon, launch: protocol.Launch{Power: watt}}
	h.runs["r"] = r
	h.abandonAllRuns(10 * time.Minute)
	x, ok := h.endedRuns[0].outcome.(protocol.Interrupted)
	if sum := (podenergy.EnergyTally{Hours: x.Draw}).TotalEnergy(); !ok || sum != 90*60*watt || !x.Estimated {
		t.Errorf("it drew %d mJ, %+v", sum, h.endedRuns[0].outcome)
	}
	for i, want := range []protocol.Millijoules{60 * 60 * watt, 30 * 60 * watt} {
		now = noon.Add(time.Duration(i+1)*time.Hour + idleReportDelay)
		if y := h.idleReadingForHour(t.Context(), noon.Add(time.Duration(i)*time.Hour)); y.Total-y.Idle != want {
			t.Errorf("hour %d: jobs drew %d mJ; want %d", i, y.Total-y.Idle, want)
		}
	}
}
