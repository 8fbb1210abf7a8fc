package attack

import (
	"os"
	"testing"
)

func TestTheSetOfAttacksHolds(t *testing.T) {
	text, err := os.ReadFile("../../../shared/bench/adversarial.yaml")
	if err != nil {
		t.Skipf("no set of attacks: %v", err)
	}
	f, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if t.Log(r); !r.Held {
			t.Errorf("%s %s: %s", r.ID, r.What, r.Detail)
		}
	}
}
