package agents

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// propose is a strategy by a function, with all of a site's care in delivery.
type propose func(*BidRequest) ([]protocol.BidOption, error)

func (f propose) ProposeOptions(r *BidRequest) ([]protocol.BidOption, error) { return f(r) }
func (propose) Delivery() Delivery                                           { return Delivery{KeepRoom: true, AsOffered: true} }

// cheapestNow offers the cheapest way to start at once, or else the soonest start.
func cheapestNow(r *BidRequest) (out []protocol.BidOption, _ error) {
	least := protocol.Microdollars(0)
	for _, w := range r.Ways {
		start, ok := r.FindOpening(w, r.Now)
		if !ok {
			continue
		}
		if o, cost := r.PriceOption(w, start); len(out) == 0 || start < out[0].Start || start == out[0].Start && cost < least {
			out, least = []protocol.BidOption{o}, cost
		}
	}
	return out, nil
}

// The default strategy keeps to what is checked of others: with any jobs running, queued and
// reserved, each of its options passes.
func TestDefaultStrategyPassesCheckOption(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSite(t, eager, rapid.SampledFrom([][]int{{4}, {2, 4}, {1, 1, 8}}).Draw(r, "nodes")...)
		for i := range rapid.IntRange(0, 8).Draw(r, "jobs") {
			j := drawAsked(r, protocol.JobID(fmt.Sprint("runs-", i)))
			if m := s.call(j)[0]; len(m.Options) > 0 {
				o := rapid.SampledFrom(m.Options).Draw(r, "option")
				s.give(protocol.Award{Job: j.ID, Epoch: uint64(i + 1), Option: o, MayQueue: true, Lease: s.now.Add(time.Minute)})
			}
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "minutes")) * time.Minute)
		}
		j := drawAsked(r, "asked")
		s.agent.strategy = propose(func(q *BidRequest) ([]protocol.BidOption, error) {
			own, _ := eager.ProposeOptions(q)
			for _, o := range own {
				if err := q.checkOption(o); err != nil {
					r.Fatalf("an option of our own is refused: %v: %+v", err, o)
				}
			}
			return own, nil
		})
		s.call(j)
		if len(s.agent.StrategyFaults()) != 0 {
			r.Fatalf("faults: %v", s.agent.StrategyFaults())
		}
	})
}

func drawAsked(t *rapid.T, id protocol.JobID) protocol.Job {
	j := job(id, rapid.SampledFrom([]int{0, 1, 1, 2, 4}).Draw(t, "gpus"))
	j.Urgency = protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable"))
	j.Run = time.Duration(rapid.IntRange(1, 300).Draw(t, "run")) * time.Minute
	j.Deadline = noon.Add(time.Duration(rapid.IntRange(6, 60).Draw(t, "due")) * time.Hour)
	return j
}

func TestAnotherStrategyBidsInItsOwnWay(t *testing.T) {
	s := newSite(t, propose(cheapestNow), 4)
	j := deferrable("a")
	m := s.call(j)[0]
	if len(m.Options) != 1 || m.Options[0].Start != s.now {
		t.Fatalf("offered %+v; want one start, now", m.Options)
	}
	ours := newSite(t, eager, 4).call(j)[0]
	if len(ours.Options) < 2 {
		t.Errorf("the default offers %d starts; want more than the other one", len(ours.Options))
	}
	if got := launched(s.award(j, 1, false)); got != "a " {
		t.Errorf("an option of another strategy was won, and launched %q", got)
	}
	if len(s.agent.StrategyFaults()) != 0 {
		t.Errorf("faults: %v", s.agent.StrategyFaults())
	}
}

