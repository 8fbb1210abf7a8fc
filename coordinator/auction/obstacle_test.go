package auction

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// Each obstacle where it is the only one.
func TestWhatKeptAJobFromACheaperOption(t *testing.T) {
	cheap, dear := option("V100", 0, 1, 100), option("V100", 0, 1, 105) // within a tenth: see isOnOffer
	site := func(name string, free, open protocol.Milli) Site {
		room := hourly("V100", 8000, free)
		room.ForDeferrable = []protocol.Milli{open}
		return Site{Name: name, Trust: 1000, Capacity: []protocol.CapacityProfile{room}}
	}
	held := map[protocol.JobID]plannedPlace{"held": {poolKey{"bern", "V100"}, noon, noon.Add(time.Hour), 1000}}
	for _, c := range []struct {
		name       string
		bern       Site
		plan       map[protocol.JobID]plannedPlace
		other      bool // another lot wants bern's option, and has no other
		deferrable bool
		ask        protocol.BidOption
		want       Obstacle
	}{
		{"another job of the round has it", site("bern", 1000, 1000), nil, true, true, cheap, OtherLots},
		{"it is kept for a job that is held", site("bern", 1000, 1000), held, false, true, cheap, HeldPlaces},
		{"its site keeps it for urgent jobs", site("bern", 1000, 0), nil, false, true, cheap, SiteReserve},
		{"its site shows none", site("bern", 0, 0), nil, false, true, cheap, NoRoomShown},
		{"it was not in the round", site("bern", 1000, 1000), nil, true, true, option("V100", 0, 1, 0), NotAllowed},
		{"its site is not trusted", func() Site { s := site("bern", 1000, 1000); s.Trust = 9000; return s }(), nil, false, true, cheap, NotCheaper},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := lot("job", 1, SiteBids{Site: "bern", Options: []protocol.BidOption{cheap}}, SiteBids{Site: "oslo", Options: []protocol.BidOption{dear}})
			job.Job.Deadline = noon.Add(2 * time.Hour)
			r := round([]Lot{job}, c.bern, site("oslo", 8000, 8000))
			if c.other {
				other := lot("other", 1, SiteBids{Site: "bern", Options: []protocol.BidOption{cheap}})
				other.Job.Deadline, other.Job.Priority = job.Job.Deadline, 1
				r.Lots = append(r.Lots, other)
			}
			r.Full = false
			a := New(Config{})
			a.plan, a.prices.slot = c.plan, r.Planning.OrDefault().Slot
			if a.plan == nil {
				a.plan = map[protocol.JobID]plannedPlace{}
			}
			if d := a.Clone().Clear(r).Decisions[0]; d.Verdict != Award || d.Site != "oslo" {
				t.Fatalf("the job got %+v", d)
			}
			if got := a.CheckRound(r).ObstacleTo("job", "bern", c.ask); got != c.want {
				t.Errorf("obstacle %d, want %d", got, c.want)
			}
		})
	}
}

// Whatever a round awards, something stood in the way of each option of the job that costs less.
func TestSomethingStoodInTheWayOfEachCheaperOption(t *testing.T) {
	seen := make(map[Obstacle]int)
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 8)
		r.Full = rapid.Bool().Draw(t, "full")
		a := New(Config{Steps: 20})
		a.Clear(drawRound(t, 4)) // leaves a plan and prices
		out := a.Clone().Clear(r)
		check := a.CheckRound(r)
		for i, l := range r.Lots {
			for _, m := range l.Bids {
				for _, o := range m.Options {
					if out.Decisions[i].Verdict != Award {
						continue
					}
					got := check.ObstacleTo(l.Job.ID, m.Site, o)
					if seen[got]++; got == NoObstacle {
						t.Fatalf("%s was awarded %+v, and nothing kept it from %+v at %s", l.Job.ID, out.Decisions[i], o, m.Site)
					}
				}
			}
		}
	})
	if seen[RoomPrice]+seen[OtherLots]+seen[NoRoomShown] == 0 {
		t.Errorf("no option was ever out of reach: %v", seen)
	}
}
