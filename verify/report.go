package verify

import (
	"fmt"

	"github.com/gridbid/gridbid/protocol"
)

// A Check is the name of one thing that is verified; docs/proof.md explains each.
type Check string

// The checks. Those of parties are made from what a party holds, those of the auditor from a record.
const (
	Signature   Check = "signature"   // what binds a party is signed with its key
	OwnCopy     Check = "own-copy"    // what the log says that I said is what I said
	Order       Check = "order"       // what I said stands in the order in which I said it
	Inclusion   Check = "inclusion"   // an entry, or what a receipt promises, is in the log
	Delivered   Check = "told"        // what I was told is what the log says
	Consistency Check = "consistency" // a log is the beginning of each later one
	SplitView   Check = "split-view"  // all sites were shown one log
	Majority    Check = "majority"    // more than half of the sites cosigned a head that I hold
	HeadCheck   Check = "head"        // a head is signed, and is that of the entries
	Awarded     Check = "award"       // an award is one of my bids
	Trusted     Check = "trust"       // the trust factor follows from my settlements
	Capacity    Check = "capacity"    // a clearing read the capacity that I stated
	Prices      Check = "prices"      // a call carries the shadow prices that the clearing before left
	Settled     Check = "settlement"  // a settlement counts what I reported, against what I bid
	Payment     Check = "payment"     // a payment follows the rule in force
	Payer       Check = "payer"       // who pays is whose job it was, or who had it stopped
	PolicyCheck Check = "policy"      // a policy is in force from where it stands in the log

	EntryCheck Check = "entry"      // the record has what the log commits to, without gaps
	CallSet    Check = "call-set"   // each called job is awarded, deferred or rejected
	Clearing   Check = "clearing"   // the bids lead to these awards
	Bound      Check = "bound"      // the certificate is that of the round
	Preemption Check = "preemption" // the runs that were stopped are those to stop
	Replay     Check = "replay"     // the market says this by its rules
)

// A Finding is one thing that does not agree.
type Finding struct {
	Check Check  `json:"check"`
	Index uint64 `json:"index"` // of the entry in the log; NoIndex: of none
	Text  string `json:"text"`
}

// NoIndex is the Index of a finding that is about no entry.
const NoIndex = 1<<53 - 1 // the largest number that readers of JSON hold exactly

// String returns the finding as one line.
func (f Finding) String() string {
	if f.Index == NoIndex {
		return fmt.Sprintf("%s: %s", f.Check, f.Text)
	}
	return fmt.Sprintf("%s: entry %d: %s", f.Check, f.Index, f.Text)
}

// A Report is the outcome of a verification.
type Report struct {
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes"`    // what could not be judged, and why
	Size     uint64    `json:"size"`     // of the log
	Entries  int       `json:"entries"`  // entries of it that were checked
	Heads    int       `json:"heads"`    // heads that were checked
	Receipts int       `json:"receipts"` // receipts that were checked
	Rounds   int       `json:"rounds"`   // the last round that was run again
	Agreed   *Agreed   `json:"agreed,omitempty"`
}

// An Agreed says up to where more than half of the sites agree on the log, by the heads that they cosigned.
type Agreed struct {
	Size    uint64   `json:"size"`    // entries of the newest head on which they agree; 0: there is none
	By      []string `json:"by"`      // sites that cosigned a head that the reader holds, itself included
	Missing []string `json:"missing"` // the others
}

// Has reports whether a check found something.
func (r *Report) Has(c Check) bool {
	for _, f := range r.Findings {
		if f.Check == c {
			return true
		}
	}
	return false
}

func (r *Report) add(c Check, index uint64, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{c, index, fmt.Sprintf(format, args...)})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// A messageID names a message.
type messageID struct {
	from protocol.Party
	seq  uint64
}

func idOf(m protocol.Message) messageID { return messageID{m.From, m.Seq} }
