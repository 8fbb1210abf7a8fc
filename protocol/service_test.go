package protocol

import (
	"strings"
	"testing"
	"time"
)

// A site may lie about its capacity in any way; only bids that can be meant are heard.
func TestImpossibleCapacityBidsAreNotPlausible(t *testing.T) {
	bid := func(rows ...ReplicaBid) bool {
		return Message{From: AgentParty("oslo"), To: Coordinator, Body: CapacityBid{Services: rows}}.IsPlausible()
	}
	good := ReplicaBid{Service: "chat", Available: 3, Steps: []CostStep{{Count: 1, Cost: -5}, {Count: 2, Cost: 7}}}
	if !bid(good) || !bid() || !bid(ReplicaBid{Service: "chat", Why: Reason{Code: NoCapacity}}) {
		t.Error("what can be is not plausible")
	}
	for name, rows := range map[string][]ReplicaBid{
		"the same service twice":       {good, good},
		"fewer than none":              {{Service: "chat", Available: -1}},
		"more than any service has":    {{Service: "chat", Available: MaxReplicas + 1, Steps: []CostStep{{Count: MaxReplicas + 1}}}},
		"steps of none":                {{Service: "chat", Available: 3, Steps: []CostStep{{Count: 0}, {Count: 3}}}},
		"steps that take back":         {{Service: "chat", Available: 3, Steps: []CostStep{{Count: 5}, {Count: -2}}}},
		"fewer steps than replicas":    {{Service: "chat", Available: 3, Steps: []CostStep{{Count: 2}}}},
		"more steps than replicas":     {{Service: "chat", Available: 3, Steps: []CostStep{{Count: 4}}}},
		"a cost beyond reason":         {{Service: "chat", Available: 1, Steps: []CostStep{{Count: 1, Cost: MaxMoney + 1}}}},
		"a held cost beyond reason":    {{Service: "chat", HeldCost: -MaxMoney - 1}},
		"fewer than none that it runs": {{Service: "chat", Held: ReplicaStatus{Ready: -1}}},
	} {
		if bid(rows...) {
			t.Errorf("%s is plausible", name)
		}
	}
	if (Message{From: Submitter, Body: CapacityBid{}}).IsPlausible() || (Message{From: AgentParty("oslo"), Body: AssignReplicas{}}).IsPlausible() {
		t.Error("another party may say what a site or the coordinator says")
	}
}

// A service that nobody can divide is refused, in words that name the field.
func TestInvalidServicesSayWhy(t *testing.T) {
	valid := aService
	valid.Division.Weights = nil // the golden message has all fields at once
	if why := valid.InvalidReason(); why != "" {
		t.Fatalf("%+v: %s", valid, why)
	}
	for field, change := range map[string]func(*Service){
		"id":         func(s *Service) { s.ID = "" },
		"gpus":       func(s *Service) { s.GPUs = -1 },
		"share":      func(s *Service) { s.Share = 1001 },
		"GPU model":  func(s *Service) { s.Variants = []Variant{{Model: "H100"}, {Model: "H100"}} },
		"goodput":    func(s *Service) { s.Variants = []Variant{{Model: "H100", Goodput: -1}} },
		"start of":   func(s *Service) { s.Variants = []Variant{{Model: "H100", Start: 25 * time.Hour}} },
		"cpu":        func(s *Service) { s.CPU = -1 },
		"replicas":   func(s *Service) { s.Wanted = -1 },
		"min or max": func(s *Service) { s.Min = 61 },
		"outside":    func(s *Service) { s.Wanted = 1 },
		"move":       func(s *Service) { s.Move.Cost = -1 },
		"division":   func(s *Service) { s.Division.Rule = "fair" },
		"minPerSite": func(s *Service) { s.Division.MinPerSite = -1 },
		"tiers":      func(s *Service) { s.Division.Tiers = []SiteTier{{}} },
		"may not":    func(s *Service) { s.Division.Tiers = []SiteTier{{Sites: []string{"bern"}}} },
		"exclusive":  func(s *Service) { s.Division.Tiers = nil },
		"only rule":  func(s *Service) { s.Division.Weights = []SiteWeight{{Site: "oslo", Weight: 1}} },
		"spill over": func(s *Service) { s.Division.Rule = DivideByWeights },
		"twice": func(s *Service) {
			s.Division = Division{Rule: DivideByWeights, Weights: []SiteWeight{{Site: "oslo", Weight: 1}, {Site: "oslo", Weight: 2}}}
		},
		"want 0..1000000": func(s *Service) {
			s.Division = Division{Rule: DivideByWeights, Weights: []SiteWeight{{Site: "oslo", Weight: -1}}}
		},
	} {
		s := valid
		change(&s)
		if why := s.InvalidReason(); !strings.Contains(why, field) {
			t.Errorf("%s: %q", field, why)
		}
	}
}
