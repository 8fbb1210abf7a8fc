package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var queue = protocol.QueueParty("bern")

// queued is a job that bern's queue submits.
func (s *stage) queued() protocol.Job {
	j := s.job()
	j.ID, j.Tenant, j.Home = "bern/9f86", "bern/training", "bern"
	return j
}

// standing returns what a queue was told last of those messages.
func standing(said []protocol.Message) (out protocol.JobStatus) {
	for _, m := range said {
		if b, ok := m.Body.(protocol.JobStatus); ok && m.To == queue {
			out = b
		}
	}
	return out
}

func TestASiteSubmitsInItsOwnNameAlone(t *testing.T) {
	for what, tc := range map[string]struct {
		who    protocol.Party
		change func(*protocol.Job)
		taken  bool
	}{
		"its own":             {queue, func(*protocol.Job) {}, true},
		"at home nowhere":     {queue, func(j *protocol.Job) { j.Home = "" }, true},
		"another's id":        {queue, func(j *protocol.Job) { j.ID = "oslo/9f86" }, false},
		"no site's id":        {queue, func(j *protocol.Job) { j.ID = "train" }, false},
		"another pays":        {queue, func(j *protocol.Job) { j.Tenant = "lab" }, false},
		"another's home":      {queue, func(j *protocol.Job) { j.Home = "oslo" }, false},
		"by its agent":        {"agent/bern", func(*protocol.Job) {}, false},
		"by its hands":        {"hands/bern", func(*protocol.Job) {}, false},
		"by another's queue":  {"queue/oslo", func(*protocol.Job) {}, false},
		"by the submitter":    {protocol.Submitter, func(*protocol.Job) {}, true},
		"by a longer name":    {"queue/ber", func(*protocol.Job) {}, false},
		"the same, of a desk": {protocol.OperatorAPI, func(*protocol.Job) {}, true},
	} {
		s := newStage(t, "bern", "oslo")
		j := s.queued()
		tc.change(&j)
		s.tell(tc.who, protocol.Submit{Job: j})
		if taken := s.market.KnownJobs() == 1; taken != tc.taken || taken == (s.market.RefusalCounts()["submit-of-stranger"] == 1) {
			t.Errorf("%s: taken %v, counts %v", what, taken, s.market.RefusalCounts())
		}
	}
}

