package query

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A stint is a time that a job spent on devices: a part that ended in a pause,
// or the last. A run that was lost is none: nobody was billed for it.
type stint struct {
	rec  history.JobRecord
	run  *history.Run
	part bool // it ended in a pause, and a rest was left
	over bool
}

// stints returns a job's, oldest first.
func stints(r history.JobRecord) (all []stint) {
	for i := range r.Parts {
		all = append(all, stint{rec: r, run: &r.Parts[i], part: true, over: true})
	}
	if r.Run != nil {
		all = append(all, stint{rec: r, run: r.Run, over: r.State == history.Ended})
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

// stintAt returns the stint in which a job is on its devices at an instant. One
// that was lost later held them too.
func stintAt(r history.JobRecord, when protocol.Time) (stint, bool) {
	for i := range r.Lost {
		if x := &r.Lost[i]; x.Started <= when && when < x.Exited.At {
			return stint{rec: r, run: x, over: true}, true
		}
	}
	for _, s := range stints(r) {
		if s.run.Started <= when && (!s.over || when < s.run.Ended) {
			return s, true
		}
	}
	return stint{}, false
}

// heldAt returns the site whose devices a job holds at an instant, or "".
func heldAt(r history.JobRecord, when protocol.Time) string {
	if s, ok := stintAt(r, when); ok {
		return s.run.Site
	}
	return ""
}

// cite returns the decision that the stint was awarded by, or "".
func (s stint) cite() string {
	for _, d := range s.rec.Awards {
		if d.Epoch == s.run.Epoch && d.Site == s.run.Site {
			return cite(number(d))
		}
	}
	return ""
}
