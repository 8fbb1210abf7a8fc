// Package record is the decision record: one decision of the coordinator on
// one job, as a document of its own. It holds what was asked, every option of
// every site and why the others had none, what was decided and why, and what
// the clearing proved.
//
// Narration, arbitration and foreign tools read this and nothing else. A record
// is made from history, which reads messages; so every fact names
// the message it was read from, or the facts it was computed from. Its JSON is
// described in docs/decision-record.md.
//
// What tenants wrote (the job's name, its tenant) stands in Job.Name and
// Job.Tenant alone, and in no text: whoever may not see it leaves those two
// out.
package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A DecisionRecord is one decision. Its JSON is part of the interface.
type DecisionRecord struct {
	ID     string         `json:"id"` // "D-14": what the coordinator said as its fourteenth message
	Job    Job            `json:"job"`
	At     time.Time      `json:"at"`
	Policy uint64         `json:"policy"` // version in force
	Bids   []Bid          `json:"bids"`
	Winner *string        `json:"winner"`          // a bid's id; null for a hold or a refusal
	Path   string         `json:"path"`            // "rule", "judge", "fallback:...", or "none" if nobody won
	Extra  *float64       `json:"extra,omitempty"` // dollars that a judge's choice cost more
	Facts  []Fact         `json:"facts"`
	Inputs DecisionInputs `json:"inputs"`
}

// A Job is what was asked for.
type Job struct {
	ID        string    `json:"id"` // "J-7": the seventh job that was submitted
	GPUs      float64   `json:"gpus"`
	Name      string    `json:"name,omitempty"`   // untrusted
	Tenant    string    `json:"tenant,omitempty"` // untrusted
	Deadline  time.Time `json:"deadline"`
	Residency string    `json:"residency,omitempty"` // sites that may hold its data
}

// A Bid is one option of one site, or one site's refusal.
type Bid struct {
	ID       string             `json:"id"` // "B-14-1"
	Site     string             `json:"site"`
	Feasible bool               `json:"feasible"`
	Reasons  []string           `json:"reasons,omitempty"` // classes of reasons; the code itself is a fact
	Terms    map[string]float64 `json:"terms,omitempty"`   // dollars, by cause, as the coordinator counts
	Claimed  map[string]float64 `json:"claimed,omitempty"` // what the site said, in the units of the key
	Cost     *float64           `json:"cost,omitempty"`    // dollars: the sum of the terms
}

// A Fact is one figure or reason, ready to be printed. Value is an integer in
// Unit, or a code.
type Fact struct {
	ID      string `json:"id"`      // "F7", or "R2" for a reason
	Subject string `json:"subject"` // "job", "award", "round", or "B-14-1"
	Metric  string `json:"metric"`
	Value   any    `json:"value"` // int64 or string
	Unit    string `json:"unit"`
	Text    string `json:"text"` // as printed
	From    string `json:"from"` // "agent/oslo#17" is a message; "F4-F2" is computed
}

// DecisionInputs name what the decision was made from, so that it can be made again.
type DecisionInputs struct {
	Round    uint64           `json:"round,omitempty"`
	Call     string           `json:"call,omitempty"`   // the message
	Offers   []string         `json:"offers,omitempty"` // messages heard in time
	Weights  map[string]int64 `json:"weights,omitempty"`
	Previous string           `json:"previous,omitempty"` // the job's decision before
}

// FromRound returns the record of what h decided on r's job. Number is the job's place
// in the order of submissions, from 1; policy the version in force. A hearing
// without a decision has none.
func FromRound(r history.JobRecord, h history.Hearing, number int, policy uint64) (DecisionRecord, bool) {
	d := h.Decision
	if d.Kind == "" {
		return DecisionRecord{}, false
	}
	b := recordBuilder{h: h, names: map[string]string{}}
	b.out = DecisionRecord{
		ID: DecisionID(d.Said.Seq), At: d.Said.At.StdTime(), Policy: policy, Path: "none",
		Job: Job{
			ID: fmt.Sprintf("J-%d", number), GPUs: float64(r.Job.TotalGPUMilli()) / 1000, Name: string(r.Job.ID), Tenant: r.Job.Tenant,
			Deadline: r.Job.Deadline.StdTime(), Residency: strings.Join(r.Job.Regions, ", "),
		},
		Inputs: DecisionInputs{Round: h.Round, Call: messageID(h.Called), Weights: map[string]int64{
			"carbon_microdollars_per_kg": int64(h.Weights.Carbon), "delay_microdollars_per_gpu_hour": int64(h.Weights.Delay),
			"late_microdollars_per_gpu_hour": int64(h.Weights.Late),
		}},
	}
	for _, past := range r.Hearings {
		if past.Decision.Kind != "" && past.Round < h.Round {
			b.out.Inputs.Previous = DecisionID(past.Decision.Said.Seq)
		}
	}
	b.addJobFacts(r)
	for _, a := range h.Answers {
		b.addBids(a)
	}
	b.addDecisionFacts()
	return b.out, true
}

// FromRejection returns the record of a refusal that no round came before.
func FromRejection(r history.JobRecord, number int, policy uint64) (DecisionRecord, bool) {
	if r.Refusal == nil {
		return DecisionRecord{}, false
	}
	return FromRound(r, history.Hearing{Decision: *r.Refusal}, number, policy)
}

// DecisionID returns the id of the decision that a coordinator said under a number, which
// starts at 1: "D-14". That of a coordinator that was begun anew, as every live
// one is, ends with three digits for which time that was: its 14th message of
// the second is "D-14002".
func DecisionID(seq uint64) string {
	if life, n := protocol.IncarnationOf(seq); life > 0 && life < incarnationSuffix && n < protocol.SequenceNumber(1, 0)/incarnationSuffix {
		return fmt.Sprintf("D-%d", n*incarnationSuffix+life)
	}
	return fmt.Sprintf("D-%d", max(seq, 1))
}

// incarnationSuffix is how many lives have short ids.
const incarnationSuffix = 1000

// ParseDecisionID returns the number of the decision of an id, short or in full; false if
// it is no id. There says which numbers a ledger has: it holds the decisions of
// lives or of none, so an id means one at most.
func ParseDecisionID(id string, there func(seq uint64) bool) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(strings.ToUpper(id), "D-")
	seq, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0, false
	}
	if short := protocol.SequenceNumber(seq%incarnationSuffix, seq/incarnationSuffix); seq%incarnationSuffix > 0 && there(short) {
		return short, true
	}
	return max(seq, 1), true
}

func messageID(o history.Origin) string {
	if o == (history.Origin{}) {
		return "none"
	}
	return fmt.Sprintf("%s#%d", o.From, o.Seq)
}

// reasonClasses are what codes mean to somebody who has to do something about them.
var reasonClasses = map[protocol.Code]string{
	protocol.NotAllowed: "residency", protocol.NoSuchGPU: "gpu_type", protocol.FitsNoNode: "capacity", protocol.NoCapacity: "capacity",
	protocol.PastDeadline: "deadline", protocol.NoSignal: "stale", protocol.SiteSilent: "stale", protocol.ImpossibleBid: "untrusted",
	protocol.NotCalled: "maintenance",
}
