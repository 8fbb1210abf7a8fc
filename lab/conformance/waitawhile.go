package conformance

import "github.com/gridbid/gridbid/scenarios/baseline/published"

// NightlyJobSaving returns the relative saving of Let's Wait Awhile's nightly job against
// starting on time. On each of 365 days a job of half an hour is due at 01:00 and may
// move by a number of hours in both directions, within the data. Intensities are
// half-hourly, from midnight on.
func NightlyJobSaving(intensity []float64, hours int) float64 {
	const perDay, due = 48, 2
	c := published.NewCurve(intensity, 1)
	onTime, moved := 0.0, 0.0
	for day := range 365 {
		at := day*perDay + due
		first := max(at-2*hours, 0)
		best := published.LowestWindow(c, first, at+2*hours-first, 1, 1)
		onTime += c.SumOver(at, at+1)
		moved += c.SumOver(best, best+1)
	}
	return 1 - moved/onTime
}
