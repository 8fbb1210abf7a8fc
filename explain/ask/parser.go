package ask

import "github.com/gridbid/gridbid/protocol"

// A RunContext is what questions may name and lean on of a run, as far as it went.
type RunContext struct {
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

// A Parser reads questions about one run.
type Parser struct {
	RunContext
	index *nameIndex
}

// NewParser returns a listener who knows the names of a run.
func NewParser(run RunContext) *Parser { return &Parser{run, newNameIndex(run)} }
