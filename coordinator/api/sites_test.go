package api

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A drain ends after a duration, at a time, or at the next such time of a day in UTC; never in the
// past.
func TestADrainEndsInTheFuture(t *testing.T) {
	now := noon.Floor(24 * time.Hour).Add(12 * time.Hour)
	for _, c := range []struct {
		text string
		want time.Duration // after now; -1: it is refused
	}{
		{"", 0}, {"18:00", 6 * time.Hour}, {"12:01", time.Minute}, {"12:00", 24 * time.Hour}, {"06:30", 18*time.Hour + 30*time.Minute},
		{"2h", 2 * time.Hour}, {"90s", 90 * time.Second}, {"0s", -1}, {"-2h", -1}, {"25:00", -1}, {"tomorrow", -1},
		{now.Add(48 * time.Hour).String(), 48 * time.Hour}, {now.Add(-time.Minute).String(), -1}, {now.String(), -1},
	} {
		at, err := parseUntil(now, c.text)
		want := now.Add(c.want)
		if c.text == "" {
			want = 0
		}
		if refused := c.want < 0; refused != (err != nil) || !refused && at != want {
			t.Errorf("until %q: %v, %v; want %v after %v", c.text, at, err, c.want, now)
		}
	}
}

// Events are listed since a time, or for a duration before now.
func TestEventsSinceATime(t *testing.T) {
	for text, want := range map[string]protocol.Time{"": 0, "2h": noon.Add(-2 * time.Hour), noon.String(): noon} {
		if at, err := parseSince(noon, text); err != nil || at != want {
			t.Errorf("since %q: %v, %v; want %v", text, at, err, want)
		}
	}
	for _, text := range []string{"-2h", "noon", "18:00"} {
		if at, err := parseSince(noon, text); err == nil {
			t.Errorf("since %q: %v; want it refused", text, at)
		}
	}
}
