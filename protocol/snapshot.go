package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import (
	"crypto/sha256"
	"encoding/binary"
)

// Snapshot is brought forward in the books of a coordinator: what remains of
// facts that nobody needs any more. It travels to nobody. Several continue
// each other.
type Snapshot struct {
	Rounds   uint64        `msgpack:"r,omitempty"`
	Accounts []Balance     `msgpack:"a,omitempty"`
	Ended    []EndedJob    `msgpack:"e,omitempty"` // in the order in which they ended
	Heard    []Input       `msgpack:"h,omitempty"` // of each speaker the highest number
	Strays   []OrphanedRun `msgpack:"s,omitempty"`
}

// A OrphanedRun is a job that was taken from a site that was said to be gone, under its
// epoch there. The site is to stop it, should it come back.
type OrphanedRun struct {
	_msgpack struct{} `msgpack:",as_array"`

	Site  string
	Job   JobID
	Epoch uint64
}

// A Balance is what settlements have moved to an account, and of a site's how
// many jobs it ended.
type Balance struct {
	_msgpack struct{} `msgpack:",as_array"`

	Account string
	Amount  Microdollars
	Jobs    int
}

// A EndedJob is a job that ended, whose id stays known.
type EndedJob struct {
	_msgpack struct{} `msgpack:",as_array"`

	Job    JobID
	At     Time
	Digest uint64 `name:"mark"` // of what was submitted: see Submit.Digest
}

func (Snapshot) messageKind() string { return "brought" }

// Digest returns a number that two submissions share if they ask for the same, and
// hardly otherwise: the first bytes of the SHA-256 of what is said.
func (s Submit) Digest() uint64 {
	data, err := Encode(Message{Version: Current, From: Submitter, Seq: 1, Body: s})
	if err != nil {
		return 0 // it was read, so it can be written
	}
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}
