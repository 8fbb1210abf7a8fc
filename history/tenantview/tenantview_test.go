package tenantview_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

func fold(all []protocol.Message) *history.History {
	h := history.New(history.Config{All: true})
	for _, m := range all {
		h.AddMessage(m)
	}
	return h
}

// What a tenant is shown names nobody else, and its jobs stand as in the whole record.
func TestATenantSeesItsOwnPartAndAllOfIt(t *testing.T) {
	day := historytest.GenerateDay(200, 3*time.Minute)
	whole := fold(day)
	tenants := make(map[string]bool)
	for rec := range whole.AllInstances() {
		tenants[rec.Job.Tenant] = true
	}
	if len(tenants) < 5 {
		t.Fatalf("the day has %d tenants", len(tenants))
	}
	for own := range tenants {
		shown := tenantview.Of(day, func(tenant string) bool { return tenant == own })
		text, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		view := fold(shown)
		jobs := 0
		for rec := range whole.AllInstances() {
			if rec.Job.Tenant != own {
				name, _ := json.Marshal([]string{string(rec.Job.ID), rec.Job.Tenant})
				for _, name := range strings.Split(strings.Trim(string(name), "[]"), ",") {
					if strings.Contains(string(text), name) {
						t.Errorf("%s is shown %s", own, name)
					}
				}
				continue
			}
			jobs++
			want, _ := whole.LatestJob(rec.Job.ID)
			got, ok := view.LatestJob(rec.Job.ID)
			last := day[len(day)-1].At
			wantState, gotState := whole.JobStateNow(&want, last), view.JobStateNow(&got, last)
			if !ok || gotState.State != wantState.State || gotState.Site != wantState.Site || len(got.FullRounds) != len(want.FullRounds) || (got.Run == nil) != (want.Run == nil) ||
				got.Run != nil && got.Run.Settled.Paid != want.Run.Settled.Paid {
				t.Errorf("%s: %s stands as %+v, %d rounds; in the whole record %+v, %d rounds", own, rec.Job.ID, gotState, len(got.FullRounds), wantState, len(want.FullRounds))
			}
		}
		if len(view.JobIDs()) != jobs || jobs == 0 {
			t.Errorf("%s is shown %d jobs of %d", own, len(view.JobIDs()), jobs)
		}
	}
	for _, m := range tenantview.Of(day, func(string) bool { return false }) {
		t.Fatalf("a tenant without jobs is shown %+v", m)
	}
}

// A conversation of the coordinator with its API and others, in short.
type talk struct {
	all []protocol.Message
	seq uint64
}

func (s *talk) say(from, to protocol.Party, b protocol.Body) {
	s.seq++
	s.all = append(s.all, protocol.Message{Version: protocol.Current, At: historytest.Midnight + protocol.Time(s.seq), From: from, Seq: s.seq, To: to, Body: b})
}

func submit(id protocol.JobID, tenant string) protocol.Submit {
	return protocol.Submit{Job: protocol.Job{ID: id, Tenant: tenant, GPUs: 1, Share: 1000}}
}

// Who submits under the id of another is refused, and sees nothing of that job by it: in whatever
// order the coordinator read and answered.
func TestWhoTakesAnIdOfAnotherSeesNothingOfIt(t *testing.T) {
	const api, market = protocol.OperatorAPI, protocol.Coordinator
	taken := protocol.Confirm{Job: "train", Code: protocol.Acknowledged}
	duplicate := protocol.Reject{Job: "train", Why: protocol.Reason{Code: protocol.Duplicate}}
	for name, begin := range map[string]func(*talk){
		"one after the other": func(s *talk) {
			s.say(api, market, submit("train", "victim"))
			s.say(market, api, taken)
			s.say(api, market, submit("train", "hostile"))
			s.say(market, api, duplicate)
		},
		"in one step": func(s *talk) {
			s.say(api, market, submit("train", "victim"))
			s.say(api, market, submit("train", "hostile"))
			s.say(market, api, taken)
			s.say(market, api, duplicate)
		},
		"after a restart": func(s *talk) {
			s.say(api, market, submit("train", "victim")) // an event that was restored
			s.say(api, market, submit("train", "hostile"))
			s.say(market, api, duplicate)
			s.say(market, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{submit("train", "victim").Job}})
		},
		"unanswered": func(s *talk) {
			s.say(api, market, submit("train", "victim"))
			s.say(market, api, taken)
			s.say(api, market, submit("train", "hostile"))
		},
	} {
		s := &talk{}
		begin(s)
		s.say(market, "", protocol.CallForBids{Round: 2, Jobs: []protocol.Job{submit("train", "victim").Job, submit("other", "third").Job}})
		s.say("agent/oslo", market, protocol.Bids{Round: 2, Jobs: []protocol.JobBids{{Job: "train"}, {Job: "other"}}, Capacity: []protocol.CapacityProfile{{Model: "secret"}}})
		s.say(protocol.TenantParty("hostile"), market, protocol.Cancel{Job: "train"})
		s.say(market, "agent/oslo", protocol.Award{Round: 2, Job: "train", Epoch: 1, Proof: protocol.Certificate{Jobs: 2}})
		s.say(market, "", protocol.Settlement{Job: "train", Site: "oslo", Payer: "victim", Paid: 7})
		if got := tenantview.Of(s.all, func(t string) bool { return t == "hostile" }); len(got) > 0 {
			t.Errorf("%s: hostile is shown %+v", name, got)
		}
		got := tenantview.Of(s.all, func(t string) bool { return t == "victim" })
		text, _ := json.Marshal(got)
		for _, secret := range []string{"hostile", "third", "other", "secret", `"jobs":2`} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: the victim is shown %q in %s", name, secret, text)
			}
		}
		var kinds []string
		for _, m := range got {
			if m.KindName() != "call" {
				kinds = append(kinds, m.KindName())
			}
		}
		if want := []string{"submit", "offer", "award", "settled"}; !slices.Equal(kinds, want) {
			t.Errorf("%s: the victim is shown %v; want %v", name, kinds, want)
		}
	}
}

