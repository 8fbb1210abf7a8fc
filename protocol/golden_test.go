package protocol

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the sentences of testdata that are not there yet")

const noon = Time(1_649_851_200_000) // 2022-04-13T12:00:00Z

func sent(body Body) Message {
	return Message{Version: Current, At: noon, From: AgentParty("oslo"), Seq: 7, To: Coordinator, Body: body}
}

var (
	aJob = Job{ID: "philly-17", Tenant: "vision", Home: "oslo", GPUs: 1, Share: 500, GPUMemory: 16384, CPU: 4000,
		Memory: 32768, Models: []string{"V100", "A100"}, Arrival: noon, Run: 90 * time.Minute, Deadline: noon.Add(8 * time.Hour),
		Urgency: UrgencyFlexible, Priority: -1, Regions: []string{"oslo", "lyon"}, Input: 2048}
	aGang = Job{ID: "gang", Arrival: noon, Run: time.Hour, Deadline: noon.Add(4 * time.Hour)}.WithPods([]Component{
		{Role: "head", Pods: 1, CPU: 2000, Memory: 4096}, {Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 32_000, Memory: 65536}})
	aThinGang = func() Job { j := aGang; j.MinPods = 3; return j }()
	aGrouped  = func() Job {
		j := aGang
		j.RequiredTopology, j.RequiredFor, j.Groups = "zone", 2*time.Hour, []PodGroup{{Component: 1, Level: "rack", Pods: 2}}
		return j
	}()
	anElastic    = Job{ID: "elastic", Arrival: noon, Run: time.Hour, Deadline: noon.Add(4 * time.Hour), Speed: []SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 4, Speed: 3100}, {Pods: 8, Speed: 5200}}}.WithPods([]Component{{Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 32_000, Memory: 65536}})
	aDividedGang = func() Job {
		j := aGang
		j.Parts, j.MaxSites = []Part{{Name: "left", Pods: []int{1, 1}}, {Name: "right", Pods: []int{0, 3}}}, 2
		return j
	}()
	aRackGang  = func() Job { j := aGang; j.RequiredTopology = "rack"; return j }()
	gangPlaces = []Place{{Pods: 1, Node: "n1"}, {Component: 1, Pods: 1, Node: "n1", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}}, {Component: 1, Pods: 3, Node: "n2", Devices: []int{0}}}
	aService   = Service{ID: "chat", Tenant: "vision", Priority: 10, Wanted: 12, Min: 2, Max: 60, GPUs: 1, Share: 500, GPUMemory: 16384, CPU: 4000, Memory: 32768,
		Models: []string{"V100"}, Sites: []string{"oslo", "lyon"}, Move: MoveSettings{Cost: 700, Horizon: time.Hour},
		Division: Division{Rule: DivideByCapacity, Tiers: []SiteTier{{Sites: []string{"oslo"}}, {Sites: []string{"lyon"}}}, Exclusive: true, Weights: []SiteWeight{{Site: "oslo", Weight: 3}}, MinPerSite: 1}}
	anOption = BidOption{Start: noon.Add(time.Hour), Finish: noon.Add(2 * time.Hour), Model: "V100", Cap: 200_000,
		Energy: 720_000_000, Carbon: 12_345_678, Money: 17_000, Transfer: 300, FragmentationDelta: -250, Score: 12}
	aBill   = Usage{IT: 600_000_000, Energy: 720_000_000, Carbon: 12_345_678, Money: 17_000, Finish: noon.Add(2 * time.Hour)}
	aReason = Reason{Code: CheaperLater, Note: "wind at night"}
	aHash   = Hash("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	proof   = Certificate{Primal: 1_000_000, Bound: 990_000, Jobs: 64}
)

