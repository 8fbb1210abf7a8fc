package agents

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// drawOffer draws an offer whose menus have from no option to many.
func drawOffer(t *rapid.T) protocol.Message {
	o := protocol.Bids{Round: 7}
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		m := protocol.JobBids{Job: protocol.JobID(fmt.Sprint("tenant/job-", i))}
		for k := range rapid.IntRange(0, 9).Draw(t, "options") {
			at := noon.Add(time.Duration(k) * time.Hour)
			m.Options = append(m.Options, protocol.BidOption{Start: at, Finish: at.Add(time.Hour), Model: "V100", Cap: 200_000, Energy: 1e9, Carbon: 1e6, Money: 1e6})
		}
		if len(m.Options) == 0 {
			m.Why = protocol.Reason{Code: protocol.FitsNoNode}
		}
		o.Jobs = append(o.Jobs, m)
	}
	sender := protocol.Sender{Party: protocol.AgentParty("oslo")}
	return sender.NewMessage(noon, protocol.Coordinator, o)
}

func encodedSize(t rapid.TB, m protocol.Message, seq uint64, o protocol.Bids) int {
	m.Seq, m.Body = seq, o
	n, err := protocol.EncodedSize(m)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mostOptions(o protocol.Bids) (most int) {
	for _, m := range o.Jobs {
		most = max(most, len(m.Options))
	}
	return most
}

// highest is the highest number that a message can have.
const highest = 1<<63 - 1

// Under every limit that one option for each job fits into, an offer is no longer than
// the limit, whatever number it is sent under, as many options are left as fit, and the
// soonest of each job is among them.
func TestAThinnedOfferFitsAndKeepsTheSoonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawOffer(t)
		whole := m.Body.(protocol.Bids)
		full, least := encodedSize(t, m, highest, whole), encodedSize(t, m, highest, withMostOptions(whole, 1))
		limit := rapid.IntRange(least, full+20).Draw(t, "limit")
		got := thinToMaxBytes(m, limit)
		if n := encodedSize(t, m, highest, got); n > limit {
			t.Fatalf("%d bytes under a limit of %d", n, limit)
		}
		most := mostOptions(got)
		for i, menu := range got.Jobs {
			all := whole.Jobs[i].Options
			if menu.Job != whole.Jobs[i].Job || menu.Why != whole.Jobs[i].Why || len(menu.Options) != min(most, len(all)) {
				t.Fatalf("menu %d of %d options became %+v where others have %d", i, len(all), menu, most)
			}
			if len(all) > 0 && menu.Options[0] != all[0] {
				t.Fatalf("the soonest option of %s is not offered", menu.Job)
			}
			for k, o := range menu.Options {
				if !slices.Contains(all, o) || k > 0 && o.Start <= menu.Options[k-1].Start {
					t.Fatalf("%s: option %d was made up or is out of order", menu.Job, k)
				}
			}
		}
		if most < mostOptions(whole) && encodedSize(t, m, highest, withMostOptions(whole, most+1)) <= limit {
			t.Fatalf("%d options for each job are left; %d fit", most, most+1)
		}
		if len(whole.Jobs) > 0 && limit >= full && !reflect.DeepEqual(got, whole) {
			t.Fatalf("an offer that fits was thinned")
		}
	})
}

// If not even one option per job fits, the first jobs keep one and the others get the reason.
func TestTinyLimitKeepsOptionsOfTheFirstJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawOffer(t)
		whole := m.Body.(protocol.Bids)
		if mostOptions(whole) == 0 {
			return
		}
		none := encodedSize(t, m, highest, withJobsCrowdedOut(whole, len(whole.Jobs)))
		least := encodedSize(t, m, highest, withMostOptions(whole, 1))
		limit := rapid.IntRange(none, max(none, least-1)).Draw(t, "limit")
		got := thinToMaxBytes(m, limit)
		if n := encodedSize(t, m, highest, got); n > limit {
			t.Fatalf("%d bytes under a limit of %d", n, limit)
		}
		crowded := false
		for i, menu := range got.Jobs {
			all := whole.Jobs[i].Options
			switch {
			case len(all) == 0:
			case len(menu.Options) == 0 && menu.Why == crowdedOut:
				crowded = true
			case crowded || len(menu.Options) != 1 || menu.Options[0] != all[0]:
				t.Fatalf("menu %d is %+v; crowded out before: %t", i, menu, crowded)
			}
		}
	})
}

func TestAnAgentKeepsToTheLimitOfItsCall(t *testing.T) {
	habit := eager
	habit.TemporalShift, habit.MaxOptionsPerModel = true, 12
	s := newSite(t, habit, 8, 8, 8, 8)
	var jobs []protocol.Job
	for i := range 20 {
		j := job(protocol.JobID(fmt.Sprint("job-", i)), 1)
		j.Urgency = protocol.UrgencyStandard
		jobs = append(jobs, j)
	}
	offer := func(limit int) (protocol.Message, protocol.Bids) {
		s.rounds++
		sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "", protocol.CallForBids{Round: s.rounds, Jobs: jobs, Weights: weights, MaxBytes: limit}))
		if len(sent) != 1 {
			t.Fatalf("sent %v to a call", sent)
		}
		return sent[0], sent[0].Body.(protocol.Bids)
	}
	m, whole := offer(0)
	size, err := protocol.EncodedSize(m)
	if err != nil {
		t.Fatal(err)
	}
	limit := size / 2
	m, thin := offer(limit)
	if n, err := protocol.EncodedSize(m); err != nil || n > limit || n < limit/2 {
		t.Errorf("under a limit of %d bytes it sent %d (%v)", limit, n, err)
	}
	if got, all := mostOptions(thin), mostOptions(whole); got >= all || got < 1 || len(thin.Jobs) != len(jobs) {
		t.Errorf("under half of the bytes %d of %d options are left for each of %d jobs", got, all, len(thin.Jobs))
	}
}
