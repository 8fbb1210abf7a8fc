package trace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/trace"
)

// Malformed rows end the reading, or are skipped, counted and listed by line and column if that is
// wanted. What is wrong with more than a row is refused in both cases.
func TestMalformedRowsAreRefusedOrListed(t *testing.T) {
	const head = "job_id,submit_s,duration_s,gpus\n"
	for _, x := range []struct {
		name, text string
		jobs       int
		skipped    []string // parts of the notes, in order
		refused    string   // part of the error with rows skipped; "": none
	}{
		{"none", head + "a,0,60,1\n", 1, nil, ""},
		{"a short row and a bad number", head + "a,0,60,1\nb,0,60\nc,0,soon,1\nd,5,60,1\n", 2, []string{"skipped: 2", "j.csv:3: 3 fields", `j.csv:4: duration_s is "soon"`}, ""},
		{"an id twice", head + "a,0,60,1\na,0,60,1\n", 1, []string{"skipped: 1", "j.csv:3: job_id a is already in line 2"}, ""},
		{"the last row", head + "a,0,60,1\nb,0,60,no\n", 1, []string{"skipped: 1", `j.csv:3: gpus is "no"`}, ""},
		{"nothing else", head + "a,0,60,no\n", 0, nil, "the first of 1 malformed rows"},
		{"a quote that is not closed", head + "a,0,60,1\n\"b,0,60,1\n", 0, nil, "j.csv:3: "},
		{"many", head + "a,0,60,1\n" + strings.Repeat("b,0,60\n", 130), 1, append([]string{"skipped: 130"}, append(slices.Repeat([]string{"3 fields"}, 100), "and 30 malformed rows more")...), ""},
	} {
		read := func(skip bool) (trace.TraceJobs, error) {
			return trace.ReadJobs(strings.NewReader(x.text), "j.csv", trace.Selection{From: -1, Max: 100, SkipBad: skip}, nil)
		}
		if _, err := read(false); (err == nil) != (x.name == "none") {
			t.Errorf("%s: with no row skipped the error is %v", x.name, err)
		}
		h, err := read(true)
		if (err != nil) != (x.refused != "") || err != nil && !strings.Contains(err.Error(), x.refused) {
			t.Errorf("%s: %v; want an error with %q", x.name, err, x.refused)
			continue
		}
		var listed []string
		for _, n := range h.Notes {
			if strings.Contains(n, "malformed") || strings.HasPrefix(n, "skipped: ") {
				listed = append(listed, n)
			}
		}
		fits := func(n, want string) bool { return strings.Contains(n, want) }
		if len(h.Records) != x.jobs || !slices.EqualFunc(listed, x.skipped, fits) {
			t.Errorf("%s: %d jobs and the notes %q; want %d and %q", x.name, len(h.Records), listed, x.jobs, x.skipped)
		}
	}
}