// A strategy sees the capacity and the grid forecast that the site's bids state, in the slots of
// the call.
func TestBidRequestShowsWhatTheBidsState(t *testing.T) {
	var room []protocol.CapacityProfile
	var grid protocol.GridForecast
	s := newSite(t, propose(func(r *BidRequest) ([]protocol.BidOption, error) {
		room, grid = r.FreeCapacity(), r.GridForecast()
		return nil, nil
	}), 4, 2)
	plan := protocol.Planning{Slot: 30 * time.Minute, Horizon: 4 * time.Hour, MaxStartDelay: time.Hour, FirmLead: time.Hour}
	o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{job("a", 1)}, Weights: weights, Planning: plan})
	if len(room) != 1 || len(room[0].Free) != plan.SlotCount() || !reflect.DeepEqual(room, o.Capacity) {
		t.Errorf("the strategy sees the capacity %+v; want that of the bids, %+v", room, o.Capacity)
	}
	if len(grid.Price) == 0 || !reflect.DeepEqual(grid, o.Grid) {
		t.Errorf("the strategy sees the forecast %+v; want that of the bids, %+v", grid, o.Grid)
	}
}

// A strategy that fails, or bids what the site cannot keep, never reaches the market:
// the site bids as it would by default, and counts.
func TestInvalidProposalIsReplacedByTheDefault(t *testing.T) {
	first := func(r *BidRequest) protocol.BidOption { o, _ := r.PriceOption(r.Ways[0], r.Now); return o }
	with := func(change func(*protocol.BidOption)) propose {
		return func(r *BidRequest) ([]protocol.BidOption, error) {
			o := first(r)
			change(&o)
			return []protocol.BidOption{first(r), o}, nil
		}
	}
	for _, tc := range []struct {
		name, fault string
		strategy    propose
		busy        int // GPUs of four
	}{
		{"an error", "strategy-error", func(r *BidRequest) ([]protocol.BidOption, error) {
			return []protocol.BidOption{first(r)}, errors.New("the policy cannot be read")
		}, 0},
		{"too many", "strategy-too-many", func(r *BidRequest) ([]protocol.BidOption, error) {
			out := make([]protocol.BidOption, maxOptions+1)
			for i := range out {
				out[i] = first(r)
			}
			return out, nil
		}, 0},
		{"a start that is over", "strategy-invalid", with(func(o *protocol.BidOption) { o.Start, o.Finish = o.Start.Add(-time.Hour), o.Finish.Add(-time.Hour) }), 0},
		{"a shorter run", "strategy-invalid", with(func(o *protocol.BidOption) { o.Finish = o.Finish.Add(-time.Second) }), 0},
		{"another price", "strategy-invalid", with(func(o *protocol.BidOption) { o.Money-- }), 0},
		{"a model that is not here", "strategy-invalid", with(func(o *protocol.BidOption) { o.Model = "H100" }), 0},
		{"a cap that no way has", "strategy-invalid", with(func(o *protocol.BidOption) { o.Cap++ }), 0},
		{"room that is taken", "strategy-invalid", func(r *BidRequest) ([]protocol.BidOption, error) { return []protocol.BidOption{first(r)}, nil }, 4},
		{"beyond the horizon, beside room now", "strategy-invalid", func(r *BidRequest) ([]protocol.BidOption, error) {
			o, _ := r.PriceOption(r.Ways[0], r.Now.Add(r.Planning.Horizon+time.Hour))
			return []protocol.BidOption{o}, nil
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			site := func(strategy BidStrategy) *site {
				s := newSite(t, eager, 4)
				if tc.busy > 0 {
					s.award(job("runs", tc.busy), 1, false)
				}
				s.agent.strategy = strategy
				return s
			}
			j := deferrable("a")
			s := site(tc.strategy)
			got, want := s.call(j)[0], site(DefaultStrategy()).call(j)[0]
			if !reflect.DeepEqual(got, want) || len(want.Options) == 0 {
				t.Errorf("offered\n %+v\nwant the default's\n %+v", got, want)
			}
			if faults := s.agent.StrategyFaults(); faults[tc.fault] != 1 || len(faults) != 1 {
				t.Errorf("counted %v; want one %s", faults, tc.fault)
			}
		})
	}
}
