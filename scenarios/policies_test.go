package scenarios_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/script"
)

// A scenario may name every policy that there is, and no other.
func TestTheSchemaNamesEveryPolicy(t *testing.T) {
	var schema struct {
		Properties struct {
			Policies struct {
				Items struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(script.Schema), &schema); err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(slices.Values(schema.Properties.Policies.Items.Enum)), slices.Sorted(slices.Values(scenarios.Policies()))
	if !slices.Equal(got, want) {
		t.Errorf("the schema of scenarios names %v; there are %v", got, want)
	}
}
