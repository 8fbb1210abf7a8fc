package acceptance

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A start is one start of a job that its site reported, and how long it held its devices.
type start struct {
	at    protocol.Time
	until protocol.Time // 0: it runs on
	run   *history.Run
}

// includes reports whether the job is on its devices at an instant.
func (s start) includes(at protocol.Time) bool {
	return s.at <= at && (s.until == 0 || at < s.until)
}

// startsOf returns the starts of a job, oldest first. A launch that was lost before its site reported
// a start is none.
func startsOf(r *history.JobRecord) (all []start) {
	runs := make([]*history.Run, 0, len(r.Lost)+len(r.Parts)+1)
	for i := range r.Lost {
		runs = append(runs, &r.Lost[i])
	}
	for i := range r.Parts {
		runs = append(runs, &r.Parts[i])
	}
	if r.Run != nil {
		runs = append(runs, r.Run)
	}
	for _, run := range runs {
		award := r.AwardOf(run)
		if award == nil {
			continue
		}
		i := slices.IndexFunc(award.Starts, func(k history.KnownStart) bool { return !k.Planned })
		if i < 0 {
			continue
		}
		all = append(all, start{at: award.Starts[i].Start, until: endOf(run, award), run: run})
	}
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(a.at, b.at) })
	return all
}

// endOf returns when a run ended; 0: it runs on. A run whose site was declared gone ended for the
// market when its award was released.
func endOf(run *history.Run, award *history.Decision) protocol.Time {
	switch {
	case run.Done != history.MessageRef{}:
		return run.Ended
	case run.Exited != history.MessageRef{}:
		return run.Exited.At
	}
	return award.Released.At
}
