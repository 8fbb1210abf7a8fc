package nearest

import (
	"slices"
	"testing"
)

func TestNearestNamesAreThoseOfFewTypingErrors(t *testing.T) {
	names := []string{"replay", "jobs", "job", "auction", "auction-now", "home-fifo", "hydro-north", "real-days/storm_elliott_2022-12-24", "list"}
	for text, want := range map[string][]string{
		"replya":  {"replay"},
		"jbos":    {"jobs"},
		"lst":     {"list"},
		"aution":  {"auction", "auction-now"},
		"fifo":    {"home-fifo"},
		"hydra":   {"hydro-north"},
		"Auction": {"auction", "auction-now"},
		"re":      {"replay", "real-days/storm_elliott_2022-12-24"},
		"zebra":   nil,
		"":        nil,
	} {
		if got := Names(text, names, 3); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("nearest to %q: %q; want %q", text, got, want)
		}
	}
	for want, got := range map[string]string{
		` (did you mean "job", "job-1" or "job-2"?)`: DidYouMean("job", []string{"job-1", "job-2", "job", "job-3"}),
		` (did you mean "oslo"?)`:                    WhatThereIs("olso", []string{"oslo", "bern"}),
		`: there are "oslo", "bern" and "lyon"`:      WhatThereIs("kyoto", []string{"oslo", "bern", "lyon"}),
		`: there is only "oslo"`:                     WhatThereIs("kyoto", []string{"oslo"}),
		": there are none":                           WhatThereIs("kyoto", nil),
		": there are 20, and none is like it":        WhatThereIs("kyoto", make([]string, 20)),
	} {
		if got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	if got, want := DidYouMean("aution", names), ` (did you mean "auction" or "auction-now"?)`; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"oslo", "oslo", 0}, {"oslo", "osl", 1}, {"olso", "oslo", 2}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := EditDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("EditDistance(%q, %q) = %d; want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