func TestReasonsNameNobodyElse(t *testing.T) {
	vision := func(t string) bool { return t == "vision" }
	own := func(id protocol.JobID) bool { return id == "mine" }
	for _, tc := range []struct {
		code       protocol.Code
		note, want string
	}{
		{protocol.OverQuota, "4 of the 8 GPUs that vision may hold now are taken, and the job wants 5 (min 4)", ""},
		{protocol.OverQuota, "4 of the 8 GPUs that research may hold now are taken, and the job wants 5 (min 4, max 8)", "4 of the 8 GPUs that * may hold now are taken, and the job wants 5"},
		{protocol.OverQuota, "no quota names tenant vision", ""},
		{protocol.QueueBlocked, "job mine stands before it in the queue of research", "job mine stands before it in its queue"},
		{protocol.QueueBlocked, "job theirs stands before it in the queue of research", "a job of another tenant stands before it in its queue"},
		{protocol.Preempting, "theirs, mine", "-"},
		{protocol.QuotaReclaimed, "lent to vision, guaranteed to speech", "lent to its tenant, guaranteed to another"},
		{protocol.SiteDecommissioned, "oslo, says ada", "oslo"},
		{protocol.Malformed, "run: want 1s..720h", ""},
	} {
		want := tc.want
		if want == "" {
			want = tc.note
		}
		if got := tenantview.Redact(protocol.Reason{Code: tc.code, Note: tc.note}, vision, own); got.Note != strings.TrimPrefix(want, "-") || got.Code != tc.code {
			t.Errorf("%s %q became %q; want %q", tc.code, tc.note, got.Note, want)
		}
	}
}

func TestAnswersToATenantNameNobodyElse(t *testing.T) {
	why := protocol.Reason{Code: protocol.QueueBlocked, Note: "job speech/7 stands before it in the queue of research"}
	for _, b := range []protocol.Body{
		protocol.Defer{Job: "vision/1", Why: why}, protocol.Reject{Job: "vision/1", Why: why}, protocol.JobStatus{Job: "vision/1", Why: why},
	} {
		text, _ := json.Marshal(tenantview.Answer(protocol.Message{From: protocol.Coordinator, To: protocol.TenantParty("vision"), Body: b}))
		if strings.Contains(string(text), "speech") || strings.Contains(string(text), "research") {
			t.Errorf("told %s", text)
		}
		if got := tenantview.Answer(protocol.Message{From: protocol.Coordinator, To: protocol.OperatorAPI, Body: b}); got.Body != b {
			t.Errorf("the API is told %+v", got.Body)
		}
	}
}

// A tenant that has a job in parts sees what was decided about each, and another sees none of it.
func TestATenantSeesThePartsOfItsJob(t *testing.T) {
	const api, market = protocol.OperatorAPI, protocol.Coordinator
	whole := protocol.Job{ID: "wide", Tenant: "vision", MaxSites: 2}.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000}})
	whole, _ = whole.WithEqualParts(2)
	for name, restarted := range map[string]bool{"in one run": false, "after a restart": true} {
		s := &talk{}
		s.say(api, market, protocol.Submit{Job: whole})
		if !restarted {
			s.say(market, api, protocol.Confirm{Job: "wide", Code: protocol.Acknowledged})
		}
		s.say(market, "", protocol.CallForBids{Round: 1, Jobs: whole.PartJobs()})
		s.say(market, "agent/oslo", protocol.Award{Round: 1, Job: "wide.1", Epoch: 1})
		s.say(market, api, protocol.PartsDecided{Job: "wide", Epoch: 1, Committed: true})
		var kinds []string
		for _, m := range tenantview.Of(s.all, func(t string) bool { return t == "vision" }) {
			kinds = append(kinds, m.KindName())
		}
		if want := []string{"submit", "call", "award", "parts"}; !slices.Equal(kinds, want) {
			t.Errorf("%s: vision is shown %v; want %v", name, kinds, want)
		}
		if got := tenantview.Of(s.all, func(t string) bool { return t == "hostile" }); len(got) > 0 {
			t.Errorf("%s: hostile is shown %+v", name, got)
		}
	}
}

