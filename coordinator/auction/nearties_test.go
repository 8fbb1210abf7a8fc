package auction

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// drawLoose draws a round in which most lots have several good options, and
// there is not room for all of them at once.
func drawLoose(t *rapid.T) Round {
	r := round(nil)
	for _, name := range []string{"bern", "kiel", "oslo"} {
		free := protocol.Milli(rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "free")) * 1000
		r.Sites = append(r.Sites, Site{Name: name, Capacity: []protocol.CapacityProfile{hourly("V100", 4000, free, free, 4000)}})
	}
	for i := range rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(t, "lots") {
		l := lot(protocol.JobID(fmt.Sprint("job-", i)), 1)
		for _, s := range r.Sites {
			start := float64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "start"))
			o := option("V100", start, start+1.5, protocol.Microdollars(rapid.IntRange(4, 6).Draw(t, "cents")))
			l.Bids = append(l.Bids, SiteBids{Site: s.Name, Options: []protocol.BidOption{o}})
		}
		r.Lots = append(r.Lots, l)
	}
	return r
}

// Whatever the judge chooses for each lot of a round, all awards together fit the capacity, and
// cost at most the tolerance more.
func TestAnyChoiceOfNearTiesFitsAndStaysWithinBudget(t *testing.T) {
	chosen := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawLoose(t)
		r.TieTolerance = TieTolerance{
			MaxExtraThousandths: rapid.SampledFrom([]protocol.Milli{10, 500, 1000}).Draw(t, "ease"),
			MaxExtraTotal:       rapid.SampledFrom([]protocol.Microdollars{0, 15_000, 1e6, 1e6}).Draw(t, "spend"),
			MaxLots:             rapid.SampledFrom([]int{0, 2, 6, 6}).Draw(t, "most"),
			Sites:               []string{"bern", "kiel", "oslo"},
		}
		out := New(Config{Steps: 20}).Clear(r)
		p := newProblem(r, nil, &priceMemory{})
		choice := make([]int, len(r.Lots))
		asked, extra := 0, protocol.Microdollars(0)
		for i, d := range out.Decisions {
			choice[i] = -1
			if d.Verdict != Award {
				continue
			}
			site, option := d.Site, d.Option
			if len(d.NearTies) > 0 {
				asked++
				own := slices.IndexFunc(d.NearTies, func(n NearTie) bool { return n.Site == d.Site && reflect.DeepEqual(n.Option, d.Option) })
				if own < 0 || len(d.NearTies) < 2 || d.NearTies[own].Extra != 0 {
					t.Fatalf("lot %d: its own option is not among %+v", i, d.NearTies)
				}
				best := d.NearTies[own].Cost
				for _, n := range d.NearTies {
					best = min(best, n.Cost)
				}
				n := rapid.SampledFrom(d.NearTies).Draw(t, "pick")
				site, option = n.Site, n.Option
				extra += n.Extra
				if n.Cost > best+absoluteCost(best)*protocol.Microdollars(r.TieTolerance.MaxExtraThousandths)/1000 && n.Site != d.Site {
					t.Fatalf("lot %d: %+v costs over the leeway more than %d", i, n, best)
				}
				if (n.Option.Start <= r.Now) != (d.Option.Start <= r.Now) {
					t.Fatalf("lot %d: %+v is for another time than %+v", i, n, d.Option)
				}
			}
			choice[i] = 0
			for k := p.lots[i].candidateAt(0); k.site != site || *k.BidOption != option; k = p.lots[i].candidateAt(choice[i]) {
				choice[i]++
			}
		}
		if asked > r.TieTolerance.MaxLots || extra > r.TieTolerance.MaxExtraTotal {
			t.Fatalf("%d lots of %d have a choice; they cost %d more, of %d", asked, r.TieTolerance.MaxLots, extra, r.TieTolerance.MaxExtraTotal)
		}
		chosen += asked
		// Urgent lots may be queued beyond what fits; those are the rule's own.
		for i, d := range out.Decisions {
			if d.MayQueue && len(d.NearTies) == 0 {
				choice[i] = -1
			}
		}
		if !fit(r, p, choice) {
			t.Fatalf("choices %v do not fit", choice)
		}
	})
	if t.Log(chosen, "choices"); chosen < 5 {
		t.Error("hardly any lot had a choice")
	}
}

func TestTieToleranceChangesNoDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawLoose(t)
		plain := New(Config{Steps: 20}).Clear(r)
		r.TieTolerance = TieTolerance{MaxExtraThousandths: 500, MaxExtraTotal: 1e9, MaxLots: 9, Sites: []string{"bern", "kiel", "oslo"}}
		free := New(Config{Steps: 20}).Clear(r)
		for i := range free.Decisions {
			free.Decisions[i].NearTies = nil
		}
		if !reflect.DeepEqual(plain, free) {
			t.Fatalf("decided\n%+v, and with a leeway\n%+v", plain, free)
		}
	})
}

// An urgent lot may be awarded capacity that no profile shows. Options that cost far more are no
// near ties of it.
func TestAwardWithoutProfileCapacityHasNoNearTies(t *testing.T) {
	var sites []Site
	l := lot("job", 1)
	l.Job.Urgency = protocol.UrgencyNow
	for _, x := range []struct {
		name  string
		free  protocol.Milli
		cents protocol.Microdollars
	}{{"bern", 4000, 100}, {"kiel", 4000, 100}, {"oslo", 0, 1}} {
		sites = append(sites, Site{Name: x.name, Capacity: []protocol.CapacityProfile{hourly("V100", 4000, x.free)}})
		l.Bids = append(l.Bids, SiteBids{Site: x.name, Options: []protocol.BidOption{option("V100", 0, 1, x.cents)}})
	}
	r := round([]Lot{l}, sites...)
	r.TieTolerance = TieTolerance{MaxExtraThousandths: 10, MaxExtraTotal: 1e9, MaxLots: 2}
	d := New(Config{}).Clear(r).Decisions[0]
	if d.Verdict != Award || d.Site != "oslo" || !d.MayQueue {
		t.Fatalf("decided %+v; want oslo's queue", d)
	}
	if len(d.NearTies) != 0 {
		t.Errorf("%+v may take its place", d.NearTies)
	}
}
