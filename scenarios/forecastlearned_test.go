package scenarios

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/protocol"
)

// correctionsOf returns corrections of forecasts of which a function draws all weights.
func correctionsOf(draw func() float64) *forecast.Learned {
	n := net.New(len(forecast.LearnedInputNames()), 5, forecast.LearnedOutputs)
	for i := range n.Layers {
		for k := range n.Layers[i].Weights {
			n.Layers[i].Weights[k] = draw()
		}
		for k := range n.Layers[i].Bias {
			n.Layers[i].Bias[k] = draw()
		}
	}
	return forecast.NewLearned(*n)
}

// Whatever weights correct forecasts, a day ends with every job run or refused, each round's certificate
// is valid, and what sites forecast is within the bounds of its quantity.
func TestNoCorrectionsBreakARun(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	for name, l := range map[string]*forecast.Learned{
		"shipped":   nil,
		"large":     correctionsOf(func() float64 { return 1000 * dice.NormFloat64() }),
		"huge":      correctionsOf(func() float64 { return math.Copysign(1e300, dice.Float64()-0.5) }),
		"no number": correctionsOf(math.NaN),
	} {
		t.Run(name, func(t *testing.T) {
			s, proofs := small(60), 0
			res, err := Replay(t.Context(), s, "auction/learned", new(membus.Bus), Options{Learned: l, Record: func(m protocol.Message) error {
				switch b := m.Body.(type) {
				case protocol.Award:
					proofs++
					if b.Proof.Bound > b.Proof.Primal {
						t.Errorf("%s: bound %v of a round that cost %v", b.Job, b.Proof.Bound, b.Proof.Primal)
					}
				case protocol.Bids:
					for i, v := range b.Grid.Carbon {
						if v < 0 || v > 5_000_000 || b.Grid.CarbonOff[i] < 0 {
							t.Errorf("%s says %v±%v mg/kWh", m.From, v, b.Grid.CarbonOff[i])
						}
					}
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if x := res.Totals; x.Placed+x.Unplaced != len(s.Jobs) || proofs == 0 {
				t.Errorf("%d jobs ran, %d did not; there are %d", x.Placed, x.Unplaced, len(s.Jobs))
			}
		})
	}
}

// Corrections that correct nothing leave every message as it is, and those in the program do not.
func TestTheUsualRulesStandWhereNothingIsLearned(t *testing.T) {
	said := func(policy string, l *forecast.Learned) (all []protocol.Message) {
		if _, err := Replay(t.Context(), small(30), policy, new(membus.Bus), Options{Learned: l, Record: func(m protocol.Message) error {
			all = append(all, m)
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	usual := said(PolicyAuction, nil)
	if !reflect.DeepEqual(usual, said("auction/learned", forecast.NoLearned())) {
		t.Error("a net of zeros changes what is said")
	}
	if !reflect.DeepEqual(usual, said(PolicyAuction, correctionsOf(func() float64 { return 1 }))) {
		t.Error("the auction's sites correct their forecasts")
	}
	if reflect.DeepEqual(usual, said("auction/learned", nil)) {
		t.Error("the weights in the program correct nothing on the small day")
	}
}