// sentences are the messages of testdata/v3, one of each kind. Once version 3 is
// released, nothing here and no file there changes; new fields get new files.
var sentences = []Message{
	sent(Submit{Job: aJob}),
	sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{aJob, {ID: "small", CPU: 1000, Arrival: noon, Run: time.Minute, Deadline: noon}},
		Weights:      Weights{Carbon: 100_000, WaitNow: 200_000, WaitStandard: 5_000, WaitFlexible: 1_000, Late: 5_000_000, LateMost: 2_000_000, WaitLimit: 2 * time.Hour, WaitLimitRuns: 1000},
		ShadowPrices: []ShadowPrice{{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []Microdollars{0, 70_000}}}}),
	sent(Bids{Round: 9, Jobs: []JobBids{{Job: "philly-17", Options: []BidOption{anOption}}, {Job: "small", Why: Reason{Code: NoCapacity}}},
		Capacity: []CapacityProfile{{Model: "V100", From: noon, Slot: time.Hour, Free: []Milli{3500, 4000}, Total: 8000}},
		Grid:     GridForecast{From: noon, Price: []Microdollars{55_000, -1_000}, Carbon: []Milligrams{28_000_000}, PUE: []Milli{1120}}}),
	sent(Award{Round: 9, Job: "philly-17", Epoch: 3, Option: anOption, MayQueue: true, Lease: noon.Add(time.Minute), Why: Reason{Code: Cheapest}, Proof: proof}),
	sent(Defer{Round: 9, Job: "philly-17", Until: noon.Add(time.Hour), Site: "lyon", Start: noon.Add(2 * time.Hour), Why: aReason}),
	sent(Reject{Job: "philly-17", Why: Reason{Code: Malformed, Note: "run: want 1s..720h at the reference clock"}}),
	sent(Accept{Job: "philly-17", Epoch: 3, Start: noon.Add(time.Hour)}),
	sent(Decline{Job: "philly-17", Epoch: 3, Why: Reason{Code: CapacityTaken}}),
	sent(LocalStart{Job: "oslo/ops-17", Epoch: 1, Option: anOption}),
	sent(Launch{Job: aJob, Epoch: 3, Node: "n4", Devices: []int{0, 7}, Model: "V100", Cap: 200_000, Run: time.Hour, Power: 190_000}),
	sent(Started{Job: "philly-17", Epoch: 3}),
	sent(Finished{Job: "philly-17", Epoch: 3, Draw: []HourlyEnergy{{Hour: noon, Energy: 600_000_000}, {Hour: noon.Add(time.Hour), Energy: 1}}}),
	sent(CompletedRun{Job: Job{Tenant: "vision", Image: "train:7", GPUs: 1, Share: 500, CPU: 4000, Memory: 1024}, Lasted: 90 * time.Minute, Power: 190_000,
		Use: Utilization{GPU: 870, GPUMemory: 14_000, CPU: 3200, Memory: 900, Received: 12, Sent: 3, Temperature: 71}}),
	sent(Interrupted{Job: "philly-17", Epoch: 3, Why: Reason{Code: Evicted, Note: "the node is drained"}, Draw: []HourlyEnergy{{Hour: noon, Energy: 5}}}),
	sent(Inventory{
		Nodes: []Node{{Name: "n4", Model: "V100", GPUs: 8, CPU: 96_000, Memory: 1 << 19, GPUMemory: 32768, Closed: "cordoned", OtherCPU: 500, OtherMem: 256, Others: []Milli{0, 1000}}},
		Held:  []FoundRunning{{Launch: Launch{Job: aJob, Epoch: 3, Node: "n4", Devices: []int{0}, Run: time.Hour, Power: 190_000, Task: `{"kind":"Job"}`}, Since: noon}},
	}),
	sent(UsageReport{Job: "philly-17", Epoch: 3, Started: noon, Ended: noon.Add(time.Hour), Node: "n4", Devices: []int{0},
		IT: 600_000_000, Energy: 720_000_000, Carbon: 12_345_678, Money: -17}),
	sent(Settlement{Job: "philly-17", Site: "oslo", Payer: "vision", Paid: 18_000, BidFor: aBill, Counted: aBill, Late: true}),
	sent(JobStatus{Job: "oslo/9f86", Epoch: 3, State: AcceptConfirmed, Site: "lyon", Model: "V100", Start: noon.Add(time.Hour), Bill: aBill, Failed: "exit code 3", Why: Reason{Code: Cheapest}}),
	sent(RegisterSite{Site: "oslo", Pools: []Pool{{Model: "V100", Nodes: 4, GPUs: 32, CPU: 384_000, Memory: 1 << 20}}}),
	sent(Signal{What: GridCarbon, Points: []Point{{At: noon, Value: 28_000_000}, {At: noon.Add(time.Hour), Value: -5}}}),
	sent(IdleReading{Hour: noon, Idle: 3_600_000, Total: 7_200_000}),
	sent(Confirm{Job: "philly-17", Epoch: 3, Code: AcceptConfirmed}),
	sent(Cancel{Job: "philly-17", Epoch: 3}),
	sent(Drain{Site: "oslo", Over: true}),
	sent(Policy{Version: 2, By: "ada", Second: "ben", Sentence: "prefer oslo at night", Rules: []Rule{
		{ID: "R-1", Kind: Prefer, Sites: []string{"oslo"}, Weekly: Night, Weight: 150, From: noon, To: noon.Add(time.Hour), Words: "oslo"},
		{ID: "R-2", Kind: Forbid, Tenant: "vision", Homes: []string{"lyon"}, Sites: []string{"lyon"}, Outside: true},
		{ID: "R-3", Kind: Cap, Sites: []string{"oslo"}, Most: 90_000, Carbon: 400_000}}}),
	sent(SiteUsage{Hour: noon, Total: 7_200_000, Idle: Usage{IT: 3_600_000, Energy: 4_000_000, Carbon: 1, Money: 2}}),
	sent(JudgeRequest{Round: 9, Job: "philly-17", Until: noon.Add(600 * time.Millisecond),
		Choices: []JudgeChoice{{Handle: "k1", Site: "oslo", Option: anOption, Cost: 18_300, Extra: 120, MayQueue: true}},
		Notes:   []OperatorNotice{{ID: "N1", Site: "oslo", Text: "cooling is serviced tonight"}}}),
	sent(JudgeAnswer{Round: 9, Job: "philly-17", Picks: []JudgePick{{Handle: "k1", Why: OperatorNote}, {Handle: "k1", Why: SpreadLoad}}, Model: "small-3",
		Prompt: "9f86d081", Elapsed: 320 * time.Millisecond, Tokens: 512}),
	sent(InputLog{Incarnation: 2, Rules: `{"Lease":10}`, Restored: []Input{{From: "agent/oslo", Seq: 1<<40 + 3}},
		Steps: []Input{{At: noon, From: Submitter, Seq: 7}, {At: noon.Add(time.Second)}}}),
	sent(PartsDecided{Job: "gang", Epoch: 3, Parts: []PartSite{{Part: "gang.left", Site: "oslo"}, {Part: "gang.right", Site: "lyon"}}, Why: Reason{Code: PartLost}}),
	sent(Preempt{Job: "philly-17", Epoch: 3, For: "urgent-2", Why: Reason{Code: StrongerClaim, Note: "priority 100 over 0"}, Until: noon.Add(5 * time.Minute)}),
	sent(Preempted{Job: "philly-17", Epoch: 3, For: "urgent-2", Why: Reason{Code: StrongerClaim}, Lost: 20 * time.Minute}),
	sent(DecommissionSite{Site: "oslo", By: "ada", Why: "flooded", End: true}),
	sent(QuoteRequest{Call: CallForBids{Round: 7, Closes: noon.Add(2 * time.Second), Jobs: []Job{aJob}, Weights: Weights{Carbon: 190_000}, MaxBytes: 1 << 19}}),
	sent(Quote{Bids: Bids{Round: 7, Jobs: []JobBids{{Job: "philly-17", Options: []BidOption{anOption}}}, Grid: GridForecast{From: noon, Price: []Microdollars{55_000}, Carbon: []Milligrams{28_000}, PUE: []Milli{1120}}}}),
	sent(LogRequest{Number: 7, Job: "philly-17", Epoch: 3, Pod: "philly-17-0", After: 1_649_851_200_000_000_001, Tail: 200}),
	sent(JobLog{Number: 7, Job: "philly-17", Pods: []string{"philly-17-0", "philly-17-1"}, Pod: "philly-17-0", Lines: []LogLine{{At: 1_649_851_200_000_000_002, Text: "step 1"}}, More: true}),
	sent(Heartbeat{Every: 2 * time.Second, Stale: Reason{Code: SignalsOld, Note: "carbon: nothing published since 09:00"}}),
	sent(SiteCondition{Site: "oslo", State: SiteSilent, Since: noon, Why: Reason{Code: NoHeartbeat}}),
	sent(SitePrices{Round: 9, ShadowPrices: []ShadowPrice{{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []Microdollars{0, 70_000}}}}),
	sent(SubmitService{Service: aService}),
	sent(ScaleService{Service: "chat", Wanted: 18, By: "ada"}),
	sent(RebalanceService{Service: "chat", By: "ada"}),
	sent(DeleteService{Service: "chat", By: "ada"}),
	sent(CallForCapacity{Round: 9, Closes: noon.Add(time.Second), Services: []Service{aService}, Weights: Weights{Carbon: 190_000}}),
	sent(CapacityBid{Round: 9, Services: []ReplicaBid{{Service: "chat", Available: 12, Steps: []CostStep{{Count: 8, Cost: 40_200}, {Count: 4, Cost: 52_000}}, HeldCost: 38_000,
		Held: ReplicaStatus{Revision: 4, Assigned: 3, Ready: 2, Pending: 1, Since: noon}}, {Service: "draw", Why: Reason{Code: NoCapacity}}}}),
	sent(ServiceDivision{Service: "chat", Decision: 2, Wanted: 20, Sites: []SiteCount{{Site: "lyon", Count: 6, Before: 4}, {Site: "oslo", Count: 12}}, Pending: 2, Move: true,
		Why: Reason{Code: ServiceScaled}, Lack: Reason{Code: TooFewReplicas, Note: "18 of 20 fit"}, Cost: 956_000, Bound: 956_000}),
	sent(ServiceStatus{Service: "oslo.vision.deployment.chat", Wanted: 20, Decided: true, Pending: 2, Sites: []SiteOfReplicas{{Site: "lyon", Count: 6, Ready: 4}, {Site: "oslo", Count: 12, Ready: 12}}, Why: Reason{Code: TooFewReplicas, Note: "18 of 20 fit"}}),
	sent(AssignReplicas{Service: aService, Revision: 5, Count: 6}),
	sent(ReplicaStatus{Service: "chat", Revision: 5, Assigned: 6, Ready: 4, Pending: 1, Since: noon}),
	sent(ServiceSettlement{Service: "chat", Site: "oslo", Payer: "web", Paid: 41_800, From: noon, Ran: 4 * time.Hour, Counted: Usage{IT: 1_440_000_000, Energy: 1_612_800_000, Carbon: 12_500, Money: 38_000},
		Meter:   ReplicaMeter{Since: noon.Add(-time.Hour), Until: noon.Add(time.Hour), Ran: 8 * time.Hour, Used: ReplicaUse{IT: 2_880_000_000, Energy: 3_225_600_000, Carbon: 25_000, Money: 76_000}},
		Charges: []BudgetCharge{{Quota: "web", Month: MonthOf(noon), Money: 41_800, Carbon: 12_500, Budget: 5_000_000, Version: 3}}}),
	sent(RunReplicas{Service: aService, Revision: 3, Replicas: []Replica{{Number: 2, Node: "n4", Devices: []int{0, 7}, Model: "V100", Power: 190_000}}, Newest: 2}),
	sent(ReplicasRunning{Service: "chat", Revision: 3, Running: []int{2}, Lost: []int{1}}),
	sent(Snapshot{Rounds: 9, Accounts: []Balance{{Account: "site/oslo", Amount: 18_000, Jobs: 3}, {Account: "tenant/vision", Amount: -18_000}},
		Ended: []EndedJob{{Job: "philly-17", At: noon, Digest: 1<<63 + 5}}, Received: []Input{{From: "agent/oslo", Seq: 1<<40 + 3}}}),
	sent(LogHead{Round: 9, Note: "hub/log\n1064\n", Since: 12, Path: []Hash{aHash, aHash}}),
	sent(Receipt{Of: 7, Note: "gridbid receipt\n"}),
	sent(SiteClearing{Round: 9, Trust: 1100, Capacity: []CapacityProfile{{Model: "V100", From: noon, Slot: time.Hour, Free: []Milli{3500}, Total: 8000}},
		ShadowPrices: []ShadowPrice{{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []Microdollars{70_000}}}}),
	sent(LogBegin{Incarnation: 2, Rules: `{"Most":512}`}),
	sent(LogEntries{First: 12, Edge: []Hash{aHash}, Entries: []LogEntry{{At: noon, From: "agent/oslo", Seq: 7, Round: 9, Salt: aHash, Leaf: aHash}, {At: noon}}}),
	sent(Openings{Size: 1064, Entries: []Opening{{Index: 12, At: noon, From: "agent/oslo", Seq: 7, Round: 9, Salt: aHash, Path: []Hash{aHash}}}, Links: []LogLink{{Old: 12, New: 1064, Path: []Hash{aHash}}}}),
}

