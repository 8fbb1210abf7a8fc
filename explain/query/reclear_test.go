package query

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// An auctionRun is a run that a real market decided.
type auctionRun struct {
	runBuilder
	market *market.Market
}

func (f *auctionRun) addMessages(all []protocol.Message) { f.messages = append(f.messages, all...) }

func (f *auctionRun) sendBody(who protocol.Party, b protocol.Body) {
	f.addMessage(who, protocol.Coordinator, b)
	f.addMessages(f.market.Step(f.now, f.messages[len(f.messages)-1]))
}

// twoJobAuction are two jobs in one round of a market: oslo asks 1 cent and 50 grams, lyon
// 3 cents and 30 grams, and bern 2 cents and 50 grams for the first job alone.
// At 100 dollars per tonne that is $0.015, $0.033 and $0.025; lyon costs less
// than oslo above 1,000 dollars, and at 1,000 its name comes first.
func twoJobAuction() *auctionRun {
	f := &auctionRun{runBuilder: runBuilder{now: noon}}
	f.market = market.New(market.Config{Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}}, auction.New(auction.Config{}))
	for _, s := range []string{"oslo", "lyon", "bern"} {
		f.sendBody(protocol.AgentParty(s), protocol.RegisterSite{Site: s})
	}
	for _, id := range []protocol.JobID{"train-1", "train-2"} {
		j := task(id, "vision")
		j.Regions, j.Models = nil, nil
		f.sendBody(protocol.Submitter, protocol.Submit{Job: j})
	}
	f.now = f.market.Due()
	f.addMessages(f.market.Tick(f.now))
	room := func() []protocol.CapacityProfile {
		return []protocol.CapacityProfile{{Model: "V100", From: f.now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{8000}, Total: 8000}}
	}
	for _, s := range []struct {
		site  string
		cents int64
		grams int64
		only  protocol.JobID
	}{{"oslo", 1, 50, ""}, {"lyon", 3, 30, ""}, {"bern", 2, 50, "train-1"}} {
		o := protocol.Bids{Round: 1, Capacity: room()}
		for _, id := range []protocol.JobID{"train-1", "train-2"} {
			m := protocol.JobBids{Job: id, Why: protocol.Reason{Code: protocol.NoCapacity}}
			if s.only == "" || s.only == id {
				x := option(0, s.cents, s.grams)
				x.Start, x.Finish = f.now, f.now.Add(time.Hour)
				m.Options = []protocol.BidOption{x}
			}
			o.Jobs = append(o.Jobs, m)
		}
		f.sendBody(protocol.AgentParty(s.site), o)
	}
	return f
}

func TestCounterfactuals(t *testing.T) {
	l := twoJobAuction().buildDataset()
	for _, tc := range []struct {
		q, says string
		figure  string // of its subject, with its value
		want    int64
	}{
		{"would train-1 change at a carbon price of 200", "Nothing changes: at $200 per tonne, in place of $100, it is the same", "job/train-1 other-jobs-moved", 0},
		{"would train-1 change at a carbon price of 5000", "It changes: at $5000 per tonne, in place of $100, it is an award to lyon", "job/train-1 other-jobs-moved", 1},
		{"at what carbon price would lyon win train-1", "lyon would win at $1000 per tonne", "site/lyon break-even", 1000},
		{"what if train-1 without oslo", "it is an award to bern", "site/bern cost-difference", 10_000},
		{"what if train-2 without oslo", "it is an award to lyon", "site/lyon cost-difference", 18_000},
		{"why not bern for train-1", "kept to bern it gives an award to bern", "site/bern round-cost-difference", 10_000},
		{"what if train-1 could wait 6 h", "Nothing changes: with 6 h more it is the same", "job/train-1 other-jobs-moved", 0},
	} {
		t.Run(tc.q, func(t *testing.T) {
			a := l.AnswerQuestion(tc.q)
			if text := strings.Join(a.Text, " "); !strings.Contains(text, tc.says) || !strings.Contains(strings.ToLower(text), "made again as recorded") {
				t.Errorf("%s %q; want %q in it, after the decision was made again", a.Kind, a.Text, tc.says)
			}
			subject, name, _ := strings.Cut(tc.figure, " ")
			if got := figureOfAnswer(t, a, subject, name); got != tc.want {
				t.Errorf("%s = %d; want %d", tc.figure, got, tc.want)
			}
		})
	}
}

