package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

// MaxJobLog bounds the text of a JobLog, in bytes.
const MaxJobLog = 256 << 10

// A LogRequest asks what a job has written: the coordinator asks the agent of the job's site, and the
// agent, if its terms allow it, its executor. Like a heartbeat it passes no market, and is in no ledger.
type LogRequest struct {
	Number uint64 `msgpack:"n"` // of the request: the answer has the same
	Job    JobID  `msgpack:"j"`
	Epoch  uint64 `msgpack:"e"`           // of its run
	Pod    string `msgpack:"p,omitempty"` // "": the first one by name
	// After asks only for lines that were written after an instant, in nanoseconds of Unix time.
	After int64 `msgpack:"a,omitempty"`
	Tail  int   `msgpack:"t,omitempty"` // asks for so many lines at the end; 0: all
}

// A JobLog answers a LogRequest with the oldest lines that were asked for.
type JobLog struct {
	Number uint64    `msgpack:"n"`
	Job    JobID     `msgpack:"j"`
	Pods   []string  `msgpack:"ps,omitempty"` // of the run, by name
	Pod    string    `msgpack:"p,omitempty"`  // whose lines these are
	Lines  []LogLine `msgpack:"l,omitempty"`
	More   bool      `msgpack:"m,omitempty"` // lines follow: ask for those after the last one
	Why    string    `msgpack:"y,omitempty"` // why the site shows none, in words that follow its name
}

// A LogLine is a line that a pod wrote. Its text is foreign: whoever shows it makes it legible.
type LogLine struct {
	_msgpack struct{} `msgpack:",as_array"`
	At       int64    // nanoseconds of Unix time, by the clock of the pod's node
	Text     string
}

// IsOffRecord reports whether m is in no ledger: it passes no market, and decides nothing.
func (m Message) IsOffRecord() bool {
	switch m.Body.(type) {
	case Heartbeat, LogRequest, JobLog:
		return true
	}
	return false
}

func (LogRequest) messageKind() string { return "log-request" }
func (JobLog) messageKind() string     { return "job-log" }
