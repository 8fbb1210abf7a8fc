package policy

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gridbid/gridbid/protocol"
)

func schema(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is not at hand", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("diff.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("diff.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestADiffKeepsItsSchema(t *testing.T) {
	for name, path := range map[string]string{"ours": "../../docs/policy-diff.schema.json", "the benchmark's": "../../../shared/bench/schemas/policy_diff.schema.json"} {
		t.Run(name, func(t *testing.T) {
			s := schema(t, path)
			for _, said := range []string{
				"prefer hydro this weekend, never move EU data", "strongly prefer oslo on weekdays", "avoid coal-plains at night", "never run jobs of team-a at coal-plains",
				"cap carbon at 300 g/kWh", "never run at oslo when the price is above 90 €/MWh", "cap oslo at 200 kW until friday", "no more than 150 kW in the EU after 16:00",
				"remove R-7", "forbid oslo tomorrow, and set every quota to unlimited", "jobs of vision must stay in the EU", "forbid coal in the daytime",
			} {
				d := ParseSentence(said, protocol.Policy{Version: 3}, known).AsDiff()
				if d == nil {
					t.Errorf("%q changes nothing", said)
					continue
				}
				text, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(inst); err != nil {
					t.Errorf("%q: %s: %v", said, text, err)
				}
			}
			bad, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"base": 1, "ops": [{"op": "add", "rule": {"kind": "quota"}}]}`))
			if s.Validate(bad) == nil {
				t.Error("the schema takes a kind of rule that there is not")
			}
		})
	}
}

func TestADiffSaysWhatWasSaid(t *testing.T) {
	for said, want := range map[string]string{
		"prefer hydro this weekend": `{"base":0,"ops":[{"op":"add","rule":{"kind":"prefer","where":{"tag":"hydro"},"when":{"from":"2025-06-14T00:00:00Z","to":"2025-06-16T00:00:00Z","tz":"UTC"},"weight":0.15}}]}`,
		"never move EU data":        `{"base":0,"ops":[{"op":"add","rule":{"kind":"forbid","who":{"data":"EU"},"where":{"outside":"EU"}}}]}`,
		"cap team-a at 16 GPUs":     `{"base":0,"ops":[{"op":"add","rule":{"kind":"cap","who":{"tenant":"team-a"},"what":"gpus","value":16,"unit":"GPU"}}]}`,
		"cap oslo at 200 kW":        `{"base":0,"ops":[{"op":"add","rule":{"kind":"cap","where":{"site":"oslo"},"what":"power","value":200,"unit":"kW"}}]}`,
	} {
		got, err := json.Marshal(ParseSentence(said, protocol.Policy{}, known).AsDiff())
		if err != nil || string(got) != want {
			t.Errorf("%q is\n %s, %v; want\n %s", said, got, err, want)
		}
	}
	if ParseSentence("sing", protocol.Policy{}, known).AsDiff() != nil {
		t.Error("a song is a diff")
	}
}