// newer are messages of a later release that speaks the same version.
var newer = []struct {
	file string
	make func() []byte
	want Message
	kind string // unknown, if not ""
}{
	{"newer-field", func() []byte {
		data := mustEncoded(sent(Started{Job: "philly-17", Epoch: 3}))
		data = bytes.Replace(data, []byte("\xa1b\x82"), []byte("\xa1b\x83\xa2zz\x92\x01\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"), 1)
		return append([]byte("\x88\xa2tr\xa5trace"), data[1:]...)
	}, sent(Started{Job: "philly-17", Epoch: 3}), ""},
	{"newer-column", func() []byte {
		data := mustEncoded(sent(Reject{Job: "philly-17", Why: Reason{Code: NoBids}}))
		return append(bytes.Replace(data, []byte("\x92\xa8no-offer"), []byte("\x93\xa8no-offer"), 1), 0xa2, 'd', 'e')
	}, sent(Reject{Job: "philly-17", Why: Reason{Code: NoBids}}), ""},
	{"newer-kind", func() []byte {
		return bytes.Replace(mustEncoded(sent(Started{Job: "a"})), []byte("\xa7started"), []byte("\xa7migrate"), 1)
	}, Message{}, "migrate"},
}

// grown are sentences with fields that were added after their kind had a file.
var grown = []struct {
	file string
	sent Message
}{
	{"service-spread", func() Message {
		s := aService
		s.Affinity, s.AntiAffinity = "chat", "spare"
		s.Division.MinRegions, s.Division.MaxRegions, s.Division.MinProviders, s.Division.MaxProviders = 1, 2, 1, 3
		return sent(SubmitService{Service: s})
	}()},
	{"run-replicas-stopping", sent(RunReplicas{Service: aService, Revision: 4, Newest: 2, Stopping: []Replica{{Number: 2, Node: "n4", Devices: []int{0, 7}, Model: "V100", Power: 190_000}}})},
	{"hello-location", sent(RegisterSite{Site: "oslo", Pools: []Pool{{Model: "V100", GPUs: 32}}, Location: Location{Region: "eu-north", Provider: "own"}})},
	{"accept-signed", func() Message {
		m := sent(Accept{Job: "philly-17", Epoch: 3, Start: noon.Add(time.Hour)})
		digest, _ := m.Digest()
		m.Signature = &Signature{Value: [64]byte{1, 2, 3}, Digest: digest}
		return m
	}()},
	{"started-where", sent(Started{Job: "philly-17", Epoch: 3, Node: "n1", Devices: []int{2, 3}})},
	{"drain-reason", sent(Drain{Site: "oslo", By: "ada", Why: "new switches", Until: noon.Add(time.Hour)})},
	{"condition-revoked", sent(SiteCondition{Site: "oslo", State: SiteRevoked, Since: noon, Why: Reason{Code: KeysRevoked, Note: "laptop stolen"}, By: "ada"})},
	{"call-planning", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{aJob}, Planning: Planning{Slot: 5 * time.Minute, Horizon: 24 * time.Hour, MaxStartDelay: 10 * time.Minute, FirmLead: time.Hour}})},
	{"submit-task", sent(Submit{Job: aJob, Task: `{"kind":"Job"}`})},
	{"award-task", sent(Award{Round: 9, Job: "philly-17", Epoch: 3, Option: anOption, Lease: noon.Add(time.Minute), Why: Reason{Code: Cheapest}, Proof: proof, Task: `{"kind":"Job"}`})},
	{"launch-task", sent(Launch{Job: aJob, Epoch: 3, Node: "n4", Devices: []int{0}, Run: time.Hour, Power: 190_000, Task: `{"kind":"Job"}`})},
	{"signal-guess", sent(Signal{What: GridCarbon, Points: []Point{{At: noon, Value: 28_000_000}}, Guess: true})},
	{"offer-off", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "small", Why: Reason{Code: NoCapacity}}},
		Grid: GridForecast{From: noon, Price: []Microdollars{55_000, -1_000}, Carbon: []Milligrams{28_000, 30_000}, PUE: []Milli{1120},
			PriceOff: []Microdollars{0, 4_000}, CarbonOff: []Milligrams{0, 700}}})},
	{"offer-expect", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "small", Options: []BidOption{anOption}, Expect: []Estimate{{Mean: time.Hour, P50: 20 * time.Minute, P90: 3 * time.Hour, Runs: 45}}}}})},
	{"offer-idle", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "small", Why: Reason{Code: NoCapacity}}}, Idle: 5500, FragmentedGPUs: 1250})},
	{"offer-use", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "small", Why: Reason{Code: NoCapacity}}},
		Capacity: []CapacityProfile{{Model: "V100", From: noon, Slot: time.Hour, Free: []Milli{3500}, Total: 8000, CPUUsed: 625, MemoryUsed: 40}}})},
	{"offer-wake", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "small", Options: []BidOption{{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 5, Wake: 200 * time.Second}}}}})},
	{"submit-image", sent(Submit{Job: Job{ID: "a", CPU: 1000, Arrival: noon, Deadline: noon.Add(time.Hour), Image: "train:7"}})},
	{"exited-use", sent(Finished{Job: "philly-17", Epoch: 3, Use: Utilization{GPU: 870, Temperature: 71}})},
	{"exited-failed", sent(Finished{Job: "philly-17", Epoch: 3, Failed: "exit code 1"})},
	{"done-failed", sent(UsageReport{Job: "philly-17", Epoch: 3, Started: noon, Ended: noon.Add(time.Hour), Node: "n4", Devices: []int{0}, Failed: "exit code 1"})},
	{"policy-proved", sent(Policy{Version: 3, By: "ada", Second: "ben", Sentence: "remove R-2", Proved: true})},
	{"exited-estimated", sent(Finished{Job: "philly-17", Epoch: 3, Draw: []HourlyEnergy{{Hour: noon, Energy: 5}}, Estimated: true})},
	{"lost-estimated", sent(Interrupted{Job: "philly-17", Epoch: 3, Why: aReason, Draw: []HourlyEnergy{{Hour: noon, Energy: 5}}, Estimated: true})},
	{"done-estimated", sent(UsageReport{Job: "philly-17", Epoch: 3, Started: noon, Ended: noon.Add(time.Hour), Node: "n4", Devices: []int{0}, Estimated: true})},
	{"settled-estimated", sent(Settlement{Job: "philly-17", Site: "oslo", Payer: "vision", Paid: 18_000, BidFor: aBill, Counted: aBill, Estimated: true})},
	{"reading-estimated", sent(IdleReading{Hour: noon, Idle: 3_600_000, Total: 7_200_000, Estimated: true})},
	{"meter-estimated", sent(SiteUsage{Hour: noon, Total: 7_200_000, Idle: Usage{IT: 3_600_000}, Estimated: true})},
	{"meter-correction", sent(SiteUsage{Hour: noon, Idle: Usage{Carbon: 3, Money: -4}, Jobs: Usage{Energy: 5, Carbon: -6, Money: 7}})},
	{"submit-pause", sent(Submit{Job: Job{ID: "resumes", GPUs: 8, Share: 1000, Arrival: noon, Run: 9 * time.Hour, Deadline: noon.Add(33 * time.Hour), Urgency: UrgencyFlexible, Pause: 2 * time.Minute, State: 65536}})},
	{"submit-class", sent(Submit{Job: Job{ID: "serve", GPUs: 1, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(4 * time.Hour), PriorityClass: "production"}})},
	{"policy-classes", sent(Policy{Version: 4, By: "ada", Quotas: []Quota{{Name: "vision", Min: 8000, Weight: 1000, Queueing: StrictFIFO}},
		Classes: []PriorityClass{{Name: "production", Value: 100}, {Name: "batch", Value: -10, Default: true, Preemption: PreemptNever}}})},
	{"award-budget", sent(Award{Round: 9, Job: "philly-17", Epoch: 3, Option: anOption, Lease: noon.Add(10 * time.Second), PaidOff: 400, CarbonOff: 70_000, ByMonth: true})},
	{"done-months", sent(UsageReport{Job: "philly-17", Epoch: 3, Started: noon, Ended: noon.Add(2 * time.Hour), Node: "n4", Devices: []int{0}, Energy: 6, Carbon: 7, Money: 8, Months: []MonthUsage{{Month: noon, Carbon: 3, Money: 2}, {Month: noon.Add(time.Hour), Carbon: 4, Money: 6}}})},
	{"settled-charges", sent(Settlement{Job: "philly-17", Site: "oslo", Payer: "vision", Paid: 9, BidFor: aBill, Counted: aBill, Charges: []BudgetCharge{{Quota: "vision", Month: noon, Money: 9, Carbon: 7, Budget: 1000, CarbonBudget: 2000, Version: 6}}})},
	{"snapshot-charges", Message{Version: Current, At: noon, From: SnapshotSource, Seq: 7, Body: Snapshot{Rounds: 9, Charges: []BudgetCharge{{Quota: "vision", Month: noon, Money: 9, Carbon: 7, Version: 6}}}}},
	{"policy-budgets", sent(Policy{Version: 6, By: "ada", Quotas: []Quota{{Name: "vision", Min: 8000, Weight: 1000, Budget: 5_000_000_000, CarbonBudget: 900_000_000,
		Models: []ModelQuota{{Model: "A100", Min: 4000, Max: 6000, Kept: 2000, Weight: 500, Band: -1}}}}})},
	{"policy-within", sent(Policy{Version: 5, By: "eve", Quotas: []Quota{{Name: "research", Min: 8000, Weight: 1000}, {Name: "vision", Parent: "research", Min: 4000, Weight: 1000}}, Proved: true, Within: "research"})},
	{"preempted-bill", sent(Preempted{Job: "philly-17", Epoch: 3, For: "urgent-2", Why: Reason{Code: QuotaReclaimed}, Lost: time.Minute, Started: noon, Ended: noon.Add(time.Hour), Node: "n4", Devices: []int{0}, IT: 5, Energy: 6, Carbon: 7, Money: 8, Estimated: true, Left: 6 * time.Hour})},
	{"preempted-gang", sent(Preempted{Job: "gang", Epoch: 3, For: "urgent-2", Why: Reason{Code: StrongerClaim}, Started: noon, Ended: noon.Add(time.Hour), Node: "n4", Devices: []int{0}, Places: []Place{{Component: 0, Pods: 1, Node: "n4", Devices: []int{0}}}})},
	{"exited-stopped", sent(Finished{Job: "philly-17", Epoch: 3, Stopped: true})},
	{"call-preemptable", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{aJob}, Preemptable: []PreemptionSet{{Job: "philly-17", Runs: []JobID{"a", "b"}}}})},
	{"offer-preemptions", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "philly-17", Why: Reason{Code: NoCapacity}}}, Preemptions: []PreemptionSet{{Job: "philly-17", Runs: []JobID{"b"}}}})},
	{"award-pause", sent(Award{Round: 9, Job: "resumes", Epoch: 3, Option: anOption, Lease: noon.Add(time.Minute), Why: Reason{Code: CheaperLater}, Proof: proof, Pause: noon.Add(3 * time.Hour)})},
	{"award-firm", sent(Award{Round: 9, Job: "philly-17", Epoch: 3, Option: anOption, MayQueue: true, NotBeforeStart: true, Lease: noon.Add(time.Minute), Why: Reason{Code: Waiting}, Proof: proof})},
	{"cancel-keep", sent(Cancel{Job: "resumes", Epoch: 3, Checkpoint: true})},
	{"exited-left", sent(Finished{Job: "resumes", Epoch: 3, Draw: []HourlyEnergy{{Hour: noon, Energy: 5}}, Left: 6 * time.Hour})},
	{"exited-ended", sent(Finished{Job: "philly-17", Epoch: 3, Draw: []HourlyEnergy{{Hour: noon, Energy: 5}}, Ended: noon.Add(time.Minute)})},
	{"submit-pods", sent(Submit{Job: aGang})},
	{"offer-spread", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "gang", Options: []BidOption{anOption}}, {Job: "huge", Why: Reason{Code: FitsNoNode}}},
		Spreads: []Spread{{Job: "gang", Places: []Place{{Pods: 1, Node: "n1"}, {Component: 1, Pods: 2, Node: "n2"}}}}, Largest: []LargestSet{{Job: "huge", Pods: 11}}})},
	{"submit-min-pods", sent(Submit{Job: aThinGang})},
	{"call-most-pods", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{func() Job { j := aThinGang; j.MostPods = 4; return j }()}})},
	{"submit-groups", sent(Submit{Job: aGrouped})},
	{"submit-parts", sent(Submit{Job: aDividedGang})},
	{"submit-part-models", sent(Submit{Job: func() Job {
		j := aDividedGang
		j.Parts = []Part{{Name: "left", Pods: []int{1, 1}, Models: []string{"A100", "H100"}}, {Name: "right", Pods: []int{0, 3}}}
		return j
	}()})},
	{"call-part", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{unranked(aDividedGang.PartJobs()[0]), unranked(aDividedGang.PartJobs()[1])}})},
	{"call-part-ranked", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: aDividedGang.PartJobs()})},
	{"call-part-later", sent(CallForBids{Round: 9, Closes: noon.Add(time.Second), Jobs: []Job{func() Job { j := unranked(aDividedGang.PartJobs()[0]); j.StartWith = noon.Add(time.Hour); return j }()}})},
	{"parts-committed", sent(PartsDecided{Job: "gang", Epoch: 3, Parts: []PartSite{{Part: "gang.left", Site: "oslo"}}, Committed: true, StartBy: noon.Add(time.Hour)})},
	{"submit-topology", sent(Submit{Job: aRackGang})},
	{"service-carbon", sent(SubmitService{Service: Service{ID: "chat", Wanted: 2, GPUs: 1, Share: 1000, CarbonWeight: 3000}})},
	{"capacity-carbon", sent(CapacityBid{Round: 9, Services: []ReplicaBid{{Service: "chat", Available: 12, Steps: []CostStep{{Count: 12, Cost: 40_200, Carbon: 26_000}}, HeldCost: 38_000, HeldCarbon: 25_000, Beyond: 7}}})},
	{"division-carbon", sent(ServiceDivision{Service: "chat", Decision: 2, Wanted: 12, Sites: []SiteCount{{Site: "oslo", Count: 12, Before: 6}}, Why: Reason{Code: Rebalanced},
		Cost: 956_000, Bound: 956_000, Stay: 990_000, Starts: 15_000, CarbonDoubled: []SiteCount{{Site: "lyon", Count: 6}, {Site: "oslo", Count: 6, Before: 12}}})},
	{"service-variants", sent(SubmitService{Service: Service{ID: "chat", Wanted: 2, GPUs: 1, Share: 1000, Variants: []Variant{{Model: "H100", Goodput: 11_300, Power: 560_000, Start: 2 * time.Minute}, {Model: "A100"}}}})},
	{"service-load", sent(SubmitService{Service: Service{ID: "chat", GPUs: 1, Share: 1000, Load: 60_000, Failover: 700,
		Classes:  []ServiceClass{{Name: "chat", Percentile: 950, TTFT: 450 * time.Millisecond, TPOT: 60 * time.Millisecond}, {Name: "bulk", Percentile: 990, Total: 10 * time.Minute, Output: 211}},
		RTT:      []SiteRTT{{Site: "lyon", RTT: 95 * time.Millisecond}, {Site: "oslo", RTT: 30 * time.Millisecond}},
		Variants: []Variant{{Model: "H100", Rates: []ServedRate{{Rate: 7000, Percentile: 950, TTFT: 300 * time.Millisecond, TPOT: 17 * time.Millisecond}, {Rate: 9000, Percentile: 950, TTFT: 420 * time.Millisecond, TPOT: 26 * time.Millisecond}}}}}})},
	{"capacity-load", sent(CapacityBid{Round: 9, Services: []ReplicaBid{{Service: "chat", Available: 12, Steps: []CostStep{{Count: 12, Cost: 40_200, Serves: 9000}}, HeldCost: 38_000, HeldServes: 9000}}})},
	{"offer-domain", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "gang", Options: []BidOption{anOption}}},
		Spreads: []Spread{{Job: "gang", Places: []Place{{Pods: 3, Node: "n1"}}}}, WithinDomain: []JobID{"gang"}})},
	{"launch-domain", sent(Launch{Job: aRackGang, Epoch: 3, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour, Power: 190_000, Places: gangPlaces, Domain: "zone-a/r1"})},
	{"launch-wake", sent(Launch{Job: aRackGang, Epoch: 3, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour, Power: 190_000, Wake: []string{"n2", "n3"}})},
	{"started-domain", sent(Started{Job: "gang", Epoch: 3, Node: "n1", Places: gangPlaces, Domain: "zone-a/r1"})},
	{"inventory-topology", sent(Inventory{Nodes: []Node{{Name: "n1", CPU: 64_000, Memory: 1 << 18}, {Name: "n2", CPU: 64_000, Memory: 1 << 18}},
		Topology: []NodeTopology{{Node: "n2", Labels: []Label{{Key: "topology.kubernetes.io/zone", Value: "zone-a"}, {Key: "rack", Value: "r1"}}}}})},
	{"submit-elastic", sent(Submit{Job: anElastic})},
	{"offer-elastic", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "elastic", Options: []BidOption{anOption, {Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 1, Pods: 2}}}},
		Spreads: []Spread{{Job: "elastic", Places: []Place{{Pods: 4, Node: "n1"}}}, {Job: "elastic", Option: 1, Places: []Place{{Pods: 2, Node: "n1"}}}}})},
	{"offer-hole", sent(Bids{Round: 9, Jobs: []JobBids{{Job: "gang", Options: []BidOption{anOption}}}, Spreads: []Spread{{Job: "gang", Places: []Place{{Pods: 3, Node: "n1"}}}},
		Holes: []Hole{{Job: "gang", Fit: 2, From: noon.Add(time.Hour), GPUHours: 40_000, Cost: 96_000}}})},
	{"award-places", sent(Award{Round: 9, Job: "gang", Epoch: 3, Option: anOption, Lease: noon.Add(time.Minute), Why: Reason{Code: Cheapest}, Proof: proof, Places: []Place{{Pods: 1, Node: "n1"}}})},
	{"launch-places", sent(Launch{Job: aGang, Epoch: 3, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour, Power: 190_000, Places: gangPlaces})},
	{"started-places", sent(Started{Job: "gang", Epoch: 3, Node: "n1", Places: gangPlaces})},
	{"done-places", sent(UsageReport{Job: "gang", Epoch: 3, Started: noon, Ended: noon.Add(time.Hour), Node: "n1", Devices: []int{0}, Places: gangPlaces})},
	{"done-left", sent(UsageReport{Job: "resumes", Epoch: 3, Started: noon, Ended: noon.Add(3 * time.Hour), Node: "n4", Devices: []int{0}, Left: 6 * time.Hour})},
	{"settled-part", sent(Settlement{Job: "resumes", Site: "oslo", Payer: "vision", Paid: 18_000, BidFor: aBill, Counted: aBill, Part: true})},
	{"brought-strays", sent(Snapshot{Rounds: 9, Strays: []OrphanedRun{{Site: "oslo", Job: "philly-17", Epoch: 3}}})},
}

