package protocol

import "time"

// Preempted reports that a site stopped a run to make room, and that nothing of the run uses
// devices any more. The market requeues the job.
type Preempted struct {
	Job   JobID         `msgpack:"j"`
	Epoch uint64        `msgpack:"e"`
	For   JobID         `msgpack:"f,omitempty"` // the job that needs the devices; "": Owner reclaimed them
	Owner string        `msgpack:"o,omitempty"` // who reclaimed them, if For is ""
	Why   Reason        `msgpack:"w"`
	Lost  time.Duration `msgpack:"ls,omitempty"` // work done since the last checkpoint, at the reference clock
}

func (Preempted) messageKind() string  { return "preempted" }
func (b Preempted) referredJob() JobID { return b.Job }

// Why a run is preempted.
const (
	StrongerClaim Code = "stronger-claim" // the job For has a stronger claim to the devices
	Reclaimed     Code = "reclaimed"      // the owner of the site took the devices back
)
