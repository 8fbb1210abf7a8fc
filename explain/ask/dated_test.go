package ask

import (
	"testing"
	"time"
)

// A time after one that has its day is on that day. Which day one before it is on is not
// guessed.
func TestTheDayOfTheFirstTimeIsThatOfBoth(t *testing.T) {
	l := testParser()
	l.Last = timeAfter(50 * time.Hour) // today is the day before the last
	for said, want := range map[string][2]time.Duration{
		"carbon from 2022-04-14T12:00 to 14:00":       {24 * time.Hour, 26 * time.Hour},
		"carbon from 2022-04-14T22:00 to midnight":    {34 * time.Hour, 36 * time.Hour},
		"carbon from 2022-04-12T12:00 to 14:00":       {-24 * time.Hour, -22 * time.Hour},
		"carbon from 2022-04-13T12:00 to 14:00":       {0, 2 * time.Hour},
		"carbon from 12:00 to 14:00 on 2022-04-14":    {24 * time.Hour, 26 * time.Hour},
		"carbon from 12:00 to 14:00":                  {0, 2 * time.Hour},
		"carbon 2022-04-12T12:00 to 2022-04-13T13:00": {-24 * time.Hour, time.Hour},
	} {
		q, _, back := l.ParseQuestion(said)
		if back != nil || q.From != timeAfter(want[0]) || q.To != timeAfter(want[1]) {
			t.Errorf("%q: from %s to %s (%+v); want from %s to %s", said, q.From, q.To, back, timeAfter(want[0]), timeAfter(want[1]))
		}
	}
	if q, _, back := l.ParseQuestion("carbon from 12:00 to 2022-04-14T14:00"); back == nil {
		t.Errorf("read as from %s to %s; want it given back", q.From, q.To)
	}
}
