package protocol

import (
	"encoding/json"
	"testing"
)

func TestATimeIsReadAsItIsWritten(t *testing.T) {
	for _, want := range []Time{0, noon, noon + 7} {
		text, err := json.Marshal(want)
		got := Time(-1)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || got != want {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
	var x Time
	for _, text := range []string{`7`, `"noon"`, `""`} {
		if json.Unmarshal([]byte(text), &x) == nil {
			t.Errorf("%s is read as %v", text, x)
		}
	}
}
