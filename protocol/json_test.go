package protocol

import (
	"encoding/json"
	"testing"
	"unicode"
)

func TestEscapedJSONIsTheSameValue(t *testing.T) {
	for _, name := range []string{"job\u200b-1", "a\u202eb", "\x1b[2J", "\u009b", "🙂\U000e0041", "plain ünïcode"} {
		raw, _ := json.Marshal(map[string]string{"name": name})
		out := EscapeUnprintable(raw)
		var back map[string]string
		if err := json.Unmarshal(out, &back); err != nil || back["name"] != name {
			t.Errorf("%q comes back as %q, %v", name, back["name"], err)
		}
		for _, r := range string(out) {
			if !unicode.IsPrint(r) {
				t.Errorf("%q holds %U", out, r)
			}
		}
	}
}