// Where a job that is kept to a site finds no place, the round has less to pay for: that
// is no saving.
func TestARoundIsNotComparedWithOneOfFewerJobs(t *testing.T) {
	f := &auctionRun{runBuilder: runBuilder{now: noon}}
	f.market = market.New(market.Config{Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}}, auction.New(auction.Config{}))
	for _, s := range []string{"oslo", "lyon"} {
		f.sendBody(protocol.AgentParty(s), protocol.RegisterSite{Site: s})
	}
	j := task("train-1", "vision")
	j.Regions, j.Models, j.GPUs, j.Deadline = nil, nil, 1, after(20*time.Hour)
	f.sendBody(protocol.Submitter, protocol.Submit{Job: j})
	f.now = f.market.Due()
	f.addMessages(f.market.Tick(f.now))
	for i, free := range []protocol.Milli{8000, 0} {
		x := option(0, 1, 50)
		x.Start, x.Finish = f.now, f.now.Add(time.Hour)
		f.sendBody(protocol.AgentParty([]string{"oslo", "lyon"}[i]), protocol.Bids{
			Round: 1, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{x}}},
			Capacity: []protocol.CapacityProfile{{Model: "V100", From: f.now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{free, free}, Total: 8000}},
		})
	}
	a := f.buildDataset().AnswerQuestion("why not lyon for train-1")
	text := strings.Join(a.Text, " ")
	if !strings.Contains(text, "it gives a hold") || !strings.Contains(text, "a place for 0 of its jobs, and not for 1") || strings.Contains(text, "as a whole") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}

// A ledger that no market could have said is not decided upon again.
func TestNothingIsClaimedOfALedgerThatIsNotReproduced(t *testing.T) {
	f := twoJobAuction()
	for i, m := range f.messages {
		if a, ok := m.Body.(protocol.Award); ok && a.Job == "train-1" {
			a.Option.Money--
			f.messages[i].Body = a
		}
	}
	l := f.buildDataset()
	for _, q := range []string{"would train-1 change at a carbon price of 5000", "at what carbon price would lyon win train-1", "what if train-1 without oslo"} {
		if a := l.AnswerQuestion(q); a.Kind != "refused" || len(a.Figures) > 0 || !strings.Contains(strings.Join(a.Text, " "), "cannot be made again") {
			t.Errorf("%q: %s %q %v; want a refusal without figures", q, a.Kind, a.Text, a.Figures)
		}
	}
	if a := l.AnswerQuestion("why not bern for train-1"); strings.Contains(strings.Join(a.Text, " "), "Made again") {
		t.Errorf("why not: %q; want nothing of another clearing", a.Text)
	}
}

// A whole run is replayed with a change only if it first gives what the ledger
// says.
func TestWholeRunReplays(t *testing.T) {
	f := twoJobAuction()
	book := func(edit func(*protocol.Message)) *history.History {
		b := history.New(history.Config{})
		for _, m := range f.messages {
			edit(&m)
			b.AddMessage(m)
		}
		return b
	}
	same := func(*protocol.Message) {}
	var asked []DayChange
	l := f.buildDataset()
	l.SetReplay(ReplaySetup{Policies: []string{"home-fifo"}, Replay: func(d DayChange) (DayReplay, error) {
		asked = append(asked, d)
		if d.Policy == "home-fifo" {
			return DayReplay{}, errors.New("no such thing")
		}
		return DayReplay{history.Totals{CarbonKg: 100 + float64(len(d.Down))}, book(same)}, nil
	}})
	a := l.AnswerQuestion("what if lyon were down")
	if a.Kind != "answer" || len(asked) != 2 || asked[0] != (DayChange{Carbon: -1}) || asked[1] != (DayChange{Down: "lyon", Carbon: -1}) {
		t.Fatalf("%s %q, having played %+v; want the day as it was, and then without lyon", a.Kind, a.Text, asked)
	}
	if got := figureOfAnswer(t, a, "run/without lyon", "carbon"); got != 104_000_000 {
		t.Errorf("carbon without lyon = %d; want 104 kg in milligrams", got)
	}
	if a := l.AnswerQuestion("what if the carbon price were 250"); asked[len(asked)-1] != (DayChange{Carbon: 250}) {
		t.Errorf("%s %q, having played %+v; want 250 dollars", a.Kind, a.Text, asked)
	}
	if a := l.AnswerQuestion("carbon of home-fifo"); a.Kind != "refused" || len(a.Figures) > 0 {
		t.Errorf("a replay that failed: %s %q %v", a.Kind, a.Text, a.Figures)
	}
	l.SetReplay(ReplaySetup{Replay: func(DayChange) (DayReplay, error) { return DayReplay{History: history.New(history.Config{})}, nil }})
	if a := l.AnswerQuestion("what if lyon were down"); a.Kind != "refused" || !strings.Contains(strings.Join(a.Text, " "), "does not run as the ledger says") {
		t.Errorf("another day was taken for this one: %s %q", a.Kind, a.Text)
	}
}
