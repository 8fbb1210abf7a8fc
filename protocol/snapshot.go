package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import (
	"crypto/sha256"
	"encoding/binary"
)

// Snapshot is the part of a snapshot of a coordinator's event log that replaces old
// events: balances, ids, sequence numbers. It is stored and never sent. A snapshot may
// have several; their lists continue each other.
type Snapshot struct {
	Rounds   uint64        `msgpack:"r,omitempty"`
	Accounts []Balance     `msgpack:"a,omitempty"`
	Ended    []EndedJob    `msgpack:"e,omitempty"`              // in the order in which they ended
	Received []Input       `msgpack:"h,omitempty" name:"heard"` // the highest sequence number received from each party
	Strays   []OrphanedRun `msgpack:"s,omitempty"`

	Charges []BudgetCharge `msgpack:"b,omitempty"`
}

// An OrphanedRun is a job that a site had when it was decommissioned, with its epoch there. If the
// site comes back, the market orders it to stop the run.
type OrphanedRun struct {
	_msgpack struct{} `msgpack:",as_array"`

	Site  string
	Job   JobID
	Epoch uint64
}

// A Balance is the sum of settlements of an account and, for a site's account, the
// number of jobs that it ended.
type Balance struct {
	_msgpack struct{} `msgpack:",as_array"`

	Account string
	Amount  Microdollars
	Jobs    int
}

// An EndedJob is a job that has ended and whose id stays known.
type EndedJob struct {
	_msgpack struct{} `msgpack:",as_array"`

	Job    JobID
	At     Time
	Digest uint64 `name:"mark"` // digest of the submission: see Submit.Digest
}

func (Snapshot) messageKind() string { return "brought" }

// Digest returns a digest of a submission: equal submissions have equal digests, and different
// ones almost never do. It is the first 8 bytes of a SHA-256.
func (s Submit) Digest() uint64 {
	s.Job = s.Job.WithoutClass() // the coordinator stores a job with the class and the priority that it found for it
	data, err := Encode(Message{Version: Current, From: Submitter, Seq: 1, Body: s})
	if err != nil {
		return 0 // cannot happen: a decoded message can be encoded
	}
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}
