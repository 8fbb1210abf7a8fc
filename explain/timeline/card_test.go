package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/protocol"
)

// A decision's card is of the job that it was on, where its id was given to another
// since.
func TestACardIsOfItsOwnJob(t *testing.T) {
	s := &stage{now: 1_649_851_200_000, mouths: make(map[protocol.Party]*protocol.Sender), d: timeline.New(nil)}
	for n, site := range []string{"oslo", "lyon"} {
		round, agent := uint64(n+1), protocol.AgentParty(site)
		j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "nightly", GPUs: n + 1, Share: 1000, Arrival: s.now, Run: time.Hour, Deadline: s.now.Add(4 * time.Hour)}
		o := protocol.BidOption{Start: s.now, Finish: s.now.Add(time.Hour), Model: "V100"}
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.say(protocol.Coordinator, "", protocol.CallForBids{Round: round, Closes: s.now.Add(time.Hour), Jobs: []protocol.Job{j}})
		s.say(agent, protocol.Coordinator, protocol.Bids{Round: round, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{o}}}})
		s.say(protocol.Coordinator, agent, protocol.Award{Round: round, Job: j.ID, Epoch: round, Option: o})
		s.say(agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: round, Start: o.Start})
		s.now = s.now.Add(time.Hour)
		s.say(agent, protocol.Coordinator, protocol.UsageReport{Job: j.ID, Epoch: round, Started: s.now.Add(-time.Hour), Ended: s.now, Energy: 7})
		s.say(protocol.Coordinator, "", protocol.Settlement{Job: j.ID, Site: site})
		s.now = s.now.Add(24 * time.Hour)
	}
	_, last := s.d.TimeSpan()
	for n, e := range s.d.DecisionsUntil(last, 0, 10) { // the newest first
		site, gpus := []string{"lyon", "oslo"}[n], 2-n
		c, ok := s.d.DecisionCard(e.ID)
		if !ok || c.JobRound == nil || c.Record.Job.GPUs != gpus || c.Record.Run == nil || c.Record.Run.Site != site {
			t.Errorf("Card(%s): %v, round %v, %+v; want the job of %d GPUs that ran at %s", e.ID, ok, c.JobRound, c.Record, gpus, site)
		}
		drawn, err := s.d.DrawChart(timeline.Drawing{Chart: "job", Job: e.Job, Decision: e.ID})
		l, lines := drawn.(chart.LineChart)
		if err != nil || !lines || len(l.Bands) != 2 || l.Bands[1].Name != "runs at "+site {
			t.Errorf("the chart of %s: %v, %+v; want it to run at %s", e.ID, err, l.Bands, site)
		}
	}
}

// While a part of a job runs that is paused later, it does not wait.
func TestTheChartOfAPausedJobShowsEachPart(t *testing.T) {
	s := sold()
	for n, site := range []string{"oslo", "lyon"} {
		epoch := uint64(n + 1)
		s.now = s.now.Add(time.Hour)
		s.award(site, epoch)
		start := s.now
		s.now = s.now.Add(time.Hour)
		s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.UsageReport{Job: "j", Epoch: epoch, Started: start, Ended: s.now, Left: time.Duration(1-n) * time.Hour})
	}
	drawn, err := s.d.DrawChart(timeline.Drawing{Chart: "job", Job: "j"})
	l, ok := drawn.(chart.LineChart)
	if err != nil || !ok || len(l.Bands) != 4 {
		t.Fatalf("%v, %+v; want two waits and two runs", err, l.Bands)
	}
	for i, b := range l.Bands {
		name := []string{"waits", "runs at oslo", "waits", "runs at lyon"}[i]
		if b.Name != name || i > 0 && b.From != l.Bands[i-1].To || i%2 == 1 && b.To.Sub(b.From) != time.Hour {
			t.Errorf("band %d: %+v; want %s, after %+v", i, b, name, l.Bands)
		}
	}
}
