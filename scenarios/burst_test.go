package scenarios

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

// When more jobs come within two hours than can be done in time, the auction keeps
// GPUs busy: its jobs cost less than in order of arrival at home, lateness and all.
// They cost half as much again when jobs that would be late anyway were promised
// places a day ahead, while GPUs of others came free.
func TestABurstCostsLessThanInOrderOfArrival(t *testing.T) {
	s := small(0)
	for i := range 450 {
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-%04d", i)), Tenant: "lab", Home: s.Sites[i%3].Name,
			GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10,
			Arrival: s.Start.Add(time.Duration(i) * 16 * time.Second), Run: time.Duration(20+i*37%50) * time.Minute,
			Urgency: protocol.StandardOrNow(i%5 != 0),
		}
		j.Deadline = j.Arrival.Add(j.Run + 4*time.Hour)
		if !j.MayWait() {
			j.Deadline = j.Arrival.Add(2 * j.Run)
		}
		s.Jobs = append(s.Jobs, j)
	}
	cost := make(map[string]float64)
	for _, policy := range []string{PolicyAuction, "home-fifo"} {
		res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		cost[policy] = res.Totals.JobsUSD
		t.Logf("%s: $%.2f, %d late", policy, res.Totals.JobsUSD, res.Totals.Late)
		if res.Totals.Late == 0 {
			t.Errorf("%s has no job late: no burst", policy)
		}
	}
	if cost[PolicyAuction] >= cost["home-fifo"] {
		t.Errorf("the auction's jobs cost $%.2f, in order of arrival at home $%.2f", cost[PolicyAuction], cost["home-fifo"])
	}
}
