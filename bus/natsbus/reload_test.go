package natsbus

import (
	"os"
	"path/filepath"
	"testing"
)

// Leaves stay when a file is read that says of them what it said before.
func TestKeysOfAFileAreTheSameEachTime(t *testing.T) {
	_, key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	read := func(subject string) map[string]string {
		file := filepath.Join(t.TempDir(), "nats.conf")
		text := "listen: 127.0.0.1:-1\naccounts { A { users: [{nkey: " + key + ", permissions: {publish: {allow: [\"" + subject + "\"]}}}] } }\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opts, err := configuration(file)
		if err != nil {
			t.Fatal(err)
		}
		return keysOf(opts)
	}
	if a, b := read("x"), read("x"); a["A"] != b["A"] || a["A"] == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := read("x"), read("y"); a["A"] == b["A"] {
		t.Errorf("other rights are the same: %q", a)
	}
}