func mustEncoded(m Message) []byte {
	data, err := Encode(m)
	if err != nil {
		panic(err)
	}
	return data
}

func golden(t *testing.T, name string, now func() []byte) []byte {
	t.Helper()
	file := filepath.Join("testdata", fmt.Sprintf("v%d", Current), name+".msgpack")
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && *update {
		data = now()
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatalf("%v; write it once with go test ./protocol -run Golden -update", err)
	}
	return data
}

func TestGoldenSentencesAreUnderstoodForEver(t *testing.T) {
	missing := map[string]bool{}
	for _, k := range kindNames() {
		missing[k] = true
	}
	for _, want := range sentences {
		t.Run(want.KindName(), func(t *testing.T) {
			delete(missing, want.KindName())
			data := golden(t, want.KindName(), func() []byte { return mustEncoded(want) })
			got, err := Decode(data)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Decode = %v\n got %+v\nwant %+v", err, got, want)
			}
		})
	}
	for k := range missing {
		t.Errorf("no sentence of kind %s", k)
	}
}

func TestGoldenFieldsThatWereAddedAreUnderstoodForEver(t *testing.T) {
	for _, g := range grown {
		t.Run(g.file, func(t *testing.T) {
			got, err := Decode(golden(t, g.file, func() []byte { return mustEncoded(g.sent) }))
			if err != nil || !reflect.DeepEqual(got, g.sent) {
				t.Errorf("Decode = %v\n got %+v\nwant %+v", err, got, g.sent)
			}
		})
	}
}

