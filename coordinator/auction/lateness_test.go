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
