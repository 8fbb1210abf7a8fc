package agents

import (
	"testing"
	"time"
)

// G-E7, with Sia's figures: after an hour and two restarts of 120 s a resize is worth 0.903 of its speed-up.
func TestAResizeIsWorthLessTheMoreRestartsThereWere(t *testing.T) {
	if got := ResizeWorth(time.Hour, 2, 2*time.Minute); got < 0.9032 || got > 0.9033 {
		t.Errorf("worth %g; want 3360/3720", got)
	}
	if got := ResizeWorth(time.Minute, 3, 2*time.Minute); got != 0 {
		t.Errorf("a job that did nothing but restart may do so for %g", got)
	}
	if ResizeWorth(0, 0, 0) != 0 || ResizeWorth(time.Hour, 0, 0) != 1 {
		t.Error("worth at the ends is wrong")
	}
}
