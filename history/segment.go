package history

import "github.com/gridbid/gridbid/protocol"

// A RunSegment is a period in which a job held the devices of one site and was billed for it:
// a part that ended in a pause, or its last run. A lost run is no segment, as no tenant paid
// for it; it held its devices all the same: see SegmentAt.
type RunSegment struct {
	Job  protocol.Job // as it was in the run: see JobIn
	Run  *Run
	Over bool // Run.Ended is known

	rec *JobRecord
}

// Award returns the award that the segment came of; nil if the stream does not have it.
func (s RunSegment) Award() *Decision { return s.rec.AwardOf(s.Run) }

// JobIn returns the job as it was in a run of it: an elastic one, and a gang with fewer pods, on
// as many pods as it had there, or as its award says until the places are known.
func (r *JobRecord) JobIn(run *Run) protocol.Job {
	if len(run.Places) > 0 {
		return r.Asked().AtPlaces(run.Places)
	}
	if a := r.AwardOf(run); a != nil {
		return r.Job.Under(&a.Option.BidOption) // a gang with fewer pods is so already
	}
	return r.Job
}

// RunSegments returns the segments of a job, oldest first.
func (r *JobRecord) RunSegments() (all []RunSegment) {
	for i := range r.Parts {
		all = append(all, RunSegment{r.JobIn(&r.Parts[i]), &r.Parts[i], true, r})
	}
	if r.Run != nil {
		all = append(all, RunSegment{r.JobIn(r.Run), r.Run, r.phase == phaseEnded, r})
	}
	return all
}

// SegmentAt returns the segment in which a job is on its devices at an instant, lost
// runs included.
func (r *JobRecord) SegmentAt(when protocol.Time) (RunSegment, bool) {
	for i := range r.Lost {
		if x := &r.Lost[i]; x.Started <= when && when < x.Exited.At {
			return RunSegment{r.JobIn(x), x, true, r}, true
		}
	}
	for _, s := range r.RunSegments() {
		if s.Run.Started <= when && (!s.Over || when < s.Run.Ended) {
			return s, true
		}
	}
	return RunSegment{}, false
}

// AwardOf returns the award that a run came of; nil if the stream does not have it.
func (r *JobRecord) AwardOf(run *Run) *Decision {
	for i := range r.Awards {
		if a := &r.Awards[i]; a.Epoch == run.Epoch && a.Site == run.Site {
			return a
		}
	}
	return nil
}
