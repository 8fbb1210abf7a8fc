package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var vision = protocol.TenantParty("vision")

// ofVision is a job that the tenant vision submits by its own key.
func (s *testMarket) ofVision() protocol.Job {
	j := s.job()
	j.ID, j.Tenant = "vision/1", "vision"
	return j
}

// answers returns the bodies that were sent to a party.
func answers(sent []protocol.Message, who protocol.Party) (out []protocol.Body) {
	for _, m := range sent {
		if m.To == who {
			out = append(out, m.Body)
		}
	}
	return out
}

func TestATenantSubmitsOnlyInItsOwnName(t *testing.T) {
	for what, tc := range map[string]struct {
		who    protocol.Party
		change func(*protocol.Job)
		taken  bool
	}{
		"its own":                     {vision, func(*protocol.Job) {}, true},
		"at a home":                   {vision, func(j *protocol.Job) { j.Home = "oslo" }, true},
		"another pays":                {vision, func(j *protocol.Job) { j.Tenant = "speech" }, false},
		"nobody pays":                 {vision, func(j *protocol.Job) { j.Tenant = "" }, false},
		"a tenant below":              {vision, func(j *protocol.Job) { j.Tenant = "vision/x" }, false},
		"another's id":                {vision, func(j *protocol.Job) { j.ID = "speech/1" }, false},
		"a longer name's id":          {vision, func(j *protocol.Job) { j.ID = "vision-2/1" }, false},
		"an id of the API":            {vision, func(j *protocol.Job) { j.ID = "train" }, false},
		"no name":                     {"tenant/", func(j *protocol.Job) { j.ID, j.Tenant = "/1", "" }, false},
		"a site's queue for a tenant": {"queue/bern", func(*protocol.Job) {}, false},
	} {
		s := newTestMarket(t, "bern", "oslo")
		j := s.ofVision()
		tc.change(&j)
		sent := s.send(tc.who, protocol.Submit{Job: j})
		if taken := s.market.KnownJobs() == 1; taken != tc.taken || taken == (s.market.RefusalCounts()["submit-of-stranger"] == 1) || taken != (len(sent) > 0) {
			t.Errorf("%s: taken %v, counts %v, sent %v", what, taken, s.market.RefusalCounts(), sent)
		}
	}
}

// Whatever else a tenant sends changes nothing, also if its name is that of a site.
func TestATenantSendsNothingElse(t *testing.T) {
	s := newTestMarket(t, "bern")
	bern := protocol.TenantParty("bern")
	s.send(protocol.OperatorAPI, protocol.Submit{Job: s.job()})
	for _, b := range []protocol.Body{
		protocol.RegisterSite{Site: "bern"}, protocol.Bids{Round: 1}, protocol.Accept{Job: "train", Epoch: 1}, protocol.Decline{Job: "train", Epoch: 1},
		protocol.UsageReport{Job: "train", Epoch: 1}, protocol.Preempted{Job: "train", Epoch: 1}, protocol.Started{Job: "train", Epoch: 1},
		protocol.Policy{}, protocol.Drain{Site: "bern"}, protocol.DecommissionSite{Site: "bern"}, protocol.SiteCondition{Site: "bern", State: protocol.SiteRevoked},
		protocol.QuoteRequest{}, protocol.SubmitService{}, protocol.ScaleService{}, protocol.DeleteService{}, protocol.RebalanceService{}, protocol.JudgeAnswer{},
		protocol.Heartbeat{}, protocol.Settlement{Job: "train"}, protocol.Award{Job: "train"}, protocol.Snapshot{},
	} {
		before := s.market.RefusalCounts()["message-of-stranger"]
		if sent := s.send(bern, b); len(sent) > 0 || len(s.market.Events()) > 0 || s.market.RefusalCounts()["message-of-stranger"] != before+1 {
			t.Errorf("%s of a tenant: %v, events %v", protocol.Message{Body: b}.KindName(), sent, s.market.Events())
		}
	}
}

// The job of another is answered as one that is not there, and goes on.
func TestATenantCancelsItsOwnJobsAlone(t *testing.T) {
	s := newTestMarket(t, "bern")
	s.send(vision, protocol.Submit{Job: s.ofVision()})
	other := s.job()
	other.ID, other.Tenant = "speech/1", "speech"
	s.send(protocol.TenantParty("speech"), protocol.Submit{Job: other})
	byAPI := s.job()
	byAPI.Tenant = "vision"
	s.send(protocol.OperatorAPI, protocol.Submit{Job: byAPI})
	closed := func(id protocol.JobID) protocol.Body { return protocol.Confirm{Job: id, Code: protocol.JobClosed} }
	for _, id := range []protocol.JobID{"speech/1", "vision/none"} {
		got := answers(s.send(vision, protocol.Cancel{Job: id}), vision)
		if len(got) != 1 || got[0] != closed(id) || len(s.market.Events()) > 0 {
			t.Errorf("%s: answered %v, events %v", id, got, s.market.Events())
		}
	}
	for _, id := range []protocol.JobID{"vision/1", "train"} {
		sent := s.send(vision, protocol.Cancel{Job: id})
		if got := answers(sent, vision); len(got) == 0 || got[len(got)-1] != (protocol.Confirm{Job: id, Code: protocol.Acknowledged}) {
			t.Errorf("%s of its own: answered %v", id, sent)
		}
		if got := answers(s.send(vision, protocol.Cancel{Job: id}), vision); len(got) != 1 || got[0] != closed(id) {
			t.Errorf("%s once more: answered %v", id, got)
		}
	}
	if l := s.market.lots["speech/1"]; l == nil || l.state == ended {
		t.Error("another's job is over")
	}
}

