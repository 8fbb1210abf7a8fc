package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Apply refuses an invalid change, and its error says what is wrong.
func TestAChangeThatCannotBeIsRefused(t *testing.T) {
	op := func(rule string) string { return `{"ops": [{"op": "add", "rule": ` + rule + `}]}` }
	prefer := `{"op": "add", "rule": {"kind": "prefer", "where": {"sites": ["oslo"]}, "weight_thousandths": 100}}`
	for text, want := range map[string]string{
		`{"ops": [{"op": "add"}]}`:                                                                                     "lacks its rule",
		`{"ops": [` + strings.Repeat(prefer+",", maxOps) + prefer + `]}`:                                               "at most 8",
		op(`{"kind": "cap", "most_milliwatts": -1}`):                                                                   "is negative",
		op(`{"kind": "cap", "who": {"tenant": "a"}, "most_thousandths_of_a_gpu": -1}`):                                 "is negative",
		op(`{"kind": "cap", "most_thousandths_of_a_gpu": 1000}`):                                                       "name a tenant or a site",
		op(`{"kind": "cap", "who": {"tenant": "a"}, "most_thousandths_of_a_gpu": 1000, "most_milliwatts": 1}`):         "a rule of its own",
		op(`{"kind": "cap", "who": {"tenant": "a"}, "most_thousandths_of_a_gpu": 1000, "most_milligrams_per_kwh": 1}`): "a rule of its own",
		op(`{"kind": "cap", "most_milligrams_per_kwh": -1}`):                                                           "is negative",
		op(`{"kind": "cap", "most_milliwatts": 1, "most_milligrams_per_kwh": 1}`):                                      "a rule of its own",
	} {
		var c Change
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			_, err = ApplyChange(protocol.Policy{}, c, "ada", "", "")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", text, err, want)
		}
	}
}

// A rule in force may fail a newer check. It stays in force and does not block other
// changes.
func TestWhatIsInForceDoesNotKeepAChangeOut(t *testing.T) {
	was := protocol.Policy{Version: 1, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Sites: []string{"oslo"}, Power: 1, Carbon: 1}}}
	now, err := ApplyChange(was, Change{Base: 1, Ops: []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"lyon"}})}}, "ada", "", "")
	if err != nil || len(now.Rules) != 2 {
		t.Errorf("%v: %v", now.Rules, err)
	}
	now.Rules[0].Carbon = 2
	if err := CheckSuccessor(was, now); err == nil || !strings.Contains(err.Error(), "a rule of its own") {
		t.Errorf("another rule in its place: %v", err)
	}
}
