package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// A day is one invented day of six-regions.
type day struct {
	seed uint64
	jobs int
}

// Seeds of days. Those of one training do not depend on its own seed, so that trainings differ by what
// they drew alone.
const (
	trainingSeeds   = 1_000_000
	validationSeeds = 2_000_000
)

// jobsOfDays are the sizes of days, in turn: six-regions is a tenth, a fifth and two fifths full.
var jobsOfDays = [...]int{300, 300, 600, 1200}

// trainingDay returns the n-th day of every training.
func trainingDay(n int) day {
	return day{trainingSeeds + uint64(n), jobsOfDays[n%len(jobsOfDays)]}
}

// validationDays returns the days on which weights are compared while they are trained, and by which
// one of several trainings is chosen.
func validationDays() (all []day) {
	for n := range 2 * len(jobsOfDays) {
		all = append(all, day{validationSeeds + uint64(n), jobsOfDays[n%len(jobsOfDays)]})
	}
	return all
}

// load makes the scenario of a day, with shrink times fewer jobs; 0 is all.
func (d day) load(shrink int) (spec.Scenario, error) {
	return spec.LoadScenario(spec.DefaultScenario, spec.Options{Seed: &d.seed, MaxJobs: d.jobs / max(shrink, 1)})
}

// hashOfDays returns the sha256 of the list of the first n training days.
func hashOfDays(n int) string {
	h := sha256.New()
	for i := range n {
		fmt.Fprintf(h, "%s seed=%d jobs=%d\n", spec.DefaultScenario, trainingDay(i).seed, trainingDay(i).jobs)
	}
	return hex.EncodeToString(h.Sum(nil))
}
