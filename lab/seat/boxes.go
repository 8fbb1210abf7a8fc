package seat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A boxSeat is a seat whose agents answer with numbers, all at once in each full round: `room`, at which
// one agent prices room, and `site`, at which each site chooses what it says of its costs.
type boxSeat struct {
	name   string
	agents []string
	seen   []int    // shape of what an agent sees
	names  []string // of its last dimension
	act    []int    // shape of what it does
	low    float64  // bounds of that
	high   float64
	idle   float64 // what counts for an agent that does not answer
	pools  []auction.Pool
}

// boxSeatOf returns a seat of that kind over a scenario; nil of the seat of the clearing.
func boxSeatOf(seat string, s spec.Scenario) *boxSeat {
	switch seat {
	case SeatRoom:
		b := &boxSeat{name: seat, agents: []string{"market"}, names: learned.RoomFeatures, high: 1}
		for _, site := range s.Sites {
			for _, n := range site.Nodes {
				if p := (auction.Pool{Site: site.Name, Model: n.Model}); n.GPUs > 0 && !slices.Contains(b.pools, p) {
					b.pools = append(b.pools, p)
				}
			}
		}
		b.seen = []int{len(b.pools), learned.RoomHours, len(learned.RoomFeatures)}
		b.act = []int{len(b.pools), learned.RoomBlocks}
		return b
	case SeatSite:
		b := &boxSeat{name: seat, names: learned.SiteFeatures, seen: []int{len(learned.SiteFeatures)}, act: []int{2}, low: learned.LeastStated, high: learned.MostStated, idle: 1}
		for _, site := range s.Sites {
			b.agents = append(b.agents, site.Name)
		}
		slices.Sort(b.agents)
		return b
	}
	return nil
}

// equals reports whether two seats have the same agents, who see and do the same.
func (b *boxSeat) equals(o *boxSeat) bool {
	return slices.Equal(b.agents, o.agents) && slices.Equal(b.seen, o.seen) && slices.Equal(b.act, o.act)
}

// numbers returns how many numbers an agent answers with.
func (b *boxSeat) numbers() int {
	n := 1
	for _, d := range b.act {
		n *= d
	}
	return n
}

// idleAnswer returns what counts where nobody answers: no price of room, and the truth.
func (b *boxSeat) idleAnswer() [][]float64 {
	out := make([][]float64, len(b.agents))
	for i := range out {
		out[i] = make([]float64, b.numbers())
		for k := range out[i] {
			out[i][k] = b.idle
		}
	}
	return out
}

// readActs returns what agents do, in their order, cut to the bounds.
func (b *boxSeat) readActs(acts map[string][]float64) ([][]float64, *lineError) {
	if acts == nil {
		return nil, &lineError{"act", "the seat " + b.name + " is not answered by one number", "send " + b.example()}
	}
	out := make([][]float64, len(b.agents))
	for i, name := range b.agents {
		v, ok := acts[name]
		if !ok || len(v) != b.numbers() {
			return nil, &lineError{"act", fmt.Sprintf("it has %d numbers of the agent %s", len(v), name), fmt.Sprintf("send %d numbers of each agent: %s", b.numbers(), b.example())}
		}
		out[i] = make([]float64, len(v))
		for k := range v {
			out[i][k] = min(max(v[k], b.low), b.high)
		}
	}
	if len(acts) > len(b.agents) {
		for _, name := range slices.Sorted(maps.Keys(acts)) {
			if !slices.Contains(b.agents, name) {
				return nil, &lineError{"act", "there is no agent " + shortText(name), "name those that open tells"}
			}
		}
	}
	return out, nil
}

// example returns an action of the first agent.
func (b *boxSeat) example() string {
	text, err := json.Marshal(map[string][]float64{b.agents[0]: {b.idle, b.idle}})
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`{"act":%s}`, text)
}

// options returns the options of a replay with the seat taken by whom a function asks.
func (b *boxSeat) options(ask func(*learned.BoxQuestion) [][]float64) scenarios.Options {
	if b.name == SeatRoom {
		return scenarios.Options{Rule: func() auction.ClearingRule {
			return learned.NewRoomRule(b.pools, func(q *learned.BoxQuestion) []float64 { return ask(q)[0] })
		}}
	}
	var said atomic.Pointer[[]learned.SiteStatement] // sites read it side by side
	return scenarios.Options{
		Rule: func() auction.ClearingRule {
			return learned.NewSiteRule(b.agents, func(q *learned.BoxQuestion) [][2]float64 {
				answers := make([][2]float64, len(b.agents))
				for i, v := range ask(q) {
					answers[i] = [2]float64{v[0], v[1]}
				}
				return answers
			}, func(s []learned.SiteStatement) { said.Store(&s) })
		},
		Misreport: func(site string) spec.Misreport {
			all := said.Load()
			i, ok := slices.BinarySearch(b.agents, site)
			if all == nil || !ok {
				return spec.Misreport{}
			}
			return spec.Misreport{Price: (*all)[i].Money, Energy: (*all)[i].Energy}
		},
	}
}

// A boxEpisode is a day at such a seat.
type boxEpisode = episode[learned.BoxQuestion, [][]float64]

// rewards returns what each agent earned or cost since the last call, in a unit of dollars: a site its
// profit, the one at the prices of room minus what was settled of the objective.
func (b *boxSeat) rewards(a *account, unit float64, cost protocol.Microdollars) []float64 {
	if b.name == SeatRoom {
		return []float64{rewardOf(cost, unit)}
	}
	out := make([]float64, len(b.agents))
	for i, name := range b.agents {
		out[i] = rewardOf(-a.takeProfit(name), unit)
	}
	return out
}
