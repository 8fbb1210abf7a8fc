package kube

import (
	"testing"
	"time"
)

func TestTimeInWhichNobodyListenedIsNobodysSilence(t *testing.T) {
	silent := time.Duration(0)
	for _, gap := range []time.Duration{time.Second, time.Hour, -time.Hour, 3 * time.Second} {
		silent = longer(silent, gap)
	}
	if want := 4*time.Second + pause; silent != want {
		t.Errorf("silent for %v, want %v", silent, want)
	}
}
