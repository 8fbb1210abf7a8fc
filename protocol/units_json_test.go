package protocol

import (
	"encoding/json"
	"math"
	"testing"
)

func TestATimeIsReadAsItIsWritten(t *testing.T) {
	for _, want := range []Time{0, noon, noon + 7} {
		text, err := json.Marshal(want)
		got := Time(-1)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || got != want {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
	var x Time
	for _, text := range []string{`7`, `"noon"`, `""`} {
		if json.Unmarshal([]byte(text), &x) == nil {
			t.Errorf("%s is read as %v", text, x)
		}
	}
}

// Anybody may say any instant. One list of jobs that cannot be read because of one
// of them would be all lists.
func TestATimeBeyondAllYearsIsReadAllTheSame(t *testing.T) {
	for sent, want := range map[Time]Time{
		math.MaxInt64: latestRFC3339, latestRFC3339 + 1: latestRFC3339, latestRFC3339: latestRFC3339, earliestRFC3339: earliestRFC3339, earliestRFC3339 - 1: earliestRFC3339, math.MinInt64: earliestRFC3339,
	} {
		text, err := json.Marshal(sent)
		got := Time(7)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || got != want {
			t.Errorf("%d is written as %s and read as %d: %v", sent, text, got, err)
		}
	}
}
