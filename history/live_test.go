package history

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// A live view keeps open jobs, and of what is over and of reports of sites no more than
// a bound, however long the market runs.
func TestALiveViewIsBounded(t *testing.T) {
	b := New(Config{Live: true})
	s := &stage{now: noon}
	step := func(who, to protocol.Party, body protocol.Body) {
		s.said = s.said[:0]
		s.say(who, to, body)
		b.AddMessage(s.said[0])
	}
	o := option(0, 1, 1)
	for i := range 3 * KeptEnded {
		j := job(protocol.JobID(fmt.Sprintf("j%d", i)))
		j.Tenant = string(j.ID)
		round, epoch := uint64(i+1), uint64(i+1)
		s.now = s.now.Add(time.Minute)
		step(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		if i < 5 {
			continue // it stays open
		}
		step(protocol.Coordinator, "", protocol.CallForBids{Round: round, Closes: s.now, Jobs: []protocol.Job{j}})
		step(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Bids{Round: round, Jobs: []protocol.JobBids{menu(j.ID, o)}, Grid: protocol.GridForecast{From: s.now.Floor(time.Hour)}, Idle: protocol.Milli(i)})
		step(protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{Round: round, Job: j.ID, Epoch: epoch, Option: o})
		step(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: epoch, Start: s.now})
		step(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{Job: j.ID, Epoch: epoch, Started: s.now, Ended: s.now})
		step(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: s.now.Floor(time.Hour)})
		step(protocol.Coordinator, "", protocol.Settlement{Job: j.ID, Site: "oslo"})
	}
	if n := len(b.jobs); n != KeptEnded+5 {
		t.Errorf("%d jobs are kept; want the 5 that are open and %d that ended", n, KeptEnded)
	}
	site := b.sites["oslo"]
	kept := map[string]int{
		"rounds": len(b.rounds), "calls": len(b.calls), "ended": len(b.ended), "decisions": len(b.decisions), "numbers": len(b.numbers),
		"tenants": len(b.tenants), "sums": len(b.spent), "instances": len(b.inOrder), "problems": len(b.problems), "judged": len(b.judged),
		"spoke": len(site.MessageTimes), "forecasts": len(site.Forecasts), "meters": len(site.Meters), "idle": len(site.Idles), "hours": len(site.hours),
	}
	bounds := map[string]int{"rounds": KeptRounds, "calls": KeptRounds, "ended": KeptEnded, "spoke": 1, "meters": 1}
	for what, n := range kept {
		if n > bounds[what] {
			t.Errorf("%d %s are kept; want %d at most", n, what, bounds[what])
		}
	}
	if site.Settled != 3*KeptEnded-5 {
		t.Errorf("%d jobs are settled at oslo; want all %d, forgotten ones included", site.Settled, 3*KeptEnded-5)
	}
}

// What a live view shows of a job is what the whole history has of it.
func TestALiveViewAgreesWithTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := anyRun(t)
		whole, live := New(Config{}), New(Config{Live: true})
		for _, m := range s.said {
			whole.AddMessage(m)
			live.AddMessage(m)
		}
		for _, id := range whole.JobIDs() {
			want, _ := whole.LatestJob(id)
			got, ok := live.LatestJob(id)
			if !ok || got.phase != want.phase || got.Called != want.Called || (got.Run == nil) != (want.Run == nil) {
				t.Fatalf("job %s is %s after %d rounds; the whole history has it %s after %d", id, got.phase, got.Called, want.phase, want.Called)
			}
		}
	})
}
