// Package record defines the decision record: one decision of the coordinator about
// one job, as a self-contained document. It contains the job's request, every option
// of every site and why other sites had none, the decision with its reason, and what
// the clearing proved.
//
// Narration, arbitration and external tools read records only. Records are made from
// history, which reads messages; so every fact names the message or the facts that it
// comes from. docs/decision-record.md describes the JSON.
//
// Tenants' texts (the job's name and tenant) are in Job.Name and Job.Tenant only; a
// reader without access to them gets a record without these two fields.
package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A DecisionRecord is one decision. Its JSON is part of the public interface.
type DecisionRecord struct {
	ID     string         `json:"id"` // "D-14": the coordinator's message with sequence number 14
	Job    Job            `json:"job"`
	At     time.Time      `json:"at"`
	Policy uint64         `json:"policy"` // version of the policy in force
	Bids   []Bid          `json:"bids"`
	Winner *string        `json:"winner"`          // id of a bid; null for a deferral or a rejection
	Path   string         `json:"path"`            // "rule", "judge", "fallback:...", or "none" without a winner
	Extra  *float64       `json:"extra,omitempty"` // additional dollars of a judge's choice
	Facts  []Fact         `json:"facts"`
	Inputs DecisionInputs `json:"inputs"`
}

// A Job is the request.
type Job struct {
	ID        string    `json:"id"` // "J-7": the seventh submitted job
	GPUs      float64   `json:"gpus"`
	Name      string    `json:"name,omitempty"`   // untrusted
	Tenant    string    `json:"tenant,omitempty"` // untrusted
	Deadline  time.Time `json:"deadline"`
	Residency string    `json:"residency,omitempty"` // sites where its data may be
}

// A Bid is one option of one site, or a site's reason for bidding none.
type Bid struct {
	ID       string             `json:"id"` // "B-14-1"
	Site     string             `json:"site"`
	Feasible bool               `json:"feasible"`
	Reasons  []string           `json:"reasons,omitempty"` // classes of reasons; the code is in a fact
	Terms    map[string]float64 `json:"terms,omitempty"`   // dollars by cause, as the coordinator counts
	Claimed  map[string]float64 `json:"claimed,omitempty"` // the site's own values, in the units of the keys
	Cost     *float64           `json:"cost,omitempty"`    // dollars: sum of the terms
}

// A Fact is one figure or reason, ready for printing. Value is an integer in Unit, or
// a code.
type Fact struct {
	ID      string `json:"id"`      // "F7", or "R2" for a reason
	Subject string `json:"subject"` // "job", "award", "round", or "B-14-1"
	Metric  string `json:"metric"`
	Value   any    `json:"value"` // int64 or string
	Unit    string `json:"unit"`
	Text    string `json:"text"` // printed form
	From    string `json:"from"` // "agent/oslo#17" is a message; "F4-F2" is a computation
}

// DecisionInputs identify what the decision was made from, so that it can be reproduced.
type DecisionInputs struct {
	Round    uint64           `json:"round,omitempty"`
	Call     string           `json:"call,omitempty"`   // message id of the call for bids
	Offers   []string         `json:"offers,omitempty"` // message ids of the bids received in time
	Weights  map[string]int64 `json:"weights,omitempty"`
	Previous string           `json:"previous,omitempty"` // id of the job's previous decision
}

// FromRound returns the record of the decision in round h about r's job; a refusal without a round is the
// decision of an empty one. Number is the job's
// position in the order of submission, from 1; policy is the version in force. It
// returns false if the round has no decision.
func FromRound(r history.JobRecord, h history.JobRound, number int, policy uint64) (DecisionRecord, bool) {
	d := h.Decision
	if d.Kind == "" {
		return DecisionRecord{}, false
	}
	b := recordBuilder{h: h, names: map[string]string{}}
	b.out = DecisionRecord{
		ID: DecisionID(d.Message.Seq), At: d.Message.At.StdTime(), Policy: policy, Path: "none",
		Job: Job{
			ID: fmt.Sprintf("J-%d", number), GPUs: float64(r.Job.TotalGPUMilli()) / 1000, Name: string(r.Job.ID), Tenant: r.Job.Tenant,
			Deadline: r.Job.Deadline.StdTime(), Residency: strings.Join(r.Job.Regions, ", "),
		},
		Inputs: DecisionInputs{Round: h.Round, Call: messageID(h.Called), Weights: map[string]int64{
			"carbon_microdollars_per_kg":              int64(h.Weights.Carbon),
			"wait_now_microdollars_per_gpu_hour":      int64(h.Weights.WaitNow),
			"wait_standard_microdollars_per_gpu_hour": int64(h.Weights.WaitStandard),
			"wait_flexible_microdollars_per_gpu_hour": int64(h.Weights.WaitFlexible),
			"late_microdollars_per_gpu_hour":          int64(h.Weights.Late),
			"ranking_late_microdollars_per_gpu_hour":  int64(h.Weights.ForRanking().Late),
		}},
	}
	// Rounds ascend, so the last assignment is the decision just before.
	for _, past := range r.FullRounds {
		if past.Decision.Kind != "" && past.Round < h.Round {
			b.out.Inputs.Previous = DecisionID(past.Decision.Message.Seq)
		}
	}
	b.addJobFacts(r)
	for _, a := range h.Answers {
		b.addBids(a)
	}
	b.addDecisionFacts()
	return b.out, true
}

// DecisionID returns the id of a coordinator's decision by sequence number, which starts at
// 1: "D-14". A live coordinator numbers each incarnation; its ids end with three
// digits of the incarnation: the 14th message of the second is "D-14002".
func DecisionID(seq uint64) string {
	if life, n := protocol.IncarnationOf(seq); life > 0 && life < incarnationSuffix && n < protocol.SequenceNumber(1, 0)/incarnationSuffix {
		return fmt.Sprintf("D-%d", n*incarnationSuffix+life)
	}
	return fmt.Sprintf("D-%d", max(seq, 1))
}

// incarnationSuffix is the number of incarnations with short ids, plus one: three digits.
const incarnationSuffix = 1000

// ParseDecisionID returns the sequence number of a decision by its id, short or full; false if
// it is not an id. There reports which numbers a ledger has. A ledger has numbers
// with or without incarnations, never both, so an id is unambiguous.
func ParseDecisionID(id string, there func(seq uint64) bool) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(strings.ToUpper(id), "D-")
	seq, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0, false
	}
	// A short id counts only if the ledger has its number; else the digits are the number itself.
	if short := protocol.SequenceNumber(seq%incarnationSuffix, seq/incarnationSuffix); seq%incarnationSuffix > 0 && there(short) {
		return short, true
	}
	return max(seq, 1), true
}

// messageID returns the id of a message, or "none".
func messageID(o history.MessageRef) string {
	if o == (history.MessageRef{}) {
		return "none"
	}
	return fmt.Sprintf("%s#%d", o.From, o.Seq)
}

// reasonClasses maps codes to classes that tell operators what to act on. Codes that are not
// here have no class.
var reasonClasses = map[protocol.Code]string{
	protocol.NotAllowed: "residency", protocol.NoSuchGPU: "gpu_type", protocol.FitsNoNode: "capacity", protocol.NoCapacity: "capacity",
	protocol.PastDeadline: "deadline", protocol.NoSignal: "stale", protocol.NoAnswer: "stale", protocol.ImpossibleBid: "untrusted",
	protocol.NotCalled: "maintenance",
}
