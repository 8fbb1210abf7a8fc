package history

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A Problem is a broken promise of a run. A correct run has none.
type Problem struct {
	Code string // for machines: "awarded-twice"
	Job  protocol.JobID
	Site string
	Text string
}

// String returns the problem in one line.
func (p Problem) String() string {
	s := p.Code
	if p.Job != "" {
		s += fmt.Sprintf(", job %q", p.Job)
	}
	if p.Site != "" {
		s += fmt.Sprintf(", site %q", p.Site)
	}
	return s + ": " + p.Text
}

// maxProblems bounds the problems that are kept: a broken run breaks the same promise
// thousands of times, and the first ones say enough.
const maxProblems = 1000

// addProblem records a broken invariant, up to maxProblems.
func (b *History) addProblem(code string, job protocol.JobID, site, format string, args ...any) {
	if len(b.problems) < maxProblems {
		b.problems = append(b.problems, Problem{code, job, site, fmt.Sprintf(format, args...)})
	}
}

// CheckInvariants returns every promise that the run has broken so far: those seen while
// reading, then jobs, room and sums. Nodes are what the sites have; without
// them only what is given twice is found, not what is given beyond a node.
func (b *History) CheckInvariants(nodes []Node) []Problem {
	// The checks below add to b.problems; the caller may go on reading, so they are removed after.
	was := b.problems
	defer func() { b.problems = was }()
	b.problems = slices.Clone(was)
	b.checkJobs()
	b.checkRoom(nodes)
	b.checkSums()
	return b.problems
}

// checkJobs checks that every job was submitted, and has one fate: a run or a refusal with a
// reason, never both. Runs and paused parts are checked one by one.
func (b *History) checkJobs() {
	if b.duplicates > b.repeats {
		b.addProblem("duplicates", "", "", "%d duplicates refused, but %d ids submitted again", b.duplicates, b.repeats)
	}
	for id, e := range b.allEntries() {
		r := e.rec
		if (r.Submitted == MessageRef{}) {
			b.addProblem("called-unknown-job", id, "", "was called, and was not submitted")
		}
		switch {
		case r.phase == phaseRefused && r.Refusal.Why.Code == "":
			b.addProblem("refused-without-reason", id, "", "a refusal must say why")
		case r.phase == phaseRefused && r.Run != nil:
			b.addProblem("refused-and-placed", id, r.Run.Site, "refused, and launched")
		case r.Run != nil:
			b.checkRun(r)
		}
		for i := range r.Parts {
			part := r
			part.Run = &r.Parts[i]
			b.checkPart(part)
		}
	}
}

// checkRun checks one run against its job: region, order of times, and that the energy of the
// bill is what the devices were measured to draw.
func (b *History) checkRun(r JobRecord) {
	id, run := r.Job.ID, r.Run
	if len(r.Job.Regions) > 0 && !slices.Contains(r.Job.Regions, run.Site) {
		b.addProblem("region", id, run.Site, "runs where its data may not be: allowed are %v", r.Job.Regions)
	}
	if run.Started < r.Job.Arrival {
		b.addProblem("before-arrival", id, run.Site, "started %v, before it arrived %v", run.Started, r.Job.Arrival)
	}
	if run.Exited != (MessageRef{}) && run.Done != (MessageRef{}) && run.Drawn != run.Cost.IT {
		b.addProblem("energy-of-job", id, run.Site, "the runtime measured %d mJ, the agent reports %d mJ", run.Drawn, run.Cost.IT)
	}
	if run.Done != (MessageRef{}) && run.Ended < run.Started {
		b.addProblem("ended-before-start", id, run.Site, "started %v, ended %v", run.Started, run.Ended)
	}
	if run.Settlement != (MessageRef{}) {
		b.checkSettled(r)
	}
}