// A tenant reads its own quotas and the priority classes of a policy, and nothing else of it; also that they are
// gone.
func TestATenantReadsItsOwnQuotas(t *testing.T) {
	market, desk := protocol.Sender{Party: protocol.Coordinator}, protocol.Sender{Party: protocol.OperatorAPI}
	policy := protocol.Policy{Version: 3, By: "ada", Second: "bob", Sentence: "team-b is late", Rules: []protocol.Rule{{ID: "R1"}}, Classes: []protocol.PriorityClass{{Name: "urgent", Value: 100}},
		Quotas: []protocol.Quota{{Name: "org", Max: 9000}, {Name: "team-a", Parent: "org", Min: 4000}, {Name: "team-b", Parent: "org", Min: 2000}}}
	none := protocol.Policy{Version: 4, By: "ada"}
	v := tenantview.New(func(tenant string) bool { return tenant == "team-a" })
	if out := v.Show(market.NewMessage(1, "", none)); len(out) > 0 {
		t.Errorf("a policy without quotas is shown: %+v", out)
	}
	if out := v.Show(desk.NewMessage(1, protocol.Coordinator, policy)); len(out) > 0 {
		t.Errorf("a request is shown: %+v", out)
	}
	want := protocol.Policy{Version: 3, By: protocol.HiddenOperator, Classes: policy.Classes, Quotas: []protocol.Quota{{Name: "team-a", Min: 4000}}}
	if out := v.Show(market.NewMessage(2, "", policy)); len(out) != 1 || !reflect.DeepEqual(out[0].Body, protocol.Body(want)) {
		t.Errorf("shown is %+v; want %+v", out, want)
	}
	if out := v.Show(market.NewMessage(3, "", none)); len(out) != 1 || len(out[0].Body.(protocol.Policy).Quotas) > 0 {
		t.Errorf("that its quotas are gone is shown as %+v", out)
	}
}

// A tenant that is told nothing reads what time it is in a live record, ten seconds ago at most, and no input of it.
func TestTheEndOfALiveRecordIsNow(t *testing.T) {
	v := tenantview.New(func(tenant string) bool { return tenant == "team-a" })
	const start protocol.Time = 1_767_571_200_000
	last, shown := protocol.Time(0), 0
	for i := range 600 {
		at := start.Add(time.Duration(i) * 500 * time.Millisecond)
		in := protocol.InputLog{Incarnation: 3, Steps: []protocol.Input{{From: "agent/oslo", Seq: uint64(i)}}}
		for _, m := range v.Show(protocol.Message{Version: protocol.Current, At: at, From: protocol.InputRecorder, Seq: uint64(i + 1), Body: in}) {
			b, ok := m.Body.(protocol.InputLog)
			if shown++; !ok || len(b.Steps) > 0 || b.Incarnation != 3 {
				t.Fatalf("it is shown %+v", m)
			}
			last = m.At
		}
		if at.Sub(last) >= 10*time.Second {
			t.Fatalf("at %v its record ends %v before", at, at.Sub(last))
		}
	}
	if shown != 30 {
		t.Errorf("300 seconds have %d marks of time; want one in ten seconds", shown)
	}
}

// A tenant sees what its services paid, and nothing of the budgets of groups above it, by jobs or by services.
func TestATenantSeesItsOwnChargesAndNoGroups(t *testing.T) {
	market := protocol.Sender{Party: protocol.Coordinator}
	charges := []protocol.BudgetCharge{{Quota: "faculty", Money: 7, Budget: 500}, {Quota: "lab", Money: 7, Budget: 50}}
	var all []protocol.Message
	for _, b := range []protocol.Body{
		protocol.CallForBids{Round: 1, Jobs: []protocol.Job{{ID: "train", Tenant: "lab"}}},
		protocol.Settlement{Job: "train", Site: "oslo", Payer: "lab", Paid: 7, Charges: charges},
		protocol.ServiceSettlement{Service: "web", Site: "oslo", Payer: "lab", Paid: 7, Charges: charges},
		protocol.ServiceSettlement{Service: "stranger", Site: "oslo", Payer: "other", Paid: 9},
	} {
		all = append(all, market.NewMessage(1, "", b))
	}
	shown := tenantview.Of(all, func(tenant string) bool { return tenant == "lab" })
	text, err := json.Marshal(shown)
	if err != nil || strings.Contains(string(text), "faculty") || strings.Contains(string(text), "stranger") {
		t.Errorf("%v: it is shown %s", err, text)
	}
	if len(shown) != 3 || len(shown[2].Body.(protocol.ServiceSettlement).Charges) != 1 || len(shown[1].Body.(protocol.Settlement).Charges) != 1 {
		t.Errorf("it is shown %s", text)
	}
	if len(charges) != 2 || charges[0].Quota != "faculty" {
		t.Error("the record itself was changed")
	}
}
