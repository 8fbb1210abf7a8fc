package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAModelIsConfiguredSafelyOrNotAtAll(t *testing.T) {
	t.Setenv(modelKeyVariable, "")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("notes.json", `[{"site":"oslo","text":"serviced tonight"}]`)
	write("many.json", `[`+strings.Repeat(`{"site":"oslo","text":"`+strings.Repeat("x", 300)+`"},`, 200)+`{"site":"oslo","text":"x"}]`)
	write("key", "sk-of-a-file\n")
	write("blank", "\n")
	const local = "http://127.0.0.1:1/v1"
	for _, tc := range []struct{ name, text, want string }{
		{"none", "lease: 2s", ""},
		{"one on this machine", "model: {url: '" + local + "', name: m, notes: notes.json, wait: 2s, leeway: 2.5, key_file: key}", ""},
		{"a key in clear", "model: {url: 'http://192.0.2.1/v1', name: m, key_file: key}", "https"},
		{"an empty key", "model: {url: '" + local + "', name: m, key_file: blank}", "is empty"},
		{"no name", "model: {url: '" + local + "'}", "name"},
		{"a leeway of everything", "model: {url: '" + local + "', name: m, leeway: 100}", "leeway"},
		{"a wait of a day", "model: {url: '" + local + "', name: m, wait: 24h}", "1ms to 10m"},
		{"a key in the file", "model: {url: '" + local + "', name: m, key: sk}", "key"},
		{"notes that are too long", "model: {url: '" + local + "', name: m, notes: many.json}", "bytes together"},
		{"notes that are not there", "model: {url: '" + local + "', name: m, notes: none.json}", "none.json"},
	} {
		c, err := loadConfig(write("coordinator.yaml", tc.text))
		if err == nil {
			var judge any
			advice, serve, e := c.Model.openAdvisor(slog.Default())
			if err = e; serve != nil {
				judge = serve
			}
			if err == nil && (judge != nil) != strings.Contains(tc.text, "url") {
				t.Errorf("%s: a judge: %v", tc.name, judge)
			}
			if tc.name == "one on this machine" && (advice.Ease != 25 || len(advice.Notes) != 1) {
				t.Errorf("%s: advice %+v", tc.name, advice)
			}
		}
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sk-of")) {
			t.Errorf("%s: %v; want %q in it", tc.name, err, tc.want)
		}
	}
}

// A secret that was made of a file ends with its line.
func TestAKeyOfTheEnvironmentMayEndALine(t *testing.T) {
	t.Setenv(modelKeyVariable, "sk-of-a-secret\n")
	c := modelConfig{URL: "http://127.0.0.1:1/v1", Name: "m"}
	if _, serve, err := c.openAdvisor(slog.Default()); err != nil || serve == nil {
		t.Errorf("open: %v", err)
	}
}
