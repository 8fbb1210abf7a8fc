package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var queue = protocol.QueueParty("bern")

// queued is a job that bern's queue submits.
func (s *testMarket) queued() protocol.Job {
	j := s.job()
	j.ID, j.Tenant, j.Home = "bern/9f86", "bern/training", "bern"
	return j
}

// lastStatus returns the last status among messages.
func lastStatus(sent []protocol.Message) (out protocol.JobStatus) {
	for _, m := range sent {
		if b, ok := m.Body.(protocol.JobStatus); ok && m.To == queue {
			out = b
		}
	}
	return out
}

func TestSiteSubmitsOnlyInItsOwnName(t *testing.T) {
	for what, tc := range map[string]struct {
		who    protocol.Party
		change func(*protocol.Job)
		taken  bool
	}{
		"its own":                       {queue, func(*protocol.Job) {}, true},
		"at home nowhere":               {queue, func(j *protocol.Job) { j.Home = "" }, true},
		"another's id":                  {queue, func(j *protocol.Job) { j.ID = "oslo/9f86" }, false},
		"no site's id":                  {queue, func(j *protocol.Job) { j.ID = "train" }, false},
		"another pays":                  {queue, func(j *protocol.Job) { j.Tenant = "lab" }, false},
		"another's home":                {queue, func(j *protocol.Job) { j.Home = "oslo" }, false},
		"by its agent":                  {"agent/bern", func(*protocol.Job) {}, false},
		"by its executor":               {"hands/bern", func(*protocol.Job) {}, false},
		"by another's queue":            {"queue/oslo", func(*protocol.Job) {}, false},
		"by the submitter":              {protocol.Submitter, func(*protocol.Job) {}, true},
		"by a longer name":              {"queue/ber", func(*protocol.Job) {}, false},
		"the same, of the operator API": {protocol.OperatorAPI, func(*protocol.Job) {}, true},
	} {
		s := newTestMarket(t, "bern", "oslo")
		j := s.queued()
		tc.change(&j)
		s.send(tc.who, protocol.Submit{Job: j})
		if taken := s.market.KnownJobs() == 1; taken != tc.taken || taken == (s.market.RefusalCounts()["submit-of-stranger"] == 1) {
			t.Errorf("%s: taken %v, counts %v", what, taken, s.market.RefusalCounts())
		}
	}
}

