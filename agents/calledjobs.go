package agents

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// calledJobs are the jobs of a call, by id. The next call takes their memory: a job is large, and a call may
// have thousands.
type calledJobs struct {
	jobs  []protocol.Job
	index map[protocol.JobID]int // in jobs
}

// begin forgets all jobs, and makes room for those of another call.
func (c *calledJobs) begin(jobs int) {
	clear(c.jobs) // what they point to
	clear(c.index)
	c.jobs = slices.Grow(c.jobs[:0], jobs)
}

// add adds a job, in place of one with its id.
func (c *calledJobs) add(j protocol.Job) {
	if c.index == nil {
		c.index = make(map[protocol.JobID]int)
	}
	c.index[j.ID] = len(c.jobs)
	c.jobs = append(c.jobs, j)
}

// find returns the job with an id; false if it was not called.
func (c *calledJobs) find(id protocol.JobID) (j protocol.Job, ok bool) {
	i, ok := c.index[id]
	if ok {
		j = c.jobs[i]
	}
	return j, ok
}