// A queue hears who has its job, at which bid, that it was given back, and how it
// ended; and hears the same of a market that was begun anew.
func TestAQueueIsToldHowItsJobStands(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	submit := protocol.Submit{Job: s.queued(), Task: "{}"}
	s.tell(queue, submit)
	var books []protocol.Message
	heard := func(said []protocol.Message) protocol.JobStatus {
		books = append(books, s.market.Events()...)
		again := New(Config{}, &soonest{})
		for _, m := range books {
			again.Restore(m)
		}
		want := standing(said)
		asked := s.say(queue, submit)
		asked.Seq += 1 << 40 // of a later life
		if got := standing(again.Step(s.now, asked)); got != want {
			t.Errorf("begun anew, it says %+v, not %+v", got, want)
		}
		return want
	}
	books = append(books, s.market.Events()...)
	award := func() {
		t.Helper()
		s.wait()
		s.offer("bern", no("bern/9f86", protocol.NoCapacity))
		books = append(books, s.market.Events()...)
		s.offer("oslo", menu("bern/9f86", s.option(time.Minute, time.Hour)))
		books = append(books, s.market.Events()...)
		the[protocol.Award](s)
	}
	award()
	start := s.now.Add(2 * time.Minute)
	got := heard(s.tell("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 1, Start: start}))
	if got.State != protocol.AcceptConfirmed || got.Site != "oslo" || got.Epoch != 1 || got.Start != start || got.Bill.Energy != 720_000_000 ||
		got.Bill.Finish != start.Add(time.Hour) || got.Why.Code != protocol.ByRule {
		t.Errorf("placed: %+v", got)
	}
	why := protocol.Reason{Code: protocol.Evicted, Note: "the node is drained"}
	if got := heard(s.tell("agent/oslo", protocol.Decline{Job: "bern/9f86", Epoch: 1, Why: why})); got.State != protocol.Waiting || got.Site != "oslo" || got.Why != why {
		t.Errorf("given back: %+v", got)
	}
	award()
	heard(s.tell("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 2, Start: s.now}))
	if got := heard(s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})); got.State != protocol.Waiting || got.Site != "oslo" || got.Why.Code != protocol.SiteDecommissioned {
		t.Errorf("its site is gone: %+v", got)
	}
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	books = append(books, s.market.Events()...)
	s.tell("agent/oslo", protocol.Decline{Job: "bern/9f86", Epoch: 2})
	books = append(books, s.market.Events()...)
	award()
	heard(s.tell("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 3, Start: s.now}))
	began := s.now
	s.now = s.now.Add(time.Hour)
	got = heard(s.tell("agent/oslo", protocol.UsageReport{Job: "bern/9f86", Epoch: 3, Started: began, Ended: s.now, Energy: 7, Failed: "exit code 3"}))
	if got.State != protocol.JobClosed || got.Site != "oslo" || got.Failed != "exit code 3" || got.Bill.Energy != 7 || got.Bill.Finish != s.now || got.Start != began {
		t.Errorf("ended: %+v", got)
	}
}

func TestAQueueIsToldThatItsJobWasRefused(t *testing.T) {
	s := newStage(t, "bern")
	submit := protocol.Submit{Job: s.queued()}
	s.tell(queue, submit)
	s.tell(queue, protocol.Cancel{Job: "bern/9f86"})
	if got := standing(s.tell(queue, submit)); got.State != protocol.JobClosed || got.Why.Code != protocol.Cancelled || got.Site != "" {
		t.Errorf("asked again: %+v", got)
	}
	// Others are told nothing of the kind.
	j := s.job()
	s.tell(protocol.Submitter, protocol.Submit{Job: j})
	s.tell(protocol.Submitter, protocol.Cancel{Job: j.ID})
	for _, m := range s.tell(protocol.Submitter, protocol.Submit{Job: j}) {
		if _, ok := m.Body.(protocol.JobStatus); ok {
			t.Errorf("the submitter is told %+v", m)
		}
	}
}

// A queue that was away when its job ended, and asks after the job was changed,
// would otherwise wait for ever, and keep it.
func TestAQueueIsToldHowItsJobStandsThoughItWasChanged(t *testing.T) {
	s := newStage(t, "bern")
	s.tell(queue, protocol.Submit{Job: s.queued(), Task: "{}"})
	s.tell(queue, protocol.Cancel{Job: "bern/9f86"})
	said := s.tell(queue, protocol.Submit{Job: s.queued(), Task: `{"changed":true}`})
	if got := standing(said); got.State != protocol.JobClosed || got.Why.Code != protocol.Cancelled {
		t.Errorf("it is told %+v", said)
	}
	if b, ok := said[0].Body.(protocol.Reject); !ok || b.Why.Code != protocol.Duplicate {
		t.Errorf("it is told %+v first", said[0])
	}
	// A desk that submits another job of the same id learns that, and no more.
	if said = s.tell(protocol.OperatorAPI, protocol.Submit{Job: s.queued(), Task: "{ }"}); len(said) != 1 {
		t.Errorf("a desk is told %+v", said)
	}
}

// A queue that heard only that its job is closed would write that nobody knows how.
func TestAQueueIsToldHowItsJobEndedBeforeThatItDid(t *testing.T) {
	s := newStage(t, "bern")
	submit := protocol.Submit{Job: s.queued(), Task: "{}"}
	s.tell(queue, submit)
	s.tell(queue, protocol.Cancel{Job: "bern/9f86"})
	said := s.tell(queue, submit)
	if len(said) != 2 || said[0].KindName() != (protocol.Message{Body: protocol.JobStatus{}}).KindName() || said[1].KindName() != (protocol.Message{Body: protocol.Confirm{}}).KindName() {
		t.Errorf("it is told %+v", said)
	}
}
