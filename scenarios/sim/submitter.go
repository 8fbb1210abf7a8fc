package sim

import (
	"github.com/gridbid/gridbid/protocol"
)

// A Submitter submits jobs, each at its arrival time, and services. It is a bus.Machine.
type Submitter struct {
	sender   protocol.Sender
	jobs     []protocol.Job // not submitted yet, by arrival
	services []timedService // likewise
	ended    map[protocol.JobID]bool
	whole    map[protocol.JobID]protocol.JobID // by part of a job in parts
	open     map[protocol.JobID]int            // parts of such a job that have not ended
}

// A timedService is a service, and when it is submitted.
type timedService struct {
	at      protocol.Time
	service protocol.Service
}

// NewSubmitter returns a submitter of jobs, which must be in order of arrival.
func NewSubmitter(jobs []protocol.Job) *Submitter {
	s := &Submitter{
		sender: protocol.Sender{Party: protocol.Submitter}, jobs: jobs, ended: make(map[protocol.JobID]bool),
		whole: make(map[protocol.JobID]protocol.JobID), open: make(map[protocol.JobID]int),
	}
	for i := range jobs {
		for _, p := range jobs[i].Parts {
			s.whole[protocol.PartID(jobs[i].ID, p.Name)] = jobs[i].ID
			s.open[jobs[i].ID]++
		}
	}
	return s
}

// AddService has a service submitted at a time, which must not be before that of the last one.
func (s *Submitter) AddService(at protocol.Time, x protocol.Service) {
	s.services = append(s.services, timedService{at, x})
}

// PendingJobs returns how many jobs have not been submitted yet.
func (s *Submitter) PendingJobs() int { return len(s.jobs) }

// EndedJobs returns how many jobs have been settled completely or rejected.
func (s *Submitter) EndedJobs() int { return len(s.ended) }

// Due implements bus.Machine.
func (s *Submitter) Due() (due protocol.Time) {
	if len(s.jobs) > 0 {
		due = s.jobs[0].Arrival
	}
	if len(s.services) > 0 && (due == 0 || s.services[0].at < due) {
		due = s.services[0].at
	}
	return due
}

// Tick implements bus.Machine.
func (s *Submitter) Tick(now protocol.Time) (said []protocol.Message) {
	for len(s.jobs) > 0 && s.jobs[0].Arrival <= now {
		said = append(said, s.sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: s.jobs[0]}))
		s.jobs = s.jobs[1:]
	}
	for len(s.services) > 0 && s.services[0].at <= now {
		said = append(said, s.sender.NewMessage(now, protocol.Coordinator, protocol.SubmitService{Service: s.services[0].service}))
		s.services = s.services[1:]
	}
	return said
}

// Step implements bus.Machine.
func (s *Submitter) Step(_ protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Settlement:
		if !b.Part { // a partial settlement: the job was paused and will continue
			s.markEnded(b.Job)
		}
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate { // Duplicate concerns the second submission; the first job continues
			s.markEnded(b.Job)
		}
	}
	return nil
}

// markEnded notes that a job has ended, or a part of one.
func (s *Submitter) markEnded(id protocol.JobID) {
	whole, isPart := s.whole[id]
	if !isPart {
		s.ended[id] = true
		return
	}
	if s.open[whole]--; s.open[whole] == 0 {
		s.ended[whole] = true
	}
}
