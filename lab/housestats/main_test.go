package main

import "testing"

func TestNamesAreCountedByWords(t *testing.T) {
	for name, want := range map[string]int{"add": 1, "addNode": 2, "serveHTTP": 2, "HTTPServer": 2, "New": 1, "jobID": 2, "x": 1, "QuoteExcept": 2, "snake_case": 2} {
		if got := countWords(name); got != want {
			t.Errorf("countWords(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestLinesAreCodeOrComment(t *testing.T) {
	const text = "package p // of a line with code\n\n// one\n/* two\n   three */\nvar s = `a\nb`\n"
	if code, comment := countLines([]byte(text)); code != 3 || comment != 3 {
		t.Errorf("countLines = %d code, %d comment, want 3 and 3", code, comment)
	}
}

func TestTreeIsMeasured(t *testing.T) {
	s, err := measureTree(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.packages) != 1 || s.totalLines() < 100 || len(s.names) != len(s.bodies) || s.bodyQuantile(1) > 100 {
		t.Errorf("measured %d packages, %d lines, %d names, %d functions, the longest of %d lines",
			len(s.packages), s.totalLines(), len(s.names), len(s.bodies), s.bodyQuantile(1))
	}
	if _, err := measureTree("no-such-folder"); err == nil {
		t.Error("measureTree of a folder that does not exist: no error")
	}
}
