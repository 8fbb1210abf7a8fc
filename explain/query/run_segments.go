package query

import "github.com/gridbid/gridbid/history"

// A runSegment is a period in which a job holds devices at one site, with the record of its job.
type runSegment struct {
	rec history.JobRecord
	history.RunSegment
}

// segmentsOf returns the run segments of a job, oldest first.
func segmentsOf(r history.JobRecord) (all []runSegment) {
	for _, s := range r.RunSegments() {
		all = append(all, runSegment{r, s})
	}
	return all
}

// firstSegment returns a job's first run segment; false if it never ran.
func firstSegment(r history.JobRecord) (runSegment, bool) {
	if all := segmentsOf(r); len(all) > 0 {
		return all[0], true
	}
	return runSegment{}, false
}

// awardLabel returns the decision that awarded the run segment, or "".
func (s runSegment) awardLabel() string {
	if a := s.rec.AwardOf(s.Run); a != nil {
		return decisionLabel(decisionNumber(*a))
	}
	return ""
}
