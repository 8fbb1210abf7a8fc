package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// paused is a day on which a job ran in three parts at two sites, and another
// waits for its rest.
func paused() *runBuilder {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon")
	one, two := task("resumes", "vision"), task("halved", "speech")
	one.Pause, two.Pause = time.Minute, time.Minute
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: one})
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: two})
	for round, part := range []struct {
		site string
		job  protocol.Job
		left time.Duration
	}{{"oslo", one, 40 * time.Minute}, {"lyon", one, 20 * time.Minute}, {"oslo", two, 30 * time.Minute}, {"oslo", one, 0}} {
		n := uint64(round + 1)
		s.addCall(n, part.job)
		s.addOffer("lyon", n, part.job.ID, "", option(s.now.Sub(noon), 3, 40))
		s.addOffer("oslo", n, part.job.ID, "", option(s.now.Sub(noon), 2, 50))
		s.addAward(part.site, n, part.job, option(s.now.Sub(noon), int64(round+2), 50), "o1", []int{0, 1}, 25*time.Minute)
		if part.left > 0 { // the last two things said end the job: have them end a part of it
			done, settled := &s.messages[len(s.messages)-2], &s.messages[len(s.messages)-1]
			d, b := done.Body.(protocol.UsageReport), settled.Body.(protocol.Settlement)
			d.Left, b.Part = part.left, true
			done.Body, settled.Body = d, b
		}
		s.now = s.now.Add(10 * time.Minute)
	}
	return s
}

// What a job took is what all its parts took: summed up here from what the sites
// said, by no code of this package.
func TestAPausedJobsBillIsThatOfAllItsParts(t *testing.T) {
	s := paused()
	l := s.buildDataset()
	want := make(map[string]int64)
	tenant := map[protocol.JobID]string{"resumes": "vision", "halved": "speech"}
	for _, m := range s.messages {
		d, ok := m.Body.(protocol.UsageReport)
		if !ok {
			continue
		}
		for _, k := range []string{"run", "job/" + string(d.Job), "tenant/" + tenant[d.Job], "site/" + m.From.SiteName()} {
			want[k] += int64(d.Carbon)
		}
	}
	for q, subject := range map[string]string{
		"what did resumes cost in €, kWh, gCO2?": "job/resumes", "carbon of halved": "job/halved", "carbon of tenant vision": "tenant/vision",
		"carbon of tenant speech": "tenant/speech", "carbon at site oslo used": "site/oslo", "carbon at site lyon used": "site/lyon", "how much carbon did we emit": "run", "summary": "run",
	} {
		a := l.AnswerQuestion(q)
		if got := figureOfAnswer(t, a, subject, "carbon"); got != want[subject] {
			t.Errorf("%s: %d; want %d: %q", q, got, want[subject], a.Text)
		}
	}
	a := l.AnswerQuestion("top 5 jobs by carbon")
	if got := figureOfAnswer(t, a, "job/resumes", "carbon"); got != want["job/resumes"] {
		t.Errorf("top: %d; want %d", got, want["job/resumes"])
	}
	by := l.AnswerQuestion("carbon by site")
	for _, site := range []string{"oslo", "lyon"} {
		if got := figureOfAnswer(t, by, "site/"+site, "carbon"); got != want["site/"+site] {
			t.Errorf("carbon by site: %d at %s; want %d", got, site, want["site/"+site])
		}
	}
	bill := l.AnswerQuestion("what did resumes cost")
	if len(bill.Table.Rows) != 3 || len(bill.Cites) != 3 || !strings.Contains(bill.Text[0], "3 parts") {
		t.Errorf("the bill of resumes lists %v, from %q: %q", bill.Table.Rows, bill.Cites, bill.Text)
	}
}

// A job whose rest waits has run and runs no more: no question about it may fail.
func TestAPausedJobIsReportedAsItStands(t *testing.T) {
	l := paused().buildDataset()
	for q, says := range map[string]string{
		"where is halved now": "then it was paused", "when did halved start": "then it was paused", "how long did halved wait": "paused 1 time",
		"why did halved wait": "started 13 Apr 13:10", "what happened to halved": "decision", "preemption of job halved": "ended in a pause",
		"average wait": "2 jobs started", "which jobs wait now": "1 job was waiting", "free gpus at 13:20": "were free", "stuck jobs": "1 job",
	} {
		a := l.AnswerQuestion(q)
		if a.Kind != "answer" || !strings.Contains(strings.Join(a.Text, " "), says) {
			t.Errorf("%s: %s %q; want %q in it", q, a.Kind, a.Text, says)
		}
	}
	holds(t, l, "where is halved now", "The rest of job halved waits to be sold", "not been launched")
	holds(t, l, "when did halved start", "Its rest waits to be sold", "plans to start")
	if a := l.AnswerQuestion("which jobs wait now"); len(a.Table.Rows) != 1 || a.Table.Rows[0][5] != "waits to be sold again" {
		t.Errorf("which jobs wait now: %q", a.Table.Rows)
	}
	if a := l.AnswerQuestion("which jobs are waiting at oslo"); figureOfAnswer(t, a, "run", "waiting") != 0 {
		t.Errorf("waiting at oslo: %q; want none, as it was given to nobody", a.Table.Rows)
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("free gpus at 13:20"), "site/oslo", "free-V100"); got != 6000 {
		t.Errorf("while a part runs at oslo, %d are free there; want 6000", got)
	}
}

// The last award of a job that was paused is of its rest, which costs less than the whole
// because it is less.
func TestTheRestOfAPausedJobIsNotComparedWithTheWhole(t *testing.T) {
	l := paused().buildDataset()
	holds(t, l, "what did waiting save for resumes", "its parts were sold one by one", "saved job")
	if a := l.AnswerQuestion("what did waiting save"); figureOfAnswer(t, a, "run", "jobs") != 0 {
		t.Errorf("%q; want no job that was paused", a.Text)
	}
}
