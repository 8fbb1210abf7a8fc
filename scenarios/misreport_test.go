package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestAShaderChangesWhatIsBidAndNothingElse(t *testing.T) {
	bid := protocol.BidOption{Money: -2500, Energy: 9600, Carbon: 800, Transfer: 77}
	said := []protocol.Message{
		{Body: protocol.Bids{Jobs: []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{bid}}}}},
		{Body: protocol.UsageReport{Job: "b", Money: 1000}},
	}
	s := misreportingAgent{bids: func() spec.Misreport { return spec.Misreport{Price: 1300, Energy: 500} }}
	got := s.misreportBids(said)
	want := bid
	want.Money, want.Energy, want.Carbon = -1750, 4800, 400
	if o := got[0].Body.(protocol.Bids).Jobs[0].Options[0]; o != want {
		t.Errorf("bid %+v, want %+v", o, want)
	}
	if got[1].Body.(protocol.UsageReport).Money != 1000 {
		t.Errorf("a report is shaded too: %+v", got[1].Body)
	}
}

// If sites are paid by measurement, the money in their bids decides nothing: the market
// recomputes it from the prices of the same bid, to the microdollar. So a day on which
// a site asks for too much or too little equals the honest day.
func TestALieAboutMoneyChangesNothingWhereMeasurementIsPaid(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 150})
	if err != nil {
		t.Fatal(err)
	}
	type sale struct {
		CompletedJob
		money protocol.Microdollars // as the market took it
	}
	play := func(site int, price protocol.Milli, pay accounts.Payment) (sales []sale) {
		s := s
		s.Sites = slices.Clone(s.Sites)
		s.Sites[site].Bids.Price = price
		res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{Pay: pay})
		if err != nil {
			t.Fatal(err)
		}
		if lied := res.Counts["money-not-as-told"] > 0; lied != (price != 0 && pay == accounts.Settled) {
			t.Errorf("%s asks %d thousandths, paid by %s: the market noted %v", s.Sites[site].Name, price, pay, res.Counts)
		}
		for _, r := range CompletedJobs(res.History, MarketWeights(s)) {
			j, _ := res.History.LatestJob(r.Job)
			sales = append(sales, sale{r, j.CurrentAward().Option.Money})
		}
		return sales
	}
	same := func(x, y []sale) bool {
		return slices.EqualFunc(x, y, func(a, b sale) bool {
			return a.Job == b.Job && a.Node == b.Node && a.Started == b.Started && a.Cost == b.Cost && a.money == b.money
		})
	}
	truth := play(0, 0, accounts.Settled)
	for site := range s.Sites {
		price := []protocol.Milli{700, 1300}[site%2]
		if !same(play(site, price, accounts.Settled), truth) {
			t.Errorf("jobs are sold otherwise when %s asks %d thousandths of its cost", s.Sites[site].Name, price)
		}
	}
	if same(play(0, 1300, accounts.FirstPrice), play(0, 0, accounts.FirstPrice)) {
		t.Error("nothing changes under first price either: this day shows nothing")
	}
}

// Nodes sleep in a replay: a start that wakes one is charged for it, and one on a node that other
// jobs keep awake is not.
func TestSitesBidWhatKeepingNodesAwakeCosts(t *testing.T) {
	charged, free := 0, 0
	_, err := Replay(t.Context(), small(60), PolicyAuction, new(membus.Bus), Options{Record: func(m protocol.Message) error {
		offer, _ := m.Body.(protocol.Bids)
		for _, menu := range offer.Jobs {
			for _, o := range menu.Options {
				if o.NodeIdleShare > 0 {
					charged++
				} else {
					free++
				}
			}
		}
		return nil
	}})
	if err != nil || charged == 0 || free == 0 {
		t.Errorf("%d options with idle draw and %d without, error %v", charged, free, err)
	}
}

// A live federation refuses a site that misreports; in a replay the report shows it.
func TestASiteThatLiesDoesNotLive(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	name := s.Sites[0].Name
	s.Sites[0].Bids = spec.Misreport{Price: 1300, Energy: 1000}
	if _, err := SimulateSite(s, name, s.Start, s.End); err == nil || !strings.Contains(err.Error(), name+": bids") {
		t.Errorf("SimulateSite = %v; want an error that names site and field", err)
	}
	s.Sites[0].Bids = spec.Misreport{Price: 1000}
	if _, err := SimulateSite(s, name, s.Start, s.End); err != nil {
		t.Error(err)
	}
}
