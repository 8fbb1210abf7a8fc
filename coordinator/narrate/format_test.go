package narrate

import (
	"math"
	"reflect"
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
			if got := dollars(tc.m); got != tc.want {
				t.Errorf("dollars(%d) = %q; want %q", tc.m, got, tc.want)
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
		if got := span(tc.d); got != tc.want {
			t.Errorf("span(%v) = %q; want %q", tc.d, got, tc.want)
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
		if got := cut(tc.s, tc.n); got != tc.want {
			t.Errorf("cut(%q, %d) = %q; want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

func TestCleanTextMovesNoCursor(t *testing.T) {
	bad := regexp.MustCompile(`[\x00-\x1f\x7f-\x9f\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{2069}\x{feff}]`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\x1b\x9b\u202e\u2066\u200b\ufeff\n\r\x07")))).Draw(t, "s")
		got := clean(s)
		if bad.MatchString(got) {
			t.Errorf("clean(%q) = %q", s, got)
		}
		if len([]rune(got)) > 200 {
			t.Errorf("clean(%q) has %d characters", s, len([]rune(got)))
		}
	})
}

func TestEveryCodeHasWords(t *testing.T) {
	for _, code := range []protocol.Code{
		protocol.NotAllowed, protocol.NoModel, protocol.TooBig, protocol.NoRoom, protocol.PastDeadline, protocol.NoSignal,
		protocol.NotAsked, protocol.Cheapest, protocol.ByRule, protocol.CheaperLater, protocol.Waiting, protocol.NoOffer,
		protocol.Malformed, protocol.Duplicate, protocol.RoomGone, protocol.Superseded, protocol.UnknownJob,
		protocol.SiteSilent, protocol.BadTerms, "",
	} {
		if got := Words(code); got == string(code) {
			t.Errorf("Words(%q) has none", code)
		}
	}
	if got := Words("newer-than-this"); got != "newer-than-this" {
		t.Errorf("Words of a code of tomorrow = %q; want the code", got)
	}
}

func TestFacts(t *testing.T) {
	s := deferred()
	s.run("oslo", night(), 125*time.Minute)
	r, _ := s.book.Job("train-42")
	seen := make(map[string]Fact)
	for i, f := range Facts(r) {
		if f.Origin.From == "" || f.Origin.Seq == 0 {
			t.Errorf("%s has no origin: %+v", f.ID, f)
		}
		if i == 0 && f.ID != "F1" {
			t.Errorf("the first fact is %q; want F1", f.ID)
		}
		seen[f.Subject+" "+f.Name] = f
	}
	for what, want := range map[string]int64{
		"award total-cost": 74_200, "site/lyon total-cost": 160_000, "run paid": 64_050, "run carbon": 41_400, "job gpu": 2000,
	} {
		if f, ok := seen[what]; !ok || f.Value != want {
			t.Errorf("fact %q = %+v; want %d", what, f, want)
		}
	}
}

func TestAHugeAmountIsStillText(t *testing.T) {
	for _, m := range []protocol.Microdollars{math.MinInt64, math.MaxInt64} {
		if dollars(m) == "" {
			t.Errorf("dollars(%d) is empty", m)
		}
	}
}

// A term that the language gains must be told too.
func TestCausesAddUpToTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var terms protocol.Terms
		v := reflect.ValueOf(&terms).Elem()
		for i := range v.NumField() {
			v.Field(i).SetInt(rapid.Int64Range(-1000, 1000).Draw(t, v.Type().Field(i).Name))
		}
		var sum protocol.Microdollars
		for _, c := range causes {
			sum += c.of(terms)
		}
		if sum != terms.Total() {
			t.Errorf("causes of %+v add up to %d; want %d", terms, sum, terms.Total())
		}
	})
}
