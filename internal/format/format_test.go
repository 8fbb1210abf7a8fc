package format

import (
	"math"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestDollars(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    protocol.Microdollars
		want string
	}{
		{"nothing", 0, "$0"},
		{"less than is shown", 49, "$0"},
		{"rounded away from zero", 50, "$0.0001"},
		{"below zero", -1_234_560, "-$1.2346"},
		{"below zero, but less than is shown", -1, "$0"},
		{"a lot", 12_345_678_900, "$12345.6789"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := FormatDollars(tc.m); got != tc.want {
				t.Errorf("FormatDollars(%d) = %q; want %q", tc.m, got, tc.want)
			}
		})
	}
}

func TestSpan(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{59 * time.Second, "59 s"},
		{90 * time.Second, "1 min 30 s"},
		{time.Hour, "1 h"},
		{47*time.Hour + 59*time.Minute, "47 h 59 min"},
		{49 * time.Hour, "2 d 1 h"},
		{-90 * time.Minute, "-1 h 30 min"},
	} {
		if got := FormatDuration(tc.d); got != tc.want {
			t.Errorf("FormatDuration(%v) = %q; want %q", tc.d, got, tc.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"},
	} {
		if got := TruncateText(tc.s, tc.n); got != tc.want {
			t.Errorf("TruncateText(%q, %d) = %q; want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

func TestCleanTextMovesNoCursor(t *testing.T) {
	bad := regexp.MustCompile(`[\x00-\x1f\x7f-\x9f\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{2069}\x{feff}]`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\x1b\x9b\u202e\u2066\u200b\ufeff\n\r\x07")))).Draw(t, "s")
		got := CleanText(s)
		if bad.MatchString(got) {
			t.Errorf("CleanText(%q) = %q", s, got)
		}
		if len([]rune(got)) > 400 {
			t.Errorf("CleanText(%q) has %d characters", s, len([]rune(got)))
		}
	})
}

func TestAHugeAmountIsStillText(t *testing.T) {
	for _, m := range []protocol.Microdollars{math.MinInt64, math.MaxInt64} {
		if FormatDollars(m) == "" {
			t.Errorf("FormatDollars(%d) is empty", m)
		}
	}
}
