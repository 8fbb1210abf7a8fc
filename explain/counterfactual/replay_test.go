package counterfactual

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

var weights = protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}

// A stage is a market with its sites and all their messages.
type stage struct {
	market *market.Market
	mouths map[protocol.Party]*protocol.Sender
	now    protocol.Time
	said   []protocol.Message
	calls  []protocol.CallForBids
	clerk  *clerk // nil: nobody keeps an account
}

func newStage(w protocol.Weights, sites ...string) *stage {
	s := &stage{now: noon, mouths: make(map[protocol.Party]*protocol.Sender)}
	s.market = market.New(market.Config{Terms: w}, auction.New(auction.Config{}))
	for _, name := range sites {
		s.say(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	return s
}

func (s *stage) say(who protocol.Party, b protocol.Body) {
	if s.mouths[who] == nil {
		s.mouths[who] = &protocol.Sender{Party: who}
	}
	m := s.mouths[who].NewMessage(s.now, protocol.Coordinator, b)
	s.said = append(s.said, m)
	s.took(protocol.Input{At: s.now, From: m.From, Seq: m.Seq})
	s.heard(s.market.Step(s.now, m))
}

func (s *stage) took(step protocol.Input) {
	if s.clerk != nil {
		s.clerk.note(s.now, protocol.InputLog{Steps: []protocol.Input{step}})
	}
}

func (s *stage) heard(all []protocol.Message) {
	if s.clerk != nil {
		for _, f := range s.market.Events() {
			s.clerk.books = append(s.clerk.books, protocol.Input{From: f.From, Seq: f.Seq})
		}
	}
	s.said = append(s.said, all...)
	for _, m := range all {
		if c, ok := m.Body.(protocol.CallForBids); ok {
			s.calls = append(s.calls, c)
		}
	}
}

// wait moves the clock to when the market is due.
func (s *stage) wait() {
	if due := s.market.Due(); due != 0 {
		s.now = max(s.now, due)
		s.took(protocol.Input{At: s.now})
		s.heard(s.market.Tick(s.now))
	}
}

// A play is what happens to a market: drawn once, and played as often as one
// likes, with something left out.
type play struct {
	sites  []string
	jobs   []protocol.Job
	offers []map[string]protocol.Bids // by round, as far as it goes
}

func drawPlay(t *rapid.T) play {
	p := play{sites: []string{"bern", "lyon", "oslo"}}
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		p.jobs = append(p.jobs, protocol.Job{
			ID: protocol.JobID(fmt.Sprint("job-", i)), GPUs: 1, Share: 1000, CPU: 1000, Arrival: noon, Run: time.Hour,
			Deadline: noon.Add(time.Duration(rapid.IntRange(2, 9).Draw(t, "deadline")) * time.Hour), Urgency: protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable")),
		})
	}
	for range 6 {
		round := make(map[string]protocol.Bids)
		for _, site := range p.sites {
			o := protocol.Bids{Capacity: []protocol.CapacityProfile{{Model: "V100", Slot: time.Hour, Total: 4000}}}
			for range 9 {
				o.Capacity[0].Free = append(o.Capacity[0].Free, protocol.Milli(rapid.IntRange(0, 4).Draw(t, "free")*1000))
			}
			for _, j := range p.jobs {
				m := protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoCapacity}}
				for range rapid.IntRange(0, 3).Draw(t, "options") {
					m.Options = append(m.Options, protocol.BidOption{
						Start: protocol.Time(rapid.IntRange(0, 5).Draw(t, "start")) * 3_600_000, Model: "V100", Energy: 1_080_000_000,
						Carbon: protocol.Milligrams(rapid.IntRange(0, 400).Draw(t, "grams") * 1000), Money: protocol.Microdollars(rapid.IntRange(0, 60).Draw(t, "money") * 1000),
					})
				}
				o.Jobs = append(o.Jobs, m)
			}
			round[site] = o
		}
		p.offers = append(p.offers, round)
	}
	return p
}

// offer places a drawn offer in time: starts are from now on.
func (s *stage) offer(o protocol.Bids, round uint64) protocol.Bids {
	o.Round, o.Capacity, o.Jobs = round, slices.Clone(o.Capacity), slices.Clone(o.Jobs)
	o.Capacity[0].From = s.now.Floor(time.Hour)
	for i := range o.Jobs {
		o.Jobs[i].Options = slices.Clone(o.Jobs[i].Options)
		for k := range o.Jobs[i].Options {
			x := &o.Jobs[i].Options[k]
			x.Start += s.now
			x.Finish = x.Start.Add(time.Hour)
		}
	}
	return o
}

// play lets it happen; edit may change an offer, or drop it.
func (p play) play(w protocol.Weights, edit func(round uint64, site string, o *protocol.Bids) bool) *stage {
	s := newStage(w, p.sites...)
	p.on(s, edit, nil)
	return s
}

// on sends a message in the stage; after is called when a round is over.
func (p play) on(s *stage, edit func(round uint64, site string, o *protocol.Bids) bool, after func(n int)) {
	for _, j := range p.jobs {
		s.say(protocol.Submitter, protocol.Submit{Job: j})
	}
	for n, offers := range p.offers {
		for len(s.calls) == n && s.market.Due() != 0 {
			s.wait()
		}
		if len(s.calls) == n {
			break
		}
		round, dropped := s.calls[n].Round, false
		for _, site := range p.sites {
			if o := s.offer(offers[site], round); edit == nil || edit(round, site, &o) {
				s.say(protocol.AgentParty(site), o)
			} else {
				dropped = true
			}
		}
		if dropped {
			s.wait() // the round closes by the clock
		}
		for _, m := range slices.Clone(s.said) {
			if a, ok := m.Body.(protocol.Award); ok && a.Round == round {
				s.say(protocol.Party("agent/"+m.To.SiteName()), protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: a.Option.Start})
			}
		}
		if after != nil {
			after(n)
		}
	}
}

