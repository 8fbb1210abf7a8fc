package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	call      = `{"kind":"call","seq":1,"version":1,"body":{"round":1,"jobs":[]}}` + "\n"
	newCall   = `{"kind":"call","seq":1,"version":2,"body":{"jobs":[],"round":1,"planning":{"slot":"15m0s"}}}` + "\n"
	award     = `{"kind":"award","seq":2,"version":1,"body":{"round":1,"epoch":9007199254740993}}` + "\n"
	newAward  = `{"kind":"award","seq":2,"version":2,"body":{"round":1,"epoch":9007199254740993}}` + "\n"
	elsewhere = `{"kind":"award","seq":2,"version":2,"body":{"round":1,"epoch":9007199254740992}}` + "\n"
)

func TestLedgersAreComparedWithoutKeys(t *testing.T) {
	for _, tc := range []struct {
		name, a, b, ignore string
		want               int
		says               string
	}{
		{"equal", call + award, call + award, "", exitEqual, "2 messages, 1 awards among them, are equal"},
		{"equal without new keys", call + award, newCall + newAward, "version,call.planning", exitEqual, "equal without version and call.planning"},
		{"new keys differ", call + award, newCall + newAward, "version", exitDiffer, "message 1 differs"},
		{"another award, by one beyond 2^53", newCall + newAward, newCall + elsewhere, "version", exitDiffer, "message 2 differs"},
		{"a message is missing", call + award, call, "", exitDiffer, "(no more messages)"},
		{"a message too many", call, call + award, "", exitDiffer, "< (no more messages)"},
		{"a key of another kind is not left out", call, strings.Replace(call, `"round":1`, `"round":2`, 1), "award.round", exitDiffer, "message 1 differs"},
		{"empty files", "", "", "", exitFailed, "hold no message"},
		{"no JSON", call, "ledger\n", "", exitFailed, "gridbid messages"},
		{"no key", call, call, "call.", exitFailed, "is no key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			for file, text := range map[string]string{a: tc.a, b: tc.b} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, problems strings.Builder
			got := run([]string{"-ignore", tc.ignore, a, b}, &out, &problems)
			if got != tc.want || !strings.Contains(out.String()+problems.String(), tc.says) {
				t.Errorf("exit code %d, printed %q and %q; want %d and %q", got, out.String(), problems.String(), tc.want, tc.says)
			}
		})
	}
}
