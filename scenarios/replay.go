package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim/loop"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Options say how to replay. Functions that are nil are not called.
type Options struct {
	Advice   market.Advice                        // when the judge is asked
	Judge    bus.Machine                          // nil: there is none, and what is asked gets no answer
	Around   func(market bus.Machine) bus.Machine // what is stepped in the market's place, and steps it; nil: the market
	Policy   protocol.Policy                      // of the operators, in force from the start
	Pay      accounts.Payment                     // "" is by what was measured
	Rule     func() auction.ClearingRule          // that clears rounds; nil: that of the policy
	Strategy func(site string) agents.BidStrategy // of each site; nil: that of the policy
	Learned  *forecast.Learned                    // corrects forecasts of sites under SignalLearned; nil: the weights in the program
	// Misreport says how each site misreports the bids that it is about to send; nil: as its scenario
	// says. Sites may ask side by side.
	Misreport func(site string) spec.Misreport
	// NoBackfill keeps nodes with a reservation empty until it begins: see capacity.Config.
	NoBackfill bool
	MostSites  int                                // that are asked to bid for one job; 0: as market.Config has it
	NoBids     bool                               // the History keeps no bids: see history.Config
	History    *history.History                   // into which the run is folded, for callers that read it meanwhile; nil: a new one
	Record     func(protocol.Message) error       // called with every message, in order
	Progress   func(now protocol.Time, ended int) // after each instant
	Pace       func(now protocol.Time)            // before each instant
	Wall       func() time.Duration               // since some fixed moment; nil: figures say 0

	Sequential bool // parties step one after the other: see loop.Config
}

// ErrJobsUnfinished is returned if jobs have not ended two weeks after the metered time.
var ErrJobsUnfinished = loop.ErrNotDoneInTime

// A ReplayResult is the outcome of a replay.
type ReplayResult struct {
	Totals  history.Totals // zero if the run did not end
	Meta    history.Meta   // what Totals was computed with
	History *history.History
	Counts  map[string]int // messages that the market ignored, by reason
}

// Replay replays a scenario on a bus under a policy (a name as CanonicalPolicyName reads it) and checks the
// record. If the record is inconsistent, Replay returns the result together with an
// error.
func Replay(ctx context.Context, s spec.Scenario, policy string, hub bus.Bus, o Options) (ReplayResult, error) {
	st, err := buildTestbed(s, policy, o)
	if err != nil {
		return ReplayResult{}, err
	}
	res := ReplayResult{History: o.History, Counts: st.Market.RefusalCounts()}
	if res.History == nil {
		res.History = history.New(history.Config{NoBids: o.NoBids})
	}
	frag := timeWeightedMean{from: s.Start, to: s.End}
	carbon := newEmissionsAccount(s)
	began := time.Duration(0)
	if o.Wall != nil {
		began = o.Wall()
	}
	// The record is built while messages are sent, so a replay needs no ledger in
	// memory.
	said, err := loop.Run(ctx, hub, st.Parties, loop.Config{
		Start: st.Start, Latest: st.MeteredUntil.Add(MaxReplayOverrun), Pace: o.Pace, Sequential: o.Sequential,
		Record: func(m protocol.Message) error {
			res.History.AddMessage(m)
			carbon.addMeteredMessage(m)
			if o.Record == nil {
				return nil
			}
			return o.Record(m)
		},
		Done: func(now protocol.Time) bool {
			frag.addValue(now, st.MeanFragmentation())
			if o.Progress != nil {
				o.Progress(now, st.submitter.EndedJobs())
			}
			return st.AllDone(now)
		},
	})
	if errors.Is(err, loop.ErrNotDoneInTime) {
		err = fmt.Errorf("%w: under %[3]s only %[4]d of %[2]d jobs have ended: use fewer jobs or more nodes", err, len(s.Jobs), policy, st.submitter.EndedJobs())
	}
	if err != nil {
		return res, err
	}
	// From here on the run is complete: compute its totals.
	meta := RunMetadata(s, policy)
	meta.RunTimes = realRunTimes(st.runTimes)
	meta.Frag = frag.meanValue() / 1000
	if o.Wall != nil {
		meta.Wall = o.Wall() - began
	}
	res.Totals, res.Meta = res.History.ComputeTotals(meta), meta
	res.Totals.Messages = said
	res.Totals.AverageKg, res.Totals.MarginalKg = carbon.average/1e6, carbon.marginal/1e6
	var wrong []error
	for _, p := range res.History.CheckInvariants(NodesOf(s)) {
		if p.Code == "meter" && slices.ContainsFunc(s.EventsOf(spec.SiteSilent), func(e spec.Event) bool { return e.Name == p.Site }) {
			continue // agents do not repeat the report of an hour, so that of a silent site may be lost
		}
		wrong = append(wrong, fmt.Errorf("scenarios: %s: the ledger is inconsistent: %v", policy, p))
	}
	return res, errors.Join(wrong...)
}

// RunMetadata returns the data of a run that its messages do not contain.
func RunMetadata(s spec.Scenario, policy string) history.Meta {
	m := history.Meta{
		Scenario: s.Name, Policy: policy, Seed: s.Seed, Start: s.Start, End: s.End, Weights: MarketWeights(s),
		MeteredUntil: MeteredUntil(s), SleepDraw: make(map[string]protocol.Milliwatts),
	}
	for _, site := range s.Sites {
		for _, n := range NodesOfSite(site) {
			m.GPUs += protocol.Milli(n.GPUs) * 1000
			m.CPU += protocol.Milli(n.CPU)
			m.Memory += protocol.MiB(n.Memory)
			m.SleepDraw[site.Name] += n.Host.Asleep
		}
	}
	return m
}

// NodesOf returns the capacities of a scenario's nodes.
func NodesOf(s spec.Scenario) (out []history.Node) {
	for _, site := range s.Sites {
		for _, n := range site.Nodes {
			out = append(out, history.Node{Site: site.Name, Name: n.Name, CPU: n.CPU, Memory: n.Memory, GPUs: n.GPUs, Model: n.Model})
		}
	}
	return out
}

// A timeWeightedMean is the time-weighted mean of a step function over [from, to).
type timeWeightedMean struct {
	from, to protocol.Time
	at       protocol.Time
	last     float64
	sum      float64
}

// addValue sets the value that holds from now on.
func (m *timeWeightedMean) addValue(now protocol.Time, v float64) {
	m.integrateUntil(now)
	m.at, m.last = now, v
}

// integrateUntil adds the last value over the time since the last call, cut to [from, to).
func (m *timeWeightedMean) integrateUntil(now protocol.Time) {
	from, to := max(m.at, m.from), min(now, m.to)
	if m.at != 0 && to > from {
		m.sum += m.last * float64(to-from)
	}
}

// meanValue returns the mean up to the last call of addValue.
func (m *timeWeightedMean) meanValue() float64 { return m.sum / float64(max(m.to-m.from, 1)) }
