package agents_test

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A night shift offers the first full hour of the night, on the first way that has
// room then, and nothing else.
type nightShift struct{ From int }

func (n nightShift) ProposeOptions(r *agents.BidRequest) ([]protocol.BidOption, error) {
	night := r.Now.Floor(24 * time.Hour).Add(time.Duration(n.From) * time.Hour)
	for _, w := range r.Ways {
		if start, ok := r.FindOpening(w, night); ok {
			o, _ := r.PriceOption(w, start)
			return []protocol.BidOption{o}, nil
		}
	}
	return nil, nil // no room: the site says so
}

func (nightShift) Delivery() agents.Delivery {
	return agents.Delivery{KeepRoom: true, AsOffered: true}
}

func ExampleBidStrategy() {
	const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z
	nodes := []capacity.Node{{Node: fgd.Node{Name: "n1", CPU: 64_000, Memory: 256 << 10, GPUs: 4, Model: "V100"}, Host: power.DefaultHost(4)}}
	fleet, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable()})
	if err != nil {
		fmt.Println(err)
		return
	}
	grid := forecast.New(forecast.Config{})
	for what, value := range map[protocol.Quantity]int64{protocol.GridPrice: 100_000, protocol.GridCarbon: 500_000, protocol.GridPUE: 1200} {
		grid.RecordSignal(noon, protocol.Signal{What: what, Points: []protocol.Point{{At: noon, Value: value}}})
	}
	site := agents.New(agents.Config{Site: "oslo", Strategy: nightShift{From: 22}}, fleet, grid)

	job := protocol.Job{
		ID: "train", GPUs: 2, Share: 1000, CPU: 8000, Memory: 1024, Arrival: noon, Run: time.Hour,
		Deadline: noon.Add(24 * time.Hour), Urgency: protocol.UrgencyStandard,
	}
	market := protocol.Sender{Party: protocol.Coordinator}
	call := protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job}, Weights: protocol.DefaultWeights(), Planning: protocol.DefaultPlanning()}
	for _, m := range site.Step(noon, market.NewMessage(noon, "", call)) {
		if offer, ok := m.Body.(protocol.Bids); ok {
			for _, o := range offer.Jobs[0].Options {
				fmt.Println(o.Start, o.Model, len(site.StrategyFaults()))
			}
		}
	}
	// Output: 2022-04-13T22:00:00Z V100 0
}
