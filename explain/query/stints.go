package query

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A stint is a segment of a run, with the record of its job.
type stint struct {
	rec history.JobRecord
	history.RunSegment
}

// stints returns a job's, oldest first.
func stints(r history.JobRecord) (all []stint) {
	for _, s := range r.RunSegments() {
		all = append(all, stint{r, s})
	}
	return all
}

// begun returns a job's first stint; false if it never ran.
func begun(r history.JobRecord) (stint, bool) {
	if all := stints(r); len(all) > 0 {
		return all[0], true
	}
	return stint{}, false
}

// stintAt returns the stint in which a job is on its devices at an instant.
func stintAt(r history.JobRecord, when protocol.Time) (stint, bool) {
	s, ok := r.SegmentAt(when)
	return stint{r, s}, ok
}

// heldAt returns the site whose devices a job holds at an instant, or "".
func heldAt(r history.JobRecord, when protocol.Time) string {
	if s, ok := stintAt(r, when); ok {
		return s.Run.Site
	}
	return ""
}

// cite returns the decision that the stint was awarded by, or "".
func (s stint) cite() string {
	if a := s.rec.AwardOf(s.Run); a != nil {
		return cite(number(*a))
	}
	return ""
}
