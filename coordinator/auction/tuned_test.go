package auction

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Each table stands on both sides of one tuned constant, so that it fails when the
// constant moves by more than the gap between its lines.

func TestFirmLeadIsTwoHours(t *testing.T) {
	for _, tc := range []struct {
		spare time.Duration // between the planned end and the deadline
		want  string
	}{{119 * time.Minute, "queue of oslo for 14:00; "}, {2 * time.Hour, "plan 14:00 hold 13:00; "}} {
		l := lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 2, 3, 1)}})
		l.Job.Deadline = at(3).Add(tc.spare)
		if got := show(New(Config{}).Clear(round([]Lot{l}, oslo()))); got != tc.want {
			t.Errorf("with %v to spare: decided %s want %s", tc.spare, got, tc.want)
		}
	}
}

func TestMinRecallNoticeIsAMinute(t *testing.T) {
	for _, tc := range []struct {
		start time.Duration
		want  string
	}{{59 * time.Second, "queue of oslo for 12:00; "}, {time.Minute, "plan 12:01 hold 12:01; "}} {
		o := option("V100", 0, 1, 1)
		o.Start = o.Start.Add(tc.start)
		l := lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{o}})
		if got := show(New(Config{}).Clear(round([]Lot{l}, oslo()))); got != tc.want {
			t.Errorf("a start in %v: decided %s want %s", tc.start, got, tc.want)
		}
	}
}

func TestMaxStartDelayIsAQuarterOfAnHour(t *testing.T) {
	for _, tc := range []struct {
		start, spare time.Duration
		late         protocol.Microdollars
	}{
		{time.Hour, 15 * time.Minute, 0}, {time.Hour, 14 * time.Minute, 166_666}, {time.Hour, 0, 2_500_000},
		{0, 0, 0}, // one that starts now does not slip
	} {
		o := option("V100", 0, 1, 0)
		o.Start, o.Finish = o.Start.Add(tc.start), o.Finish.Add(tc.start)
		l := lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{o}})
		l.Job.Deadline = o.Finish.Add(tc.spare)
		if got := newProblem(round([]Lot{l}, oslo()), nil, &priceMemory{}).lots[0].candidateAt(0).cost; got != tc.late {
			t.Errorf("a start in %v that ends %v before the deadline costs %d; want %d", tc.start, tc.spare, got, tc.late)
		}
	}
}

func TestAmpleSlackIsSixHours(t *testing.T) {
	for _, tc := range []struct {
		name  string
		gpus  int
		tied  bool
		spare time.Duration
		want  bool // left to the next full round
	}{
		{"a gang with just less", 2, false, 359 * time.Minute, false},
		{"a gang with six hours", 2, false, 6 * time.Hour, true},
		{"one site alone, with just less", 1, true, 359 * time.Minute, false},
		{"one site alone, with six hours", 1, true, 6 * time.Hour, true},
		{"one GPU anywhere, with just less than two", 1, false, 119 * time.Minute, false},
		{"one GPU anywhere, with two hours", 1, false, 2 * time.Hour, true},
	} {
		l := lot("a", tc.gpus, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 2, 3, 1)}})
		l.Job.Deadline = at(3).Add(tc.spare)
		if tc.tied {
			l.Job.Regions = []string{"oslo"}
		}
		if got := newProblem(round([]Lot{l}, oslo()), nil, &priceMemory{}).deferrable[0]; got != tc.want {
			t.Errorf("%s: left to the next full round: %v; want %v", tc.name, got, tc.want)
		}
	}
}

// A deferrable lot pays now at most a tenth and a tenth of a cent more than its best later option.
func TestMaxPremiumIsATenthPlusMinSaving(t *testing.T) {
	for _, tc := range []struct {
		name      string
		best, now protocol.Microdollars
		dear      bool
	}{
		{"a tenth and a trifle", 1_000_000, 1_101_000, false},
		{"just more", 1_000_000, 1_101_001, true},
		{"a trifle over nothing", 0, 1000, false},
		{"just more than a trifle over nothing", 0, 1001, true},
		{"a tenth and a trifle of an income", -1_000_000, -899_000, false},
		{"just less of an income", -1_000_000, -898_999, true},
	} {
		now, later := option("V100", 0, 1, 0), option("V100", 2, 3, 0)
		now.Money, later.Money = tc.now, tc.best
		l := lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{now, later}})
		p := newProblem(round([]Lot{l}, oslo()), nil, &priceMemory{})
		p.lots[0].ensureSorted(1)
		if got := p.shouldWait(0, 1); got != tc.dear {
			t.Errorf("%s: %d where the best costs %d is too dear: %v; want %v", tc.name, tc.now, tc.best, got, tc.dear)
		}
	}
}

// Within 72 hours a place needs room; beyond, room counts as free.
func TestHorizonIsThreeDays(t *testing.T) {
	full := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 0)}}
	for _, tc := range []struct {
		start float64
		want  string
	}{{71.75, "hold 13:00; "}, {72, "plan 12:00 hold 13:00; "}} {
		l := lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", tc.start, tc.start+1, 1)}})
		l.Job.Deadline = at(100)
		if got := show(New(Config{}).Clear(round([]Lot{l}, full))); got != tc.want {
			t.Errorf("a start in %v h at a site that is full: decided %s want %s", tc.start, got, tc.want)
		}
	}
}
