package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// What was refused or cancelled is over, and nothing is to be done about it.
func TestWhatIsRefusedIsNotStuck(t *testing.T) {
	l := day().buildDataset()
	a := l.AnswerQuestion("stuck jobs")
	for _, row := range a.Table.Rows {
		if row[0] == "eval-1" {
			t.Errorf("eval-1 was refused, and is listed: %q", a.Table.Rows)
		}
	}
	if figureOfAnswer(t, a, "run", "refused") != 1 || !strings.Contains(strings.Join(a.Text, " "), "2 jobs have not ended; 2 of them are stuck. 1 job was refused or cancelled, and not among them.") {
		t.Errorf("%q", a.Text)
	}
}

// What is asked of a decision is asked of its own job, and not of the last of its id.
func TestAnAnswerOnADecisionIsOfItsJob(t *testing.T) {
	s, n := nights(), 0
	for i, m := range s.messages {
		if b, ok := m.Body.(protocol.Submit); ok {
			b.Job.Priority = n
			s.messages[i].Body, n = b, n+1
		}
	}
	l := s.buildDataset()
	all := l.DecisionNumbers()
	last := all[len(all)-1]
	if got := figureOfAnswer(t, l.AnswerQuery(ask.Query{Ask: "no-priority", Decision: last}), "job/nightly", "priority"); got != 1 {
		t.Errorf("the second night has priority %d; want 1", got)
	}
	if got := figureOfAnswer(t, l.AnswerQuery(ask.Query{Ask: "no-priority", Job: "nightly"}), "job/nightly", "priority"); got != 2 {
		t.Errorf("the last night has priority %d; want 2", got)
	}
}

// A round that is open has been missed by no site yet.
func TestAnOpenRoundIsMissedByNoSite(t *testing.T) {
	s := day()
	s.addCall(5)
	a := s.buildDataset().AnswerQuestion("silent agents")
	if figureOfAnswer(t, a, "run", "rounds") != 4 || figureOfAnswer(t, a, "site/bern", "rounds-missed") != 2 || figureOfAnswer(t, a, "site/oslo", "rounds-missed") != 2 {
		t.Errorf("%q %q", a.Text, a.Table.Rows)
	}
}

// Of hours that no forecast covers nothing is known, and the answer says so.
func TestHoursBeyondAllForecastsAreNamed(t *testing.T) {
	s := day() // outlooks of a day, the last from 16:00
	l := s.buildDataset()
	holds(t, l, "when is it greenest in the next 3 days", "What the sites said goes up to 14 Apr 16:00; of later hours nothing is known.", "")
	holds(t, l, "when should i submit 2 hours in the next 3 days", "What the sites said goes up to 14 Apr 16:00", "")
	holds(t, l, "when is it greenest in the next 6 hours", "at oslo", "nothing is known")
}

// How many run is not to be seen from the states: a federation says that a job ran when
// it is over.
func TestWhatRunsByItsPlanIsCounted(t *testing.T) {
	s := acceptedRun()
	s.now = after(30 * time.Minute)
	s.addRegistration("lyon")
	a := s.buildDataset().AnswerQuestion("how many jobs are running")
	if a.Kind != "answer" || figureOfAnswer(t, a, "run", "running-as-planned") != 1 || !strings.Contains(strings.Join(a.Text, " "), "Of those running, 1 is so at 13 Apr 12:30 by plan") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}

// A paused job is counted at no site, and a job without a tenant under no tenant.
func TestPausedJobsAndJobsWithoutATenantAreCountedRightly(t *testing.T) {
	s := paused()
	j := task("free", "")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	l := s.buildDataset()
	for by, want := range map[string]string{"site": "site/(none)", "tenant": "tenant/(none)"} {
		figureOfAnswer(t, l.AnswerQuery(ask.Query{Ask: "jobs", By: by}), want, "jobs")
	}
}

// What a part of a paused job held counts for its tenant.
func TestAPartOfAPausedJobCountsForItsTenant(t *testing.T) {
	holds(t, paused().buildDataset(), "fair share of speech", "speech got 0.8 GPU-hours of them", "got none")
}

// What was not metered is marked as an estimate however it is summed up.
func TestAnEstimateIsMarkedInEverySum(t *testing.T) {
	s := day()
	for i, m := range s.messages {
		if d, ok := m.Body.(protocol.UsageReport); ok {
			d.Estimated = true
			s.messages[i].Body = d
		}
	}
	l := s.buildDataset()
	for _, q := range []string{"carbon", "carbon by site", "cost by tenant", "energy by hour", "average carbon intensity of our energy"} {
		holds(t, l, q, "is an estimate of the site's", "")
	}
}
