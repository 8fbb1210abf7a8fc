package market

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// manySites returns a market of 100 sites that asks 12 of them for a job, and their names.
func manySites(t *testing.T) (*testMarket, []string) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("site-%03d", i))
	}
	s := newTestMarket(t)
	s.market = New(Config{MostSites: 12}, s.rule)
	for _, name := range names {
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 8}}})
	}
	return s, names
}

// call submits a job that any site may run, and returns the call for it.
func (s *testMarket) call(id protocol.JobID) protocol.CallForBids {
	j := s.job()
	j.ID, j.Regions, j.Arrival, j.Deadline = id, nil, s.now, s.now.Add(8*time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	return lastSent[protocol.CallForBids](s)
}

// offerAll has each asked site offer every job that it is asked for at its price, and returns what is sent.
func (s *testMarket) offerAll(c protocol.CallForBids, price func(site string) protocol.Microdollars) (sent []protocol.Message) {
	for _, site := range c.Sites {
		var all []protocol.JobBids
		for _, j := range c.JobsFor(site) {
			o := s.option(0, time.Hour)
			o.Money = price(site)
			all = append(all, bidsOf(j.ID, o))
		}
		if len(all) > 0 {
			sent = append(sent, s.offer(site, all...)...)
		}
	}
	return sent
}

// A round of many sites asks some of them for each job, and is over when these have answered. Later calls ask
// the sites that were cheapest, and others in turn until all were asked.
func TestTheCheapestOfManySitesAreAsked(t *testing.T) {
	s, names := manySites(t)
	price := func(site string) protocol.Microdollars {
		return protocol.Microdollars(10_000 + 100*slices.Index(names, site))
	}
	asked := make(map[string]int)
	for n := range 60 {
		c := s.call(protocol.JobID(fmt.Sprintf("job-%d", n)))
		of := c.SitesAskedFor(c.Jobs[0].ID)
		if len(of) != 12 || !slices.Equal(c.Sites, of) {
			t.Fatalf("call %d asks %v for its job and names %v, want 12 sites, and these alone", n, of, c.Sites)
		}
		for _, site := range of {
			asked[site]++
		}
		sent := s.offerAll(c, price)
		if len(sent) != 1 {
			t.Fatalf("call %d: %d messages when all asked sites have answered, want 1 award", n, len(sent))
		}
		a := lastSent[protocol.Award](s)
		s.send(sent[0].To, protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: s.now})
		s.now = s.now.Add(time.Minute)
	}
	if len(asked) < 90 {
		t.Errorf("60 calls asked %d sites in all: want nearly all 100, as each asks 3 of them in turn", len(asked))
	}
	if got := lastSent[protocol.Award](s); got.Option.Money > 10_300 {
		t.Errorf("the last job was awarded for %d µ$: want one of the cheapest few sites", got.Option.Money)
	}
	for _, name := range names {
		if s.market.sites[name].silent {
			t.Errorf("%s counts as silent, and answered whenever it was asked", name)
		}
	}
}

// A job that no site can run is refused once all have said so, and one that a single site can run finds it.
func TestAllOfManySitesAreAskedInTheEnd(t *testing.T) {
	s, names := manySites(t)
	one := names[77]
	for _, id := range []protocol.JobID{"nowhere", "one"} {
		c, calls := s.call(id), 0
		for ended := false; !ended; calls++ {
			if calls > 30 {
				t.Fatalf("job %s is not decided after %d calls", id, calls)
			}
			var sent []protocol.Message
			for _, site := range c.Sites {
				if len(c.JobsFor(site)) == 0 {
					continue
				}
				answer := noBids(id, protocol.FitsNoNode)
				if id == "one" && site == one {
					answer = bidsOf(id, s.option(0, time.Hour))
				}
				sent = append(sent, s.offer(site, answer)...)
			}
			if ended = count[protocol.Award](sent)+count[protocol.Reject](sent) == 1; !ended {
				s.wait()
				c = lastSent[protocol.CallForBids](s)
			}
		}
		if calls > 10 {
			t.Errorf("job %s took %d calls: want 10 at most, 12 of 100 sites each", id, calls)
		}
	}
	if got := lastSent[protocol.Reject](s); got.Job != "nowhere" || got.Why.Code != protocol.FitsNoNode {
		t.Errorf("refused: %+v", got)
	}
	if got := lastSent[protocol.Award](s); got.Job != "one" {
		t.Errorf("awarded: %+v", got)
	}
}

// A site that said that it can never run a job is asked for it again once it registers anew.
func TestASiteThatRegistersAnewIsAskedAgain(t *testing.T) {
	s, names := manySites(t)
	tied := s.job()
	tied.ID, tied.Regions = "tied", []string{names[3], names[50]}
	s.send(protocol.Submitter, protocol.Submit{Job: tied})
	asked := func() []string {
		s.wait()
		c := lastSent[protocol.CallForBids](s)
		return c.SitesAskedFor("tied")
	}
	if got := asked(); !slices.Equal(got, tied.Regions) {
		t.Fatalf("sites asked first: %v, want %v", got, tied.Regions)
	}
	s.offer(names[3], noBids("tied", protocol.FitsNoNode))
	s.offer(names[50], noBids("tied", protocol.NoCapacity))
	if got := asked(); !slices.Equal(got, names[50:51]) {
		t.Errorf("sites asked after %s said that no node fits: %v, want %s alone", names[3], got, names[50])
	}
	s.send(protocol.AgentParty(names[3]), protocol.RegisterSite{Site: names[3], Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
	s.offer(names[50], noBids("tied", protocol.NoCapacity))
	if got := asked(); !slices.Equal(got, tied.Regions) {
		t.Errorf("sites asked after %s registered anew: %v, want %v", names[3], got, tied.Regions)
	}
}

// Gangs are asked of all sites, and jobs that name their regions of these alone.
func TestWhoIsAskedForGangsAndForRegions(t *testing.T) {
	s, names := manySites(t)
	gang := s.job().WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 4, Share: 1000, CPU: 4000}})
	gang.ID, gang.Regions = "gang", nil
	tied := s.job()
	tied.ID, tied.Regions = "tied", []string{names[3], names[50], "atlantis"}
	s.send(protocol.Submitter, protocol.Submit{Job: gang})
	s.send(protocol.Submitter, protocol.Submit{Job: tied})
	s.wait()
	c := lastSent[protocol.CallForBids](s)
	if got := c.SitesAskedFor("gang"); len(c.Jobs) != 2 || len(got) != 100 {
		t.Errorf("a call of %d jobs asks %d sites for a gang, want 2 and all 100", len(c.Jobs), len(got))
	}
	if got, want := c.SitesAskedFor("tied"), []string{names[3], names[50]}; !slices.Equal(got, want) {
		t.Errorf("sites asked for a job of some regions: %v, want %v", got, want)
	}
}

// Up to MostSites sites a call names none: its bytes are those of a market that asks all.
func TestFewSitesAreAllAsked(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	if c := s.call("train"); c.Sites != nil || c.Asked != nil {
		t.Errorf("a call to two sites names %v and %v", c.Sites, c.Asked)
	}
}
