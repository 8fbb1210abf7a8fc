package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// What is no change is refused with what is wrong with it.
func TestAChangeThatCannotBeIsRefused(t *testing.T) {
	op := func(rule string) string { return `{"ops": [{"op": "add", "rule": ` + rule + `}]}` }
	prefer := `{"op": "add", "rule": {"kind": "prefer", "where": {"sites": ["oslo"]}, "weight_thousandths": 100}}`
	for text, want := range map[string]string{
		`{"ops": [{"op": "add"}]}`:                                                "names none",
		`{"ops": [` + strings.Repeat(prefer+",", mostOps) + prefer + `]}`:         "at most 8",
		op(`{"kind": "cap", "most_milliwatts": -1}`):                              "less than nothing",
		op(`{"kind": "cap", "most_milligrams_per_kwh": -1}`):                      "less than nothing",
		op(`{"kind": "cap", "most_milliwatts": 1, "most_milligrams_per_kwh": 1}`): "a rule of its own",
	} {
		var c Change
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			_, err = Apply(protocol.Policy{}, c, "ada", "", "")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", text, err, want)
		}
	}
}
