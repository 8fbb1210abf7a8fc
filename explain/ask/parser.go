package ask

import "github.com/gridbid/gridbid/protocol"

// A RunContext holds the names and times of a run that a question may refer to, up to the
// last message read.
type RunContext struct {
	Sites    []string
	Tenants  []string
	Jobs     []protocol.JobID
	Models   []string // of GPUs
	Policies []string // under which the run can be replayed
	Replayed []string // policies whose totals are known

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

// NewParser returns a parser that knows the names of a run.
func NewParser(run RunContext) *Parser { return &Parser{run, newNameIndex(run)} }
