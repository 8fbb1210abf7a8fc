package bench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// make reasons sets these. Without them a short crowded day is checked.
var (
	reasonDecisions = flag.Int("decisions", 100, "check the reasons of so many decisions at least")
	reasonData      = flag.String("data", "../../../shared/data", "folder of the recorded series that more decisions need")
)

// crowdedDay returns the first jobs of the invented day, all of which arrive in its first hour, so
// that they are in each other's way.
func crowdedDay(t *testing.T, jobs int) spec.Scenario {
	t.Helper()
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		early := j.Arrival.Sub(s.Start.Add(time.Hour * time.Duration(i) / time.Duration(len(s.Jobs))))
		j.Arrival, j.Deadline = j.Arrival.Add(-early), j.Deadline.Add(-early)
	}
	return s
}

// A checkedRule clears rounds as the auction does. For each award it looks at every option of the
// job that costs less, and counts what stood in its way.
type checkedRule struct {
	*auction.Auction
	decisions int
	cheaper   map[auction.Obstacle]int
	unsaid    []string // awards beside which nothing stood in the way of a cheaper option
}

// Clear implements auction.ClearingRule.
func (c *checkedRule) Clear(r auction.Round) auction.Outcome {
	before := c.Clone()
	out := c.Auction.Clear(r)
	c.decisions += len(out.Decisions)
	var check *auction.RoundCheck
	for i, d := range out.Decisions {
		if d.Verdict != auction.Award {
			continue
		}
		if check == nil {
			check = before.CheckRound(r)
		}
		for _, m := range r.Lots[i].Bids {
			for _, o := range m.Options {
				why := check.ObstacleTo(r.Lots[i].Job.ID, m.Site, o)
				if c.cheaper[why]++; why == auction.NoObstacle {
					c.unsaid = append(c.unsaid, fmt.Sprintf("round %d: %s was awarded to %s, and %+v at %s was free", r.Number, r.Lots[i].Job.ID, d.Site, o, m.Site))
				}
			}
		}
	}
	return out
}

// An award says that the round costs least with it. Over the decisions of whole days, no option of
// its job that costs less was free to be had.
func TestNothingStandsFreeBesideAnAwardThatCostsMore(t *testing.T) {
	all := &checkedRule{cheaper: make(map[auction.Obstacle]int)}
	check := func(s spec.Scenario) {
		rule := func() auction.ClearingRule { all.Auction = auction.New(auction.Config{}); return all }
		if _, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Rule: rule}); err != nil {
			t.Fatal(err)
		}
	}
	check(crowdedDay(t, 220))
	if _, err := os.Stat(*reasonData); err != nil && all.decisions < *reasonDecisions {
		t.Skipf("%d decisions checked, and no recorded data for more: %v", all.decisions, err)
	}
	for seed := uint64(1); all.decisions < *reasonDecisions; seed++ {
		for _, day := range []string{"ordinary_2022-04-13", "winddrought_de_gb_2022-12-11", "heatwave_gb_tx_2022-07-19"} {
			s, err := spec.LoadScenario("real-days/"+day, spec.Options{Data: *reasonData, Seed: &seed, MaxJobs: 1000})
			if err != nil {
				t.Fatal(err)
			}
			check(s)
		}
	}
	t.Logf("%d decisions; obstacles: %v", all.decisions, all.cheaper)
	for _, s := range all.unsaid {
		t.Error(s)
	}
	if all.cheaper[auction.OtherLots] == 0 {
		t.Error("no award stood beside a cheaper option that other jobs have: nothing was checked")
	}
}

// What is printed about an alternative that costs its job, or the round, less than the award says
// why that was not awarded.
func TestAnswersSayWhyACheaperAlternativeWasNotAwarded(t *testing.T) {
	s := crowdedDay(t, min(220+*reasonDecisions/100, 400))
	l := query.NewDataset(nil)
	l.SetReplay(query.ReplaySetup{Market: market.Config{Pay: accounts.PaymentRule{Margin: 100}}})
	type alternative struct {
		decision uint64
		job      protocol.JobID
		site     string
	}
	var all []alternative
	offers := make(map[protocol.JobID][]string) // sites with options, in the job's newest round
	_, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Record: func(m protocol.Message) error {
		l.AddMessage(m)
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			for _, j := range b.Jobs {
				offers[j.ID] = nil
			}
		case protocol.Bids:
			for _, j := range b.Jobs {
				if len(j.Options) > 0 {
					offers[j.Job] = append(offers[j.Job], m.From.SiteName())
				}
			}
		case protocol.Award:
			for _, site := range offers[b.Job] {
				if m.To != protocol.AgentParty(site) {
					all = append(all, alternative{m.Seq, b.Job, site})
				}
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	cheaperJob, cheaperRound, missed := 0, 0, 0
	beside := make(map[uint64]bool) // by decision: some other site costs the job less
	for _, a := range all {
		if _, asked := beside[a.decision]; !asked {
			beside[a.decision] = slices.ContainsFunc(l.AnswerQuestion(fmt.Sprintf("why D-%d", a.decision)).Figures, func(f query.Figure) bool {
				return f.Name == "cost-difference" && f.Value < 0
			})
		}
		if !beside[a.decision] {
			continue
		}
		r := l.AnswerQuestion(fmt.Sprintf("why not %s for D-%d", a.site, a.decision))
		text := strings.Join(r.Text, " ")
		for _, f := range r.Figures {
			switch {
			case f.Value >= 0:
			case f.Name == "cost-difference":
				if cheaperJob++; !strings.Contains(text, "cheaper offer") && !strings.Contains(text, "no cheaper as the round counts") {
					t.Errorf("%s at %s costs the job less, and nothing says why not: %s", a.job, a.site, text)
				}
			case f.Name == "round-cost-difference":
				cheaperRound++
				switch {
				case strings.Contains(text, "the search of the round missed that"):
					missed++
				case !strings.Contains(text, "it takes room that is kept for other jobs") && !strings.Contains(text, "it takes room that is worth more than that"):
					t.Errorf("%s at %s costs the round less, and nothing says so: %s", a.job, a.site, text)
				}
			}
		}
	}
	t.Logf("%d alternatives, %d cheaper for their job, %d for the round, %d of these missed by its search", len(all), cheaperJob, cheaperRound, missed)
	if cheaperJob == 0 {
		t.Error("no alternative was cheaper for its job: nothing was checked")
	}
}
