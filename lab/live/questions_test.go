package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// twenty are the questions that operators ask of any scheduler, and the what-ifs.
// $J is a job that was awarded in a round with two bids or more, $D that
// decision, $A its winner, $B the next; $W a job that was deferred.
var twenty = []string{
	"why did $W not start at once?",
	"when did $J start?",
	"what was ahead of $J, whose was it, how much did it hold?",
	"who preempted me, by which rule, at what price?",
	"why $A and not $B for $J?",
	"what did each site answer for $J?",
	"which sites could not take $J and why?",
	"would an 8 GPU job fit now?",
	"what would $J have cost at once",
	"what should I change for $J?",
	"free GPUs by site",
	"largest job $A could take now",
	"which site is greenest now?",
	"what did waiting save?",
	"what did $J cost in €, kWh, gCO2?",
	"carbon by site",
	"who borrows my quota and when do I get it back?",
	"am I getting my fair share?",
	"why did only 2 of 5 replicas start?",
	"why not home for $J",
	"what happened to $J",
	"which sites are unreachable",
	"what is stuck for ever?",
	"what did the coordinator decide in the last hour?",
	"explain $D",
	"what if $B had won $J?",
	"would $J change at a carbon price of 400 €/t?",
	"at what carbon price would $B win $J?",
	"what if $J could wait 6 h?",
	"$J without site $A",
	"what did each site answer for $J, and why did it refuse or not bid?",
	"what would I have to bid to start $J now?",
	"why can an 8 GPU job not run?",
	"where is it cheapest, and what does waiting save?",
	"where and when is it greenest?",
	"$A is full: why did it not overflow?",
	"am I getting my fair share? what do priority, class and factor each do?",
	"what did the coordinator decide in the last hour, what changed, show it as a graph",
	"what happened to $W, was it re-dispatched?",
	"who preempted $J, by which rule, at what price?",
	"how fragmented is $A?",
	"compare with yesterday",
}

// An asked run is a ledger, with the names that the questions contain.
type asked struct {
	log   *query.Dataset
	names *strings.Replacer
}

// ask reads a ledger until an instant, and finds names, if it can: $J has ended,
// and was awarded at once, to its home, or to another site though its home bid;
// $W was deferred. $J is the last such job: when the first was called, the sites may
// not have sent anything yet.
func ask(all []protocol.Message, until protocol.Time, homes map[protocol.JobID]string, home bool) (asked, bool) {
	l := query.NewDataset(nil)
	held := ""
	first := make(map[protocol.JobID]protocol.Message) // award
	for _, m := range all {
		if m.At > until {
			continue
		}
		l.AddMessage(m)
		switch b := m.Body.(type) {
		case protocol.Defer:
			if held == "" {
				held = string(b.Job)
			}
		case protocol.Award:
			first[b.Job] = m
		}
	}
	for _, id := range slices.Backward(l.History().JobIDs()) {
		r, _ := l.History().LatestJob(id)
		m, ok := first[id]
		if !ok || !r.HasEnded() || len(r.Rounds) != 1 || held == "" {
			continue
		}
		rec, _ := l.DecisionDocument(m.Seq)
		var sites []string
		for _, b := range rec.Bids {
			if b.Feasible && !slices.Contains(sites, b.Site) {
				sites = append(sites, b.Site)
			}
		}
		lost := slices.Index(sites, homes[id]) > 0
		if slices.Index(sites, m.To.SiteName()) == 0 && len(sites) > 1 && (home && sites[0] == homes[id] || !home && lost) {
			return asked{l, strings.NewReplacer("$J", string(id), "$D", record.DecisionID(m.Seq), "$A", sites[0], "$B", sites[1], "$W", held)}, true
		}
	}
	return asked{}, false
}

// shape is what kind of answer one is, whatever its figures.
func (r asked) shape(question string) (shape string, a query.Answer) {
	a = r.log.AnswerQuestion(r.names.Replace(question))
	shape = a.Kind
	if a.Query != nil {
		shape += ", asks " + a.Query.Ask
	}
	if a.Table != nil {
		shape += fmt.Sprint(", a table of ", len(a.Table.Head), " columns")
	}
	if a.Chart != nil {
		shape += ", a chart of " + a.Chart.Kind + " in " + a.Chart.Unit
	}
	return fmt.Sprint(shape, ", figures: ", len(a.Figures) > 0), a
}

// The same questions, asked of what live coordinators wrote and of a replay of
// the same jobs until the same time, get answers of the same kind: tables and
// charts, figures, and what-ifs that are computed.
func questions(t *testing.T, s spec.Scenario, sides []side, homes map[protocol.JobID]string) {
	var played []protocol.Message
	_, err := scenarios.Replay(context.Background(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Record: func(m protocol.Message) error {
		played = append(played, m)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range sides {
		all := written(t, x.folder)
		end := all[len(all)-1].At
		live, away := ask(all, end, homes, false)
		replay, also := ask(played, end, homes, false)
		if !away || !also {
			live, away = ask(all, end, homes, true)
			replay, also = ask(played, end, homes, true)
		}
		if !away || !also {
			t.Fatal("no job that ended, with two bids, beside one that was held")
		}
		for _, q := range twenty {
			got, a := live.shape(q)
			want, b := replay.shape(q)
			if got != want {
				t.Errorf("%s\nlive:   %s: %v\nreplay: %s: %v", q, got, a.Text, want, b.Text)
			}
			if a.Kind != "answer" && a.Kind != "absent" {
				t.Errorf("%s: %s: %v", q, a.Kind, a.Text)
			}
		}
	}
}
