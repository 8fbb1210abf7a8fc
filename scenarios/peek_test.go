package scenarios

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// published returns the first unknown hour at an instant: the first one that began less than the
// lag ago or, with a day-ahead market that publishes at noon, the end of today or tomorrow. It is
// independent of package forecast on purpose.
func published(dayAhead bool, lag time.Duration, at protocol.Time) protocol.Time {
	switch today := at.Floor(24 * time.Hour); {
	case !dayAhead:
		first := at.Floor(time.Hour).Add(time.Hour)
		for first.Add(lag-time.Hour) > at {
			first = first.Add(-time.Hour)
		}
		return first
	case at.StdTime().Hour() < 12:
		return today.Add(24 * time.Hour)
	default:
		return today.Add(48 * time.Hour)
	}
}

// noisy returns s with noise in place of every value that is not known at an
// instant.
func noisy(s spec.Scenario, at protocol.Time, seed uint64) (spec.Scenario, int) {
	dice, changed := rand.New(rand.NewPCG(seed, 0)), 0
	s.Sites = append([]spec.Site(nil), s.Sites...)
	for i, site := range s.Sites {
		signals := make(map[protocol.Quantity][]protocol.Point)
		for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
			lag := site.Lag
			if what == protocol.GridPUE {
				lag = 0
			}
			known := published(what == protocol.GridPrice && site.DayAhead, lag, at)
			for _, p := range site.Signals[what] {
				if p.At >= known {
					p.Value = 1000 + dice.Int64N(900)
					changed++
				}
				signals[what] = append(signals[what], p)
			}
		}
		s.Sites[i].Signals = signals
		s.Sites[i].Forecasts = nil
		for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
			said := site.Forecasts[what]
			if s.Sites[i].Forecasts == nil {
				s.Sites[i].Forecasts = make(map[protocol.Quantity][]forecast.Bulletin)
			}
			for _, b := range said {
				if b.Issued > at {
					b.Points = slices.Clone(b.Points)
					for k := range b.Points {
						b.Points[k].Value = 1000 + dice.Int64N(900)
						changed++
					}
				}
				s.Sites[i].Forecasts[what] = append(s.Sites[i].Forecasts[what], b)
			}
		}
	}
	return s, changed
}

// foretold lets services say the truth of carbon and prices, each six hours for two
// days.
func foretold(s spec.Scenario) spec.Scenario {
	for i, site := range s.Sites {
		s.Sites[i].Forecasts = make(map[protocol.Quantity][]forecast.Bulletin)
		for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
			points := site.Signals[what]
			for h := 0; h < len(points); h += 6 {
				b := forecast.Bulletin{Issued: points[h].At.Add(10 * time.Minute), Points: points[h:min(h+48, len(points))]}
				s.Sites[i].Forecasts[what] = append(s.Sites[i].Forecasts[what], b)
			}
		}
	}
	return s
}

// No party uses a value before it is published: with all later values replaced by
// noise, all messages until then are the same.
func TestNothingSaidDependsOnWhatIsNotYetPublished(t *testing.T) {
	for name, s := range map[string]spec.Scenario{
		"forecasts of their own": small(30), "of services": foretold(small(30)),
		"an hour late": late(small(30), time.Hour), "ninety minutes late": late(small(30), 90*time.Minute),
		"three hours late, with services": late(foretold(small(30)), 3*time.Hour),
	} {
		t.Run(name, func(t *testing.T) { nobodyPeeks(t, s) })
	}
}

// late returns s with carbon and real-time prices known some time after their hour begins.
func late(s spec.Scenario, lag time.Duration) spec.Scenario {
	for i := range s.Sites {
		s.Sites[i].Lag = lag
	}
	return s
}

func nobodyPeeks(t *testing.T, s spec.Scenario) {
	for _, policy := range []string{PolicyAuction, "auction/learned", PolicyGreensched, "greenest-now", "carbon-threshold"} {
		truth, _ := told(t, s, policy, new(membus.Bus))
		for _, hour := range []int{3, 11, 14} {
			at := s.Start.Add(time.Duration(hour)*time.Hour + 59*time.Minute)
			other, changed := noisy(s, at, uint64(hour))
			if changed < 100 {
				t.Fatalf("only %d values are noise", changed)
			}
			noise, _ := told(t, other, policy, new(membus.Bus))
			n := 0
			for n < len(truth) && truth[n].At <= at {
				if n >= len(noise) || !reflect.DeepEqual(truth[n], noise[n]) {
					t.Fatalf("%s: message %d of %v depends on values published after %v:\n%.300s\n%.300s",
						policy, n, truth[n].At, at, fmt.Sprint(truth[n]), fmt.Sprint(noise[min(n, len(noise)-1)]))
				}
				n++
			}
			if reflect.DeepEqual(truth[n:], noise[min(n, len(noise)):]) {
				t.Errorf("%s: noise after %v changed nothing at all", policy, at)
			}
		}
	}
}
