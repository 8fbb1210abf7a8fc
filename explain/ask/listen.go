package ask

import "github.com/gridbid/gridbid/protocol"

// A Run is what questions may name and lean on of a run, as far as it went.
type Run struct {
	Sites    []string
	Tenants  []string
	Jobs     []protocol.JobID
	Policies []string // that the run could be played under
	Replayed []string // policies whose figures are at hand

	First, Last protocol.Time // of the record
	Today       protocol.Time // midnight of the day that "today" means

	Decided func(seq uint64) bool   // there is a decision of that number
	Notable func() []protocol.JobID // jobs to offer where none was named
}

// A Listener reads questions about one run.
type Listener struct {
	Run
	index *index
}

// Listen returns a listener who knows the names of a run.
func Listen(run Run) *Listener { return &Listener{run, indexOf(run)} }
