package protocol

import (
	"testing"
	"time"
)

func TestTheNextLifeIsAboveAllThatWereBefore(t *testing.T) {
	now := FromStdTime(time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC))
	second := uint32(now / 1000)
	for _, tc := range []struct {
		name string
		last uint32
		now  Time
		want uint32
		sent uint64 // in the last life
	}{
		{"the first is when it begins", 0, now, second, 0},
		{"one of a day before", second - 86_400, now, second, 50_000_000},
		{"one of the same second", second, now, second + 1, 1_000_000},
		{"the clock was put back", second + 3600, now, second + 3660, 50_000_000},
		{"one of those that were counted", 1600, now, second, 50_000_000},
		{"a clock that was never set", 0, 40_000, 1, 0},
		{"a clock that was never set, of those that were counted", 7, 40_000, 8, 50_000_000},
		{"a clock that was never set, of one that was", second, 40_000, second + 60, 50_000_000},
		{"a clock that is far ahead", second, 1 << 50, second + 1, 1_000_000},
	} {
		got := NextIncarnation(tc.last, tc.now)
		if got != tc.want || SequenceNumber(uint64(got), 0) <= SequenceNumber(uint64(tc.last), tc.sent) {
			t.Errorf("%s: NextIncarnation(%d, %d) = %d; want %d", tc.name, tc.last, tc.now, got, tc.want)
		}
	}
	if n := SequenceNumber(1<<32-1, 1<<20); n >= 1<<53 {
		t.Errorf("the last life has number %d, which no reader of JSON holds exactly", n)
	}
}
