package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A job in parts (protocol/parts.go) is kept apart from the jobs: its parts are those, each with a
// state, awards, runs and bills of its own, and counted as such. The whole has the state that
// follows from its parts.

// A PartState is how one part of a job stands.
type PartState struct {
	Part protocol.JobID
	JobState
}

// foldWhole records the submission of a job in parts, and begins a job for each of them.
func (b *History) foldWhole(from MessageRef, s protocol.Submit) {
	was := b.wholes[s.Job.ID]
	if e := b.jobs[s.Job.ID]; e != nil && b.cfg.Live && e.rec.IsOver() { // it takes the id, and the other is forgotten
		delete(b.jobs, s.Job.ID)
		b.ended = slices.DeleteFunc(b.ended, func(x protocol.JobID) bool { return x == s.Job.ID })
	}
	if was != nil && !b.isWholeOver(was) || b.jobs[s.Job.ID] != nil {
		b.repeats++
		return
	}
	r := newJobRecord(from, s.Job)
	if b.cfg.Live {
		r.Digest, r.live = s.Digest(), true
		b.forgetWholes()
	}
	b.wholes[s.Job.ID] = &r
	for _, p := range s.Job.PartJobs() {
		if e := b.jobs[p.ID]; e == nil || e.rec.IsOver() {
			b.foldSubmit(from, protocol.Submit{Job: p, Task: s.Task})
		}
	}
}

// endedWith returns the jobs that are over once r is: none while a part of its job is not.
func (b *History) endedWith(r *JobRecord) (ids []protocol.JobID) {
	w := b.wholes[r.Job.PartOf]
	switch {
	case w == nil:
		return []protocol.JobID{r.Job.ID}
	case b.isWholeOver(w):
		for _, e := range b.partsOf(w) {
			ids = append(ids, e.rec.Job.ID)
		}
	}
	return ids
}

// forgetEnded forgets a job, and with a part all of its job.
func (b *History) forgetEnded(id protocol.JobID) {
	if e := b.jobs[id]; e != nil && b.wholes[e.rec.Job.PartOf] != nil {
		w := b.wholes[e.rec.Job.PartOf]
		for _, p := range b.partsOf(w) {
			delete(b.jobs, p.rec.Job.ID)
		}
		delete(b.wholes, w.Job.ID)
	}
	delete(b.jobs, id)
}

// forgetWholes drops jobs in parts that are over, once a live view has too many.
func (b *History) forgetWholes() {
	if len(b.wholes) >= KeptEnded {
		maps.DeleteFunc(b.wholes, func(_ protocol.JobID, r *JobRecord) bool { return b.isWholeOver(r) })
	}
}

// partsOf returns the entries of the parts of a job, those that a live view has forgotten left out.
func (b *History) partsOf(r *JobRecord) (all []*jobEntry) {
	for _, p := range r.Job.Parts {
		if e := b.jobs[protocol.PartID(r.Job.ID, p.Name)]; e != nil && e.rec.Job.PartOf == r.Job.ID {
			all = append(all, e)
		}
	}
	return all
}

// isWholeOver reports whether no message can change a job in parts any more.
func (b *History) isWholeOver(r *JobRecord) bool {
	return r.phase == phaseRefused || !slices.ContainsFunc(b.partsOf(r), func(e *jobEntry) bool { return !e.rec.IsOver() })
}

// foldPartsDecided records what was decided about the parts of an award. What is not committed is void: the
// market calls the parts again without waiting for their sites.
func (b *History) foldPartsDecided(from MessageRef, d protocol.PartsDecided) {
	w := b.wholes[d.Job]
	if w == nil {
		b.ignored++
		return
	}
	if d.Committed {
		w.committed = d.Epoch
		return
	}
	for _, p := range d.Parts {
		e := b.jobs[p.Part]
		if e == nil || len(e.rec.Awards) == 0 || e.rec.phase != phaseAwarded || w.committed == d.Epoch {
			continue // its site reports what becomes of a run that is stopped
		}
		a := &e.rec.Awards[len(e.rec.Awards)-1]
		if a.Epoch != d.Epoch || a.Site != p.Site || a.Answer == "decline" {
			continue
		}
		a.releaseAward(from)
		a.Answer, a.Answered, a.Declined, a.voided = "decline", from, d.Why, true
		e.updateAward(*a)
		e.leaveSite(from, d.Why.Code)
		e.rec.phase = phaseWaiting
		e.rec.addEvent(JobEvent{Kind: EventDeclined, At: from.At, Site: a.Site, Why: d.Why})
	}
}

// refuseWhole ends a job in parts that the market rejects, with all its parts that are open.
func (b *History) refuseWhole(from MessageRef, w *JobRecord, m protocol.Reject) {
	for _, e := range b.partsOf(w) {
		if !e.rec.IsOver() && !e.rec.HasEnded() {
			b.foldReject(from, protocol.Reject{Job: e.rec.Job.ID, Why: m.Why})
		}
	}
	d := Decision{Kind: "refuse", Message: from, Why: m.Why}
	w.phase, w.Refusal = phaseRefused, &d
	w.addRefusal(from, m.Why)
}

// PartStates returns how the parts of a job stood at an instant, by what is known; none of a job at one site.
func (b *History) PartStates(r *JobRecord, now protocol.Time) []PartState {
	return b.partStates(r, everything, now)
}

// PartStatesAt is PartStates as it was known at an instant.
func (b *History) PartStatesAt(r *JobRecord, at protocol.Time) []PartState {
	return b.partStates(r, at, at)
}

func (b *History) partStates(r *JobRecord, known, now protocol.Time) (all []PartState) {
	for _, e := range b.partsOf(r) {
		all = append(all, PartState{e.rec.Job.ID, b.jobState(&e.rec, known, now)})
	}
	return all
}

// wholeState returns how a job in parts stood: as the part that is least far, or, once all are over, as the one
// that went worst. Its site names all sites of its parts.
func (b *History) wholeState(r *JobRecord, known, now protocol.Time) JobState {
	var s JobState
	var sites []string
	start := protocol.Time(0)
	for i, p := range b.partStates(r, known, now) {
		if i == 0 || cmp.Or(cmp.Compare(wholeRank(p.State), wholeRank(s.State)), cmp.Compare(p.Since, s.Since)) > 0 {
			s = p.JobState
		}
		if start = max(start, p.Start); p.Site != "" && !slices.Contains(sites, p.Site) {
			sites = append(sites, p.Site)
		}
	}
	if s.State == "" {
		return JobState{State: Done, Since: r.BeginTime()} // a live view has forgotten its parts
	}
	s.Site, s.Start = strings.Join(sites, ", "), start
	return s
}

// wholeRank orders states by which of a part's is that of its job.
func wholeRank(s State) int {
	return slices.Index([]State{Done, Cancelled, Refused, Failed, Running, Planned, Preempted, Pending}, s)
}

// WholeIDs returns the ids of all jobs in parts, sorted. [History.JobIDs] has their parts.
func (b *History) WholeIDs() []protocol.JobID { return slices.Sorted(maps.Keys(b.wholes)) }
