// Package shadow has a policy that is not in force decide the rounds of a run beside the rule that is,
// and says what it would have done and what that would have cost.
//
// It reads the record and nothing else. A [Reader] steps a market over the messages as
// explain/counterfactual does, and shows the policy each round with all that the rule in force knew. It
// has no connection to a bus, so that whatever the policy is, it awards nothing; and a coordinator does
// not wait for who reads its record.
//
// Neighbours: scenarios/learned has the policy that learned, cmd/gridbid hands it in and keeps the
// choices in a file beside the ledger.
package shadow

import (
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/protocol"
)

// A Policy decides rounds beside the rule in force. Both decide lot by lot.
type Policy interface {
	DecideInShadow(r auction.Round, inForce []auction.Decision) []auction.Decision
}

// A Place is an option of a site, as it bid it.
type Place struct {
	Site   string                `json:"site"`
	Model  string                `json:"gpu_model,omitempty"` // "" without GPUs
	Cap    protocol.Milliwatts   `json:"cap_mw,omitempty"`    // of each device; 0: none
	Pods   int                   `json:"pods,omitempty"`      // of an elastic job
	Start  protocol.Time         `json:"start"`
	Finish protocol.Time         `json:"finish"`
	Cost   protocol.Microdollars `json:"cost_microdollars"` // all terms of the objective
	Carbon protocol.Milligrams   `json:"carbon_mg"`
}

// A Choice is what the policy chose for one job, beside the decision in force of the same round. It is
// the first round in which the policy chose a place; or in which the job was awarded and the policy
// would have held it. Each job has at most one.
type Choice struct {
	Job      protocol.JobID `json:"job"`
	Arrival  protocol.Time  `json:"arrival"`
	Deadline protocol.Time  `json:"deadline"`
	Round    uint64         `json:"round"`
	At       protocol.Time  `json:"at"`
	Would    *Place         `json:"would"` // nil: the policy would have held the job
	Did      *Place         `json:"did"`   // awarded or planned by the rule in force; nil: it had no place for the job
}

// Agrees reports whether both chose the same place and hour.
func (c *Choice) Agrees() bool { return c.Would != nil && c.Did != nil && *c.Would == *c.Did }

// A Reader reads a record and has a policy decide its rounds.
type Reader struct {
	rounds *counterfactual.RoundReplay
	policy Policy
	chosen map[instance]bool
}

// An instance is one life of a job's id, which may be used again.
type instance struct {
	job     protocol.JobID
	arrival protocol.Time
}

// NewReader returns a reader of a replay's ledger; cfg as for [counterfactual.NewReplay].
func NewReader(p Policy, cfg market.Config) *Reader {
	return newReader(p, counterfactual.NewReplay(cfg))
}

// NewLiveReader returns a reader of a live coordinator's record.
func NewLiveReader(p Policy) *Reader { return newReader(p, counterfactual.NewLiveReplay()) }

// newReader returns a reader of rounds.
func newReader(p Policy, rounds *counterfactual.RoundReplay) *Reader {
	return &Reader{rounds: rounds, policy: p, chosen: make(map[instance]bool)}
}

// AddMessage reads the next message of the record and returns the choices that follow from it.
func (s *Reader) AddMessage(m protocol.Message) (out []Choice) {
	s.rounds.AddMessage(m)
	for _, r := range s.rounds.TakeRounds() {
		for i, d := range s.policy.DecideInShadow(r.In, r.Decisions) {
			if c, ok := s.chooseOnce(&r.In, i, d, r.Decisions[i]); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// Missing returns why rounds of the record so far were not decided, or "" if all were.
func (s *Reader) Missing() string { return s.rounds.Missing() }

// chooseOnce returns the choice of a lot's job, if it has none yet.
func (s *Reader) chooseOnce(r *auction.Round, lot int, would, did auction.Decision) (Choice, bool) {
	j := &r.Lots[lot].Job
	c := Choice{Job: j.ID, Arrival: j.Arrival, Deadline: j.Deadline, Round: r.Number, At: r.Now, Would: placeOf(r, j, would), Did: placeOf(r, j, did)}
	of := instance{j.ID, j.Arrival}
	if s.chosen[of] || c.Would == nil && did.Verdict != auction.Award {
		return c, false
	}
	s.chosen[of] = true
	return c, true
}

// placeOf returns the place that a decision awards or plans for a job, at the cost that its owner would
// be charged as bid, or nil if it has none.
func placeOf(r *auction.Round, j *protocol.Job, d auction.Decision) *Place {
	if d.Verdict == auction.Reject || d.Site == "" {
		return nil
	}
	by := protocol.PricingBasis{}
	for i := range r.Sites {
		if r.Sites[i].Name == d.Site {
			by.Trust = max(r.Sites[i].Trust, 1000)
		}
	}
	o := &d.Option
	return &Place{
		Site: d.Site, Model: o.Model, Cap: o.Cap, Pods: o.Pods, Start: o.Start, Finish: o.Finish,
		Cost: r.Weights.PriceOption(j, o, by).Total(), Carbon: o.Carbon,
	}
}
