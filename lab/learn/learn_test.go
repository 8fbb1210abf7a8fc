package learn

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/learned"
)

// The smallest training, twice: one seed gives one file, whatever the cores do.
func TestOneSeedGivesOneFile(t *testing.T) {
	train := func(seed uint64) Result {
		t.Helper()
		r, err := Train(t.Context(), Config{Seed: seed, Decisions: FewestDecisions, Reward: RewardRegret, Version: "test", shrink: 15})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b, other := train(1), train(1), train(2)
	if a.Weights.SHA256 != b.Weights.SHA256 || a.Weights.SHA256 == other.Weights.SHA256 {
		t.Errorf("seed 1 gave %s and %s, seed 2 %s", a.Weights.SHA256, b.Weights.SHA256, other.Weights.SHA256)
	}
	if err := learned.CheckWeights(a.Weights); err != nil {
		t.Error(err)
	}
	if len(a.Curve) != 2 || a.Curve[0].Percent != 0 || a.Curve[1].Decisions < 160 {
		t.Errorf("curve %v of %d decisions", a.Curve, a.Weights.Decisions)
	}
}

// No validation day is trained on, and the list of days is what the hash says.
func TestValidationDaysAreNotTrainedOn(t *testing.T) {
	for n := range 10_000 {
		if slices.Contains(validationDays(), trainingDay(n)) {
			t.Fatalf("day %d is trained and validated on", n)
		}
	}
	if hashOfDays(3) == hashOfDays(4) {
		t.Error("other days have the same hash")
	}
}

func TestTooFewDecisionsAreRefused(t *testing.T) {
	if _, err := Train(t.Context(), Config{Seed: 1, Decisions: 10, Reward: RewardPlain}); err == nil || !strings.Contains(err.Error(), "10 decisions") {
		t.Errorf("trained on 10 decisions: %v", err)
	}
}

// At the bound's prices of capacity the best choices of a full day's jobs cost more than where capacity
// is free, and a job that takes its best choice gets no reward, which is the most.
func TestRegretCountsWhatCapacityIsWorth(t *testing.T) {
	d := day{trainingSeeds, jobsOfDays[len(jobsOfDays)-1]}
	priced, err := measureDay(t.Context(), d, Config{Reward: RewardRegret})
	if err != nil {
		t.Fatal(err)
	}
	free, err := measureDay(t.Context(), d, Config{Reward: RewardPlain})
	if err != nil {
		t.Fatal(err)
	}
	if priced.meanUSD <= 1.01*free.meanUSD {
		t.Errorf("best choices cost $%v at prices of capacity, $%v without", priced.meanUSD, free.meanUSD)
	}
	t.Logf("best choices cost $%.4f at prices of capacity, $%.4f without", priced.meanUSD, free.meanUSD)
}