// A queue gets which site has its job, at which bid, that it was given back, and how it ended; a
// restored market sends the same.
func TestQueueGetsJobStatus(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	submit := protocol.Submit{Job: s.queued(), Task: "{}"}
	s.send(queue, submit)
	var events []protocol.Message
	heard := func(sent []protocol.Message) protocol.JobStatus {
		events = append(events, s.market.Events()...)
		restored := New(Config{}, &soonest{})
		for _, m := range events {
			restored.Restore(m)
		}
		want := lastStatus(sent)
		asked := s.message(queue, submit)
		asked.Seq += 1 << 40 // of a later life
		if got := lastStatus(restored.Step(s.now, asked)); got != want {
			t.Errorf("restored, it sends %+v, not %+v", got, want)
		}
		return want
	}
	events = append(events, s.market.Events()...)
	award := func() {
		t.Helper()
		s.wait()
		s.offer("bern", noBids("bern/9f86", protocol.NoCapacity))
		events = append(events, s.market.Events()...)
		s.offer("oslo", bidsOf("bern/9f86", s.option(time.Minute, time.Hour)))
		events = append(events, s.market.Events()...)
		lastSent[protocol.Award](s)
	}
	award()
	start := s.now.Add(2 * time.Minute)
	got := heard(s.send("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 1, Start: start}))
	if got.State != protocol.AcceptConfirmed || got.Site != "oslo" || got.Epoch != 1 || got.Start != start || got.Bill.Energy != 720_000_000 ||
		got.Bill.Finish != start.Add(time.Hour) || got.Why.Code != protocol.ByRule {
		t.Errorf("placed: %+v", got)
	}
	why := protocol.Reason{Code: protocol.Evicted, Note: "the node is drained"}
	if got := heard(s.send("agent/oslo", protocol.Decline{Job: "bern/9f86", Epoch: 1, Why: why})); got.State != protocol.Waiting || got.Site != "oslo" || got.Why != why {
		t.Errorf("given back: %+v", got)
	}
	award()
	heard(s.send("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 2, Start: s.now}))
	if got := heard(s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})); got.State != protocol.Waiting || got.Site != "oslo" || got.Why.Code != protocol.SiteDecommissioned {
		t.Errorf("its site is gone: %+v", got)
	}
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	events = append(events, s.market.Events()...)
	s.send("agent/oslo", protocol.Decline{Job: "bern/9f86", Epoch: 2})
	events = append(events, s.market.Events()...)
	award()
	heard(s.send("agent/oslo", protocol.Accept{Job: "bern/9f86", Epoch: 3, Start: s.now}))
	began := s.now
	s.now = s.now.Add(time.Hour)
	got = heard(s.send("agent/oslo", protocol.UsageReport{Job: "bern/9f86", Epoch: 3, Started: began, Ended: s.now, Energy: 7, Failed: "exit code 3"}))
	if got.State != protocol.JobClosed || got.Site != "oslo" || got.Failed != "exit code 3" || got.Bill.Energy != 7 || got.Bill.Finish != s.now || got.Start != began {
		t.Errorf("ended: %+v", got)
	}
}

func TestQueueGetsRejection(t *testing.T) {
	s := newTestMarket(t, "bern")
	submit := protocol.Submit{Job: s.queued()}
	s.send(queue, submit)
	s.send(queue, protocol.Cancel{Job: "bern/9f86"})
	if got := lastStatus(s.send(queue, submit)); got.State != protocol.JobClosed || got.Why.Code != protocol.Cancelled || got.Site != "" {
		t.Errorf("asked again: %+v", got)
	}
	// Others are told nothing of the kind.
	j := s.job()
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.send(protocol.Submitter, protocol.Cancel{Job: j.ID})
	for _, m := range s.send(protocol.Submitter, protocol.Submit{Job: j}) {
		if _, ok := m.Body.(protocol.JobStatus); ok {
			t.Errorf("the submitter gets %+v", m)
		}
	}
}

// A queue that was down when its job ended, and resubmits it changed, would otherwise wait
// forever.
func TestQueueGetsStatusOfAChangedJob(t *testing.T) {
	s := newTestMarket(t, "bern")
	s.send(queue, protocol.Submit{Job: s.queued(), Task: "{}"})
	s.send(queue, protocol.Cancel{Job: "bern/9f86"})
	sent := s.send(queue, protocol.Submit{Job: s.queued(), Task: `{"changed":true}`})
	if got := lastStatus(sent); got.State != protocol.JobClosed || got.Why.Code != protocol.Cancelled {
		t.Errorf("it gets %+v", sent)
	}
	if b, ok := sent[0].Body.(protocol.Reject); !ok || b.Why.Code != protocol.Duplicate {
		t.Errorf("it gets %+v first", sent[0])
	}
	// A desk that submits another job of the same id learns that, and no more.
	if sent = s.send(protocol.OperatorAPI, protocol.Submit{Job: s.queued(), Task: "{ }"}); len(sent) != 1 {
		t.Errorf("the operator API gets %+v", sent)
	}
}

// A queue that got only JobClosed would report that how the job ended is unknown.
func TestQueueGetsStatusBeforeJobClosed(t *testing.T) {
	s := newTestMarket(t, "bern")
	submit := protocol.Submit{Job: s.queued(), Task: "{}"}
	s.send(queue, submit)
	s.send(queue, protocol.Cancel{Job: "bern/9f86"})
	sent := s.send(queue, submit)
	if len(sent) != 2 || sent[0].KindName() != (protocol.Message{Body: protocol.JobStatus{}}).KindName() || sent[1].KindName() != (protocol.Message{Body: protocol.Confirm{}}).KindName() {
		t.Errorf("it gets %+v", sent)
	}
}