func TestGoldenNewerSentencesAreUnderstoodInPart(t *testing.T) {
	for _, tc := range newer {
		t.Run(tc.file, func(t *testing.T) {
			got, err := Decode(golden(t, tc.file, tc.make))
			var unknown *UnknownKindError
			if tc.kind != "" {
				if !errors.As(err, &unknown) || unknown.Kind != tc.kind {
					t.Errorf("Decode = %v; want kind %s to be unknown", err, tc.kind)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("Decode = %v\n got %+v\nwant %+v", err, got, tc.want)
			}
		})
	}
}

// Any other version is refused whole, with what to do, and nothing of it is read.
func TestGoldenMessagesOfOtherVersionsAreRefused(t *testing.T) {
	var files []string
	for v := Version(1); v < Current; v++ {
		of, err := filepath.Glob(fmt.Sprintf("testdata/v%d/*.msgpack", v))
		if err != nil || len(of) < 55 {
			t.Fatalf("testdata/v%d holds %d messages, %v; want those of version %d", v, len(of), err, v)
		}
		files = append(files, of...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(data)
		var version *VersionError
		if !errors.As(err, &version) || version.Version == Current || !reflect.DeepEqual(m, Message{}) {
			t.Errorf("Decode(%s) = %+v, %v; want a VersionError and no message", file, m, err)
		}
	}
	for _, tc := range []struct {
		version Version
		want    string
	}{
		{2, "older than 3, the only one that this program reads: update the program that sends it"},
		{4, "newer than 3, the only one that this program reads: update this program"},
	} {
		data := bytes.Replace(mustEncoded(sent(Started{Job: "a"})), []byte("\xa1v\x03"), []byte{0xa1, 'v', byte(tc.version)}, 1)
		if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Decode of version %d = %v; want %q", tc.version, err, tc.want)
		}
	}
}

func TestJSONIsForPeople(t *testing.T) {
	text, err := MessageJSON(Message{Current, noon, Coordinator, 7, "", Launch{Job: Job{ID: "a", Arrival: noon, Run: time.Minute}, Devices: []int{1}, Run: time.Hour}, nil})
	want := `{"kind":"launch","at":"2022-04-13T12:00:00Z","from":"coordinator","seq":7,"to":"all","version":3,"body":` +
		`{"job":{"id":"a","arrival":"2022-04-13T12:00:00Z","run":"1m0s","deadline":"never"},"epoch":0,"node":"","devices":[1],"run":"1h0m0s","power":0}}`
	if err != nil || string(text) != want {
		t.Errorf("JSON = %v\n got %s\nwant %s", err, text, want)
	}
	text, _ = MessageJSON(sent(Reject{Job: "a", Why: aReason}))
	if want := `"body":{"job":"a","why":{"code":"cheaper-later","note":"wind at night"}}}`; !strings.HasSuffix(string(text), want) {
		t.Errorf("JSON = %s; want it to end in %s", text, want)
	}
}

// unranked returns a part as it was before parts said where they stand in the whole.
func unranked(j Job) Job {
	j.FirstRank, j.WholePods, j.Leader = 0, 0, ""
	return j
}
