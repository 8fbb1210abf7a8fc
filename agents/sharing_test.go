package agents

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// The jobs of a call that are alike share what is computed for one of them: each has the options that it has
// when it is called alone.
func TestEqualJobsOfACallHaveTheOptionsOfOneAlone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSite(t, MarginalCost{TemporalShift: true, SweepModelsAndCaps: true}, 4)
		first := job("first", rapid.IntRange(1, 4).Draw(r, "gpus"))
		first.Urgency = rapid.SampledFrom([]protocol.Urgency{protocol.UrgencyNow, protocol.UrgencyStandard, protocol.UrgencyFlexible}).Draw(r, "urgency")
		first.Deadline = first.Arrival.Add(time.Duration(rapid.IntRange(1, 30).Draw(r, "hours")) * time.Hour)
		jobs := []protocol.Job{first}
		for n := range rapid.IntRange(1, 5).Draw(r, "others") {
			j := first
			j.ID = protocol.JobID(rapid.SampledFrom([]string{"b", "c", "d"}).Draw(r, "name")) + protocol.JobID(rune('0'+n))
			switch rapid.IntRange(0, 5).Draw(r, "differs in") {
			case 1:
				j.Arrival -= protocol.Time(rapid.IntRange(0, 3_600_000).Draw(r, "earlier"))
			case 2:
				j.Deadline = j.Arrival.Add(time.Duration(rapid.IntRange(1, 30).Draw(r, "hours")) * time.Hour)
			case 3:
				j.Tenant = "another"
			case 4:
				j.Run += time.Duration(rapid.IntRange(0, 1).Draw(r, "longer")) * time.Minute
			case 5:
				j.Urgency = protocol.UrgencyNow
			}
			jobs = append(jobs, j)
		}
		together := s.offer(protocol.CallForBids{Jobs: jobs, Weights: weights})
		for i, j := range jobs {
			alone := s.offer(protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: weights})
			if got, want := together.Jobs[i], alone.Jobs[0]; !reflect.DeepEqual(got, want) {
				r.Fatalf("%+v has, in a call with %d jobs,\n%+v; alone\n%+v", j, len(jobs), got, want)
			}
		}
	})
}