// checkPart checks a run that ended in a pause. Bid and deadline are not compared: the bid is
// for the whole of what was left, and only the end of the job can be late.
func (b *History) checkPart(r JobRecord) {
	id, run, s := r.Job.ID, r.Run, r.Run.Settled
	if r.Job.Pause == 0 && !run.Preempted {
		b.addProblem("paused", id, run.Site, "was paused, and cannot be")
	}
	if run.Exited != (MessageRef{}) && run.Drawn != run.Cost.IT {
		b.addProblem("energy-of-job", id, run.Site, "the runtime measured %d mJ until it was paused, the agent reports %d mJ", run.Drawn, run.Cost.IT)
	}
	if c := s.Counted; run.Settlement != (MessageRef{}) && (s.Site != run.Site || c.Energy != run.Cost.Energy || c.Carbon != run.Cost.Carbon || c.Money != run.Cost.Money) {
		b.addProblem("settled-other-bill", id, run.Site, "settled %+v at %q, measured %+v", c, s.Site, run.Cost)
	}
}

// checkSettled checks that a settlement is between the right parties, and repeats the measured
// bill, the lateness and the bid of the award in force.
func (b *History) checkSettled(r JobRecord) {
	id, run, s := r.Job.ID, r.Run, r.Run.Settled
	if s.Site != run.Site || s.Payer != r.Job.Tenant {
		b.addProblem("settled-elsewhere", id, run.Site, "settled between site %q and tenant %q", s.Site, s.Payer)
	}
	if s.Estimated != run.Estimated {
		b.addProblem("settled-other-mark", id, run.Site, "settled as estimated: %t, reported as estimated: %t", s.Estimated, run.Estimated)
	}
	if c := s.Counted; c.Energy != run.Cost.Energy || c.Carbon != run.Cost.Carbon || c.Money != run.Cost.Money {
		b.addProblem("settled-other-bill", id, run.Site, "settled %+v, measured %+v", c, run.Cost)
	}
	if s.Late != r.EndedLate() {
		b.addProblem("settled-lateness", id, run.Site, "settled as late %v; ended %v, due %v", s.Late, run.Ended, r.Job.Deadline)
	}
	if a := r.CurrentAward(); a != nil {
		o := a.Option
		if s.BidFor.Energy != o.Energy || s.BidFor.Carbon != o.Carbon || s.BidFor.Money != o.Money {
			b.addProblem("settled-other-bid", id, run.Site, "settled against %+v, awarded %+v", s.BidFor, o)
		}
	}
}

// checkSums checks that energy, carbon and money of all jobs, and the corrections of their
// bills, add up to the sums by site and in total, and that the own meter of each site equals jobs plus idle, hour by hour. All are
// integers, so equality is exact.
func (b *History) checkSums() {
	// Bills count once a run was reported done: paused parts, and runs of ended jobs.
	bySite := make(map[string]protocol.Usage)
	var byJob, total protocol.Usage
	for _, e := range b.allEntries() {
		for _, s := range e.rec.RunSegments() {
			if s.Over {
				bySite[s.Run.Site] = bySite[s.Run.Site].Plus(s.Run.Cost)
				byJob = byJob.Plus(s.Run.Cost)
			}
		}
	}
	for _, s := range b.SiteRecords() {
		bySite[s.Site] = bySite[s.Site].Plus(s.Corrections)
		byJob = byJob.Plus(s.Corrections)
		if bySite[s.Site] != s.Jobs {
			b.addProblem("sums-of-site", "", s.Site, "its jobs add up to %+v, the record of the site to %+v", bySite[s.Site], s.Jobs)
		}
		total = total.Plus(s.Jobs)
		for _, at := range slices.Sorted(maps.Keys(s.hours)) {
			if h := s.hours[at]; h.total != h.drawn+h.idle {
				b.addProblem("meter", "", s.Site, "in the hour of %v it drew %d mJ; jobs %d and idle %d make %d",
					at, h.total, h.drawn, h.idle, h.drawn+h.idle)
			}
		}
	}
	if total != byJob {
		b.addProblem("sums", "", "", "all sites add up to %+v, all jobs to %+v", total, byJob)
	}
}
