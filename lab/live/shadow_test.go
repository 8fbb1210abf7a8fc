package live

import (
	"testing"

	"github.com/gridbid/gridbid/coordinator/shadow"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// shadowed has the learned policy decide what each side's coordinators decided, beside them: every choice
// is of a round that there was, and what it says the rule in force did is what that coordinator sent.
func shadowed(t *testing.T, sides []side) {
	weights, err := learned.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range sides {
		r := shadow.NewLiveReader(learned.NewShadow(weights))
		var all []shadow.Choice
		type decision struct {
			round uint64
			job   protocol.JobID
		}
		sent := make(map[decision]protocol.BidOption)
		for _, m := range written(t, x.folder) {
			switch b := m.Body.(type) {
			case protocol.Award:
				sent[decision{b.Round, b.Job}] = b.Option
			case protocol.Defer:
				sent[decision{b.Round, b.Job}] = protocol.BidOption{Start: b.Start}
			}
			all = append(all, r.AddMessage(m)...)
		}
		differ := 0
		for _, c := range all {
			o, ok := sent[decision{c.Round, c.Job}]
			if !ok || c.Did != nil && o.Start != c.Did.Start || c.Would == nil && c.Did == nil {
				t.Errorf("job %s, round %d: the record has %v, %+v; the choice says %+v", c.Job, c.Round, ok, o, c.Did)
			}
			if !c.Agrees() {
				differ++
			}
		}
		if len(all) < 50 || differ == 0 {
			t.Errorf("incarnations %v: %d choices, of which %d differ; missing: %q", x.incarnations, len(all), differ, r.Missing())
		}
	}
}
