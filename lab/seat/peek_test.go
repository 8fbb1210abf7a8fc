package seat

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// publishedUntil returns the first hour whose value a site cannot know at an instant: the next hour or,
// of a price that is published the day before at noon, the end of today or of tomorrow. It is
// independent of package forecast on purpose.
func publishedUntil(site spec.Site, what protocol.Quantity, at protocol.Time) protocol.Time {
	today := at.Floor(24 * time.Hour)
	switch {
	case what != protocol.GridPrice || !site.DayAhead:
		return at.Floor(time.Hour).Add(time.Hour)
	case at.StdTime().Hour() < 12:
		return today.Add(24 * time.Hour)
	}
	return today.Add(48 * time.Hour)
}

// withOtherFuture returns s with another future: noise for every signal that is not published at an
// instant, and none of the jobs that arrive later.
func withOtherFuture(s spec.Scenario, at protocol.Time) (out spec.Scenario, changed int) {
	dice := rand.New(rand.NewPCG(uint64(at), 1))
	s.Sites = slices.Clone(s.Sites)
	for i, site := range s.Sites {
		signals := make(map[protocol.Quantity][]protocol.Point)
		for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
			known := publishedUntil(site, what, at)
			for _, p := range site.Signals[what] {
				if p.At >= known {
					p.Value = 1000 + dice.Int64N(900)
					changed++
				}
				signals[what] = append(signals[what], p)
			}
		}
		s.Sites[i].Signals = signals
	}
	s.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(j protocol.Job) bool { return j.Arrival > at })
	return s, changed
}

// A seen decision is what a learner was told of one.
type seenDecision struct {
	learned.Observation
	job  protocol.JobID
	now  protocol.Time
	cost protocol.Microdollars // since the one before
}

// decisionsOf plays a day by the option that costs least, and returns what its learner was told.
func decisionsOf(t *testing.T, s spec.Scenario, replan bool) (all []seenDecision) {
	t.Helper()
	e := startEpisode(t.Context(), s, replan, false)
	for q, err := e.next(); q != nil || err != nil; q, err = e.decide(q.Best) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, seenDecision{q.Observation, q.Job, q.Now, e.account.takeCost()})
	}
	return all
}

// A learner is told nothing that happens later: in two worlds that differ only in the future it sees
// the same, up to that future.
func TestAnObservationDoesNotDependOnWhatHappensLater(t *testing.T) {
	for _, replan := range []bool{false, true} {
		seesNothingOfLater(t, smallDay(t, 7, 60), replan)
	}
}

func seesNothingOfLater(t *testing.T, s spec.Scenario, replan bool) {
	truth := decisionsOf(t, s, replan)
	for _, hour := range []int{3, 11, 14, 20} {
		at := s.Start.Add(time.Duration(hour)*time.Hour + 59*time.Minute)
		world, changed := withOtherFuture(s, at)
		if changed < 100 {
			t.Fatalf("only %d values are noise", changed)
		}
		other, n := decisionsOf(t, world, replan), 0
		for n < len(truth) && truth[n].now <= at {
			if n >= len(other) || truth[n] != other[n] {
				t.Fatalf("decision %d, on %s at %v, depends on what happens after %v", n, truth[n].job, truth[n].now, at)
			}
			n++
		}
		if n < 5 {
			t.Errorf("only %d decisions until %v were compared", n, at)
		}
		if slices.Equal(truth[n:], other[min(n, len(other)):]) {
			t.Errorf("another future after %v changed nothing at all", at)
		}
	}
}