func again(s *stage) *RoundReplay {
	r := NewReplay(market.Config{})
	for _, m := range s.said {
		r.AddMessage(m)
	}
	return r
}

// verdicts returns the ledger's decisions of a round: "award oslo 12:00".
func verdicts(s *stage, round uint64) map[protocol.JobID]string {
	all := make(map[protocol.JobID]string)
	for _, m := range s.said {
		switch b := m.Body.(type) {
		case protocol.Award:
			if b.Round == round {
				all[b.Job] = fmt.Sprint("award ", m.To.SiteName(), b.Option)
			}
		case protocol.Defer:
			if b.Round == round {
				all[b.Job] = fmt.Sprint("hold ", b.Site, b.Start)
			}
		}
	}
	return all
}

func verdict(d auction.Decision) string {
	if d.Verdict == auction.Award {
		return fmt.Sprint("award ", d.Site, d.Option)
	}
	return fmt.Sprint("hold ", d.Site, d.Option.Start)
}

// Every round is reproduced, and a round cleared with a site removed, a job restricted
// to one site, or another price of carbon equals the round of a market with that
// change.
func TestACounterfactualIsAFreshRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		s := p.play(weights, nil)
		r := again(s)
		if r.fault != "" {
			t.Fatalf("the ledger is not reproduced: %s", r.fault)
		}
		if len(s.calls) == 0 {
			return
		}
		n := rapid.IntRange(0, min(len(s.calls), len(p.offers))-1).Draw(t, "round")
		round := s.calls[n].Round
		site := rapid.SampledFrom(p.sites).Draw(t, "site")
		job := rapid.SampledFrom(p.jobs).Draw(t, "job").ID

		// A site that offers nothing is as good as silent, but for when the round
		// closes, and that is as it was.
		fresh := p.play(weights, func(at uint64, who string, o *protocol.Bids) bool {
			if at == round && who == site {
				o.Capacity, o.Jobs = nil, nil
			}
			return true
		})
		compare(t, r, round, RoundChange{Without: site}, fresh)

		fresh = p.play(weights, func(at uint64, who string, o *protocol.Bids) bool {
			for i := range o.Jobs {
				if at == round && who != site && o.Jobs[i].Job == job {
					o.Jobs[i].Options = nil
				}
			}
			return true
		})
		compare(t, r, round, RoundChange{Job: job, Only: site}, fresh)

		price := protocol.Microdollars(rapid.Int64Range(0, 1_000_000).Draw(t, "price"))
		w := weights
		w.Carbon = price
		compare(t, r, s.calls[0].Round, RoundChange{Carbon: &price}, p.play(w, nil))
	})
}

func compare(t *rapid.T, r *RoundReplay, round uint64, c RoundChange, fresh *stage) {
	out, err := r.ClearWithChange(round, c)
	if err != nil {
		t.Fatal(err)
	}
	want := verdicts(fresh, round)
	for _, m := range out.Jobs {
		if got := verdict(m.Now); want[m.Job.ID] != "" && got != want[m.Job.ID] {
			t.Fatalf("round %d with %+v: %s: cleared again %s; a fresh market says %s", round, c, m.Job.ID, got, want[m.Job.ID])
		}
	}
	if len(want) != len(out.Jobs) {
		t.Fatalf("round %d with %+v: %d jobs cleared again; a fresh market decided on %d", round, c, len(out.Jobs), len(want))
	}
}

// A ledger whose coordinator decided otherwise is noticed at that decision, and
// nothing is claimed from there on.
func TestAnotherDecisionIsNoticed(t *testing.T) {
	p := play{sites: []string{"bern", "oslo"}, jobs: []protocol.Job{{
		Urgency: protocol.UrgencyNow,
		ID:      "a", GPUs: 1, Share: 1000, CPU: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(9 * time.Hour),
	}}}
	option := func(money protocol.Microdollars) protocol.Bids {
		return protocol.Bids{
			Capacity: []protocol.CapacityProfile{{Model: "V100", Slot: time.Hour, Total: 4000, Free: []protocol.Milli{4000}}},
			Jobs:     []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{{Model: "V100", Money: money}}}},
		}
	}
	p.offers = []map[string]protocol.Bids{{"bern": option(10), "oslo": option(20)}}
	s := p.play(weights, nil)
	if out, err := again(s).ClearWithChange(1, RoundChange{Without: "bern"}); err != nil || out.Jobs[0].Was.Site != "bern" || out.Jobs[0].Now.Site != "oslo" {
		t.Fatalf("without bern: %+v, %v; want oslo in place of bern", out, err)
	}
	for i, m := range s.said {
		if a, ok := m.Body.(protocol.Award); ok {
			a.Option.Money++
			s.said[i].Body = a
		}
	}
	if _, err := again(s).ClearWithChange(1, RoundChange{}); err == nil {
		t.Error("a ledger with another award than the market's was taken for reproduced")
	}
	if _, err := NewReplay(market.Config{}).ClearWithChange(1, RoundChange{}); err == nil {
		t.Error("a round of an empty ledger was cleared")
	}
}
