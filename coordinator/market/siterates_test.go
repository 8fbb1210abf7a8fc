package market

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// bidFor has a site answer a call for one job alone, and returns what the market takes it to ask for a V100.
func (s *testMarket) bidFor(site string, j protocol.Job, options ...protocol.BidOption) (rate float64, ok bool) {
	k := s.market
	k.rounds++
	k.round = &round{call: callTime{k.rounds, s.now, 0}, lots: []*lot{{job: j}}, index: map[protocol.JobID]int{j.ID: 0}, offers: make(map[string]protocol.Bids)}
	answer := bidsOf(j.ID, options...)
	if len(options) == 0 {
		answer.Why.Code = protocol.NoCapacity
	}
	k.round.offers[site] = protocol.Bids{Jobs: []protocol.JobBids{answer}}
	k.observeRate(s.now, k.sites[site], k.round)
	return k.sites[site].rateOf([]string{"V100"}, s.now.Add(-ratesLast))
}

// What a site asks is a property of the site: neither how much a minute of waiting costs its last job, nor that it
// would have to wake a node, nor what the job had waited before, makes it dearer. A start hours ahead does.
func TestARateIsTheSitesAndNotItsLastJobs(t *testing.T) {
	s, names := manySites(t)
	s.market.cfg.Terms = protocol.DefaultWeights()
	long := s.job()
	long.Urgency, long.Arrival = protocol.UrgencyStandard, s.now
	cheap := s.option(0, time.Hour)
	want, _ := s.bidFor(names[1], long, cheap)
	short := s.job()
	short.Run, short.Arrival = time.Minute, s.now.Add(-time.Hour)
	waking := s.option(0, time.Minute)
	waking.Wake, waking.Energy, waking.Carbon, waking.Money, waking.NodeIdleShare = 200*time.Second, cheap.Energy/60, cheap.Carbon/60, cheap.Money/60, 90_000
	if got, ok := s.bidFor(names[2], short, waking); !ok || math.Abs(got-want) > want/50 {
		t.Errorf("the rate of a site that would wake a node for an urgent minute is %.0f, want %.0f as of an hour that can wait", got, want)
	}
	if got, _ := s.bidFor(names[3], long, s.option(3*time.Hour, time.Hour)); got != want+15_000 {
		t.Errorf("the rate of a site that has room in three hours is %.0f, want $0.015 more than the %.0f of one that has some now", got, want)
	}
}

// A site's rate of a model lasts while it bids for other jobs, and until it has no room for one on that model.
func TestARateLastsUntilThereIsNoRoom(t *testing.T) {
	s, names := manySites(t)
	gpu := s.job()
	want, _ := s.bidFor(names[1], gpu, s.option(0, time.Hour))
	cores := s.job()
	cores.GPUs, cores.Share, cores.Models = 0, 0, nil
	o := s.option(0, time.Hour)
	o.Model = ""
	if got, ok := s.bidFor(names[1], cores, o); !ok || got != want {
		t.Errorf("after a bid for a job without GPUs the rate of a V100 is %.0f, %t; want %.0f as before", got, ok, want)
	}
	if got, ok := s.bidFor(names[1], cores); !ok || got != want {
		t.Errorf("without room for cores the rate of a V100 is %.0f, %t; want %.0f as before", got, ok, want)
	}
	if got, ok := s.bidFor(names[1], gpu); ok {
		t.Errorf("without room on a V100 its rate is %.0f; want none", got)
	}
}

// The nodes of a site stay awake a while after a run, so it is asked before cheaper sites whose nodes sleep.
func TestASiteWhoseRunHasJustEndedIsAsked(t *testing.T) {
	s, names := manySites(t)
	j := s.job()
	j.Regions = nil
	for i, name := range names {
		o := s.option(0, time.Hour)
		o.Money += protocol.Microdollars(i)
		s.bidFor(name, j, o)
	}
	asked := func(endedAgo time.Duration) bool {
		s.market.sites[names[90]].runsUntil = s.now.Add(-endedAgo)
		l := &lot{job: j}
		return slices.Contains(s.market.newShortlist(s.now, []*lot{l}).sitesFor(l), 90)
	}
	if !asked(5*time.Minute) || asked(time.Hour) {
		t.Errorf("asked five minutes after its last run: %t, an hour after: %t; want true and false", asked(5*time.Minute), asked(time.Hour))
	}
}
