package adversary

import (
	"os"
	"strings"
	"testing"
)

func TestASetOfAttacksIsChecked(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no YAML", "\t:", "correct the YAML"},
		{"nothing", "", "empty"},
		{"no attacks", "payloads: []", "add at least one attack"},
		{"another list", "atacks: []", "my.yaml:1"},
		{"a text that is none", "payloads:\n- {id: A, surface: chat, text: 7}", "my.yaml:2: payloads/0/text"},
		{"no text", "payloads:\n- {id: A, surface: chat, text: x}\n- {id: B, surface: chat}", "my.yaml:3: payloads/1"},
		{"a bid that does nothing", "bids:\n- id: B\n  must: hold", "my.yaml:2: bids/0"},
		{"an id twice", "bids:\n- {id: B, what: lies}\nmodels:\n- {id: B, what: hangs}", `my.yaml:4: models/0/id: duplicate id "B"`},
	} {
		if _, err := ReadAttackSet("my.yaml", []byte(tc.text)); err == nil || !strings.Contains(err.Error(), "attack: my.yaml") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q in it", tc.name, err, tc.want)
		}
	}
	if f, err := ReadAttackSet("my.yaml", []byte("payloads:\n- {id: A, surface: chat, text: x, note: of ours}")); err != nil || len(f.Payloads) != 1 {
		t.Errorf("a set with more than we read: %v", err)
	}
}

func TestTheSetOfAttacksHolds(t *testing.T) {
	text, err := os.ReadFile("../../../shared/bench/adversarial.yaml")
	if err != nil {
		t.Skipf("no set of attacks: %v", err)
	}
	f, err := ReadAttackSet("adversarial.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.RunAttacks(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	on := make(map[string]int)
	for _, r := range rows {
		on[r.Surface] += r.Checks
		if !r.Held {
			t.Errorf("%s %s on %s: %s", r.ID, r.What, r.Surface, r.Detail)
		}
	}
	for _, s := range allSurfaces {
		if on[string(s)] == 0 {
			t.Errorf("nothing was looked at on the surface %s", s)
		}
	}
	t.Log(on)
}
