package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A quote is reckoned as a round of the job alone would be, and changes nothing of the market:
// neither what it knows, nor when it is due, nor its counts.
func TestAQuoteIsARoundWithoutEffect(t *testing.T) {
	s := newTestMarket(t, "lyon", "oslo", "rome")
	s.market = New(Config{Pay: accounts.PaymentRule{Margin: 100}}, auction.New(auction.Config{}))
	for _, name := range []string{"lyon", "oslo", "rome"} {
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	s.send(protocol.OperatorAPI, protocol.Drain{Site: "rome"})
	j := protocol.Job{ID: "q", CPU: 1000, Urgency: protocol.UrgencyNow, Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour)}
	ask := protocol.QuoteRequest{Call: protocol.CallForBids{Round: 7, Jobs: []protocol.Job{j}}}
	if said := s.send("agent/oslo", ask); len(said) != 0 {
		t.Errorf("a site may enquire: %+v", said)
	}
	said := s.send(protocol.OperatorAPI, ask)
	if len(said) != 1 || said[0].To != "" || len(s.market.Events()) != 0 {
		t.Fatalf("an enquiry leads to %+v and %d events; want one broadcast", said, len(s.market.Events()))
	}
	if c := said[0].Body.(protocol.QuoteRequest).Call; c.Round != 7 || c.Planning.Validate() != nil || c.Closes <= s.now {
		t.Errorf("sites are asked %+v", c)
	}
	option := func(start protocol.Time, money protocol.Microdollars) protocol.BidOption {
		return protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Energy: 3_600_000_000, Carbon: 1000, Money: money}
	}
	answer := func(site string, b protocol.JobBids) protocol.Message {
		b.Job = j.ID
		return s.message(protocol.AgentParty(site), protocol.Quote{Bids: protocol.Bids{Round: 7, Jobs: []protocol.JobBids{b}}})
	}
	answers := map[string]protocol.Message{
		"oslo":  answer("oslo", protocol.JobBids{Options: []protocol.BidOption{option(noon, 50_000), option(noon.Add(4*time.Hour), 60_000), option(noon.Add(-time.Hour), 1)}}),
		"lyon":  answer("lyon", protocol.JobBids{Why: protocol.Reason{Code: protocol.NoCapacity}}),
		"rome":  answer("rome", protocol.JobBids{Options: []protocol.BidOption{option(noon, 1)}}),
		"ghost": answer("ghost", protocol.JobBids{Options: []protocol.BidOption{option(noon, 1)}}),
	}
	due, counts := s.market.Due(), s.market.RefusalCounts()["impossible-term"]
	q := s.market.Quote(s.now, s.now, j, answers)
	if len(q.Sites) != 3 || q.Sites[0].Why.Code != protocol.NoCapacity || !q.Sites[2].Drained {
		t.Fatalf("quoted %+v", q.Sites)
	}
	oslo := q.Sites[1]
	if len(oslo.Options) != 2 || oslo.Options[0].Price != 55_000 || oslo.Options[0].Cost == 0 {
		t.Errorf("oslo offers %+v; want two starts, the first for what it costs and a tenth", oslo.Options)
	}
	if d := q.Decision; d == nil || d.Verdict != auction.Award || d.Site != "oslo" || d.Option.Start != noon {
		t.Errorf("the round would decide %+v; want oslo now", d)
	}
	if s.market.KnownJobs() != 0 || s.market.Due() != due || s.market.RefusalCounts()["impossible-term"] != counts {
		t.Error("the market has changed")
	}
}

// A quote of a job in parts says of each part what sites bid for it, and of the job what a round would decide on all:
// parts that start far apart are not awarded, and parts that no sites hold together are refused. It changes nothing.
func TestAQuoteOfAJobInPartsIsOfAllParts(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.market = New(Config{}, auction.New(auction.Config{}))
	for _, name := range []string{"bern", "oslo"} {
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 2}}})
	}
	quote := func(j protocol.Job, bern, oslo []protocol.JobBids) Quotation {
		t.Helper()
		answers := make(map[string]protocol.Message)
		for site, b := range map[string][]protocol.JobBids{"bern": bern, "oslo": oslo} {
			answers[site] = s.message(protocol.AgentParty(site), protocol.Quote{Bids: protocol.Bids{Round: 7, Jobs: b, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}}})
		}
		return s.market.Quote(s.now, s.now, j, answers)
	}
	no := func(id protocol.JobID) protocol.JobBids { return noBids(id, protocol.NoCapacity) }
	together := quote(s.dividedJob(), []protocol.JobBids{bidsOf("train.1", s.option(0, time.Hour)), no("train.2")}, []protocol.JobBids{no("train.1"), bidsOf("train.2", s.option(0, time.Hour))})
	if d := together.Decision; len(together.Parts) != 2 || d == nil || d.Verdict != auction.Award || len(together.Sites) != 0 {
		t.Fatalf("quoted %+v, %+v", together, together.Decision)
	}
	for i, site := range []string{"bern", "oslo"} {
		p := together.Parts[i]
		if d := p.Decision; d.Site != site || len(p.Sites) != 2 || len(p.Sites[i].Options) != 1 || p.Sites[1-i].Why.Code != protocol.NoCapacity {
			t.Errorf("part %s is quoted %+v, and goes to %s", p.Job, p.Sites, d.Site)
		}
	}
	apart := quote(s.dividedJob(), []protocol.JobBids{bidsOf("train.1", s.option(0, time.Hour)), no("train.2")}, []protocol.JobBids{no("train.1"), bidsOf("train.2", s.option(3*time.Hour, time.Hour))})
	if d := apart.Decision; d.Verdict != auction.Defer || d.Why.Code != protocol.PartsApart || d.Why.Note == "" {
		t.Errorf("starts three hours apart: %+v", d)
	}
	wide := s.dividedJob()
	for i := range wide.Pods {
		wide.Pods[i].GPUs = 2
	}
	wide.GPUs *= 2
	never := quote(wide, []protocol.JobBids{no("train.1"), no("train.2")}, []protocol.JobBids{noBids("train.1", protocol.FitsNoNode), noBids("train.2", protocol.FitsNoNode)})
	if d := never.Decision; d.Verdict != auction.Reject || d.Why.Code != protocol.FitsNoNode {
		t.Errorf("two parts of two GPUs, and one site with two: %+v", d)
	}
	if s.market.KnownJobs() != 0 || s.market.Due() != 0 {
		t.Error("the market has changed")
	}
}
