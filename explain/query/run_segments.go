package query

import "github.com/gridbid/gridbid/history"

// firstSegment returns a job's first run segment; false if it never ran.
func firstSegment(r history.JobRecord) (history.RunSegment, bool) {
	if all := r.RunSegments(); len(all) > 0 {
		return all[0], true
	}
	return history.RunSegment{}, false
}

// segmentLabel returns the decision that awarded a run segment, or "".
func segmentLabel(s history.RunSegment) string {
	if s.Award == nil {
		return ""
	}
	return decisionLabel(decisionNumber(*s.Award))
}
