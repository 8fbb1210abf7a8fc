package history

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A JobEvent is one thing that happened to a job, as people read it beside the job. Repeated
// holds for the same reason and place are one event.
type JobEvent struct {
	Kind  JobEventKind
	First protocol.Time // when it happened, or of a repeated one the first time
	At    protocol.Time // the last time
	Times int
	Site  string
	Start protocol.Time // planned, of EventHeld, EventAwarded and EventAccepted; 0: none
	Until protocol.Time // of EventHeld: it is called again then, at the latest
	Why   protocol.Reason

	Decision uint64                // that it is: its number, of a repeated one that of the last; 0: it is none
	Paid     protocol.Microdollars // of EventSettled
}

// A JobEventKind says what a JobEvent is.
type JobEventKind string

// Kinds of events of a job, in the order in which they usually happen.
const (
	EventSubmitted       JobEventKind = "Submitted"
	EventHeld            JobEventKind = "Held"
	EventAwarded         JobEventKind = "Awarded"
	EventAccepted        JobEventKind = "Accepted"
	EventDeclined        JobEventKind = "Declined"           // by its site, also after it had accepted
	EventExpired         JobEventKind = "Expired"            // its site did not answer the award
	EventDecommissioned  JobEventKind = "SiteDecommissioned" // its site was declared gone
	EventStarted         JobEventKind = "Started"
	EventPreempted       JobEventKind = "Preempted"
	EventInterrupted     JobEventKind = "Interrupted"
	EventPaused          JobEventKind = "Paused"
	EventCancelRequested JobEventKind = "CancelRequested" // its site was asked to stop it
	EventEnded           JobEventKind = "Ended"
	EventFailed          JobEventKind = "Failed"
	EventSettled         JobEventKind = "Settled"
	EventCancelled       JobEventKind = "Cancelled"
	EventRefused         JobEventKind = "Refused"
)

// keptJobEvents bounds the events of one job that a live view keeps: its submission, and the newest.
const keptJobEvents = 50

// addEvent lists an event. One that repeats the newest only moves it in time.
func (r *JobRecord) addEvent(e JobEvent) {
	e.First, e.Times = e.At, 1
	if n := len(r.Events); n > 0 {
		last := &r.Events[n-1]
		if e.Kind == EventHeld && last.Kind == e.Kind && last.Site == e.Site && last.Why.Code == e.Why.Code {
			e.First, e.Times = last.First, last.Times+1
			*last = e
			return
		}
	}
	if r.live && len(r.Events) >= keptJobEvents {
		r.Events = slices.Delete(r.Events, 1, 2)
	}
	r.Events = append(r.Events, e)
}

// addRefusal lists that the market ended the job.
func (r *JobRecord) addRefusal(from MessageRef, why protocol.Reason) {
	kind := EventRefused
	switch r.refusedState().State {
	case Cancelled:
		kind = EventCancelled
	case Failed:
		kind = EventFailed
	}
	r.addEvent(JobEvent{Kind: kind, At: from.At, Why: why, Decision: max(from.Seq, 1)})
}

// SavingOfHold returns what the plan of the hold by which a job waits costs less than the cheapest
// earlier start within a slot of its round, by the weights of the round; false if that is not known
// or no less.
func (r *JobRecord) SavingOfHold() (protocol.Microdollars, bool) {
	if r.Hold == nil {
		return 0, false
	}
	if n := len(r.FullRounds); n > 0 && r.FullRounds[n-1].Round == r.Hold.Round {
		return savingOfPlan(r.FullRounds[n-1], *r.Hold)
	}
	return r.Hold.Saving, r.Hold.Saving > 0
}

// savingOfPlan compares the option that a hold plans with those that start at once.
func savingOfPlan(h JobRound, hold Decision) (protocol.Microdollars, bool) {
	soon := h.Called.At.Add(protocol.DefaultPlanning().Slot)
	var atOnce, planned []protocol.Microdollars
	for _, a := range h.Answers {
		for _, o := range a.Options {
			if a.Late {
				continue
			}
			if o.Start <= soon && o.Start < hold.Start {
				atOnce = append(atOnce, o.Terms.Total())
			}
			if a.Site == hold.Site && o.Start == hold.Start {
				planned = append(planned, o.Terms.Total())
			}
		}
	}
	if len(atOnce) == 0 || len(planned) == 0 {
		return 0, false
	}
	saved := slices.Min(atOnce) - slices.Min(planned)
	return max(saved, 0), saved > 0
}
