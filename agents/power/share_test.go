package power

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestAShareIsFairAndKeepsTheCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wants []PowerDemand
		var floor, all protocol.Milliwatts
		for range rapid.IntRange(0, 9).Draw(t, "devices") {
			w := PowerDemand{Least: protocol.Milliwatts(rapid.IntRange(0, 300).Draw(t, "least"))}
			w.Most = w.Least + protocol.Milliwatts(rapid.IntRange(0, 500).Draw(t, "more"))
			wants, floor, all = append(wants, w), floor+w.Least, all+w.Most
		}
		ceiling := protocol.Milliwatts(rapid.IntRange(0, 6000).Draw(t, "ceiling"))
		got, ok := ShareCeiling(ceiling, wants)
		if ok != (floor <= ceiling) || len(got) != len(wants) {
			t.Fatalf("Share = %v, %v; floors sum to %d, ceiling %d", got, ok, floor, ceiling)
		}
		var sum, top protocol.Milliwatts
		for i, v := range got {
			if v < wants[i].Least || v > wants[i].Most || !ok && v != wants[i].Least {
				t.Fatalf("device %d gets %d of %+v", i, v, wants[i])
			}
			sum += v
			if v > wants[i].Least {
				top = max(top, v)
			}
		}
		if !ok {
			return
		}
		if sum > ceiling || all <= ceiling && sum != all || all > ceiling && ceiling-sum >= protocol.Milliwatts(len(wants)) {
			t.Fatalf("%v sum to %d; ceiling %d, all wants %d", got, sum, ceiling, all)
		}
		for i, v := range got { // who gets less than another above its floor wants no more
			if v < top && v < wants[i].Most {
				t.Fatalf("device %d gets %d of %+v while another is raised to %d", i, v, wants[i], top)
			}
		}
	})
}
