package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func elasticJob() protocol.Job {
	return protocol.Job{ID: "e", Tenant: "lab", Arrival: noon, Run: 8 * time.Hour, Deadline: noon.Add(40 * time.Hour), Urgency: protocol.UrgencyFlexible, Speed: []protocol.SpeedPoint{
		{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1800}, {Pods: 4, Speed: 3000}}}.WithPods([]protocol.Component{{Pods: 1, GPUs: 1, Share: 1000, CPU: 1000}})
}

// elasticBid is an honest option on so many pods, after some minutes in which its input is moved.
func elasticBid(pods int, moving time.Duration) protocol.BidOption {
	j := elasticJob()
	j = j.AtPods(pods)
	return protocol.BidOption{Start: noon.Add(time.Minute), Finish: noon.Add(time.Minute + moving + j.Run), Model: "V100", Pods: pods,
		Energy: protocol.Millijoules(pods) * protocol.Millijoules(j.Run.Milliseconds()) * 300}
}

func TestOptionsThatDoNotFitTheCurveAreDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		options []protocol.BidOption
		change  func(*protocol.BidOption)
		kept    int
	}{
		"all true":                       {[]protocol.BidOption{elasticBid(1, 0), elasticBid(2, 0), elasticBid(4, 0)}, func(*protocol.BidOption) {}, 3},
		"with a way that all need":       {[]protocol.BidOption{elasticBid(1, time.Hour), elasticBid(2, time.Hour), elasticBid(4, time.Hour)}, func(*protocol.BidOption) {}, 3},
		"faster than the curve":          {[]protocol.BidOption{elasticBid(1, 0), elasticBid(2, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Finish = o.Start.Add(2 * time.Hour) }, 2},
		"slower on more pods":            {[]protocol.BidOption{elasticBid(1, 0), elasticBid(2, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Finish = o.Start.Add(9 * time.Hour) }, 2},
		"a tenth of the energy":          {[]protocol.BidOption{elasticBid(1, 0), elasticBid(2, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Energy /= 10 }, 2},
		"ten times the energy":           {[]protocol.BidOption{elasticBid(1, 0), elasticBid(2, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Energy *= 10 }, 2},
		"more pods than the range":       {[]protocol.BidOption{elasticBid(1, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Pods = 5 }, 1},
		"fewer pods than none":           {[]protocol.BidOption{elasticBid(1, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Pods = -1 }, 1},
		"places for other pods":          {[]protocol.BidOption{elasticBid(1, 0), elasticBid(4, 0)}, func(o *protocol.BidOption) { o.Pods = 2 }, 1},
		"a size that says none is its 1": {[]protocol.BidOption{elasticBid(1, 0)}, func(o *protocol.BidOption) { o.Pods = 0 }, 1},
	} {
		m := newTestMarket(t)
		m.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 8}}})
		job := elasticJob()
		job.Arrival, job.Deadline = m.now, m.now.Add(40*time.Hour)
		m.send(protocol.Submitter, protocol.Submit{Job: job})
		m.wait()
		last := len(tc.options) - 1
		o := protocol.Bids{Round: m.market.rounds, Capacity: []protocol.CapacityProfile{{Model: "V100", From: m.now, Slot: time.Hour, Total: 8000, Free: []protocol.Milli{8000}}}}
		for i, x := range tc.options {
			tc.options[i].Start, tc.options[i].Finish = m.now.Add(x.Start.Sub(noon)), m.now.Add(x.Finish.Sub(noon))
			places := []protocol.Place{{Pods: x.Pods, Node: "n1"}}
			o.Spreads = append(o.Spreads, protocol.Spread{Job: "e", Option: i, Places: places})
		}
		tc.change(&tc.options[last])
		o.Jobs = []protocol.JobBids{{Job: "e", Options: tc.options}}
		if got := len(m.market.validateBids("oslo", o).Jobs[0].Options); got != tc.kept {
			t.Errorf("%s: %d options are kept; want %d", name, got, tc.kept)
		}
	}
}
