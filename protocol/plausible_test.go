package protocol

import (
	"math"
	"testing"
)

func TestOnlySomeMaySaySomeThings(t *testing.T) {
	parties := []Party{Coordinator, Submitter, OperatorAPI, Judge, AgentParty("oslo"), ExecutorParty("oslo"), QueueParty("oslo"), SignalParty("oslo"), TenantParty("vision")}
	for _, tc := range []struct {
		body Body
		to   Party
		may  []Party
	}{
		{Award{}, AgentParty("oslo"), []Party{Coordinator}},
		{Reject{}, Submitter, []Party{Coordinator}},
		{Settlement{}, "", []Party{Coordinator}},
		{RegisterSite{Site: "oslo"}, Coordinator, []Party{AgentParty("oslo")}},
		{RegisterSite{Site: "bern"}, Coordinator, nil},
		{RegisterSite{}, Coordinator, nil},
		{UsageReport{}, Coordinator, []Party{AgentParty("oslo")}},
		{Launch{}, ExecutorParty("oslo"), []Party{AgentParty("oslo")}},
		{Launch{}, Coordinator, nil},
		{Finished{}, AgentParty("oslo"), []Party{ExecutorParty("oslo")}},
		{Submit{}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{Submit{Job: Job{ID: "oslo/1", Tenant: "oslo/lab"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge, QueueParty("oslo")}},
		{Submit{Job: Job{ID: "vision/1", Tenant: "vision"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge, TenantParty("vision")}},
		{Submit{Job: Job{ID: "vision/1", Tenant: "speech"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{SubmitService{}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{SubmitService{Service: Service{ID: "oslo.lab.deployment.chat", Tenant: "oslo/lab"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge, QueueParty("oslo")}},
		{SubmitService{Service: Service{ID: "oslo.lab.deployment.chat", Tenant: "lyon/lab"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{SubmitService{Service: Service{ID: "oslo2.lab.deployment.chat", Tenant: "oslo/lab"}}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{DeleteService{Service: "oslo.lab.deployment.chat"}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge, QueueParty("oslo")}},
		{DeleteService{Service: "chat"}, Coordinator, []Party{Coordinator, Submitter, OperatorAPI, Judge}},
		{ServiceStatus{}, QueueParty("oslo"), []Party{Coordinator}},
		{Snapshot{}, Coordinator, parties},
	} {
		var may []Party
		for _, who := range parties {
			if (Message{From: who, To: tc.to, Body: tc.body}).IsPlausible() {
				may = append(may, who)
			}
		}
		if len(may) != len(tc.may) || len(may) > 0 && may[0] != tc.may[0] {
			t.Errorf("%+v to %s may be sent by %v; want %v", tc.body, tc.to, may, tc.may)
		}
	}
}

// A meter that breaks may say anything.
func TestImpossibleUsageIsNotPlausible(t *testing.T) {
	oslo := func(b Body) bool { return Message{From: AgentParty("oslo"), To: Coordinator, Body: b}.IsPlausible() }
	if !oslo(UsageReport{Started: 1, Ended: 2, IT: 3, Energy: 4, Carbon: 5, Money: -6}) || !oslo(SiteUsage{Hour: noon, Total: 7, Idle: Usage{Money: -8}}) {
		t.Error("what can be is not proper")
	}
	for _, v := range []int64{math.MinInt64, -1e16, 1e16, math.MaxInt64} {
		for _, b := range []Body{
			UsageReport{IT: Millijoules(v)}, UsageReport{Energy: Millijoules(v)}, UsageReport{Carbon: Milligrams(v)}, UsageReport{Money: Microdollars(v)}, UsageReport{Energy: -1}, UsageReport{Started: 1},
			SiteUsage{Total: Millijoules(v)}, SiteUsage{Total: -1}, SiteUsage{Idle: Usage{IT: Millijoules(v)}}, SiteUsage{Idle: Usage{Energy: Millijoules(v)}},
			SiteUsage{Idle: Usage{Carbon: Milligrams(v)}}, SiteUsage{Idle: Usage{Money: Microdollars(v)}}, SiteUsage{Jobs: Usage{Money: Microdollars(v)}},
		} {
			if oslo(b) {
				t.Errorf("%+v is proper", b)
			}
		}
	}
}
