package scenarios_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A scenario may name every policy that there is, the auction with all that its sites
// may know, and no other.
func TestTheSchemaNamesEveryPolicy(t *testing.T) {
	var schema struct {
		Properties struct {
			Policies struct {
				Items struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(spec.ScenarioSchema), &schema); err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(scenarios.AllPolicyNames(), func(name string) bool {
		return strings.Contains(name, "/") && !strings.HasPrefix(name, scenarios.PolicyAuction+"/")
	})
	got, want := slices.Sorted(slices.Values(schema.Properties.Policies.Items.Enum)), slices.Sorted(slices.Values(all))
	if !slices.Equal(got, want) {
		t.Errorf("the schema of scenarios names %v; there are %v", got, want)
	}
}

// Names go in as people write them, and come out as tables have them.
func TestAPolicysNameMaySayWhatSitesKnow(t *testing.T) {
	for text, want := range map[string]string{
		"auction": "auction", "auction/forecast": "auction", "auction/": "auction", "auction/perfect": "auction/perfect", "gaia/none": "gaia/none", "home-fifo/runtimes": "home-fifo/runtimes",
		"luck": "", "": "", "luck/perfect": "", "auction/luck": "", "auction/perfect/none": "", "/perfect": "",
	} {
		got, err := scenarios.CanonicalPolicyName(text)
		if (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// Every table has the auction with perfect forecasts, with the usual ones and with
// none, and rules that pause only where something can be paused.
func TestUsualPoliciesAreThoseThatDiffer(t *testing.T) {
	plain, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := scenarios.DefaultPolicies(plain); !slices.Equal(got[:6], []string{"auction", "auction/perfect", "auction/wrong", "auction/none", "auction/learned", "auction/runtimes"}) || slices.Contains(got, "suspend-resume") {
		t.Errorf("usual are %v", got)
	}
	pausable := plain
	pausable.Jobs = slices.Clone(plain.Jobs)
	pausable.Jobs[0].Pause = 1
	if got := scenarios.DefaultPolicies(plain, pausable); !slices.Contains(got, "suspend-resume") || slices.Contains(got, "carbonscaler") || len(got) != len(scenarios.PolicyNames())+4 {
		t.Errorf("where jobs can be paused usual are %v", got)
	}
	elastic := pausable
	elastic.Jobs = slices.Clone(pausable.Jobs)
	elastic.Jobs[0].Speed = []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 2000}}
	if got := scenarios.DefaultPolicies(plain, elastic); !slices.Contains(got, "carbonscaler") {
		t.Errorf("where jobs are elastic usual are %v", got)
	}
}

// An outside policy may name its program, which becomes part of file names, and needs a rule that its
// caller brings.
func TestAnOutsidePolicyNamesItsProgram(t *testing.T) {
	for text, want := range map[string]string{
		"outside": "outside", "outside:my-net.v2": "outside:my-net.v2", "outside:mine/perfect": "outside:mine/perfect",
		"outside:": "", "outside:a b": "", "outside:../x": "", "outside:" + strings.Repeat("x", 65): "", "outsider": "",
	} {
		got, err := scenarios.CanonicalPolicyName(text)
		if (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	if got := scenarios.FileStem("outside:mine/perfect"); got != "outside-mine-perfect" {
		t.Errorf("its files are named %q", got)
	}
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scenarios.BuildTestbed(s, "outside:mine"); err == nil || !strings.Contains(err.Error(), "--outside CMD") {
		t.Errorf("without a rule: %v", err)
	}
}
