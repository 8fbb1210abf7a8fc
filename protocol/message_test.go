package protocol

import (
	"testing"
	"time"
)

func TestTheNextLifeIsAboveAllThatWereBefore(t *testing.T) {
	now := At(time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC))
	second := uint32(now / 1000)
	for _, tc := range []struct {
		name string
		last uint32
		now  Time
		want uint32
	}{
		{"the first is when it begins", 0, now, second},
		{"one of a day before", second - 86_400, now, second},
		{"one of the same second", second, now, second + 1},
		{"the clock was put back", second + 3600, now, second + 3601},
		{"one of those that were counted", 1600, now, second},
		{"a clock that was never set", 0, 40_000, 1},
		{"a clock that was never set, of those that were counted", 7, 40_000, 8},
		{"a clock that is far ahead", second, 1 << 50, second + 1},
	} {
		got := NextLife(tc.last, tc.now)
		if got != tc.want || Lives(uint64(got), 0) <= Lives(uint64(tc.last), 1_000_000) {
			t.Errorf("%s: NextLife(%d, %d) = %d; want %d", tc.name, tc.last, tc.now, got, tc.want)
		}
	}
	if n := Lives(1<<32-1, 1<<20); n >= 1<<53 {
		t.Errorf("the last life has number %d, which no reader of JSON holds exactly", n)
	}
}
