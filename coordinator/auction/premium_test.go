package auction

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// A full round costs no more than awarding its lots one by one, by priority and arrival, each its
// cheapest option that fits. A lot that waits counts as maxPayable of its best option, capacity
// included, if it is deferrable, and as its dearest option if not.
func TestFullRoundIsNeverWorseThanGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 12)
		p, choice := solve(r, 40)
		worthOf := func(choice []int) (v protocol.Microdollars) {
			for i, c := range choice {
				dearest, best := math.Inf(-1), math.Inf(1)
				for j := range p.lots[i].candidateCount() {
					k := p.lots[i].candidateAt(j)
					dearest = max(dearest, float64(k.cost))
					best = min(best, float64(k.cost)+shadow(p, k))
				}
				switch {
				case math.IsInf(best, 1):
				case c >= 0 && !(p.deferrable[i] && p.tooExpensive(i, c)):
					v += p.lots[i].candidateAt(c).cost
				case p.deferrable[i]:
					v += protocol.Microdollars(best + math.Abs(best)*maxPremiumThousandths/1000 + minSaving)
				default:
					v += protocol.Microdollars(dearest + math.Abs(dearest)*maxPremiumThousandths/1000 + minSaving)
				}
			}
			return v
		}
		one, left := make([]int, len(r.Lots)), p.newRemainingCapacity()
		for _, priority := range []int{1, 0} {
			for i, l := range r.Lots {
				if l.Job.Priority != priority {
					continue
				}
				if one[i] = p.chooseOption(i, left, priceOfFreeCapacity); one[i] >= 0 {
					left.takeOption(p.lots[i], one[i], 1)
				}
			}
		}
		ours, greedy := worthOf(choice), worthOf(one)
		if ours > greedy {
			t.Fatalf("the round costs %d; one by one it is %d", ours, greedy)
		}
	})
}

// A deferrable lot never gets an option, nor a reservation, far above its best one, capacity
// included; between full rounds it gets its best option or none.
func TestDeferrableLotNeverPaysFarAboveItsBest(t *testing.T) {
	sold, held := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 12)
		a := New(Config{Steps: 40})
		a.Clear(r)
		r.Full, r.Now, r.Next = rapid.Bool().Draw(t, "full"), r.Now.Add(time.Minute), r.Now.Add(30*time.Minute)
		out := a.Clear(r)
		p := newProblem(r, nil, &a.prices)
		for i, d := range out.Decisions {
			if !canWaitForFullRound(r.Lots[i], r.Next, r.Planning.OrDefault().FirmLead) {
				continue
			}
			if d.Verdict != Award {
				held++
				continue
			}
			sold++
			best, paid := math.Inf(1), math.Inf(1)
			for j := range p.lots[i].candidateCount() {
				k := p.lots[i].candidateAt(j)
				v := float64(k.cost) + shadow(p, k)
				best = min(best, v)
				if k.site == d.Site && *k.BidOption == d.Option {
					paid = min(paid, v)
				}
			}
			most := best + math.Abs(best)*maxPremiumThousandths/1000 + minSaving + 1
			if !r.Full {
				most = best + 1
			}
			if paid > most {
				t.Fatalf("full %v: %s is sold at %v microdollars, room paid; its best costs %v", r.Full, r.Lots[i].Job.ID, paid, best)
			}
		}
	})
	if sold == 0 || held == 0 {
		t.Errorf("%d lots that had time were sold and %d held: the test saw too little", sold, held)
	}
}

// A small job whose alternatives cost far more chooses before a large one that wants the same GPUs
// and loses little by waiting, at prices of capacity that do not separate them.
func TestSmallJobWithHighRegretPrecedesALargeOne(t *testing.T) {
	site := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 8000, 8000, 8000, 8000, 8000, 8000), hourly("P100", 4000, 4000)}}
	menu := func(o ...protocol.BidOption) SiteBids { return SiteBids{Site: "oslo", Options: o} }
	small := lot("small", 1, menu(option("V100", 0, 4, 1), option("P100", 0, 8, 80)))
	gang := lot("gang", 8, menu(option("V100", 0, 4, 2), option("V100", 1, 5, 3)))
	gang.Job.Deadline = noon.Add(10 * time.Hour)
	if got, want := show(New(Config{Steps: 1}).Clear(round([]Lot{gang, small}, site))), "hold 12:00; oslo 12:00; "; got != want {
		t.Errorf("decided %s want %s", got, want)
	}
}

// A job of several GPUs is reserved at a site as soon as the plan has an hour for it.
func TestMultiGPUJobIsReservedOncePlanned(t *testing.T) {
	site := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 8000, 8000)}}
	for _, c := range []struct {
		start float64
		want  string
	}{{5, "queue of oslo for 17:00; "}, {0, "oslo 12:00; "}} {
		l := lot("gang", 8, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", c.start, c.start+1, 1), option("V100", c.start+2, c.start+3, 5)}})
		if got := show(New(Config{}).Clear(round([]Lot{l}, site))); got != c.want {
			t.Errorf("a gang whose best hour is in %v h: decided %s want %s", c.start, got, c.want)
		}
	}
}
