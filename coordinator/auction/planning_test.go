package auction

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The auction reads bids by the planning that the call sent to the sites.
func TestTheAuctionPlansByTheRound(t *testing.T) {
	usual := protocol.DefaultPlanning()
	for _, tc := range []struct {
		name     string
		planning func(*protocol.Planning)
		deadline float64
		start    float64
		want     string
	}{
		{"a finish with the slip to spare is in time", func(*protocol.Planning) {}, 4.25, 3, "queue of oslo for 15:00; "},
		{"with a longer slip it counts as late", func(p *protocol.Planning) { p.MaxStartDelay = 30 * time.Minute }, 4.25, 3, "plan 13:00 hold 13:00; "},
		{"with two hours to spare the plan alone holds it", func(*protocol.Planning) {}, 6, 3, "plan 15:00 hold 13:00; "},
		{"with a longer lead a site keeps it", func(p *protocol.Planning) { p.FirmLead = 3 * time.Hour }, 6, 3, "queue of oslo for 15:00; "},
	} {
		m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", tc.start, tc.start+1, 1), option("V100", 1, 2, 5)}}
		l := lot("a", 1, m)
		l.Job.Deadline = at(tc.deadline)
		r := round([]Lot{l}, oslo())
		r.Planning = usual
		tc.planning(&r.Planning)
		if got := show(New(Config{}).Clear(r)); got != tc.want {
			t.Errorf("%s: decided %s want %s", tc.name, got, tc.want)
		}
	}
}

func TestPricesAreAnnouncedInTheSlotsOfTheRound(t *testing.T) {
	fight := func(p protocol.Planning) []protocol.ShadowPrice {
		m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 1, 2, 1), option("V100", 2, 3, 50)}}
		r := round([]Lot{lot("a", 1, m), lot("b", 1, m)}, Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000)}})
		r.Planning = p
		a := New(Config{})
		a.Clear(r)
		before := a.ShadowPrices()
		r.Planning = protocol.Planning{Slot: time.Hour, Horizon: 100 * time.Hour, MaxStartDelay: time.Hour, FirmLead: time.Hour}
		r.Lots = nil
		a.Clear(r)
		if after := a.ShadowPrices(); len(after) != 0 {
			t.Errorf("prices by slots of %v outlive a change to slots of %v: %v", p.Slot, r.Planning.Slot, after)
		}
		return before
	}
	fine, usual := protocol.DefaultPlanning(), protocol.DefaultPlanning()
	fine.Slot, fine.Horizon = 5*time.Minute, 24*time.Hour
	for _, p := range []protocol.Planning{usual, fine} {
		got := fight(p)
		if len(got) != 1 || got[0].Slot != p.Slot || len(got[0].Values) != int(3*time.Hour/p.Slot) {
			t.Errorf("slots of %v: announced %v; want one line to 15:00", p.Slot, got)
		}
	}
	short := usual
	short.Horizon = time.Hour // the fight is beyond it
	short.FirmLead = time.Hour
	if got := fight(short); len(got) != 0 {
		t.Errorf("beyond the horizon room is worth %v; want nothing", got)
	}
}
