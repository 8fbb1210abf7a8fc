package history

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// slot is a device and the instant from which it is free.
type slot struct {
	site   string
	device int
	free   protocol.Time
}

// anyRun plays a correct run: jobs are held, declined, refused, left waiting
// or run one after the other on the devices of two sites.
func anyRun(t *rapid.T) (*stage, map[phase]int) {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	devices := []*slot{{"oslo", 0, noon}, {"oslo", 1, noon}, {"lyon", 0, noon}, {"lyon", 1, noon}}
	want := make(map[phase]int)
	round, end := uint64(0), noon
	for i := range rapid.IntRange(0, 12).Draw(t, "jobs") {
		j := job(protocol.JobID(rune('a' + i)))
		j.Arrival = at(time.Duration(rapid.IntRange(0, 300).Draw(t, "arrival")) * time.Minute)
		j.Deadline = j.Arrival.Add(2 * time.Hour)
		j.CPU, j.Memory = 1000, 1024
		s.now = j.Arrival
		s.submit(j)
		for range rapid.IntRange(0, 3).Draw(t, "rounds before") {
			round++
			s.call(round, j)
			s.offer("lyon", round, menu(j.ID, option(0, 2, 2)))
			switch rapid.IntRange(0, 1).Draw(t, "hold or decline") {
			case 0:
				s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: round, Job: j.ID})
			case 1:
				epoch := s.award("lyon", round, j, option(0, 2, 2))
				s.say("agent/lyon", protocol.Coordinator, protocol.Decline{Job: j.ID, Epoch: epoch})
			}
		}
		switch rapid.IntRange(0, 5).Draw(t, "fate") {
		case 0:
			want[phaseWaiting]++
		case 1:
			s.say(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: j.ID, Why: protocol.Reason{Code: protocol.NoBids}})
			want[phaseRefused]++
		default:
			d := rapid.SampledFrom(devices).Draw(t, "device")
			round++
			s.now = max(s.now, d.free)
			s.call(round, j)
			s.offer(d.site, round, menu(j.ID, option(0, 1, 1)))
			epoch := s.award(d.site, round, j, option(0, 1, 1))
			s.run(d.site, "n1", []int{d.device}, j, epoch, option(0, 1, 1), time.Duration(rapid.IntRange(1, 200).Draw(t, "minutes"))*time.Minute)
			d.free = s.now
			want[phaseEnded]++
		}
		end = max(end, s.now)
	}
	s.now = end
	s.meter("oslo", "lyon")
	return s, want
}

func TestEveryCorrectRunAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := anyRun(t)
		b := s.book(Config{})
		for _, p := range b.CheckInvariants(nodes) {
			t.Error(p)
		}
		got := make(map[phase]int)
		for _, id := range b.JobIDs() {
			r, _ := b.LatestJob(id)
			got[r.phase]++
			if len(r.FullRounds) > 2 {
				t.Errorf("job %q keeps %d rounds in full; want at most 2", id, len(r.FullRounds))
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("fates = %v; want %v", got, want)
		}
		sum := b.ComputeTotals(meta)
		if sum.Jobs != sum.Placed+sum.Unplaced || sum.Unplaced != want[phaseRefused]+want[phaseWaiting] {
			t.Errorf("%d jobs, %d placed, %d unplaced; want %v", sum.Jobs, sum.Placed, sum.Unplaced, want)
		}
	})
}

// A coordinator does not hear what sites say to their hands. Its ledger has the
// same bills, ends and fates, and no start before it was reported.
func TestACoordinatorsLedgerAddsUpToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := anyRun(t)
		whole, heard := s.book(Config{}), New(Config{})
		for _, m := range s.said {
			if m.From == protocol.Coordinator || protocol.Coordinator.ShouldReceive(m) {
				heard.AddMessage(m)
			}
		}
		for _, id := range whole.JobIDs() {
			w, _ := whole.LatestJob(id)
			h, _ := heard.LatestJob(id)
			if w.phase != h.phase && w.phase != phaseRunning {
				t.Fatalf("job %q is %s; the coordinator's ledger says %s", id, w.phase, h.phase)
			}
			if w.phase != phaseEnded {
				if _, known := h.WaitTime(); known {
					t.Fatalf("job %q has not ended, and its start is said to be known", id)
				}
				continue
			}
			got := [...]any{h.Run.Site, h.Run.Node, h.Run.Started, h.Run.Ended, h.Run.Cost, h.Run.Settled, h.EndedLate()}
			if want := [...]any{w.Run.Site, w.Run.Node, w.Run.Started, w.Run.Ended, w.Run.Cost, w.Run.Settled, w.EndedLate()}; !reflect.DeepEqual(got, want) {
				t.Fatalf("job %q: %v; the coordinator's ledger says %v", id, want, got)
			}
		}
		ws, hs := whole.SiteRecords(), heard.SiteRecords()
		for i := range ws {
			if ws[i].Ran != hs[i].Ran || ws[i].Jobs != hs[i].Jobs || ws[i].Paid != hs[i].Paid {
				t.Fatalf("site %+v; the coordinator's ledger says %+v", ws[i], hs[i])
			}
		}
	})
}

// Sites answer in any order, and a hearing reads the same.
func TestTheOrderOfAnswersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites := []string{"bern", "lyon", "oslo"}
		few := rapid.Custom(func(t *rapid.T) protocol.BidOption {
			return option(time.Duration(rapid.IntRange(0, 1).Draw(t, "start"))*time.Hour, rapid.Int64Range(1, 2).Draw(t, "cents"), 0)
		})
		menus := make(map[string]protocol.JobBids)
		for _, site := range sites {
			menus[site] = menu("a", rapid.SliceOfN(few, 0, 3).Draw(t, site)...)
		}
		tell := func(order []string) JobRecord {
			s := &stage{now: noon}
			s.hello(sites...)
			s.submit(job("a"))
			s.call(1, job("a"))
			for _, site := range order {
				s.offer(site, 1, menus[site])
			}
			r, _ := s.book(Config{}).LatestJob("a")
			return r
		}
		got, want := tell(rapid.Permutation(sites).Draw(t, "order")), tell(sites)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order:\n got %+v\nwant %+v", got, want)
		}
	})
}

// Whatever is said, in whatever order, a History neither fails nor loses a job.
func TestNothingThatIsSaidBreaksABook(t *testing.T) {
	var bodies []protocol.Message
	bodies = append(bodies, twoRounds().said...)
	rapid.Check(t, func(t *rapid.T) {
		b := New(Config{All: rapid.Bool().Draw(t, "all")})
		seen := false
		for i, m := range rapid.SliceOfN(rapid.SampledFrom(bodies), 0, 40).Draw(t, "said") {
			m.Seq = uint64(i + 1)
			b.AddMessage(m)
			seen = seen || m.KindName() == "submit" || m.KindName() == "call"
		}
		b.CheckInvariants(nodes)
		b.ComputeTotals(meta)
		b.RoundRecords()
		b.SiteRecords()
		b.GPUsHeldBySite(noon, at(3*time.Hour), time.Hour)
		if _, ok := b.LatestJob("a"); ok != seen {
			t.Errorf("Job(a) is known: %v; submitted or called: %v", ok, seen)
		}
	})
}
