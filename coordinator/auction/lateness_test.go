package auction

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// A start that is waited for may slip, so a finish that just makes the deadline
// counts as late; one that starts now does not.
func TestAFinishThatJustMakesTheDeadlineCountsAsLate(t *testing.T) {
	m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 3, 4, 1), option("V100", 1, 2, 5)}}
	l := lot("a", 1, m)
	for _, c := range []struct {
		deadline float64
		want     string
	}{{4, "plan 13:00 hold 13:00; "}, {4.25, "queue of oslo for 15:00; "}} {
		l.Job.Deadline = at(c.deadline)
		if got := show(New(Config{}).Clear(round([]Lot{l}, oslo()))); got != c.want {
			t.Errorf("due at %v h: decided %s want %s", c.deadline, got, c.want)
		}
	}
	l.Bids[0].Options = []protocol.BidOption{option("V100", 0, 1, 9)}
	l.Job.Deadline = at(1)
	if p := newProblem(round([]Lot{l}, oslo()), nil, &priceMemory{}); p.lots[0].candidateAt(0).cost != 90_000 {
		t.Errorf("one that starts now costs %d", p.lots[0].candidateAt(0).cost)
	}
}

// Deadlines are kept first, whatever lateness costs the owner: an option that misses the deadline
// loses against one that keeps it for much more, although its owner would pay a trifle.
func TestDeadlinesAreKeptFirstWhateverLatenessCosts(t *testing.T) {
	m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 3, 1), option("A100", 0, 2, 200)}}
	l := lot("a", 1, m)
	l.Job.Urgency, l.Job.Deadline = protocol.UrgencyNow, at(2)
	site := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("A100", 1000, 1000), hourly("V100", 1000, 1000)}}
	l.Job.Deadline-- // also by a millisecond
	l.Bids[0].Options[1].Finish--
	l.Bids[0].Options[0].Finish = at(2)
	for _, w := range []protocol.Weights{{}, protocol.DefaultWeights(), {Late: 1, LateMost: 1}, protocol.FreeWaitingWeights()} {
		r := round([]Lot{l}, site)
		r.Weights = w
		if d := New(Config{}).Clear(r).Decisions[0]; d.Verdict != Award || d.Option.Model != "A100" {
			t.Errorf("with weights %+v: decided %+v; want the option that keeps the deadline", w, d)
		}
	}
}