// A tenant learns how its job stands when it submits once more, from another process and later; the
// same file is the same job then.
func TestATenantAsksBySubmittingOnceMore(t *testing.T) {
	s := newTestMarket(t, "bern")
	job := s.ofVision()
	if got := answers(s.send(vision, protocol.Submit{Job: job}), vision); len(got) != 1 || got[0] != (protocol.Confirm{Job: job.ID, Code: protocol.Acknowledged}) {
		t.Fatalf("answered %v", got)
	}
	s.wait()
	s.offer("bern", bidsOf(job.ID, s.option(time.Minute, time.Hour)))
	status := answers(s.send("agent/bern", protocol.Accept{Job: job.ID, Epoch: 1, Start: s.now}), vision)
	if len(status) != 1 || status[0].(protocol.JobStatus).State != protocol.AcceptConfirmed {
		t.Errorf("told %v when it was placed", status)
	}
	later := job
	later.Arrival, later.Deadline = job.Arrival.Add(time.Minute), job.Deadline.Add(time.Minute)
	fixed := later
	fixed.Deadline = job.Deadline
	for _, j := range []protocol.Job{job, later, fixed} {
		got := answers(s.send(vision, protocol.Submit{Job: j}), vision)
		if len(got) != 2 || got[0] != status[0] || got[1] != (protocol.Confirm{Job: job.ID, Code: protocol.Acknowledged}) {
			t.Errorf("submitted %v later: answered %v", j.Arrival.Sub(job.Arrival), got)
		}
	}
	changed := later
	changed.GPUs = 4
	got := answers(s.send(vision, protocol.Submit{Job: changed}), vision)
	if len(got) != 3 || got[0].(protocol.Reject).Why.Code != protocol.Duplicate {
		t.Errorf("another job of its id: answered %v", got)
	}
}

// A number for a time far ahead would make all that the tenant sends until then old.
func TestATenantWithAWrongClockDoesNotSilenceItself(t *testing.T) {
	s := newTestMarket(t, "bern")
	send := func(at time.Duration, id protocol.JobID) bool {
		j := s.ofVision()
		j.ID = id
		m := protocol.Message{Version: protocol.Current, At: s.now, From: vision, To: protocol.Coordinator, Seq: protocol.SequenceAt(s.now.Add(at).StdTime()), Body: protocol.Submit{Job: j}}
		return len(s.record(s.market.Step(s.now, m))) > 0
	}
	if send(time.Hour, "vision/ahead") {
		t.Error("took a message of the next hour")
	}
	if !send(0, "vision/now") || !send(time.Millisecond, "vision/next") {
		t.Error("the tenant is not heard after it")
	}
	if send(0, "vision/replayed") {
		t.Error("took a number twice")
	}
}

// A tenant is told how its job in parts stands as one: placed, waiting and closed, also after a failover.
func TestATenantIsToldHowItsJobInPartsStands(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	j := s.dividedJob()
	j.ID, j.Tenant = "vision/1", "vision"
	var events []protocol.Message
	send := func(from protocol.Party, b protocol.Body) []protocol.Message {
		sent := s.send(from, b)
		events = append(events, s.market.Events()...)
		return sent
	}
	told := func(sent []protocol.Message) (last protocol.JobStatus) {
		for _, b := range answers(sent, vision) {
			if x, ok := b.(protocol.JobStatus); ok && x.Job == j.ID {
				last = x
			}
		}
		return last
	}
	send(vision, protocol.Submit{Job: j})
	for s.market.round == nil {
		s.wait()
		events = append(events, s.market.Events()...)
	}
	for site, part := range map[string]int{"bern": 0, "oslo": 1} {
		bids := []protocol.JobBids{noBids("vision/1.1", protocol.NoCapacity), noBids("vision/1.2", protocol.NoCapacity)}
		bids[part] = bidsOf(bids[part].Job, s.option(0, time.Hour))
		send(protocol.AgentParty(site), protocol.Bids{Round: s.market.rounds, Jobs: bids, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
	}
	award := lastSent[protocol.Award](s)
	send("agent/bern", protocol.Accept{Job: "vision/1.1", Epoch: 1, Start: s.now})
	placed := told(send("agent/oslo", protocol.Accept{Job: "vision/1.2", Epoch: 1, Start: s.now}))
	if placed.State != protocol.AcceptConfirmed || placed.Site != "" || placed.Bill.Money != 2*award.Option.Money {
		t.Errorf("told %+v of a job that stands at two sites", placed)
	}
	for site, id := range map[string]protocol.JobID{"bern": "vision/1.1", "oslo": "vision/1.2"} {
		u := s.done(award)
		u.Job, s.now = id, max(s.now, u.Ended)
		if x := told(send(protocol.AgentParty(site), u)); x.State == protocol.JobClosed {
			placed = x
		}
	}
	if placed.State != protocol.JobClosed || placed.Bill.Money != 2*s.done(award).Money {
		t.Errorf("told %+v of a job that is over", placed)
	}
	next := New(Config{}, s.market.rule)
	for _, m := range events {
		next.Restore(m)
	}
	if got := next.lots[j.ID]; got == nil || got.state != ended || got.lastStatus != s.market.lots[j.ID].lastStatus {
		t.Errorf("after a failover %+v", got)
	}
}
